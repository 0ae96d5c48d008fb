"""The preset ``results`` on four sets, in short: a part of RESULTS.md, from kept trials.

    python benchmarks/depth.py     # writes it; a test says when it is out of date

Means of the four sets, each counting alike, and what can be seen in them. Standard errors are over
the five folds of each set, trials of one fold being averaged first.
"""

import csv
import textwrap
from functools import cache
from pathlib import Path
from statistics import median

import numpy as np
from page_numbers import short, table

from gbrank.noise.archive import read_archive
from gbrank.noise.presets import load_preset
from gbrank.noise.tables import by_test_set

RESULTS = Path(__file__).parent / "results"
TABLE = ("<!-- depth -->\n", "<!-- end of depth -->")
SEEN = ("<!-- seen -->\n", "<!-- end of seen -->")
MISSING = ("<!-- missing -->\n", "<!-- end of missing -->")
METRIC = "ndcg@10"
#: Noise, settings and level of a column.
COLUMNS = {
    "no noise": ("labels", "regularised", 0.0),
    "60% labels": ("labels", "regularised", 0.6),
    "no noise, 400 leaves": ("labels", "paper", 0.0),
    "60% labels, 400 leaves": ("labels", "paper", 0.6),
    "100% padded": ("negatives", "regularised", 1.0),
    "clicks, .05": ("clicks", "regularised", 0.05),
    "clicks, .3": ("clicks", "regularised", 0.3),
}
SHOWN = {
    "lightgbm:lambdarank": "LightGBM `lambdarank`",
    "lightgbm:rank_xendcg": "LightGBM `rank_xendcg`",
    "xgboost:rank:ndcg": "XGBoost `rank:ndcg`",
    "catboost:YetiRank": "CatBoost `YetiRank`",
    "catboost:QueryRMSE": "CatBoost `QueryRMSE`",
    "floor:ridge": "floor: ridge on features z-scored within the query",
    "floor:single_feature": "floor: best single feature",
}
PEER = "lightgbm:lambdarank"
Place = tuple[str, str, float]


@cache
def values(folder: str = "noise") -> dict[tuple[str, Place, str], np.ndarray]:
    """Return the metric on each fold by data set, place and objective."""
    kept: dict = {}
    for run in read_archive(RESULTS / folder / "results.tar.xz"):
        for trial, (result, _) in run.results.items():
            key = (run.data, (trial.noise, trial.setting, trial.level), trial.objective)
            kept.setdefault(key, []).append((trial.trial, result))
    return {
        key: by_test_set(
            [result for _, result in sorted(trials, key=lambda each: each[0])],
            np.array([r.means[METRIC] for _, r in sorted(trials, key=lambda each: each[0])]),
        )
        for key, trials in kept.items()
    }


def sets() -> list[str]:
    return sorted({data for data, _, _ in values()})


def on_folds(name: str, place: Place) -> list[np.ndarray]:
    """Return the folds of each set; floors have no trees and stand under the first settings."""
    noise, _, level = place
    where = (noise, "regularised", level) if name.startswith("floor:") else place
    return [values()[data, where, name] for data in sets()]


def mean(name: str, column: str | Place) -> float:
    place = COLUMNS[column] if isinstance(column, str) else column
    return float(np.mean([folds.mean() for folds in on_folds(name, place)]))


def lead(name: str, other: str, place: Place) -> str:
    """Return by how much one is above another, with its standard error."""
    gaps = [a - b for a, b in zip(on_folds(name, place), on_folds(other, place), strict=True)]
    errors = [gap.std(ddof=1) / np.sqrt(len(gap)) for gap in gaps]
    found = np.mean([gap.mean() for gap in gaps])
    error = np.sqrt(np.sum(np.square(errors))) / len(gaps)
    return f"{found:+.3f} ± {error:.3f}".replace("0.", ".")


def names() -> list[str]:
    return list(load_preset("results").objectives)


def means_table() -> str:
    rows = [
        [SHOWN.get(name, f"`{name}`"), *(short(mean(name, column)) for column in COLUMNS)]
        for name in names()
    ]
    return table(["NDCG@10, mean of the four sets", *COLUMNS], rows)


def boosted() -> list[str]:
    """The losses of ours, LightGBM and XGBoost."""
    return [name for name in names() if not name.startswith(("floor:", "catboost:"))]


def ours() -> list[str]:
    return [name for name in names() if ":" not in name]


def costs(name: str) -> float:
    return mean(name, "no noise") - mean(name, "100% padded")


