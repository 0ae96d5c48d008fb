"""Write ``results/diagnosis.md`` from ``results/diagnosis.json``: nothing is trained."""

import json
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"


def table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def coverage(kept: dict[str, Any]) -> str:
    rows = [
        [
            name,
            f"{c['mean']:.1%}",
            f"{c['lowest']:.0%}",
            f"{c['document_noise']:.0%}",
            f"{c['called_identified']:.0%}",
        ]
        for name, c in kept.items()
    ]
    runs = next(iter(kept.values()))["runs"]
    heads = ["noise", "entries covered, mean", "worst entry", "document noise", "called identified"]
    return (
        f"## Intervals of the confusion matrix\n\n{runs} synthetic sets a line, 150 queries of 20 "
        "documents, half of which show their grade. Share of the 95% intervals that hold the "
        "truth. The estimator was adjusted on seeds 0 to 99 (its intervals were too narrow at "
        "first, 88% for the worst entry, and are now a quarter wider than binomial ones); these "
        f"are seeds 1000 and up, which it had not seen.\n\n{table(heads, rows)}\n"
    )


def errors(kept: dict[str, Any]) -> str:
    rows = [
        [
            name,
            f"{e['queries']}",
            f"{e['share']:.3f}",
            f"{e['average_precision_of_chance']:.3f} "
            f"({e['average_precision_of_chance'] / e['share']:.1f} times)",
            f"{e['average_precision_of_change']:.3f} "
            f"({e['average_precision_of_change'] / e['share']:.1f} times)",
            f"{e['wrong_among_first_2_percent']:.0%}",
        ]
        for name, e in kept.items()
    ]
    heads = [
        "data", "queries", "share of errors", "average precision, by chance of being wrong",
        "by change of the metric", "wrong among the first 2%",
    ]  # fmt: skip
    seeds = next(iter(kept.values()))["seeds"]
    return (
        f"## Label errors that were put in\n\n10% of the labels replaced by another grade, {seeds} "
        "draws. The labels that a set comes with count as right, though some are not.\n\n"
        f"{table(heads, rows)}\n"
    )


NOISES = {
    "promoted": "grade 0 becomes the best in 30% of the cases, as with self-promotion",
    "overlooked": "the best grade becomes 0 in 60% and grade 0 the best in 10% of the cases",
}


def _with_anchors(mine: dict[str, dict[str, Any]]) -> str:
    """Say what the estimated matrix brings back where there was one to estimate."""
    with_some = [c for c in mine.values() if np.any(c["identified"])]
    if len(with_some) in (0, len(mine)):
        return ""
    sums = {n: sum(c[n] for c in with_some) for n in ("clean", "noisy", "estimated matrix")}
    share = (sums["estimated matrix"] - sums["noisy"]) / (sums["clean"] - sums["noisy"])
    return f" ({share:+.1%} on the {len(with_some)} sets where some column had anchors)"


def corrected(kept: dict[str, Any]) -> str:
    names = ("clean", "bias", "noisy", "true matrix", "estimated matrix")
    parts = []
    for kind, what in NOISES.items():
        rows, said = [], []
        for loss in ("Squared", "KL"):
            mine = {p: c for p, c in kept.items() if p.startswith(kind) and p.endswith(loss)}
            for place, c in mine.items():
                cells = (f"{c[name]:.4f}" for name in names)
                rows.append([place.partition(" ")[2], *cells, f"{c['variance']:.1f}"])
            means = {name: float(np.mean([c[name] for c in mine.values()])) for name in names}
            rows.append([f"mean, {loss}", *(f"{means[name]:.4f}" for name in names), ""])
            lost = means["clean"] - means["noisy"]
            by_bias = (means["clean"] - means["bias"]) / lost
            back = [(means[name] - means["noisy"]) / lost for name in names[3:]]
            said.append(
                f"`{loss}(norm=None)`: noise took {lost:.4f}, bias alone takes {by_bias:.0%} of "
                f"that; the true matrix brings back {back[0]:+.1%}, the estimated one "
                f"{back[1]:+.1%}{_with_anchors(mine)}."
            )
        heads = ["data and loss", *names, "factor of variance"]
        parts.append(f"Noise: {what}.\n\n{table(heads, rows)}\n\n{' '.join(said)}\n")
    first = next(iter(kept.values()))
    return (
        f"## Corrected gains\n\n{first['folds']} splits of up to {first['queries']} queries a set, "
        "NDCG@10 of clean test queries. `bias`: clean labels, each with the gain that its noisy "
        "label has in expectation: what noise takes by bias alone. Corrected gains have no bias: "
        "what they lack is variance. Of the estimated matrix only columns that had anchors are "
        "used; where none had, it corrects nothing. The first matrix was chosen on other sets "
        "(table_www2018, trec_object_runs, f1_races, target_types_sigir2017), where bias takes a "
        "large part, and for it these four were looked at once.\n\n"
        + "\n".join(parts)
        + "\nWhy it is not more. What noise takes by variance no gains bring back; corrected ones "
        "add to it, by the factor in the tables, and the squared loss, which fits every gain, "
        "pays for that more than `KL`. An estimated matrix has the columns that had anchors and no "
        "others: MSLR_merged has none, its gains stay as they were, and nothing comes back there. "
        "Several judgments of some documents would give the matrix without anchors.\n"
    )


