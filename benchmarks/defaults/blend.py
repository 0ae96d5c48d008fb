"""How should several cross-fitted settings be blended? Compares blending rules on kept scores.

    python -m defaults.blend FOLDER --data FOLDER --members C X B

Weights are chosen on held-out scores of training rows alone, and judged on the validation part.
"""

import argparse
import os
from pathlib import Path

import numpy as np
from comparison.sets import SETS, load_fold

from defaults.crossfit import Measure
from defaults.report import load


def within_query(scores: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return scores centred within queries, and the standard deviation of each query."""
    edges = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    centred = scores - np.repeat(np.add.reduceat(scores, edges) / sizes, sizes)
    return centred, np.sqrt(np.add.reduceat(centred**2, edges) / sizes)


def per_query_scale(scores: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return z-scores within queries."""
    centred, spread = within_query(scores, sizes)
    return centred / np.repeat(np.where(spread > 1e-12, spread, 1.0), sizes)


def one_scale(held_out: np.ndarray, sizes: np.ndarray) -> float:
    """Return the root mean square of held-out scores, centred within queries."""
    return float(np.sqrt(np.mean(within_query(held_out, sizes)[0] ** 2))) or 1.0


def equal(held_out, measure):
    return np.ones(len(held_out))


def greedy(held_out, measure, rounds=12, first=0.0):
    """Return how often each member is chosen, plus ``first``."""
    weights = np.full(len(held_out), first)
    total = weights @ held_out
    for _ in range(rounds):
        values = [np.nanmean(measure(total + row)[1]) for row in held_out]
        best = int(np.argmax(values))
        weights[best] += 1
        total = total + held_out[best]
    return weights


def greedy_from_equal(held_out, measure):
    return greedy(held_out, measure, rounds=2 * len(held_out), first=1.0)


def greedy_from_two(held_out, measure):
    return greedy(held_out, measure, rounds=2 * len(held_out), first=2.0)


def by_evidence(held_out, measure, steepness=0.5):
    """Return weights that fall with how surely a member is worse than the best one."""
    values = np.array([measure(row)[1] for row in held_out])
    best = np.nanmean(values, axis=1).argmax()
    lost = values[best] - values
    lost = lost[:, ~np.isnan(lost[0])]
    error = np.maximum(lost.std(axis=1, ddof=1) / np.sqrt(lost.shape[1]), 1e-12)
    return np.exp(-steepness * (np.maximum(lost.mean(axis=1), 0) / error) ** 2)


def by_evidence_mild(held_out, measure):
    return by_evidence(held_out, measure, 0.125)


def best_alone(held_out, measure):
    values = [np.nanmean(measure(row)[1]) for row in held_out]
    return np.eye(len(held_out))[int(np.argmax(values))]


def towards_greedy(held_out, measure, errors=1.0, target=None):
    """Return the weights nearest to equal ones that are not surely worse than the best ones.

    Candidates lie on the way from equal weights to those of the greedy choice, in tenths.
    """
    target = greedy(held_out, measure) if target is None else target
    target, n = target / target.sum(), len(held_out)
    way = [(1 - a) / n + a * target for a in np.linspace(0, 1, 11)]
    values = np.array([measure(weights @ held_out)[1] for weights in way])
    values = values[:, ~np.isnan(values[0])]
    lost = values[values.mean(axis=1).argmax()] - values
    error = lost.std(axis=1, ddof=1) / np.sqrt(lost.shape[1])
    return way[int(np.argmax(lost.mean(axis=1) <= errors * error + 1e-12))]


def towards_greedy_half(held_out, measure):
    return towards_greedy(held_out, measure, 0.5)


def mean_of_way(held_out, measure):
    """Return the mean of all weights on the way, by how surely each is worse than the best."""
    target = greedy(held_out, measure)
    target, n = target / target.sum(), len(held_out)
    way = np.array([(1 - a) / n + a * target for a in np.linspace(0, 1, 11)])
    values = np.array([measure(weights @ held_out)[1] for weights in way])
    values = values[:, ~np.isnan(values[0])]
    lost = values[values.mean(axis=1).argmax()] - values
    error = np.maximum(lost.std(axis=1, ddof=1) / np.sqrt(lost.shape[1]), 1e-12)
    return np.exp(-0.5 * (lost.mean(axis=1) / error) ** 2) @ way


RULES = {
    f.__name__: f
    for f in (
        equal,
        best_alone,
        greedy,
        greedy_from_equal,
        greedy_from_two,
        by_evidence,
        by_evidence_mild,
        towards_greedy,
        towards_greedy_half,
        mean_of_way,
    )
}


def main() -> None:
    """Print the value of every rule, by set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, default=os.environ.get("GBRANK_DATA"))
    parser.add_argument("--members", nargs="+", default=["C", "X", "B"])
    parser.add_argument("--stop", default="pooled 10 w1")
    parser.add_argument("--z", action="store_true", help="also with z-scores of each query")
    options = parser.parse_args()
    # a member is a candidate, or candidate@rule
    names, rules = zip(
        *((f"{m}@{options.stop}".split("@"))[:2] for m in options.members), strict=True
    )
    trainings = load(options.folder, set(names))
    keys = [k for k in trainings if k[3] == names[0]]
    keys = [k for k in keys if all((*k[:3], m) in trainings for m in names)]
    results: dict = {}
    for name, number, noise, _ in keys:
        fold = load_fold(Path(options.data), name, number, noise)
        clean = load_fold(Path(options.data), name, number).valid
        sizes, judged_sizes = fold.train.sizes, clean.sizes
        inner = Measure(fold.train.y, sizes, ("ndcg@5", "ndcg@10"))
        outer = Measure(clean.y, judged_sizes, ("ndcg@5", "ndcg@10"))
        members = [trainings[name, number, noise, m] for m in names]
        places = [m["rules"].tolist().index(r) for m, r in zip(members, rules, strict=True)]
        held_out = np.array([m["held_out"][p] for m, p in zip(members, places, strict=True)])
        judged = np.array([m["judged"][p] for m, p in zip(members, places, strict=True)])
        held_out, judged = held_out.astype(np.float64), judged.astype(np.float64)
        scales = np.array([one_scale(row, sizes) for row in held_out])[:, None]
        kinds = {"": (held_out / scales, judged / scales)}
        if options.z:
            kinds["z "] = (
                np.array([per_query_scale(row, sizes) for row in held_out]),
                np.array([per_query_scale(row, judged_sizes) for row in judged]),
            )
        for member, scores in zip(options.members, judged, strict=True):
            both = np.nanmean(outer(scores), axis=1)
            results.setdefault((noise, f"[{member}]"), {}).setdefault(name, []).append(both)
        for kind, (inside, outside) in kinds.items():
            for rule, choose in RULES.items():
                both = np.nanmean(outer(choose(inside, inner) @ outside), axis=1)
                results.setdefault((noise, kind + rule), {}).setdefault(name, []).append(both)
    print("rule".ljust(24), *[name[:9].rjust(13) for name in SETS], "mean".rjust(13))
    for noise in sorted({key[0] for key in results}):
        print("noise", noise, "NDCG@5 / NDCG@10")
        for (level, rule), by_set in results.items():
            if level == noise:
                means = [np.mean(by_set.get(n, [[np.nan] * 2]), axis=0) for n in SETS]
                line = [f"{a:.4f} {b:.4f}" for a, b in [*means, np.nanmean(means, axis=0)]]
                print(rule.ljust(24), *line)


if __name__ == "__main__":
    main()
