"""The plots of a diagnosis: the confusion matrix, and losses as noise grows."""

from pathlib import Path
from typing import Any

from gbrank.noise.figures import COLORS, pyplot, save


def draw_diagnosis(found: Any, folder: Path) -> list[tuple[str, str, str]]:
    """Draw, and return section, file and caption of each plot; none without matplotlib."""
    try:
        plt = pyplot()
    except ImportError:
        return []
    drawn = [("noise", _matrix(plt, found.estimate, folder), "The estimated confusion matrix.")]
    if found.sensitivity:
        caption = f"{found.metric} of held-out queries as training labels get noisier; bars: 95%."
        drawn.append(("losses", _losses(plt, found, folder), caption))
    return drawn


def _matrix(plt: Any, estimate: Any, folder: Path) -> str:
    n = len(estimate.matrix)
    figure, axes = plt.subplots(figsize=(0.75 * n + 2.2, 0.65 * n + 1.6), layout="constrained")
    axes.imshow(estimate.matrix, cmap="Blues", vmin=0.0, vmax=1.0)
    for label in range(n):
        for grade in range(n):
            value = estimate.matrix[label, grade]
            axes.text(
                grade, label, f"{value:.2f}", ha="center", va="center",
                color="white" if value > 0.6 else "black", fontsize=9,
            )  # fmt: skip
    axes.set_xticks(range(n), [str(g) for g in range(n)])
    axes.set_yticks(range(n), [str(g) for g in range(n)])
    axes.set_xlabel("true grade")
    axes.set_ylabel("label")
    return save(figure, folder, "matrix")


def _losses(plt: Any, found: Any, folder: Path) -> str:
    figure, axes = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
    width = 0.006
    for number, each in enumerate(found.sensitivity):
        color = COLORS[number % len(COLORS)]
        shift = width * (number - len(found.sensitivity) / 2)
        places = [level + shift for level in each.levels]
        reach = [
            [mean - low for mean, (low, _) in zip(each.means, each.intervals, strict=True)],
            [high - mean for mean, (_, high) in zip(each.means, each.intervals, strict=True)],
        ]
        axes.errorbar(
            places, each.means, yerr=reach, color=color, label=each.objective, marker="o",
            markersize=4, linewidth=1.4, elinewidth=0.8,
        )  # fmt: skip
    axes.set_xticks(found.sensitivity[0].levels, [f"+{e:.0%}" for e in found.sensitivity[0].levels])
    axes.set_xlabel("share of training labels replaced on top of the noise that is there")
    axes.set_ylabel(f"{found.metric} of held-out queries")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    return save(figure, folder, "losses")
