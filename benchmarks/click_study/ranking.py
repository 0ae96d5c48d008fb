"""Ranking learned from simulated clicks: naive, corrected and with clean labels, on real data sets.

A weak production ranker, linear and fitted to ten training queries, shows its first ten documents
of each training query in many lists; noise of 0.4 times the spread of its scores moves documents
about. Users click by one of three models of known strength. Every contestant then trains the same
trees on the same lists, and is judged by NDCG@10 with the clean labels of the test queries.

- position-based: looks at rank k with probability ``k ** -eta``;
- averaged: the same, each list shown to ten users, labels being the share of them that clicked: as
  biased, with a tenth of the variance;
- cascade: reads on after a document without a click, and with probability 1 - strength after a
  click;
- trust: position-based with eta = 1, and clicks what is not relevant at rank k with probability
  ``strength / k``.

A document of grade r is relevant to a user with probability ``.1 + .9 (2^r - 1) / (2^max - 1)``.

All train ``ClickSoftmax`` on clicks or on the probabilities above ("clean"), but "additive", which
is what ``unbiased="additive"`` trains when no loss is named, a bias beside ``LambdaMART``, learned
from documents seen at several positions; "additive softmax" is the same beside ``ClickSoftmax``,
"additive lightgbm" has the bias by LightGBM's rule, "naive" and "clean lambdamart" are its own
ends. "ips all_pairs" is ``unbiased="ips"`` as it comes, with propensities estimated from the log,
"ips true" with those that clicks were drawn with, "ips wrong" with those of eta + 1; "unclipped"
divides by propensities below 0.2 too.

Penalties count documents in what ``unbiased=`` trains. "By rows": they count rows, as they do
without ``unbiased``, which was all there was at first; the bias is then LightGBM's, and nothing is
clipped. "Documents": clicks or clean labels as they are, but penalties that count documents.

A draw has a production ranker, lists and clicks of its own. Draws of a set and fold are averaged
before anything is compared, so that a pair is a set and a fold.
"""

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from common.real_data import load_fold

from click_study.store import load, save
from gbrank import ClickSoftmax, DualSoftmax, LambdaMART, PositionBias, Ranker
from gbrank.boosting import counted_in_rows, resolve_preset
from gbrank.clicks import ClickLog, Propensities, estimate_propensities, ips_labels
from gbrank.core import count_distinct_rows
from gbrank.data import RankingData
from gbrank.linear import LinearRanker
from gbrank.metrics import ndcg_score

#: The sets of the ranking; the choice of the additive model has three more.
FOUR = ("MQ2008", "MQ2007_partial", "OHSUMED_QLN", "target_types_sigir2017")
#: Lists shown of each training query.
SETS = {"MQ2008": 60, "MQ2007_partial": 30, "OHSUMED_QLN": 400, "target_types_sigir2017": 90,
        "f1_races": 40, "trec_object_runs": 150, "table_www2018": 400}  # fmt: skip
SHOWN = 10
#: Training queries that the production ranker is fitted to.
KNOWN = 10
#: Spread of the noise that moves documents about, by that of the scores within a query.
NOISE = 0.4
#: Users of a list whose clicks are averaged, in the model of that name.
USERS = 10
MODELS = {
    "position": (0.0, 0.5, 1.0, 2.0),
    "averaged": (1.0,),
    "cascade": (0.3, 0.6, 0.9),
    "trust": (0.2, 0.4, 0.65),
}
TREES = {"n_estimators": 60, "num_leaves": 15, "learning_rate": 0.1, "n_jobs": 1}
#: Draws up to this one belong to the studies on validation queries.
OWN_DRAWS = 100
OTHER_ESTIMATORS = ("pivot", "neighbours", "em")


def relevance(grades: np.ndarray) -> np.ndarray:
    """Return the probability that a document of each grade is relevant to a user."""
    top = min(float(grades.max()), 5.0)
    return 0.1 + 0.9 * (2.0 ** np.minimum(grades, 5.0) - 1) / (2.0**top - 1)