def from_zero() -> str:
    """Say what became of qnorm when its scores counted from zero, and since."""
    with (RESULTS / "qnorm_from_zero.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    of_sets = [[float(r[METRIC]) for r in rows if r["data"] == data] for data in sets()]
    before = float(np.mean([np.mean(found) for found in of_sets]))
    alone = sum(row["trees"] == "1" for row in rows)
    return (
        f"Counted from zero, as it was before, {alone} of {len(rows)} trials of `qnorm` with many "
        f"random clicks ended as one leaf of value 0, a constant model (NDCG@10 {short(before)}, "
        "`qnorm_from_zero.csv`): such labels leave the loss nothing to gain by a split. Counted "
        f"from the list's best constant, as now, it has {short(mean('qnorm', 'clicks, .3'))}."
    )


def named(values: dict[str, float]) -> str:
    return ", ".join(f"{SHOWN.get(n, f'`{n}`')} {short(value)}" for n, value in values.items())


def seen() -> str:
    worth = [mean(n, "60% labels") - mean(n, "60% labels, 400 leaves") for n in boosted()]
    clean = median(mean(n, "no noise") - mean(n, "no noise, 400 leaves") for n in boosted())
    places = ("no noise", ("labels", "regularised", 0.2), "60% labels", "100% padded", "clicks, .3")
    leads = [
        lead("gain_pairwise", PEER, COLUMNS[place] if isinstance(place, str) else place)
        for place in places
    ]
    clicks = {
        n: mean(n, "clicks, .3") for n in sorted(ours(), key=lambda n: -mean(n, "clicks, .3"))
    }
    few = {n: mean(n, "clicks, .05") for n in clicks}
    best = list(clicks)[:3]
    above = [n for n in clicks if clicks[n] > clicks["lambdamart"]]
    dear = {n: costs(n) for n in sorted(boosted(), key=costs, reverse=True)}
    padded = list(dear)[:3]
    points = [
        f"""**Trees matter more than losses.** With 60% of the labels replaced, regularised trees
        are worth {short(median(worth))} in the median over the boosted losses of ours, LightGBM and
        XGBoost ({short(min(worth))} to {short(max(worth))}), {short(clean)} without noise.""",
        """**Linear floors are hard to beat under noise.** With 60% noise no loss reaches the ridge
        on the mean, nor do those of ours, LightGBM and XGBoost reach the best single feature;
        CatBoost's trees come closest.""",
        f"""**Among our losses `gain_pairwise`**, which is consistent with NDCG, is level with
        `lambdarank` without noise ({leads[0]}) and above it with 20% and 60% of label noise
        ({leads[1]}, {leads[2]}), with padded lists ({leads[3]}) and with many random clicks
        ({leads[4]}).""",
        f"""**With many random clicks** {named({n: clicks[n] for n in best})} are the best of ours
        (with few: {named({n: few[n] for n in best})}), and {len(above)} of the {len(clicks) - 1}
        others are above `lambdamart` ({short(clicks["lambdamart"])}).""",
        f"""**Padded lists** cost {named({n: dear[n] for n in padded})}, and the other boosted
        losses {short(max(list(dear.values())[3:]))} or less.""",
        f"**One loss failed** in an earlier form. {from_zero()}",
    ]
    return "\n".join(
        textwrap.fill(
            "- " + " ".join(point.split()), 100, subsequent_indent="  ", break_long_words=False,
            break_on_hyphens=False,
        )
        for point in points
    )  # fmt: skip


def missing() -> str:
    """Say how losses fare on raw features with missing values."""

    def on(name: str, column: str) -> float:
        place = COLUMNS[column]
        return float(values("noise_missing")["OHSUMED_null", place, name].mean())

    clean, noisy = ([on(name, column) for name in ours()] for column in ("no noise", "60% labels"))
    cat = [on(f"catboost:{name}", "60% labels") for name in ("YetiRank", "QueryRMSE")]
    peer, ridge = (
        [on(name, column) for column in ("no noise", "60% labels")]
        for name in (PEER, "floor:ridge")
    )
    return textwrap.fill(
        f"""The same on OHSUMED_null, which is OHSUMED with raw features and missing values, five
        trials, apart from the table above ([noise_missing/report.md](noise_missing/report.md)),
        NDCG@10 with regularised trees: boosted losses are lower there (`lambdarank`
        {short(peer[0])} without noise, {short(peer[1])} at 60%; ours {short(min(clean))} to
        {short(max(clean))} and {short(min(noisy))} to {short(max(noisy))}); CatBoost's fall less
        ({short(cat[0])} and {short(cat[1])} at 60%), the ridge relative to the query not at all
        ({short(ridge[0])}, {short(ridge[1])}).""".replace("\n        ", " "),
        100,
        break_long_words=False,
        break_on_hyphens=False,
    )


def put(text: str, marks: tuple[str, str], content: str) -> str:
    before, _, rest = text.partition(marks[0])
    return f"{before}{marks[0]}{content}\n{marks[1]}{rest.partition(marks[1])[2]}"


def main() -> None:
    place = RESULTS / "RESULTS.md"
    text = put(place.read_text(encoding="utf-8"), TABLE, means_table())
    text = put(put(text, SEEN, seen()), MISSING, missing())
    place.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
