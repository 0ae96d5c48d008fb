"""DaskRanker: the Ranker on Dask arrays and data frames."""

from collections.abc import Mapping
from typing import Any, Self

from distributed import default_client
from sklearn.base import clone

from gbrank.boosting import LIGHTGBM_NAMES, lightgbm_params
from gbrank.core import check_choice, check_integer
from gbrank.dask import _blocks
from gbrank.dask._cuts import QueryMap
from gbrank.dask._model import DaskModel, fill_in
from gbrank.dask._preferences import bound_objective, check_preferences, refuse_own_observations
from gbrank.dask._sample import sample_queries
from gbrank.dask._start import fit_start, with_start
from gbrank.dask._training import Columns, describe, repair, train
from gbrank.model_selection import cv
from gbrank.objectives import Objective, QuerySubsampled
from gbrank.ranker import Ranker, resolve_objective
from gbrank.start import Start


class DaskRanker(DaskModel):
    """Gradient boosted trees for ranking, trained by all workers of a Dask cluster.

    Parameters are those of :class:`gbrank.Ranker`. LightGBM assigns partitions to workers again at
    each fit, and sums in another order: with several workers two fits give statistically equal, not
    identical, models. With one worker the model is that of :class:`gbrank.Ranker`.

    If a worker dies while LightGBM trains, :meth:`fit` raises a ``RuntimeError`` within seconds.
    Workers that LightGBM then does not let go of are restarted; what they held in memory is
    computed again when it is needed.

    Parameters
    ----------
    objective : str or Objective, default="xendcg"
        A name from :func:`gbrank.list_objectives` or an instance, e.g. ``LambdaMART(sigmoid=2)``.
    n_estimators : int, default=100
        Number of trees.
    learning_rate : float, default=0.05
        Shrinkage of each tree.
    num_leaves : int, default=31
        Leaves of a tree.
    max_depth : int, default=-1
        Depth of a tree; -1 for no limit.
    min_child_samples : int, default=50
        Rows that a leaf needs.
    min_child_weight : float, default=1e-3
        Sum of hessians that a leaf needs.
    min_split_gain : float, default=0.0
        Gain that a split needs.
    subsample : float, default=0.7
        Share of rows drawn every ``subsample_freq`` trees.
    subsample_freq : int, default=1
        0 draws no rows.
    subsample_for_bin : int, default=200000
        Rows from which feature bins are made.
    colsample_bytree : float, default=0.5
        Share of features a tree may use.
    reg_alpha : float, default=0.0
        L1 penalty on leaf values.
    reg_lambda : float, default=5.0
        L2 penalty on leaf values.
    boosting_type : str, default="gbdt"
        LightGBM's ``boosting``.
    importance_type : {"split", "gain"}, default="split"
        What ``feature_importances_`` counts.
    early_stopping_rounds : None, default=None
        LightGBM cannot stop early on Dask: anything but ``None`` is an error that says so. See
        :meth:`choose_n_estimators`.
    start : {"zero", "linear"}, default="zero"
        Where boosting starts. "linear": from a :class:`gbrank.linear.LinearRanker`, fitted to a
        sample of 2,000 queries on this machine, which becomes part of the trees.
    query_subsample : float, default=1.0
        Share of the queries that each tree sees, drawn again for each.
    qid : str, default=None
        Name of the column of ``X`` that holds query ids, if it has one. It is not a feature.
    repartition : {"auto", "never"}, default="auto"
        What to do about queries that lie in more than one partition: bring their rows together, in
        one shuffle, or refuse them with a ``ValueError``.
    lgb_params : dict, default=None
        Any other LightGBM parameters, e.g. ``{"tree_learner": "voting"}``.
    random_state : int, default=None
        Seed of LightGBM, and of an objective that is given by name. ``None`` stands for 0.
    n_jobs : int, default=None
        Threads of the objective on each worker; ``None`` for as many as the worker has. LightGBM
        always uses those of the worker.
    verbose : int, default=-1
        -1 is silent, 0 shows LightGBM's warnings, 1 and more what else it has to say, on the
        workers.
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
    Ranker(n_estimators=10, start='zero')
    """

    def __init__(
        self,
        objective: str | Objective = "xendcg",
        *,
        n_estimators: int = 100,
        learning_rate: float = 0.05,
        num_leaves: int = 31,
        max_depth: int = -1,
        min_child_samples: int = 50,
        min_child_weight: float = 1e-3,
        min_split_gain: float = 0.0,
        subsample: float = 0.7,
        subsample_freq: int = 1,
        subsample_for_bin: int = 200_000,
        colsample_bytree: float = 0.5,
        reg_alpha: float = 0.0,
        reg_lambda: float = 5.0,
        boosting_type: str = "gbdt",
        importance_type: str = "split",
        early_stopping_rounds: None = None,
        start: str = "zero",
        query_subsample: float = 1.0,
        qid: str | None = None,
        repartition: str = "auto",
        lgb_params: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        n_jobs: int | None = None,
        verbose: int = -1,
        client: Any = None,
    ) -> None:
        self.objective = objective
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.min_child_samples = min_child_samples
        self.min_child_weight = min_child_weight
        self.min_split_gain = min_split_gain
        self.subsample = subsample
        self.subsample_freq = subsample_freq
        self.subsample_for_bin = subsample_for_bin
        self.colsample_bytree = colsample_bytree
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.boosting_type = boosting_type
        self.importance_type = importance_type
        self.early_stopping_rounds = early_stopping_rounds
        self.start = start
        self.query_subsample = query_subsample
        self.qid = qid
        self.repartition = repartition
        self.lgb_params = lgb_params
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.client = client

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
        """
        params, local = self._checked_params(), self._local_ranker()
        objective = resolve_objective(self.objective, self.random_state, self.n_jobs)
        client = default_client() if self.client is None else self.client
        X = _blocks.check_features(X)
        column = qid if isinstance(qid, str) else self.qid
        queries = _blocks.query_blocks(X, self.qid if qid is None else qid, "DaskRanker.fit")
        if y is None and preferences is None:
            raise ValueError("DaskRanker.fit requires y to be passed, but the target y is None")
        if preferences is not None:
            check_preferences(objective, preferences, X.npartitions)
            y = None
        elif objective.needs_observations or getattr(objective, "observations", None) is not None:
            refuse_own_observations(objective)
        columns = Columns.of(X, queries, y, sample_weight, init_score)
        start = Start()
        if self.start == "linear":
            if preferences is not None:
                raise ValueError("start='linear' learns from labels, and there are none")
            start = fit_start(columns, column, objective, int(self.random_state or 0))
            columns = with_start(columns, column, start)
        parts = columns.parts(client, column, objective)
        described = describe(client, parts)
        found = QueryMap.of([each.queries for each in described])
        n_rows = found.rows_by_partition
        if len(found.cut):
            if self.repartition == "never" or preferences is not None:
                found.refuse_cut()
            parts = repair(client, parts, found)
            n_rows = found.rows_after_repair()
        if objective.n_jobs is None:
            objective.set_params(n_jobs=max(1, min(client.nthreads().values(), default=1)))
        if preferences is not None:
            named = None if keys is None else _blocks.column_blocks(keys, X, "keys")
            objective = bound_objective(client, objective, queries, preferences, named)
        booster = train(
            client,
            [part for part, rows in zip(parts, n_rows, strict=True) if rows],
            self._on_some_queries(objective),
            params,
            weighted=sample_weight is not None,
            with_init_score=init_score is not None or start.kind != "zero",
        )
        fill_in(local, booster, start, described[0], column)
        self.local_ = local
        return self

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
        answer as a cautious one. The parameters of this ranker are used, and not changed.

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
        for name, value in (("sample", sample), ("nfold", nfold)):
            check_integer(name, value, low=2)
        check_integer("max_trees", max_trees, low=1)
        self._checked_params()
        local = self._local_ranker()
        objective = resolve_objective(self.objective, self.random_state, self.n_jobs)
        X = _blocks.check_features(X)
        queries = _blocks.query_blocks(
            X, self.qid if qid is None else qid, "DaskRanker.choose_n_estimators"
        )
        columns = Columns.of(X, queries, y, sample_weight, None)
        drawn = sample_queries(
            columns.X,
            columns.y,
            columns.queries,
            columns.weight,
            qid if isinstance(qid, str) else self.qid,
            sample,
            int(self.random_state or 0),
        )
        result = cv(
            {**lightgbm_params(local.get_params(deep=False)), "objective": objective},
            drawn.X,
            drawn.labels,
            qid=drawn.qid,
            sample_weight=drawn.weight,
            num_boost_round=max_trees,
            nfold=nfold,
            metrics=metric,
            early_stopping_rounds=early_stopping_rounds,
            seed=int(self.random_state or 0),
        )
        return len(result[f"valid {metric}-mean"])

    def __sklearn_clone__(self) -> Self:
        params = self.get_params(deep=False)
        copies = {
            name: clone(value, safe=False) for name, value in params.items() if name != "client"
        }
        return type(self)(**copies, client=self.client)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}  # a connection cannot be saved

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "local_") and hasattr(self.local_, "booster_")

    def _local_ranker(self) -> Ranker:
        own = self.get_params(deep=False)
        return Ranker(**{name: own[name] for name in Ranker._get_param_names() if name in own})

    def _checked_params(self) -> dict[str, Any]:
        """Return the parameters of LightGBM's estimator, after all checks."""
        check_choice("repartition", self.repartition, ("auto", "never"))
        check_choice("start", self.start, ("zero", "linear"))
        if self.early_stopping_rounds is not None:
            raise ValueError(
                "early_stopping_rounds must be None: LightGBM does not support early stopping on "
                "Dask. Use a fixed n_estimators, e.g. what DaskRanker.choose_n_estimators finds on "
                f"a sample of queries; got {self.early_stopping_rounds!r}"
            )
        everything = lightgbm_params(self._local_ranker().get_params(deep=False))
        checked = {ours: getattr(self, ours) for ours in LIGHTGBM_NAMES}
        return checked | {
            "n_estimators": self.n_estimators,
            "random_state": everything["seed"],
            "verbosity": everything["verbosity"],
            "metric": "None",
            **dict(self.lgb_params or {}),
        }

    def _on_some_queries(self, objective: Objective) -> Objective:
        if self.query_subsample == 1:
            return objective
        seed = int(self.random_state or 0)
        return QuerySubsampled(objective, self.query_subsample, seed, n_jobs=objective.n_jobs)
