"""DaskRanker: the Ranker on Dask arrays and data frames."""

from __future__ import annotations

import copy
import inspect
import os
import re
from dataclasses import replace
from typing import Any, Self, TypeVar

import dask.dataframe as dd
import lightgbm as lgb
import numpy as np
from dask import compute, delayed
from distributed import default_client
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from gbrank.boosting import (
    ONE_BOOSTER,
    PRESETS,
    Boosted,
    in_lightgbm_units,
    lightgbm_params,
    linear_limits,
    make_dataset,
    mean_hessian,
)
from gbrank.core import RankingData, check_choice, check_integer
from gbrank.dask import _blocks
from gbrank.dask._cluster import FitClient
from gbrank.dask._partitions import (
    bring_together,
    check_summaries,
    make_partitions,
    summarize,
    take_drawn,
    without_features,
)
from gbrank.dask._preferences import bind_preferences, check_preferences
from gbrank.dask._queries import QueryMap, queries_of
from gbrank.dask._ranks import rank_blocks
from gbrank.dask._training import train
from gbrank.dask.metrics import ndcg_score
from gbrank.linear import LinearRanker
from gbrank.metrics import feval
from gbrank.model_selection import cv
from gbrank.objectives import Objective
from gbrank.ranker import Ranker, resolve_objective, set_trained
from gbrank.start import Start, check_start, choose_kind

#: Parameters of the Ranker for what is not done on Dask: evaluation sets, going on.
_NOT_ON_DASK = (
    "eval_metric",
    "validation_fraction",
    "warm_start",
)
_SHARED = [name for name in inspect.signature(Ranker).parameters if name not in _NOT_ON_DASK]

Estimator = TypeVar("Estimator", bound=type)


def _with_parameters_of_ranker(cls: Estimator) -> Estimator:
    """Put the Ranker's parameters into the signature of the constructor, and into the docstring.

    Those that the docstring explains itself are left out there. It says where the others go.
    """
    own = inspect.signature(cls.__init__)  # type: ignore[misc]
    itself, *others = own.parameters.values()
    theirs = inspect.signature(Ranker).parameters
    added = [each for each in others if each.kind == each.KEYWORD_ONLY]
    parameters = [itself, *(theirs[name] for name in _SHARED), *added]
    cls.__init__.__signature__ = own.replace(parameters=parameters)  # type: ignore[misc]
    if cls.__doc__ and Ranker.__doc__:  # there is none under python -OO
        text, of_ranker = inspect.cleandoc(cls.__doc__), inspect.cleandoc(Ranker.__doc__)
        section = of_ranker.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
        entries = {each.partition(" :")[0]: each for each in re.split(r"\n(?=\S)", section)}
        taken = [entries[name] for name in _SHARED if f"\n{name} :" not in text]
        cls.__doc__ = text.replace("{parameters of Ranker}", "\n".join(taken))
    return cls


