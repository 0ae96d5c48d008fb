"""The pictures of benchmarks/quality.py: noise curves, and mean ranks."""

from pathlib import Path
from typing import Any

import numpy as np
from common.pictures import save_png

from comparison.paired import TEST_OVER_TRAINING
from comparison.results import Results

#: What the picture of noise shows: colour and line of each model.
LINES = {
    "Ranker()": ("gbrank Ranker()", "#0b5394", "-"),
    "LightGBM lambdarank": ("LightGBM lambdarank", "#cc0000", "--"),
    "LightGBM rank_xendcg": ("LightGBM rank_xendcg", "#e69138", "--"),
    "XGBoost rank:ndcg": ("XGBoost rank:ndcg", "#6aa84f", "--"),
    "CatBoost QueryRMSE": ("CatBoost QueryRMSE", "#8e7cc3", "--"),
    "CatBoost YetiRank": ("CatBoost YetiRank", "#674ea7", "-."),
    "linear": ("linear floor", "#777777", ":"),
}


def _pyplot() -> Any:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError('the picture needs matplotlib: pip install "gbrank[plot]"') from error
    return pyplot


def draw_noise(results: Results, curves: dict[tuple[str, bool], list[float]], path: Path) -> None:
    """Draw mean NDCG@5 of the ten sets against noise, one panel for each protocol there is."""
    panels = {
        clean: [
            (model, curves[model, clean])
            for model in LINES
            if len(curves.get((model, clean), [])) > 1
        ]
        for clean in (False, True)
    }
    panels = {clean: lines for clean, lines in panels.items() if lines}
    if not panels:
        return
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(
        1, len(panels), figsize=(5.2 * len(panels) + 0.4, 4.2), sharey=True, squeeze=False
    )
    titles = {False: "all labels but the test's are noisy", True: "validation labels are clean"}
    for axis, (clean, lines) in zip(axes[0], panels.items(), strict=True):
        for model, levels in lines:
            label, colour, style = LINES[model]
            values = [
                results.folds(model, level, "ndcg@5", clean_validation=clean) for level in levels
            ]
            means = [value.mean() for value in values]
            errors = [_error(value) for value in values]
            axis.errorbar(
                100 * np.array(levels),
                means,
                errors,
                label=label,
                color=colour,
                ls=style,
                capsize=3,
            )
        axis.set_xlabel("labels replaced at random, %")
        axis.set_title(titles[clean], fontsize=11)
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("NDCG@5 on clean test queries")
    axes[0][0].legend(fontsize=8, loc="lower left")
    figure.suptitle("Mean of ten real data sets, five folds each", fontsize=12)
    figure.tight_layout()
    save_png(figure, path)
    pyplot.close(figure)


def _error(values: np.ndarray) -> float:
    """Return the standard error of the mean of (sets, folds), sets being fixed."""
    n_sets, n_folds = values.shape
    variances = values.var(axis=1, ddof=1) * (1 / n_folds + TEST_OVER_TRAINING)
    return float(np.sqrt(variances.sum()) / n_sets)


def draw_ranks(models: list[str], ranks: np.ndarray, critical: float, path: Path) -> None:
    """Draw mean ranks on a line, as Demsar 2006 does: bars join what cannot be told apart."""
    pyplot = _pyplot()
    order = np.argsort(ranks)
    sorted_ranks, count = ranks[order], len(models)
    bars = _alike(sorted_ranks, critical)
    half, below = (count + 1) // 2, 0.22 * len(bars) + 0.3
    height = below + 0.3 * half
    figure, axis = pyplot.subplots(figsize=(9, height + 0.9))
    axis.set_xlim(0.5, count + 0.5)
    axis.set_ylim(height, -0.75)
    axis.hlines(0, 1, count, color="black", lw=1)
    for tick in range(1, count + 1):
        axis.vlines(tick, -0.08, 0, color="black", lw=1)
        axis.text(tick, -0.14, str(tick), ha="center", va="bottom", fontsize=8)
    axis.hlines(-0.55, 1, 1 + critical, color="#cc0000", lw=2)
    axis.text(1 + critical + 0.1, -0.55, "critical difference", va="center", fontsize=8)
    for number, (first, last) in enumerate(bars):
        at = 0.22 * (number + 1)
        ends = sorted_ranks[first] - 0.06, sorted_ranks[last] + 0.06
        axis.hlines(at, *ends, color="#444444", lw=3.5)
    for place, which in enumerate(order):
        left = place < half
        at = below + 0.3 * (place if left else count - 1 - place)
        colour = "#0b5394" if models[which].startswith("Ranker") else "#555555"
        edge = 0.4 if left else count + 0.6
        axis.plot([ranks[which], ranks[which], edge], [0, at, at], color=colour, lw=0.9)
        text = f"{models[which]} ({ranks[which]:.1f})"
        aligned = "right" if left else "left"
        axis.text(edge, at, f" {text} ", ha=aligned, va="center", fontsize=8, color=colour)
    axis.axis("off")
    figure.suptitle("Mean rank over ten data sets by NDCG@10 (1 is the best)", fontsize=10)
    figure.tight_layout()
    save_png(figure, path)
    pyplot.close(figure)


def _alike(ranks: np.ndarray, critical: float) -> list[tuple[int, int]]:
    """Return the longest runs of ascending ranks whose ends are within the critical difference."""
    runs: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = int(np.searchsorted(ranks, rank + critical, side="right")) - 1
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs
