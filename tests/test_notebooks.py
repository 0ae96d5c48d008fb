"""The notebooks run from top to bottom, and what is kept of them came from such a run."""

import importlib.util
import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
NAMES = [
    "01_quickstart",
    "02_plug_into_lightgbm",
    "03_noise_robustness",
    "04_clicks_and_preferences",
    "05_which_loss_is_consistent",
    "06_is_my_metric_telling_the_truth",
    "07_write_your_own_loss",
    "08_at_scale",
    "09_your_data_frame",
    "10_explain_one_list",
    "11_the_metric_you_report",
    "12_clicks_with_positions",
    "13_tuning",
]


def load_runner():
    spec = importlib.util.spec_from_file_location("execute_notebooks", FOLDER / "execute.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def printed(notebook):
    """Return all that the cells printed, one text."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    texts = [
        output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs
    ]
    return "\n".join(texts)


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request):
    return request.param


def test_all_are_there():
    assert [path.stem for path in NOTEBOOKS] == NAMES


def test_runs_from_top_to_bottom(path, tmp_path):
    for module in {"08_at_scale": ["distributed"], "09_your_data_frame": ["pandas"]}.get(
        path.stem, []
    ):
        pytest.importorskip(module)
    fresh = load_runner().execute(path, tmp_path)
    code = [cell for cell in fresh.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    # What a notebook asserts by printing it is still so, whatever the other numbers are.
    claims = re.findall(r"(?:same|equal)[^\n]*: +(?:True|False)", printed(fresh))
    assert claims == re.findall(r"(?:same|equal)[^\n]*: +(?:True|False)", printed(kept(path)))
    assert not any(claim.endswith("False") for claim in claims)


def kept(path):
    return nbformat.read(path, as_version=4)


def test_kept_outputs_are_those_of_one_run(path):
    notebook = kept(path)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    for cell in code:
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name") != "stderr", output.text
    assert len(notebook.cells) <= 25


def test_kept_outputs_have_plots(path):
    outputs = [o for cell in kept(path).cells for o in cell.get("outputs", [])]
    plots = [o for o in outputs if "image/png" in o.get("data", {})]
    assert plots or path.stem == "08_at_scale"


def test_no_trace_of_the_machine(path):
    text = re.sub(r'"image/png": "[^"]*"', "", path.read_text(encoding="utf-8"))
    found = re.findall(r"(?:/home/|/root/|/Users/|/tmp/|site-packages|[A-Z]:\\\\)[^\s\"]*", text)
    assert not found
    assert "iopub" not in text  # time stamps


def test_links_lead_somewhere(path):
    for cell in kept(path).cells:
        if cell.cell_type == "markdown":
            for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", cell.source):
                assert (FOLDER / link).exists(), f"{path.name}: {link}"
