"""The picture of benchmarks/quality.py: NDCG@5 against label noise, the Ranker and its peers."""

from pathlib import Path

import numpy as np
from common.pictures import save_png
from noise_robustness.trial import Result, Trial
from scipy import stats

LABELS = {
    "ranker:default(start='query_linear')": ("gbrank Ranker(start='query_linear')", "#0b5394", "-"),
    "ranker:default": ("gbrank Ranker", "#3d85c6", "-"),
    "catboost:YetiRank": ("CatBoost YetiRank", "#b45f06", "--"),
    "lightgbm:lambdarank": ("LightGBM lambdarank", "#cc0000", "--"),
    "floor:ridge": ("linear floor", "#777777", ":"),
}


#: Trial t uses fold t modulo it.
N_FOLDS = 5


def _folds(results: dict[Trial, Result], objective: str, level: float) -> list[float]:
    """Return the NDCG@5 of each fold, mean over its trials, which share their test queries."""
    found: dict[int, list[float]] = {}
    for trial, result in results.items():
        if (trial.objective, trial.level) == (objective, level):
            found.setdefault(trial.trial % N_FOLDS, []).append(result.means["ndcg@5"])
    return [float(np.mean(values)) for values in found.values()]


def draw_noise(sets: dict[str, dict[Trial, Result]], path: Path) -> None:
    """Draw one panel per data set: mean and standard error over folds at each level."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError('the picture needs matplotlib: pip install "gbrank[plot]"') from error
    figure, grid = pyplot.subplots(
        1, len(sets), figsize=(5.2 * len(sets) + 1.2, 3.8), squeeze=False, layout="constrained"
    )
    for axes, (data, results) in zip(grid[0], sets.items(), strict=True):
        levels = sorted({trial.level for trial in results})
        for shift, (name, (label, color, line)) in enumerate(LABELS.items()):
            cells = [_folds(results, name, level) for level in levels]
            if not all(cells):
                continue
            axes.errorbar(
                np.array(levels) * 100 + 0.5 * (shift - 2),  # side by side, not one upon another
                [np.mean(values) for values in cells],
                yerr=[stats.sem(values) if len(values) > 1 else 0.0 for values in cells],
                label=label, color=color, linestyle=line, marker="o", markersize=4, capsize=2,
                linewidth=1.8,
            )  # fmt: skip
        trials = {trial.trial for trial in results}
        folds = {trial % N_FOLDS for trial in trials}
        title = f"{data}: {len(folds)} folds, {len(trials)} trials"
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_xticks([100 * level for level in levels])
        axes.set_xlabel(
            "training labels replaced at random, %\n(all stop early on clean validation queries)"
        )
        axes.grid(axis="y", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    grid[0, 0].set_ylabel("NDCG@5 on clean test queries\n(mean ± standard error over folds)")
    grid[0, -1].legend(frameon=False, fontsize=9, loc="lower left")
    save_png(figure, path, dpi=150)
    pyplot.close(figure)