@_with_parameters_of_ranker
class DaskRanker(BaseEstimator):
    """Gradient boosted trees for ranking, trained by all workers of a Dask cluster.

    Parameters and their defaults are those of :class:`gbrank.Ranker`. With one worker the model is
    that of ``Ranker(preset="fast")``, however the rows are cut into partitions, unless there are
    more rows than a start is fitted to (see ``start``). With several workers LightGBM assigns
    partitions to workers again at each fit, and sums in another order: two fits give statistically
    equal, not identical, models.

    A fit that fails leaves the ranker as it was, and nothing on the workers. If a worker dies while
    LightGBM trains, :meth:`fit` raises a ``RuntimeError`` within seconds. Workers that LightGBM
    then does not let go of are restarted; what they held in memory is computed again when it is
    needed.

    Parameters
    ----------
    {parameters of Ranker}
    preset : {"auto", "fast", "lightgbm"}, default="auto"
        One booster, as in :class:`gbrank.Ranker`: "auto" is "fast" here, and presets that hold out
        queries are an error.
    early_stopping_rounds : None, default=None
        LightGBM cannot stop early on Dask: anything but ``None`` is an error that says so. See
        :meth:`choose_n_estimators`.
    start : {"auto", "zero", "linear"}, estimator or callable, default="auto"
        Where boosting starts, as in :class:`gbrank.Ranker`. What has to be fitted is fitted on this
        machine, to all rows if there are at most 50,000, else to a sample of whole queries with
        about so many; the unit of penalties comes from the same rows.
    n_jobs : int, default=None
        Threads of the objective on each worker; ``None`` for as many as the worker has. LightGBM
        always uses those of the worker.
    verbose : int, default=-1
        -1 is silent, 0 shows LightGBM's warnings, 1 and more what else it has to say, on the
        workers.
    repartition : {"auto", "never"}, default="auto"
        What to do about queries that lie in more than one partition: bring their rows together, in
        one shuffle, or raise a ``ValueError``.
    client : distributed.Client, default=None
        The cluster; ``None`` for the current client.

    Attributes
    ----------
    local_ : Ranker
        The trained model, which :meth:`to_local` returns a copy of.
    booster_ : lightgbm.Booster
        Its trees.
    objective_ : Objective
        The objective it was trained with.
    n_features_in_ : int
        Number of features.
    feature_importances_ : array of shape (n_features,)
        How often, or with what gain, each feature is split on.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client, LocalCluster
    >>> from gbrank.dask import DaskRanker
    >>> from gbrank.data import make_ranking
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> X = da.from_array(data.X, chunks=(500, -1))  # this may cut queries
    >>> y, qid = da.from_array(data.y, chunks=500), da.from_array(data.qid, chunks=500)
    >>> with LocalCluster(
    ...     n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ... ) as cluster, Client(cluster) as client:
    ...     ranker = DaskRanker("xendcg", n_estimators=10).fit(X, y, qid=qid)
    ...     scores = ranker.predict(X)  # not computed yet
    ...     value = ranker.score(X, y, qid=qid)
    Finding random open ports for workers
    >>> scores
    dask.array<...>
    >>> value > 0.5
    True
    >>> ranker.to_local()
    Ranker(n_estimators=10, objective='xendcg', preset='fast')
    """

    local_: Ranker

    def __init__(
        self, *args: Any, repartition: str = "auto", client: Any = None, **params: Any
    ) -> None:
        own = {"repartition": repartition, "client": client}
        given = inspect.signature(DaskRanker).bind(*args, **params, **own)
        given.apply_defaults()
        for name, value in given.arguments.items():
            setattr(self, name, value)

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        init_score: Any = None,
        preferences: Any = None,
        keys: Any = None,
        position: Any = None,
    ) -> Self:
        """Train.

        Parameters
        ----------
        X : Dask array or data frame
            Features, ``(n_rows, n_features)``; rows in any order. Blocks of an array may be sparse.
        y : Dask array or series
            Relevance, finite and >= 0, whole or fractional. Not needed with ``preferences``.
        qid : Dask array or series, or str
            Query of each row, or the name of a column of ``X``.
        sample_weight : Dask array or series
            Weight of each row, which multiplies its gradient and hessian.
        init_score : Dask array or series
            Scores to start from instead of 0. They are not part of the model.
        preferences : list of Comparisons, Selections or PartialOrders
            Instead of labels: the observations of each partition of ``X``, which name rows of that
            partition in its order, keys, or positions. Every query must lie within one partition.
            All workers get all of them.
        keys : Dask array or series
            Key of each row, for preferences with ``items="key"``.
        position : not supported
            A bias of positions is learned by one machine, from all rows: an error.
        """
        local = self._local_ranker()
        preset = local.preset
        objective = resolve_objective(local)
        if position is not None or objective.needs_position:
            raise ValueError(
                "DaskRanker cannot learn a bias of positions: LightGBM's workers would each learn "
                "their own, and hand no positions on. Use Ranker, or divide clicks by propensities "
                "(gbrank.clicks.ips_labels) and give these as y, with objective=ClickSoftmax()"
            )
        X = _blocks.check_features(X)
        column = qid if isinstance(qid, str) else self.qid
        queries = _blocks.query_blocks(X, self.qid if qid is None else qid, "DaskRanker.fit")
        check_preferences(objective, preferences, X.npartitions)
        if preferences is not None:
            y = None
        elif y is None:
            raise ValueError("DaskRanker.fit requires y to be passed, but the target y is None")
        made = make_partitions(
            X, y, queries, sample_weight, init_score, column=column, objective=objective
        )
        with FitClient(default_client() if self.client is None else self.client) as client:
            partitions = client.persist(made)
            summaries = client.results([delayed(summarize)(each) for each in partitions])
            columns = check_summaries(summaries)
            found = QueryMap([each.queries for each in summaries])
            if self.repartition == "never" or preferences is not None:
                found.check_whole()
            start, unit = self._fit_start(
                client, partitions, found, columns, objective, y is not None
            )
            if objective.n_jobs is None:
                objective.set_params(n_jobs=max(1, min(client.nthreads().values(), default=1)))
            if preferences is not None:
                named = None if keys is None else _blocks.column_blocks(keys, X, "keys")
                objective = bind_preferences(client, objective, queries, preferences, named)
            ready = _ready_for_training(client, partitions, found, start)
            if preferences is not None and PRESETS[preset].in_documents:
                unit = _mean_of_partitions(client, ready, objective)
            booster = train(
                client,
                ready,
                objective,
                local.get_params(deep=False),
                unit,
                has_weight=sample_weight is not None,
                has_init_score=init_score is not None or start.kind != "zero",
            )
        set_trained(local, Boosted(booster, booster.current_iteration(), 1, {}), start)
        local.preset_, local.hessian_unit_ = preset, unit
        validate_data(local, columns, reset=True, skip_check_array=True)  # names and number
        local.qid_column_ = column
        self.local_ = local
        return self

    def predict(self, X: Any, *, num_iteration: int | None = None) -> Any:
        """Return a score for each row, not computed yet: an array, or a series with X's index.

        Parameters
        ----------
        X : features, as in :meth:`fit`; a column of query ids may be there or not.
        num_iteration : number of trees to use; ``None`` for all.
        """
        check_is_fitted(self)
        X = _blocks.check_features(X)
        column = self.local_.qid_column_
        has_column = isinstance(X, dd.DataFrame) and column is not None and column in X.columns
        if X.shape[1] - has_column != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1] - has_column} features, but DaskRanker is expecting "
                f"{self.n_features_in_}"
            )
        model = delayed(self.local_)
        blocks = [
            delayed(_predict_block)(model, block, num_iteration) for block in _blocks.blocks_of(X)
        ]
        return _blocks.like_features(blocks, X, np.float64, "score")

    def rank(self, X: Any, *, qid: Any = None) -> Any:
        """Return the rank of each row within its query, not computed yet: 1 is the best.

        Ties go by row order. Of queries that lie in more than one partition scores are brought
        together; with ``repartition="never"`` they are a ``ValueError`` when ranks are computed.

        Parameters
        ----------
        X, qid : as in :meth:`fit`.
        """
        scores = self.predict(X)
        X = _blocks.check_features(X)
        queries = _blocks.query_blocks(X, self._queries(qid), "DaskRanker.rank")
        blocks = rank_blocks(
            _blocks.blocks_of(X), _blocks.blocks_of(scores), queries, self.repartition
        )
        return _blocks.like_features(blocks, X, np.int64, "rank")

    def score(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> float:
        """Return the mean NDCG@10 over queries that have a relevant document.

        Parameters
        ----------
        X, y, qid : as in :meth:`fit`.
        sample_weight : weight of each row, constant within queries.
        """
        return ndcg_score(
            y,
            self.predict(X),
            qid=_blocks.query_column(X, self._queries(qid), "DaskRanker.score"),
            k=10,
            sample_weight=sample_weight,
            repartition=self.repartition,
        )

    def choose_n_estimators(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        sample: int = 1000,
        max_trees: int = 1000,
        early_stopping_rounds: int = 50,
        nfold: int = 5,
        metric: str = "ndcg@10",
    ) -> int:
        """Return a number of trees, chosen by cross-validation on a sample of whole queries.

        The sample is brought to this machine and :func:`gbrank.cv` stops early on it, which
        LightGBM cannot do on Dask. More queries than the sample has bear more trees: take the
        answer as a cautious one. The parameters of this ranker are used, and not changed; where it
        starts is fitted once, to the whole sample.

        Parameters
        ----------
        X, y, qid, sample_weight : as in :meth:`fit`.
        sample : int, default=1000
            Number of queries, drawn by ``random_state``; all if there are not more.
        max_trees : int, default=1000
            The most trees that are tried.
        early_stopping_rounds : int, default=50
            Stop when the metric has not improved for so many trees.
        nfold : int, default=5
            Number of folds.
        metric : str, default="ndcg@10"
            What is to be best.
        """
        for name, value, low in (
            ("sample", sample, 2),
            ("nfold", nfold, 2),
            ("max_trees", max_trees, 1),
        ):
            check_integer(name, value, low=low)
        if y is None:
            raise ValueError("DaskRanker.choose_n_estimators needs the labels y")
        local = self._local_ranker()
        params = lightgbm_params(local.get_params(deep=False))
        objective = resolve_objective(local)
        X = _blocks.check_features(X)
        queries = _blocks.query_blocks(
            X, self.qid if qid is None else qid, "DaskRanker.choose_n_estimators"
        )
        column = qid if isinstance(qid, str) else self.qid
        partitions = make_partitions(X, y, queries, sample_weight, None, column=column)
        found = QueryMap(compute(*(delayed(queries_of)(block) for block in queries)))
        drawn = compute(take_drawn(partitions, found.draw(self._seed, n_queries=sample)))[0]
        if drawn.n_rows == 0:
            raise ValueError("X must have rows, but all its partitions are empty")
        preset = PRESETS[local.preset]
        wanted = preset.members[0].start if self.start == "auto" else self.start
        start = Start.fit(
            wanted, drawn, objective, seed=self._seed, **linear_limits(params, drawn.X)
        )
        begun = start.added_to(drawn, is_training=True)
        if preset.in_documents:
            params = in_lightgbm_units(params, mean_hessian(objective, begun), self.lgb_params)
        result = cv(
            {**params, "objective": objective},
            make_dataset(begun, params),
            num_boost_round=max_trees,
            nfold=nfold,
            shuffle=True,
            feval=feval(metric),
            early_stopping_rounds=early_stopping_rounds,
            seed=self._seed,
        )
        return len(result[f"valid {metric}-mean"])

    def to_local(self) -> Ranker:
        """Return the model as a :class:`gbrank.Ranker`, which predicts the same without Dask."""
        check_is_fitted(self)
        return copy.copy(self.local_)

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write the model as :meth:`gbrank.Ranker.save_model` does; Ranker.load_model reads it.

        Parameters
        ----------
        path : the file to write; its folder must exist.
        """
        self.to_local().save_model(path)

    @property
    def booster_(self) -> lgb.Booster:
        """The trees."""
        check_is_fitted(self)
        return self.local_.booster_

    @property
    def objective_(self) -> Objective:
        """The objective that was trained with."""
        check_is_fitted(self)
        objective: Objective = self.local_.objective_
        return objective

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        check_is_fitted(self)
        return int(self.local_.n_features_in_)

    @property
    def feature_importances_(self) -> NDArray[Any]:
        """Importance of each feature: splits or gain, by ``importance_type``."""
        check_is_fitted(self)
        return self.local_.feature_importances_

    def __sklearn_clone__(self) -> Self:
        params = self.get_params(deep=False)
        copies = {
            name: clone(value, safe=False) for name, value in params.items() if name != "client"
        }
        return type(self)(**copies, client=self.client)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}  # a connection cannot be saved

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "local_")

    @property
    def _seed(self) -> int:
        return int(self.random_state or 0)

    def _queries(self, qid: Any) -> Any:
        return self.local_.qid_column_ if qid is None else qid

    def _local_ranker(self) -> Ranker:
        """Return a Ranker of these parameters, after all checks."""
        local = Ranker(**{name: getattr(self, name) for name in _SHARED})
        check_choice("repartition", self.repartition, ("auto", "never"))
        check_choice("preset", self.preset, ("auto", *PRESETS))
        local.preset = ONE_BOOSTER if self.preset == "auto" else self.preset
        if PRESETS[local.preset].n_folds > 1:
            raise ValueError(
                "preset must be 'auto', 'fast' or 'lightgbm' on Dask, whose boosters cannot be "
                f"grown in step and judged on held-out queries, got {self.preset!r}; use "
                "gbrank.Ranker"
            )
        check_start(self.start, self.lgb_params)
        if isinstance(self.start, str) and self.start == "query_linear":
            raise ValueError(
                "start='query_linear' needs all rows of a query wherever it predicts, which "
                "partitions on Dask do not have; use 'auto', 'linear' or 'zero'"
            )
        if local.early_stopping_rounds is not None:
            raise ValueError(
                "early_stopping_rounds must be None: LightGBM does not support early stopping on "
                "Dask. Use a fixed n_estimators, e.g. what DaskRanker.choose_n_estimators finds on "
                f"a sample of queries; got {local.early_stopping_rounds!r}"
            )
        lightgbm_params(local.get_params(deep=False))
        return local

    def _fit_start(
        self,
        client: FitClient,
        partitions: list[Any],
        found: QueryMap,
        columns: Any,
        objective: Objective,
        has_labels: bool,
    ) -> tuple[Start, float]:
        """Return where boosting starts and the mean hessian there, by a sample if need be."""
        preset = PRESETS[self._local_ranker().preset]
        start = preset.members[0].start if self.start == "auto" else self.start
        if isinstance(start, str):
            start = choose_kind(start, RankingData(columns, None, None), has_labels)
        needs_unit = has_labels and preset.in_documents
        if start == "zero" and not needs_unit:
            return Start(), 1.0
        if start == "zero":
            partitions = [delayed(without_features)(each) for each in partitions]
        chosen = found.draw(self._seed, n_rows=LinearRanker().max_rows)
        drawn = client.results([take_drawn(partitions, chosen)])[0]
        limits = {} if start == "zero" else linear_limits(self.lgb_params or {}, drawn.X)
        fitted = Start.fit(
            start, drawn, objective, has_labels=has_labels, seed=self._seed, **limits
        )
        begun = fitted.added_to(drawn, is_training=True)
        unit = mean_hessian(objective, begun) if needs_unit else 1.0
        return replace(fitted, training_scores=None), unit  # the scores are of the sample


def _mean_of_partitions(client: FitClient, partitions: list[Any], objective: Objective) -> float:
    """Return the mean hessian of a document of all partitions."""
    shared = delayed(objective)
    found = client.results([delayed(_mean_and_rows)(shared, each) for each in partitions])
    means, rows = zip(*found, strict=True)
    return float(np.average(means, weights=rows))


def _mean_and_rows(objective: Objective, data: RankingData) -> tuple[float, int]:
    return mean_hessian(objective, data), data.n_rows


def _ready_for_training(
    client: FitClient, partitions: list[Any], found: QueryMap, start: Start
) -> list[Any]:
    """Return the partitions that have rows, of whole queries, with the scores of the start."""
    # with one worker it does not matter where rows are, so that they can stay in their order
    destinations = found.destinations(balanced=len(client.nthreads()) > 1)
    whole = bring_together(partitions, found, destinations)
    if start.kind != "zero":
        shared = delayed(start)
        whole = [delayed(Start.added_to)(shared, each) for each in whole]
    filled = np.flatnonzero(found.rows_after(destinations))
    ready = [whole[number] for number in filled]
    if start.kind != "zero" or len(found.cut):
        ready = client.persist(ready)
        client.release(partitions)
    return ready


def _predict_block(model: Ranker, X: Any, num_iteration: int | None) -> Any:
    scores = model.predict(X, num_iteration=num_iteration) if X.shape[0] else np.empty(0)
    return _blocks.as_column_of(X, scores, "score")
