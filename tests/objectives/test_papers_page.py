"""The page on the papers: what its rows name exists; and what no other test has."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE, _, VERDICTS = (
    (ROOT / "docs/theory/papers.md").read_text(encoding="utf-8").partition("(papers-verdicts)=")
)
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| item")
]
#: Numbers of the items of each paper, in the order of the page.
ITEMS = (
    {"definition": (1, 2, 3), "lemma": (1, 2, 3, 4), "theorem": (6, 8, 9, 10, 11)},
    {"definition": (1, 2, 5, 18, 20), "theorem": (4, *range(6, 18), 19), "lemma": (3, 21, 22, 23)},
    {"definition": (1,), "theorem": (1, 2), "claim": (1, 2, 3, 4), "proposition": (1,)},
    {"definition": (1, 2, 3), "theorem": (6, 7), "proposition": (4, 5, 8, 9, 10)},
    {"definition": (1, 2, 3, 4), "theorem": (1, 2, 3, 4, 5), "proposition": (1, 2, 3)},
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_what_a_row_names_exists(row):
    _item, here, tests, found = (cell.strip() for cell in row)
    assert found
    for name in re.findall(r"`(gbrank[\w.]*)`", here + found):
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name
    for path, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", tests):
        text = (ROOT / path).read_text(encoding="utf-8")
        assert not name or f"def {name}(" in text, f"{path} has no {name}"
    for path in re.findall(r"\]\(([^)]+)\)", "".join(row)):
        assert path == "#papers-verdicts" or (ROOT / "docs/theory" / path).exists(), path
    assert (tests == "none") == (here == "not here")


def test_every_numbered_item_has_a_row():
    parts = PAGE.split("\n## ")[1:]
    for part, items in zip(parts, ITEMS, strict=True):
        said: dict[str, set[int]] = {}
        for line in part.splitlines():
            if line.startswith("| "):
                cell = line.split(" | ")[0]
                for kind, numbers in re.findall(r"(\w+?)s? (\d[\d, ]*(?:(?:and|to) \d+)?)", cell):
                    values = [int(n) for n in re.findall(r"\d+", numbers)]
                    if "to" in numbers:
                        values = list(range(values[0], values[-1] + 1))
                    said.setdefault(kind.lower(), set()).update(values)
        for kind, numbers in items.items():
            assert set(numbers) <= said.get(kind, set()), (part[:40], kind, said.get(kind))


def test_every_paper_has_verdicts():
    for name in ("Bruch", "Wang", "Ravikumar", "Xia", "Duchi"):
        assert re.search(rf"^\| {name}.* \| \d+ \| \d+ \| \d+ \|$", VERDICTS, re.MULTILINE), name


@pytest.mark.parametrize("m", [2, 3, 7])
def test_the_softmax_hessian_is_singular_without_eps(m):
    """Bruch 2021, claims 3 and 4, with the paper's epsilon and without."""
    scores = np.linspace(-1, 1, m)
    for eps in (0.0, 0.5):
        rho = np.exp(scores) / (np.exp(scores).sum() + eps)
        least = np.linalg.eigvalsh(np.diag(rho) - np.outer(rho, rho))[0]
        S = rho[None, :] / (1 - rho[:, None])
        np.fill_diagonal(S, 0.0)
        radius = np.abs(np.linalg.eigvals(S)).max()
        if eps:
            assert least > 1e-3
            assert radius < 1 - 1e-3
        else:
            assert abs(least) < 1e-14
            assert radius == pytest.approx(1.0, abs=1e-12)