def recommendations(kept: dict[str, Any]) -> str:
    sets = kept["sets"]
    rows = []
    for default in sets[0]["quality"]:
        gains = np.array([s["quality"][s["chosen"][default]] - s["quality"][default] for s in sets])
        error = gains.std(ddof=1) / np.sqrt(len(gains))
        left = sum(s["chosen"][default] != default for s in sets)
        worse = sum(gains < 0)
        wins = [s for s in sets if s["winner"][default] is not None]
        found = [s for s in wins if s["chosen"][default] != default]
        there = [s["quality"][s["chosen"][default]] - s["quality"][default] for s in wins]
        most = [s["quality"][s["winner"][default]] - s["quality"][default] for s in wins]
        rows.append(
            [
                f"`{default}`", f"{gains.mean():+.4f} ± {error:.4f}", f"{left} ({worse})",
                f"{len(wins)}", f"{len(found)}" if wins else "-",
                f"{np.mean(there):+.4f}" if wins else "-", f"{np.mean(most):+.4f}" if wins else "-",
            ]
        )  # fmt: skip
    heads = [
        "default",
        "recommended minus default",
        "sets where it was left (and that was worse)",
        "sets with a true winner",
        "left there",
        "gain there",
        "gain of the winner",
    ]
    synthetic = [s for s in sets if s["data"] == "synthetic"]
    return (
        f"## Recommendations\n\n{len(sets)} sets of about 90 training queries, {len(synthetic)} "
        f"of them synthetic with {synthetic[0]['test_queries']:,} test queries, with no noise, "
        "labels replaced, missing positives, a careless judge and underrated labels (40% each). "
        "`diagnose` compares losses with a default, the first that is named; here each of the five "
        "is that in turn, as if a user had begun with it. The recommended loss against always "
        "taking the default, on clean test queries, with standard errors over sets. One loss truly "
        "wins where it is better by more than .02 on test queries and by more than three standard "
        "errors over them: what the test has to find.\n\n"
        f"{table(heads, rows)}\n\n"
        f"Draws {kept['first']} and up. On draws 0 to 29, with 60 test queries a set, `xendcg` as "
        "the only default and the same code, the gain was -0.0004 ± 0.0004. Losses next to each "
        "other in quality differ by less than 90 queries can show: the test then stays with the "
        "default and says how many queries it would take.\n"
    )


def write_page() -> None:
    """Write the page from what is there."""
    kept = json.loads((RESULTS / "diagnosis.json").read_text(encoding="utf-8"))
    parts = [
        function(kept[function.__name__])
        for function in (coverage, errors, corrected, recommendations)
        if function.__name__ in kept
    ]
    facts = ", ".join(f"{key} {value}" for key, value in kept["provenance"].items())
    head = (
        "# Does the diagnosis of labels tell the truth?\n\nNoise is known here, and what "
        "`gbrank.noise.diagnose` finds of it is compared with that. Written by "
        "`benchmarks/diagnosis.py`.\n"
    )
    text = "\n".join([head, *parts, f"Run with. {facts}\n"])
    (RESULTS / "diagnosis.md").write_text(text, encoding="utf-8")