def show(
    train: RankingData, lists: int, rng: np.random.Generator, known: int = KNOWN
) -> np.ndarray:
    """Return the rows that are shown, a list a row of the matrix; -1 where a list is shorter."""
    queries = rng.permutation(train.n_queries)
    some = train.take(np.sort(queries[:known]))
    while len(np.unique(some.y)) < 2:
        queries = rng.permutation(train.n_queries)
        some = train.take(np.sort(queries[:known]))
    scores = LinearRanker().fit(some.X, some.y, qid=some.qid).predict(train.X)
    shown = []
    for first, last in zip(train.layout.bounds[:-1], train.layout.bounds[1:], strict=True):
        own = scores[first:last]
        noise = rng.gumbel(size=(lists, last - first)) * NOISE * max(float(own.std()), 1e-9)
        order = np.argsort(-(own + noise), axis=1)[:, :SHOWN] + first
        padding = np.full((lists, SHOWN - order.shape[1]), -1)
        shown.append(np.concatenate((order, padding), axis=1))
    return np.concatenate(shown)


def click(model: str, strength: float, chance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return who clicks what; ``chance`` is 0 where nothing is shown."""
    rank = np.arange(1, SHOWN + 1)
    if model == "position":
        return rng.random(chance.shape) < rank**-strength * chance
    if model == "averaged":
        return rng.binomial(USERS, rank**-strength * chance) / USERS
    if model == "trust":
        believed = np.where(chance > 0, chance + (1 - chance) * strength / rank, 0)
        return rng.random(chance.shape) < believed / rank
    clicks = rng.random(chance.shape) < chance
    leaves = clicks & (rng.random(chance.shape) < strength)
    before = np.cumsum(leaves, axis=1) - leaves
    return clicks & (before == 0)


class Lists:
    """The lists of one set and fold, with clicks."""

    def __init__(
        self,
        folder: Path,
        name: str,
        fold: int,
        model: str,
        strength: float,
        *,
        draw: int = 0,
        judged_by: str = "test",
        known: int = KNOWN,
    ) -> None:
        train, valid, test = load_fold(folder, name, fold)
        self.judge = test if judged_by == "test" else valid
        rng = np.random.default_rng(100 * fold + 7 if draw == 0 else (draw, fold))
        train = train.take(np.arange(train.n_queries))
        shown = show(train, SETS[name], rng, known)
        filled = shown >= 0
        chance = np.where(filled, relevance(train.y)[shown], 0.0)
        clicks = click(model, strength, chance, rng)
        self.documents = rows = shown[filled]
        self.X, self.clicks = train.X[rows], clicks[filled].astype(float)
        self.clean = chance[filled]
        self.lists = np.repeat(np.arange(len(shown)), filled.sum(axis=1))
        self.position = np.broadcast_to(np.arange(1, SHOWN + 1), shown.shape)[filled]
        users = USERS if model == "averaged" else 1
        self.log = ClickLog(
            np.asarray(train.qid)[rows],
            rows,
            self.position,
            np.rint(users * self.clicks),
            impressions=np.full(len(rows), users),
        )
        self.longest = int(self.position.max())
        self.copies = len(self.X) / count_distinct_rows(self.X)

    def fit(
        self,
        objective: object,
        y: np.ndarray,
        *,
        trees: int | None = None,
        documents: bool = False,
        **clicks: object,
    ) -> float:
        """Return NDCG@10 on the clean labels of the queries that judge.

        With ``documents`` penalties count these; ``unbiased`` does so by itself.
        """
        settings = TREES if trees is None else {**TREES, "n_estimators": trees}
        ranker = Ranker(objective, preset="fast", start="zero", **settings)
        if documents:
            ranker.set_params(**self.counting())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ranker.fit(self.X, y, qid=self.lists, **clicks)
        return self.judged(ranker)

    def judged(self, ranker: Ranker) -> float:
        """Return NDCG@10 on the clean labels of the queries that judge."""
        on = self.judge
        return round(float(ndcg_score(on.y, ranker.predict(on.X), qid=on.qid, k=10)), 5)

    def counting(self) -> dict[str, float]:
        """Return penalties that count documents."""
        usual = Ranker(preset="fast", **TREES).get_params()
        return counted_in_rows(resolve_preset(usual), self.copies)

    def beside(self, objective: PositionBias) -> float:
        """Return the same of clicks with a bias that is learned by LightGBM's rule."""
        return self.fit(objective, self.clicks, documents=True, position=self.position)

    def ips(self, propensities: Propensities, clip: float | None = None) -> float:
        """Return the same of clicks divided by propensities."""
        return self.fit(
            ClickSoftmax(),
            self.clicks,
            position=self.position,
            propensity=propensities,
            unbiased="ips",
            clip=clip,
        )

    def ips_by_rows(self, propensities: Propensities) -> float:
        """Return the same with penalties that count rows."""
        return self.fit(ClickSoftmax(), ips_labels(self.clicks, self.position, propensities))

    def estimated(self, method: str) -> Propensities:
        """Return propensities of the log, cut-off positions filled in."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return estimate_propensities(
                self.log, method, n_bootstrap=0, unconnected="interpolate", monotone=True
            )

    def curve(self, eta: float) -> Propensities:
        """Return propensities that fall as a power of the rank."""
        ranks = np.arange(1, self.longest + 1)
        return Propensities(ranks, ranks**-eta)


def contestants(model: str, strength: float) -> dict[str, Callable[[Lists], float]]:
    """Return what is trained, by name."""
    found: dict[str, Callable[[Lists], float]] = {
        "clean": lambda d: d.fit(ClickSoftmax(), d.clean),
        "naive": lambda d: d.fit(ClickSoftmax(), d.clicks),
        "ips all_pairs": lambda d: d.ips(d.estimated("all_pairs")),
        "additive": lambda d: d.fit(None, d.clicks, position=d.position, unbiased="additive"),
        "dual": lambda d: d.fit(None, d.clicks, position=d.position, unbiased="dual"),
        "clean documents": lambda d: d.fit(ClickSoftmax(), d.clean, documents=True),
        "naive documents": lambda d: d.fit(ClickSoftmax(), d.clicks, documents=True),
        "clean lambdamart documents": lambda d: d.fit(LambdaMART(), d.clean, documents=True),
        "naive lambdamart documents": lambda d: d.fit(LambdaMART(), d.clicks, documents=True),
        "ips all_pairs unclipped": lambda d: d.ips(d.estimated("all_pairs"), clip=0.0),
        "additive lightgbm": lambda d: d.beside(PositionBias(LambdaMART())),
        "ips all_pairs by rows": lambda d: d.ips_by_rows(d.estimated("all_pairs")),
        "additive by rows": lambda d: d.fit(
            PositionBias(LambdaMART()), d.clicks, position=d.position
        ),
        "additive softmax": lambda d: d.fit(
            ClickSoftmax(), d.clicks, position=d.position, unbiased="additive"
        ),
        "additive softmax by rows": lambda d: d.fit(
            PositionBias(ClickSoftmax()), d.clicks, position=d.position
        ),
        "dual by rows": lambda d: d.fit(DualSoftmax(), d.clicks, position=d.position),
        "clean lambdamart": lambda d: d.fit(LambdaMART(), d.clean),
        "naive lambdamart": lambda d: d.fit(LambdaMART(), d.clicks),
    }
    if model == "position":
        found["ips true"] = lambda d: d.ips(d.curve(strength))
        found["ips true unclipped"] = lambda d: d.ips(d.curve(strength), clip=0.0)
        found["ips true by rows"] = lambda d: d.ips_by_rows(d.curve(strength))
        found["ips wrong"] = lambda d: d.ips(d.curve(strength + 1.0))
    for method in OTHER_ESTIMATORS:
        found[f"ips {method}"] = lambda d, method=method: d.ips(d.estimated(method))
    return found


def run(folder: Path, names: list[str], folds: list[int], model: str, strength: float,
        only: list[str] | None = None, draw: int = 0) -> None:  # fmt: skip
    """Measure what is missing of one click model at one strength, in one draw."""
    found = load("ranking")
    for fold in folds:
        for name in names:
            key = f"{model} {strength:g} {name} {fold}" + (f" {draw}" if draw else "")
            trial = found["trials"].setdefault(key, {})
            wanted = contestants(model, strength)
            missing = [each for each in only or wanted if each not in trial and each in wanted]
            if not missing:
                continue
            data = Lists(folder, name, fold, model, strength, draw=draw and draw + OWN_DRAWS)
            for each in missing:
                known = _clean_elsewhere(found["trials"], name, fold, draw, each)
                trial[each] = wanted[each](data) if known is None else known
            save("ranking", found)


def _clean_elsewhere(
    trials: dict[str, dict[str, float]], name: str, fold: int, draw: int, each: str
) -> float | None:
    """Return what clean labels gave with another click model: lists and labels are the same."""
    end = f" {name} {fold}" + (f" {draw}" if draw else "")
    found = [t[each] for key, t in trials.items() if key.endswith(end) and each in t]
    return found[0] if found and each.startswith("clean") else None
