"""Why cosine and ListNet are not consistent: figures 3 and 4 of Ravikumar et al. (2011).

    python benchmarks/inconsistency.py     # writes benchmarks/results/inconsistency.md and .png

Two documents, whose labels are one of two vectors. A loss turns each vector into a target and
learns the mean of the targets; the best order for NDCG is that of the mean of the gains divided by
the best DCG. Each mean lies between its two points. Where the two means lie on different sides of
the diagonal, the loss puts the documents in the wrong order. What the losses of the package really
learn from the two vectors is minimised next to it.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from common.pictures import save_png

from gbrank import Cosine, ListNet, Objective
from gbrank.gains import compute_discounts, compute_gains
from gbrank.theory import check_consistency, minimizer

RESULTS = Path(__file__).parent / "results"


class Case(NamedTuple):
    """One figure: label vectors with their probabilities, and the loss that they mislead."""

    figure: str
    objective: Objective
    vectors: np.ndarray
    chances: np.ndarray
    target_name: str


CASES = (
    Case(
        "3", Cosine(norm="l2"), np.array([[1.0, 5.0], [2.0, 1.0]]), np.array([0.38, 0.62]),
        "G / |G|_2",
    ),
    Case("4", ListNet(), np.array([[1.0, 5.0], [2.0, 1.0]]), np.array([0.35, 0.65]), "softmax(r)"),
)  # fmt: skip


def relevance(vectors: np.ndarray) -> np.ndarray:
    """Return G / Z of each vector."""
    gains = np.array([compute_gains(vector) for vector in vectors])
    best = np.sort(gains, axis=1)[:, ::-1] @ compute_discounts(vectors.shape[1])
    return gains / best[:, None]


def targets(case: Case) -> np.ndarray:
    """Return what the loss makes of each vector."""
    if case.figure == "4":
        powers = np.exp(case.vectors)
        return powers / powers.sum(axis=1, keepdims=True)
    gains = np.array([compute_gains(vector) for vector in case.vectors])
    return gains / np.linalg.norm(gains, axis=1, keepdims=True)


def draw(path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(CASES), figsize=(7.4, 4.1), layout="constrained")
    for axis, case in zip(axes, CASES, strict=True):
        for points, name, color in (
            (relevance(case.vectors), "G / Z", "#2a8f4f"),
            (targets(case), case.target_name, "#1f5fa8"),
        ):
            mean = case.chances @ points
            axis.plot(*points.T, color=color, marker="o", markersize=4, linewidth=1)
            axis.plot(*mean, color=color, marker="D", markersize=7, label=f"{name} and its mean")
        axis.plot([0, 1.05], [0, 1.05], color="#333333", linewidth=1)
        axis.set(xlim=(0, 1.05), ylim=(0, 1.05), aspect="equal")
        axis.set_xlabel("document A", fontsize=8)
        axis.set_ylabel("document B", fontsize=8)
        axis.set_title(f"Figure {case.figure}: {type(case.objective).__name__}", fontsize=9)
        axis.tick_params(labelsize=7)
        axis.legend(fontsize=7, loc="upper right")
    save_png(figure, path, dpi=90)
    plt.close(figure)


def row(case: Case) -> str:
    wanted, learnt = case.chances @ relevance(case.vectors), case.chances @ targets(case)
    scores = minimizer(case.objective, case.vectors, case.chances)
    check = check_consistency(case.objective, case.vectors, case.chances)
    first = "AB"[int(np.argmax(scores))]
    cells = [
        case.figure,
        f"`{case.objective}`",
        ", ".join(
            f"({', '.join(f'{label:g}' for label in vector)}) at {chance:g}"
            for vector, chance in zip(case.vectors, case.chances, strict=True)
        ),
        f"({wanted[0]:.4f}, {wanted[1]:.4f})",
        f"({learnt[0]:.4f}, {learnt[1]:.4f})",
        "AB"[int(np.argmax(wanted))],
        first,
        f"{check.shortfall:.4f}",
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    draw(RESULTS / "inconsistency.png")
    lines = [
        "# Why cosine and ListNet are not consistent with NDCG",
        "",
        "Figures 3 and 4 of Ravikumar, Tewari and Yang (2011). "
        + (__doc__ or "").split("\n\n", 2)[2].strip().replace("\n", " "),
        "",
        "![Means of targets on both sides of the diagonal](inconsistency.png)",
        "",
        "| figure | loss | labels of A and B | mean of G / Z | mean of the loss's targets "
        "| belongs first | first by the loss's minimum | expected NDCG that this costs |",
        "|---|---|---|---|---|---|---|---|",
        *map(row, CASES),
        "",
        "Made by `python benchmarks/inconsistency.py`.",
        "",
    ]
    (RESULTS / "inconsistency.md").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
