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


def draw() -> None:
    """Draw what noise costs."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    values, _, n_sets, _ = read()
    shown = {
        "Ranker()": ("#0b6e4f", 3.0),
        "floor:ridge": ("#888888", 1.5),
        "gain_pairwise": ("#3a86c8", 1.5),
        "xendcg": ("#7fb3d9", 1.5),
        BASE: ("#c1440e", 1.8),
        "lightgbm:rank_xendcg": ("#e8935a", 1.5),
    }
    figure, axes = plt.subplots(figsize=(7.2, 3.8))
    ends = {}
    for name, (colour, width) in shown.items():
        line = values[name].mean(axis=1)[:3]
        axes.plot([0, 30, 60], line, color=colour, linewidth=width, marker="o")
        ends[name] = line[-1]
    last = np.inf
    for name in sorted(ends, key=lambda n: -ends[n]):  # names next to lines, apart from each other
        last = min(ends[name], last - 0.009)
        axes.text(61.5, last, shown_name(name), color=shown[name][0], va="center", fontsize=9)
    axes.set_xlim(-2, 86)
    axes.set_ylim(bottom=last - 0.01)
    axes.set_xticks([0, 30, 60], ["none", "30%", "60%"])
    axes.set_xlabel("labels replaced at random, in training and validation queries")
    axes.set_ylabel("NDCG@10, clean test queries")
    axes.set_title(f"As labels get worse: mean of {n_sets} real data sets", loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(RESULTS / "survey.png", dpi=90)
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
