"""What noise costs each loss on these data: known extra noise, cross-validation, and back to none.

SIMEX, simulation and extrapolation: labels of training queries get extra noise at several levels,
a loss is trained on them and judged by the labels of held-out queries as they are. A line through
the levels, followed back beyond the labels as they are, says what training on clean labels would
give. Held-out labels stay noisy, so that differences between losses are seen through that noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gbrank.core import FloatArray, RankingData, query_folds
from gbrank.metrics import Metric, bootstrap_intervals, evaluate, holm, sign_flip_test
from gbrank.noise.contestants import parse_objective, ranker_options
from gbrank.ranker import Ranker
from gbrank.simulate import perturb_labels
from gbrank.theory import required_queries

RESAMPLES = 2_000


@dataclass(frozen=True)
class Sensitivity:
    """One loss at several levels of extra noise.

    Attributes
    ----------
    objective : str
    levels : tuple of float
        Share of the labels that were replaced on top of the noise that is there.
    means : list of float
        The metric of held-out queries at each level.
    intervals : list of tuple
        95% intervals over queries.
    lost : tuple of float
        How much the metric falls from no extra noise to the highest level: mean, low, high.
    clean : tuple of float
        Extrapolated to labels without noise: estimate, low, high.
    values : ndarray of shape (n_levels, n_queries)
        The metric of every query that counts.
    """

    objective: str
    levels: tuple[float, ...]
    means: list[float]
    intervals: list[tuple[float, float]]
    lost: tuple[float, float, float]
    clean: tuple[float, float, float]
    values: FloatArray = field(repr=False)


@dataclass(frozen=True)
class Recommendation:
    """Which loss to take, and how sure that is.

    Attributes
    ----------
    objective : str
        The loss to take: the default unless another one is significantly better.
    default : str
        What others are compared with.
    comparisons : list of dict
        Each other loss against the default: "objective", "difference", "low", "high", "p",
        "p_holm" (random permutation test over queries, corrected by Holm's method) and
        "required_queries", how many queries it takes to see such a difference with power 80%.
    text : str
        The same in words.
    """

    objective: str
    default: str
    comparisons: list[dict[str, Any]]
    text: str


def measure_sensitivity(
    data: RankingData,
    objectives: Sequence[str],
    metric: Metric,
    *,
    levels: Sequence[float],
    noise: float,
    n_folds: int,
    random_state: int,
    n_estimators: int,
) -> list[Sensitivity]:
    """Train each loss at each level, cross-validated over whole queries.

    Parameters
    ----------
    data : rows of a query together, ``X`` an array.
    objectives : names of losses.
    metric : the metric.
    levels : shares of labels to replace, the first one 0.
    noise : estimated share of labels that are wrong already.
    n_folds : number of folds.
    random_state : seed.
    n_estimators : trees of each booster.
    """
    folds = list(
        query_folds(
            data.layout, data.y, n_folds, shuffle=True, stratify="relevant", seed=random_state
        )
    )
    shares = np.bincount(data.y.astype(np.int64)) / data.n_rows
    found = []
    for name in objectives:
        per_level = []
        for number, level in enumerate(levels):
            scores = np.zeros(data.n_rows)
            for train, test in folds:
                part = data.take_rows(train)
                noisy = perturb_labels(part.y, part.qid, level, shares, random_state=random_state)
                ranker = _ranker(name, n_estimators, random_state + number)
                ranker.fit(part.X, noisy, qid=part.qid)
                scores[test] = ranker.predict(data.X[test], qid=data.qid[test])
            table = evaluate(
                data.y, {name: scores}, qid=data.qid, metrics={"m": metric}, per_query=True,
                n_jobs=1,
            )  # fmt: skip
            per_level.append(table["m"][0])
        values = np.array(per_level)
        values = values[:, ~np.isnan(values[0])]
        found.append(_summarise(name, tuple(levels), values, noise, random_state))
    return found


def _ranker(name: str, n_estimators: int, seed: int) -> Ranker:
    parsed = parse_objective(name)
    if parsed.family == "Ranker":
        whole = Ranker(random_state=seed, n_jobs=1)
        whole.set_params(**ranker_options(parsed.options))
        return whole
    loss = parsed.make(seed)
    return Ranker(loss, preset="fast", n_estimators=n_estimators, random_state=seed, n_jobs=1)


def _summarise(
    name: str, levels: tuple[float, ...], values: FloatArray, noise: float, seed: int
) -> Sensitivity:
    rng = np.random.default_rng(seed)
    n = values.shape[1]
    weights = rng.multinomial(n, np.full(n, 1.0 / n), RESAMPLES) / n
    means = values.mean(axis=1)
    drawn = weights @ values.T
    clean = float(extrapolate(np.array(levels), means[None], noise)[0])
    low, high = np.quantile(extrapolate(np.array(levels), drawn, noise), [0.025, 0.975])
    lost_low, lost_high = np.quantile(drawn[:, 0] - drawn[:, -1], [0.025, 0.975])
    return Sensitivity(
        name,
        levels,
        means.tolist(),
        bootstrap_intervals(values, 0.95, RESAMPLES, seed),
        (float(means[0] - means[-1]), float(lost_low), float(lost_high)),
        (clean, float(low), float(high)),
        values,
    )


def extrapolate(levels: FloatArray, means: FloatArray, noise: float) -> FloatArray:
    """Return the metric where there is no noise at all, of curves by row.

    Replacing a share e on top of a share n leaves ``(1 - n) (1 - e)`` of the labels, which is 1 at
    ``e = -n / (1 - n)``. A line is drawn through the levels: a parabola would follow their noise.
    """
    where = -noise / max(1.0 - noise, 0.1)
    design = np.stack([np.ones(len(levels)), levels], axis=1)
    coefficients = np.linalg.lstsq(design, means.T, rcond=None)[0]
    found: FloatArray = coefficients[0] + coefficients[1] * where
    return found


def recommend(
    found: Sequence[Sensitivity], default: str, alpha: float = 0.05, random_state: int = 0
) -> Recommendation:
    """Compare each loss with the default on labels as they are, query by query.

    Parameters
    ----------
    found : what :func:`measure_sensitivity` returned.
    default : name of the default among them.
    alpha : level of the test.
    random_state : seed of the permutation test.
    """
    base = next(each for each in found if each.objective == default).values[0]
    comparisons: list[dict[str, Any]] = []
    for each in found:
        if each.objective == default:
            continue
        difference = each.values[0] - base
        (low, high), *_ = bootstrap_intervals(difference[None], 0.95, RESAMPLES, random_state)
        spread = float(difference.std(ddof=1)) if len(difference) > 1 else 0.0
        mean = float(difference.mean())
        needed = required_queries(abs(mean), std=spread) if mean and spread else None
        comparisons.append(
            {
                "objective": each.objective,
                "difference": mean,
                "low": low,
                "high": high,
                "p": sign_flip_test(difference, 9_999, random_state),
                "required_queries": needed,
            }
        )
    for entry, p in zip(comparisons, holm([c["p"] for c in comparisons]), strict=True):
        entry["p_holm"] = p
    better = [c for c in comparisons if c["p_holm"] < alpha and c["difference"] > 0]
    if better:
        best = max(better, key=lambda entry: entry["difference"])
        text = (
            f"take {best['objective']}: it ranks held-out queries better than {default} by "
            f"{best['difference']:+.4f} [{best['low']:+.4f}, {best['high']:+.4f}], "
            f"p {best['p_holm']:.2g} (Holm)"
        )
        return Recommendation(best["objective"], default, comparisons, text)
    text = f"stay with {default}: no loss is significantly better; regularise, or get more queries"
    ahead = [c for c in comparisons if c["difference"] > 0 and c["required_queries"]]
    if ahead:
        first = max(ahead, key=lambda entry: entry["difference"])
        text += (
            f": {first['objective']} is {first['difference']:+.4f} ahead, which takes about "
            f"{first['required_queries']:,} queries to be seen; there are {len(base):,}"
        )
    return Recommendation(default, default, comparisons, text)
