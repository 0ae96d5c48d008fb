"""Which loss survives which noise, on ten sets: the table and the picture of RESULTS.md.

For each set ``python benchmarks/noise.py run survey --data SET --no-report --out DIR``, with
GBRANK_DATA set; then ``python benchmarks/survey.py DIR`` keeps the mean of every trial in
``results/survey.csv.gz``. Without DIR the page's part and the picture are written from that file.
"""

import csv
import gzip
import sys
from pathlib import Path

import numpy as np

from gbrank.noise.contestants import shown_name
from gbrank.noise.store import Store
from gbrank.plotting import save_png

RESULTS = Path(__file__).parent / "results"
FILE = RESULTS / "survey.csv.gz"
BASE = "lightgbm:lambdarank"
POINTS = {
    ("labels_and_validation", 0.0): "no noise",
    ("labels_and_validation", 0.3): "30% replaced",
    ("labels_and_validation", 0.6): "60% replaced",
    ("labels", 0.6): "60% replaced, clean validation",
    ("matrix_and_validation", 0.5): "half underrated",
    ("missing_and_validation", 0.5): "half of the positives missed",
}
BEGIN, END = "<!-- survey -->\n", "<!-- end of survey -->"


def keep(folder: Path) -> None:
    """Write the mean NDCG@10 of every trial."""
    store, rows = Store(folder, create=False), []
    for name, data, *_ in store.runs():
        for t, r in store.results(name, data).items():
            mean, share = r.means["ndcg@10"], r.noise["documents"]
            rows.append(
                [data, t.noise, t.level, t.objective, t.trial, f"{mean:.5f}", f"{share:.4f}"]
            )
    with gzip.open(FILE, "wt", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["data", "noise", "level", "objective", "trial", "ndcg@10", "differ"])
        writer.writerows(sorted(rows))


def read() -> tuple[dict[str, np.ndarray], list[float], int, int]:
    """Return the value of each objective by point and set, and the share of labels that differ."""
    with gzip.open(FILE, "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    sets = sorted({row["data"] for row in rows})
    names = list(dict.fromkeys(row["objective"] for row in rows))
    points = list(POINTS)
    values: dict[str, np.ndarray] = {}
    for name in names:
        cells: list[list[list[float]]] = [[[] for _ in sets] for _ in points]
        for row in rows:
            if row["objective"] == name:
                at = points.index((row["noise"], float(row["level"])))
                cells[at][sets.index(row["data"])].append(float(row["ndcg@10"]))
        values[name] = np.array([[np.mean(cell) for cell in line] for line in cells])
    differ = [
        float(np.mean([float(r["differ"]) for r in rows if (r["noise"], float(r["level"])) == p]))
        for p in points
    ]
    return values, differ, len(sets), len({row["trial"] for row in rows})


def interval(values: np.ndarray) -> str:
    """Return the mean over sets with half a 95% interval of Student's t."""
    from scipy.stats import t

    reach = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    mark = "**" if abs(values.mean()) > reach else ""
    return f"{mark}{values.mean():+.3f} ± {reach:.3f}{mark}"


def page() -> str:
    """Return the part of RESULTS.md."""
    values, differ, n_sets, n_trials = read()
    heads = [
        f"{name} ({share:.0%} differ)" for name, share in zip(POINTS.values(), differ, strict=True)
    ]
    order = sorted(values, key=lambda name: -values[name][2].mean())
    table = [["", *heads], ["---"] * (len(heads) + 1)]
    table += [[f"`{n}`", *(f"{v:.3f}" for v in values[n].mean(axis=1))] for n in order]
    against = [["", *POINTS.values()], ["---"] * (len(heads) + 1)]
    against += [
        [f"`{n}`", *(interval(d) for d in values[n] - values[BASE])] for n in order if n != BASE
    ]
    texts = ["\n".join("| " + " | ".join(row) + " |" for row in part) for part in (table, against)]
    return (
        f"Mean NDCG@10 of clean test queries over {n_sets} sets, {n_trials} folds each, few trees "
        "(16 leaves, at most 200). Labels of validation queries, which stop the trees, are as "
        "noisy as those of training unless a column says that they are clean. In brackets: the "
        f"share of training labels that really differ.\n\n{texts[0]}\n\nAgainst `{BASE}`, "
        "paired by set, with 95% intervals over the sets (Student's t, each set one value); in "
        "bold where the interval leaves out 0, not corrected for the number of comparisons.\n\n"
        f"{texts[1]}\n\n![What noise costs, mean of {n_sets} real data sets](survey.png)\n"
    )


#: What the picture shows: colour, width.
LINES = {
    "Ranker()": ("#0072B2", 3.2),
    "floor:ridge": ("#555555", 1.6),
    BASE: ("#D55E00", 2.4),
    "xendcg": ("#b0b0b0", 1.1),
    "gain_pairwise": ("#b0b0b0", 1.1),
    "lightgbm:rank_xendcg": ("#b0b0b0", 1.1),
}


def draw() -> None:
    """Draw what noise costs."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    values, differ, n_sets, _ = read()
    means = {name: values[name].mean(axis=1)[:3] for name in LINES}
    ours, theirs = means["Ranker()"], means[BASE]
    figure, axes = plt.subplots(figsize=(7.6, 4.2))
    for name, (colour, width) in LINES.items():
        axes.plot([0, 30, 60], means[name], color=colour, linewidth=width, marker="o",
                  markersize=2.5 + width, zorder=width)  # fmt: skip
    last = np.inf
    for name in sorted(LINES, key=lambda n: -means[n][-1]):  # names next to lines, and apart
        last = min(means[name][-1], last - 0.0085)
        colour, width = LINES[name]
        axes.text(64.5, last, shown_name(name), color="#777777" if width < 1.5 else colour,
                  va="center", fontsize=10.5 if width > 2 else 9,
                  fontweight="bold" if width > 2 else "normal")  # fmt: skip
    axes.annotate("", (62.2, ours[-1]), (62.2, theirs[-1]), arrowprops={"arrowstyle": "<->"})
    axes.text(61.4, ours[-1] - 0.015, f"{ours[-1] - theirs[-1]:+.3f}",
              ha="right", va="center", fontsize=10.5, fontweight="bold")  # fmt: skip
    axes.set_xlim(-2, 91)
    axes.set_ylim(last - 0.01, ours[0] + 0.008)
    axes.set_xticks([0, 30, 60], [
        "labels as they are",
        *(f"{level}% replaced at random\n({share:.0%} really differ)"
          for level, share in zip((30, 60), differ[1:3], strict=True)),
    ])  # fmt: skip
    axes.set_ylabel("NDCG@10, clean test queries\n(higher is better)")
    axes.set_title(
        f"Wrong labels cost LightGBM's lambdarank {theirs[0] - theirs[-1]:.3f}, "
        f"gbrank's Ranker() {ours[0] - ours[-1]:.3f}",
        loc="left", fontsize=11.5, fontweight="bold", pad=20,
    )  # fmt: skip
    axes.text(0, 1.02, f"mean of {n_sets} real data sets; validation labels are spoilt too; "
              "grey: other losses, same trees", transform=axes.transAxes,
              fontsize=8.5, color="#555555")  # fmt: skip
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)
    figure.tight_layout()
    save_png(figure, RESULTS / "survey.png", dpi=90)
    plt.close(figure)


def main() -> int:
    if len(sys.argv) > 1:
        keep(Path(sys.argv[1]))
    draw()
    place = RESULTS / "RESULTS.md"
    before, _, rest = place.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    place.write_text(f"{before}{BEGIN}{page()}{END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
