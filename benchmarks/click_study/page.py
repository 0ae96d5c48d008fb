"""The page of results, from the JSON files of all parts."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from click_study import additive, choices, coverage, curves, documents, logs, ranking, scale
from click_study.store import RESULTS, load

METHODS = (*coverage.METHODS, "em_features")
#: Folds whose test queries nobody had looked at before: fold 1 was seen while the simulation was
#: designed, and the test queries of fold 2 are those that chose the additive model.
UNSEEN = (3, 4, 5)
SEEN = """Test queries of fold 1 were in sight while the simulation was designed (lists a query,
noise), and those of fold 2 are the validation queries on which additive models were compared. Folds
3 to 5 were not looked at before: they are given by themselves too. Intervals, 95%, are of a
bootstrap over folds within each set; p is of a paired t test over sets and folds, whose training
queries overlap. "averaged" was added after the table of "position 1" had been seen, to tell noise
from bias. Penalties by documents were chosen on validation queries of fold 1 as said above, when
test queries of all folds had been seen with penalties by rows. Last came the clip and the bias
learned from documents, chosen on validation queries too, when test queries had been seen with
"unclipped" and "additive lightgbm" on the first draw. Each contestant was then run once a draw, and
further draws were not looked at before: other lists and clicks, the same test queries."""

#: What may close the gap.
_WAYS = ("ips true", "ips all_pairs", "additive", "dual")
CORRECTED = (
    *_WAYS,
    *(f"ips {each}" for each in (*ranking.OTHER_ESTIMATORS, "wrong")),
    "additive softmax",
    *("ips true unclipped", "ips all_pairs unclipped", "additive lightgbm"),
    *(f"{way} by rows" for way in _WAYS),
    "additive softmax by rows",
)

Trials = dict[str, dict[str, float]]
Numbers = NDArray[np.float64]


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    lines = [list(heads)]
    lines += [["---"] * len(lines[0]), *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write() -> None:
    """Write ``README.md`` beside the results."""
    parts = [
        "# Clicks with positions",
        "Written by `benchmarks/clicks.py page` from the compressed JSON files of this folder.",
        *_claims(),
        *_coverage(),
        *_scale(),
        *_additive(),
        *_documents(),
        *_choices(),
        *_curves(),
        *_ranking(),
        *_logs(),
    ]
    (RESULTS / "README.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _claims() -> list[str]:
    """Say which readings of what was asked for hold."""
    trials = load("ranking")["trials"]
    biased, unbiased = (
        {k.split(maxsplit=2)[2]: t for k, t in trials.items() if k.startswith(f"position {eta} ")}
        for eta in ("1", "0")
    )
    rows = []
    for name in ("ips all_pairs", "additive"):
        for end in ends(name):
            naive, clean = f"naive{end}", f"clean{end}"
            part = {k: t for k, t in biased.items() if {name, naive, clean} <= t.keys()}
            closed = gap_closed(part, name, naive, clean)
            if closed is None:
                continue
            p = _against(part, name, naive)[1]
            holds = "yes" if closed >= 0.6 and float(p) < 0.05 else "no"
            span = _interval(part, name, naive, clean)
            what = f"{name}: 60% of {naive} to {clean}, gain with p < .05"
            rows.append([what, f"{closed:.0%} ({span})", p, _counts(part), holds])
    for name in ("ips all_pairs", "additive"):
        for end in ends(name):
            found = _loss(unbiased, name, f"naive{end}")
            if found is not None:
                mean, span, p, counts = found
                holds = "yes" if mean >= -0.005 else "no"
                what = f"{name}: no bias, at most .005 below naive{end}"
                rows.append([what, f"{mean:+.4f} ({span})", p, counts, holds])
    heads = ("position-based clicks, four sets", "mean (95%)", "p", "pairs, draws", "holds")
    return [
        "## In short",
        table(heads, rows),
        "A line holds if its mean does. Its size is sure, at 95%, only where the whole interval is "
        "beyond 60%, or above -.005.",
    ]


def _text(module: Any) -> str:
    return str(module.__doc__).strip().split("\n\n", 1)[-1].replace("``", "`")


def _coverage() -> list[str]:
    trials = load("coverage")["trials"]
    rows = []
    for method in METHODS:
        own = [each[method] for each in trials.values() if method in each]
        if not own:
            continue
        errors = np.array([each["error"] for each in own])
        inside = [each["inside"] for each in own if "inside" in each]
        rows.append(
            [
                method,
                str(len(own)),
                f"{np.mean(inside):.1%}" if inside else "no intervals",
                f"{errors.mean():+.2%}",
                f"{np.sqrt((errors**2).mean()):.2%}",
                f"{np.sqrt((errors[:, -1] ** 2).mean()):.2%}",
            ]
        )
    heads = ("method", "logs", "inside 95% intervals", "mean error", "rms error", "at rank 10")
    return ["## Intervals of propensities", _text(coverage), table(heads, rows)]


def _scale() -> list[str]:
    rows = [
        [f"{int(n):,}", *(str(trial[key]) for key in ("seconds", "peak memory, GB", "input, GB"))]
        for n, trial in load("scale")["trials"].items()
    ]
    heads = ("rows", "seconds", "peak memory, GB", "of which input, GB")
    return ["## Ten million rows", _text(scale), table(heads, rows)]


def _additive() -> list[str]:
    rows, said = _study("additive", tuple(additive.VARIANTS), "lambdamart")
    heads = ("variant", "the four sets", "of the gap", "other sets", "against naive", "p",
             "against lambdamart", "p")  # fmt: skip
    return ["## Which additive model", _text(additive), table(heads, rows), said]


def _documents() -> list[str]:
    rows, said = _study("documents", tuple(documents.VARIANTS), "ips by rows")
    heads = ("variant", "the four sets", "of the gap", "other sets", "against naive", "p",
             "against ips by rows", "p")  # fmt: skip
    title = "## Penalties that count documents"
    return [title, _text(documents), table(heads, rows), said]


def _choices() -> list[str]:
    trials = load("choices")["trials"]
    said = (
        "On the four sets and on the others: NDCG@10 less that of naive clicks with the same "
        'penalties. On all: less that of "ips" for what begins so, else of "additive".'
    )
    found = ["## Which IPS, and how the bias is learned", _text(choices), said]
    for strength in ("1", "0"):
        own = {k: t for k, t in trials.items() if k.split()[0] == strength}
        four, rest = (
            {k: t for k, t in own.items() if (k.split()[1] in choices.OTHERS) == is_other}
            for is_other in (False, True)
        )
        rows = []
        for name in dict.fromkeys(name for trial in own.values() for name in trial):
            other = "ips" if name.startswith("ips") else "additive"
            compared = [(four, "naive documents"), (rest, "naive documents"), (own, other)]
            cells = [cell for part, than in compared for cell in _over_draws(part, name, than)]
            rows.append([name, str(sum(name in t for t in own.values())), *cells])
        heads = ("variant", "draws", "four sets", "p", "other sets", "p", "all", "p")
        found += [f"### eta = {strength}", table(heads, rows)]
    return found


def _curves() -> list[str]:
    trials = load("curves")["trials"]
    rows = []
    for kind, strength in [(kind, eta) for kind in curves.PRODUCTION for eta in curves.STRENGTHS]:
        ndcg = {}
        for rule in curves.RULES:
            own = [trials[f"{kind} {strength:g} {name}"][rule] for name in choices.SETS]
            errors = [each["error"] for each in own]
            ndcg[rule] = np.array([each["ndcg@10"] for each in own])
            gain, p = "-", "-"
            if rule != curves.RULES[0]:
                difference = ndcg[rule] - ndcg[curves.RULES[0]]
                gain = f"{difference.mean():+.4f}, {(difference > 0).sum()} of {len(own)} ahead"
                p = f"{stats.ttest_1samp(difference, 0).pvalue:.2g}"
            cells = [f"{each:.3f}" for each in (*errors, np.mean(errors))]
            rows.append([kind, f"{strength:g}", rule, *cells, f"{ndcg[rule].mean():.4f}", gain, p])
    heads = ("production", "eta", "learned from", *choices.SETS, "mean", "NDCG@10", "gain", "p")
    return ["## The curve that is learned", _text(curves), table(heads, rows)]


def _over_draws(own: Trials, name: str, other: str) -> list[str]:
    """Return the mean difference to another variant, and its p over draws."""
    difference = np.array([t[name] - t[other] for t in own.values() if {name, other} <= t.keys()])
    if name == other or not len(difference):
        return ["-", "-"]
    p = f"{stats.ttest_1samp(difference, 0).pvalue:.2g}" if len(difference) > 2 else "-"
    return [f"{difference.mean():+.4f}", p]


def _study(part: str, names: tuple[str, ...], reference: str) -> tuple[list[list[str]], str]:
    """Return a row for each variant of a study on validation queries, and what it rests on."""
    trials = load(part)["trials"]
    own = {key: trial for key, trial in trials.items() if key.split()[0] not in additive.OTHERS}
    rest = {key: trial for key, trial in trials.items() if key.split()[0] in additive.OTHERS}
    rows = []
    for name in names:
        first, second = (
            f"{np.mean([trial[name] for trial in group.values()]):.4f}" for group in (own, rest)
        )
        against = [*_against(trials, name, "naive"), *_against(trials, name, reference)]
        rows.append([name, first, f"{gap_closed(own, name):.0%}", second, *against])
    gap = np.mean([trial["clean"] - trial["naive"] for trial in rest.values()])
    return rows, f"{len(trials)} draws. On the other sets clean labels are {gap:+.4f} above naive."


def _ranking() -> list[str]:
    trials = load("ranking")["trials"]
    found = ["## Ranking from simulated clicks", _text(ranking), SEEN]
    for setting in sorted({" ".join(key.split()[:2]) for key in trials}):
        own = {key.split(maxsplit=2)[2]: trial for key, trial in trials.items()
               if " ".join(key.split()[:2]) == setting}  # fmt: skip
        sets = list(dict.fromkeys(key.split()[0] for key in own))
        folds = sorted({key.split()[1] for key in own})
        names = list(dict.fromkeys(name for trial in own.values() for name in trial))
        rows = [[name, *_row(own, name, sets)] for name in names]
        heads = ["contestant", *sets, "mean of sets", "against naive", "p", "pairs, draws"]
        title = f"### {setting}" + ("" if len(folds) == 5 else f" (part: fold {', '.join(folds)})")
        found += [title, table(heads, rows), *_gap(own)]
    return found


def _row(own: Trials, name: str, sets: list[str]) -> list[str]:
    cells, means = [], []
    for each in sets:
        values = units({k: t for k, t in own.items() if k.split()[0] == each}, name)
        means.append(float(values.mean()) if len(values) else np.nan)
        cells.append(f"{means[-1]:.4f}" if len(values) else "-")
    mean = f"{np.mean(means):.4f}" if np.isfinite(means).all() else "-"
    both = {key: trial for key, trial in own.items() if {name, "naive"} <= trial.keys()}
    return [*cells, mean, *_against(own, name, "naive"), _counts(both)]


def units(own: Trials, plus: str, minus: str | None = None, also: Iterable[str] = ()) -> Numbers:
    """Return a mean over draws for each set and fold: of a contestant, or of two the difference.

    Draws that lack one of the contestants, or one of ``also``, do not count.
    """
    found: dict[tuple[str, ...], list[float]] = {}
    needed = {plus, *([] if minus is None else [minus]), *also}
    for key, trial in own.items():
        if needed <= trial.keys():
            value = trial[plus] - (0.0 if minus is None else trial[minus])
            found.setdefault(tuple(key.split()[:2]), []).append(value)
    return np.array([np.mean(values) for values in found.values()])


def _against(own: Trials, name: str, other: str) -> list[str]:
    """Return the mean difference to another contestant, and its p."""
    difference = units(own, name, other)
    if not len(difference):
        return ["-", "-"]
    if name == other or len(difference) < 3:
        return [f"{difference.mean():+.4f}", "-"]
    return [f"{difference.mean():+.4f}", f"{stats.ttest_1samp(difference, 0).pvalue:.2g}"]


def gap_closed(own: Trials, name: str, naive: str = "naive", clean: str = "clean") -> float | None:
    """Return the share of the mean gap between naive clicks and clean labels that is closed."""
    gap = units(own, clean, naive, also=[name])
    if not len(gap):
        return None
    return float(units(own, name, naive, also=[clean]).mean() / gap.mean())


def _interval(own: Trials, name: str, naive: str, clean: str) -> str:
    """Return the interval of the share: folds are drawn again within each set."""
    rng = np.random.default_rng(0)
    sets = []
    for each in dict.fromkeys(key.split()[0] for key in own):
        part = {key: trial for key, trial in own.items() if key.split()[0] == each}
        gap = units(part, clean, naive, also=[name])
        if len(gap):
            sets.append((units(part, name, naive, also=[clean]), gap))
    gains, gaps = np.zeros(4000), np.zeros(4000)
    for gain, gap in sets:
        drawn = rng.integers(0, len(gain), (4000, len(gain)))
        gains += gain[drawn].sum(axis=1)
        gaps += gap[drawn].sum(axis=1)
    low, high = np.percentile(gains / gaps, [2.5, 97.5])
    return f"{low:.0%} to {high:.0%}"


def _gap(own: Trials) -> list[str]:
    """Return a table of shares of the gap, or of losses where nothing was to be mended."""
    gap = units(own, "clean", "naive")
    if not len(gap):
        return _losses(own)
    if gap.mean() < 0.01:
        return ["There is no gap between naive clicks and clean labels to close.", *_losses(own)]
    unseen = {key: trial for key, trial in own.items() if int(key.split()[1]) in UNSEEN}
    rows = []
    for name in CORRECTED:
        for end in ends(name):
            naive, clean = f"naive{end}", f"clean{end}"
            part = {k: t for k, t in own.items() if {name, naive, clean} <= t.keys()}
            closed, fresh = (gap_closed(each, name, naive, clean) for each in (part, unseen))
            if closed is None:
                continue
            several = len({key.split()[1] for key in part}) > 1
            rows.append(
                [
                    name,
                    f"{naive} to {clean}",
                    f"{closed:.0%}",
                    _interval(part, name, naive, clean) if several else "-",
                    "-" if fresh is None else f"{fresh:.0%}",
                    *_against(part, name, naive),
                    _counts(part),
                ]
            )
    heads = ("contestant", "gap", "closed", "interval", "folds 3 to 5", "gain", "p", "pairs, draws")
    return ["Of the mean gap between naive clicks and clean labels:", table(heads, rows)]


def ends(name: str) -> list[str]:
    """Return what naive and clean ends a contestant is compared with are called after these words.

    As ``Ranker`` trains labels; with its own penalties; with its own loss and penalties.
    """
    own = " lambdamart" if name.startswith("additive") and "softmax" not in name else ""
    documents = "" if name.endswith("by rows") else " documents"
    return list(dict.fromkeys(["", documents, own + documents]))


def _losses(own: Trials) -> list[str]:
    """Return a table of differences to naive clicks, with intervals of a t test."""
    rows = []
    for name in CORRECTED:
        for end in ends(name):
            found = _loss(own, name, f"naive{end}")
            if found is not None:
                mean, *rest = found
                rows.append([name, f"naive{end}", f"{mean:+.4f}", *rest])
    if not rows:
        return []
    heads = ("contestant", "against", "gain", "95% interval", "p", "pairs, draws")
    return ["Against naive clicks:", table(heads, rows)]


def _loss(own: Trials, name: str, naive: str) -> tuple[float, str, str, str] | None:
    """Return the mean difference, the interval of a t test, its p, and pairs and draws."""
    difference = units(own, name, naive)
    if len(difference) < 5:
        return None
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    reach = stats.t.ppf(0.975, len(difference) - 1) * error
    mean = float(difference.mean())
    part = {k: t for k, t in own.items() if {name, naive} <= t.keys()}
    span = f"{mean - reach:+.4f} to {mean + reach:+.4f}"
    return mean, span, _against(own, name, naive)[1], _counts(part)


def _counts(part: Trials) -> str:
    """Return the number of sets and folds, and of draws, the latter in all."""
    return f"{len({tuple(key.split()[:2]) for key in part})}, {len(part)}"


def _logs() -> list[str]:
    found = ["## Real logs", _text(logs)]
    for name, trial in load("logs")["trials"].items():
        rows = []
        for method, curve in trial["curves"].items():
            values = [
                f"{v:.2f}" + ("*" if filled else f" ({_short(low)}-{_short(high)})")
                for v, low, high, filled in zip(
                    curve["values"], curve["lower"], curve["upper"], curve["interpolated"],
                    strict=True,
                )
            ]  # fmt: skip
            rows.append([method, *values])
        heads = ["method", *map(str, next(iter(trial["curves"].values()))["positions"])]
        likelihood = ", ".join(f"{key} {value:.4f}" for key, value in trial["likelihood"].items())
        found += [
            f"### {name}",
            f"`{trial['log']}`, {trial['shared']} items at two or more positions. Cut off: "
            f"{trial['cut off'] or 'none'}. * = interpolated, ∞ = beyond 10, not told by the log.",
            table(heads, rows),
            f"Mean log-likelihood per held-out impression: {likelihood}.",
        ]
    return [*found, *_labels()]


def _short(value: float) -> str:
    """Return an end of an interval; beyond 10 the log does not tell it."""
    return f"{value:.2f}" if value < 10 else "∞"


def _labels() -> list[str]:
    judged = load("logs").get("labels")
    if not judged:
        return []
    queries = next(iter(judged.values()))["queries"]
    rows = [
        [name, f"{each['ndcg@10']:.4f}", "-" if name == "no position" else f"{each['p']:.2g}"]
        for name, each in judged.items()
    ]
    heads = ("ranked by clicks per look, looks by", "NDCG@10", "p against no position")
    return [f"### {logs.LABELLED}: {queries} queries with human labels", table(heads, rows)]
