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
    """Draw mean ranks on a line; models within the critical difference of the best are joined."""
    pyplot = _pyplot()
    order = np.argsort(ranks)
    figure, axis = pyplot.subplots(figsize=(8, 0.32 * len(models) + 1.2))
    places = np.arange(len(models))
    best = ranks[order[0]]
    colours = ["#0b5394" if models[at].startswith("Ranker") else "#555555" for at in order]
    axis.barh(places, ranks[order], color=colours, height=0.6)
    axis.axvline(best + critical, color="#cc0000", ls="--", lw=1)
    axis.text(best + critical, -0.9, "critical difference from the first", ha="center", fontsize=8)
    axis.set_yticks(places, [models[at] for at in order], fontsize=8)
    axis.invert_yaxis()
    axis.set_xlabel("mean rank over ten data sets by NDCG@10 (1 is the best)")
    figure.tight_layout()
    save_png(figure, path)
    pyplot.close(figure)
