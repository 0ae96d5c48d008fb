"""Ranker: a scikit-learn estimator that trains LightGBM on any of the objectives."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import lightgbm as lgb
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from gbrank._ranker_files import RankerFiles
from gbrank._ranker_input import RankerInput, evaluation_sets, preferences_of, refuse_with_dataset
from gbrank._ranker_parameters import RankerParameters
from gbrank.boosting import SavedByName, boost, check_no_placeholders
from gbrank.core import (
    FloatArray,
    IntArray,
    QueryLayout,
    as_lightgbm_input,
    batches,
    count_rows_of,
    is_sequence,
    numeric_matrix,
    one_column,
    resolve_n_jobs,
)
from gbrank.linear import relative_scores
from gbrank.metrics import ndcg_score
from gbrank.objectives import Objective
from gbrank.preferences import Observations
from gbrank.start import Start, make_start, model_scores, resolve_start


class Ranker(RankerInput, RankerParameters, RankerFiles):
    """Gradient boosted trees for ranking: LightGBM's trees, any of gbrank's losses.

    Parameters are named as in LightGBM's scikit-learn interface. Their defaults are not LightGBM's:
    they were chosen on held-out queries of four data sets, for the best ranking without tuning
    (``benchmarks/results/quality.md`` says how). ``Ranker.lightgbm_defaults()`` has the others.

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
    eval_metric : str, callable or list of them, default="ndcg@10"
        What is computed on evaluation sets, e.g. "ndcg@5"; the first decides early stopping, the
        others are only reported.
    early_stopping_rounds : int, default=None
        Stop when the first metric has not improved on the first evaluation set for so many trees.
    validation_fraction : float, default=0.1
        Share of the queries that early stopping holds out and judges by, if :meth:`fit` gets no
        evaluation set. ``None`` makes that an error instead.
    early_stopping_window : int, default=1
        Number of trees over which early stopping averages the metric before it compares, so that
        the luck of a small validation set decides less.
    start : {"auto", "zero", "linear", "query_linear"}, estimator or callable, default="auto"
        Where boosting starts. "linear": from a :class:`gbrank.linear.LinearRanker`, which becomes
        part of the trees. "query_linear": from one on features relative to their query, stronger
        where absolute values mean little; :meth:`predict` then needs ``qid``. "auto": "linear", if
        there are labels and up to 1,000 features in memory, else "zero". A fitted estimator, or a
        function of ``X``: from what it predicts.
    n_models : int, default=1
        Number of boosters, of different seeds, whose mean is the model.
    query_subsample : float, default=1.0
        Share of the queries that each tree sees, drawn again for each.
    warm_start : bool, default=False
        Whether :meth:`fit` goes on from the trees of the last call, up to ``n_estimators`` in all.
    qid : str, default=None
        Name of the column of ``X`` that holds query ids, if it has one. It is not a feature.
        :meth:`fit` and :meth:`score` then need no ``qid``, so that scikit-learn's tools work
        without metadata routing.
    lgb_params : dict, default=None
        Any other LightGBM parameters, e.g. ``{"monotone_constraints": [1, 0, -1]}``.
    random_state : int, default=None
        Seed of LightGBM, and of an objective that is given by name. ``None`` stands for 0.
    n_jobs : int, default=None
        Threads, of LightGBM and of the objective; ``None`` for all CPUs.
    verbose : int, default=-1
        -1 is silent, 0 shows LightGBM's warnings, 1 a progress bar too (tqdm's if installed), 2
        all that LightGBM has to say.

    Attributes
    ----------
    booster_ : lightgbm.Booster
        The trained model.
    objective_ : Objective
        The objective it was trained with.
    best_iteration_ : int
        Number of trees that :meth:`predict` uses, not counting those of a linear start.
    n_start_trees_ : int
        Number of trees that a linear start is made of; they come first in ``booster_``.
    linear_coef_ : array of shape (n_features,) or None
        How the score of a linear start rises with each feature: from its lowest to its highest
        values, or per standard deviation within the query.
    evals_result_ : dict
        Metric values on the evaluation sets ("valid_0", ...), tree by tree.
    feature_importances_ : array of shape (n_features,)
        How often, or with what gain, each feature is split on.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Names of the features, where the input had names.

    Examples
    --------
    >>> from gbrank import Ranker
    >>> from gbrank.data import make_ranking
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = Ranker("xendcg", n_estimators=20).fit(data.X, data.y, qid=data.qid)
    >>> ranker.predict(data.X).shape == data.y.shape
    True
    >>> bool(ranker.score(data.X, data.y, qid=data.qid) > 0.5)
    True
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
        eval_metric: Any = "ndcg@10",
        early_stopping_rounds: int | None = None,
        validation_fraction: float | None = 0.1,
        early_stopping_window: int = 1,
        start: Any = "auto",
        n_models: int = 1,
        query_subsample: float = 1.0,
        warm_start: bool = False,
        qid: str | None = None,
        lgb_params: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        n_jobs: int | None = None,
        verbose: int = -1,
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
        self.eval_metric = eval_metric
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.early_stopping_window = early_stopping_window
        self.start = start
        self.n_models = n_models
        self.query_subsample = query_subsample
        self.warm_start = warm_start
        self.qid = qid
        self.lgb_params = lgb_params
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def lightgbm_defaults(cls, objective: str | Objective = "xendcg", **params: Any) -> Self:
        """Return a Ranker whose trees are those of LightGBM's own defaults, starting from zero.

        For those who change nothing but the loss.

        Examples
        --------
        >>> from gbrank import Ranker
        >>> Ranker.lightgbm_defaults("lambdamart", num_leaves=15).learning_rate
        0.1
        """
        theirs = {
            "learning_rate": 0.1,
            "min_child_samples": 20,
            "subsample": 1.0,
            "subsample_freq": 0,
            "colsample_bytree": 1.0,
            "reg_lambda": 0.0,
            "start": "zero",
        }
        return cls(objective, **{**theirs, **params})

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        preferences: Observations | None = None,
        keys: Any = None,
        eval_X: Any = None,
        eval_y: Any = None,
        eval_qid: Any = None,
        eval_sample_weight: Any = None,
        eval_init_score: Any = None,
        init_model: Any = None,
        callbacks: Sequence[Callable[..., Any]] | None = None,
    ) -> Self:
        """Train.

        Ctrl-C ends training, with a warning, and keeps the trees grown so far.

        Parameters
        ----------
        X : array, sparse matrix, table, lightgbm.Sequence or lightgbm.Dataset
            Features, ``(n_rows, n_features)``; rows in any order if ``qid`` is given. Tables are
            frames of pandas (categories are kept) and polars, and tables of pyarrow. Missing values
            are allowed. A Dataset brings its own labels, groups, weights and scores.
        y : array of shape (n_rows,)
            Relevance, finite and >= 0, whole or fractional. Not needed with ``preferences``.
        qid : array of shape (n_rows,), or str
            Query of each row: numbers, strings, categories; or the name of a column of ``X``.
        group : array of shape (n_queries,)
            Instead of ``qid``: number of rows of each query, rows of a query being consecutive.
        sample_weight : array of shape (n_rows,) or (n_queries,)
            Weight of each row, which multiplies its gradient and hessian; or of each query, in
            the order of first appearance, which is the weight of all its rows.
        init_score : array of shape (n_rows,)
            Scores to start from instead of 0. As in LightGBM they are not part of the model:
            :meth:`predict` returns what the trees add to them.
        preferences : Comparisons, Selections or PartialOrders
            Observations of :mod:`gbrank.preferences` to learn from instead of labels, by an
            objective that takes them: ``UStatistic``, ``PreferenceLogistic``,
            ``PairwiseLogistic``. They name rows of ``X`` in its order, or keys.
        keys : array of shape (n_rows,)
            Key of each row, for preferences with ``items="key"``.
        eval_X, eval_y, eval_qid : one evaluation set, or a tuple of several
            Queries on which ``eval_metric`` is computed after each tree. ``eval_qid`` is not needed
            if the queries are a column.
        eval_sample_weight, eval_init_score : as ``sample_weight`` and ``init_score``, of each set
            A query counts with its mean row weight.
        init_model : Booster, Ranker or path
            Model whose training is continued; the trees that it predicts with are part of the
            result.
        callbacks : list of callables
            LightGBM callbacks.
        """
        check_no_placeholders(self.get_params())
        objective = self._resolve_objective()
        params = self._lightgbm_params()
        first_trees, n_trees = self._trees_to_go_on_from(init_model)
        if n_trees == 0:
            return self
        evaluated = evaluation_sets(
            eval_X, eval_y, eval_qid, eval_sample_weight, eval_init_score, self.qid or qid
        )
        if self.early_stopping_rounds is not None and not evaluated:
            self._require_held_out_queries(X, preferences)
        observed = preferences_of(objective, preferences)
        start = Start()
        training: Any = X
        held_out: list[Any] = []
        if isinstance(X, lgb.Dataset):
            refuse_with_dataset(y, qid, group, sample_weight, init_score, preferences)
            training = self._own_dataset(X, params)
        else:
            has_labels = y is not None or observed is None
            y = y if has_labels else np.zeros(count_rows_of(X))
            rows = self._checked_rows(
                X, y, qid, group, sample_weight, init_score, "Ranker.fit", reset=True
            )
            if observed is not None:
                objective.set_params(observations=observed.bind(rows.layout, keys=keys))
            objective.check_labels(rows.labels, rows.layout)
            training, held_out = self._hold_out(rows, bool(evaluated))
            if first_trees is None:
                kind = resolve_start(self.start, training, has_labels=has_labels)
                start = make_start(kind, training, objective, int(self.random_state or 0))
        self.booster_, n_trees_used, self.evals_result_ = boost(
            params,
            self._objectives(objective),
            training,
            held_out or [self._evaluation_rows(given, params, training) for given in evaluated],
            n_trees,
            start=start,
            first_trees=first_trees,
            min_child_samples=self.min_child_samples,
            metrics=self._fevals(),
            early_stopping_rounds=self.early_stopping_rounds,
            early_stopping_window=self.early_stopping_window,
            callbacks=callbacks,
            show_progress=self.verbose >= 1,
        )
        self.objective_ = self._resolve_objective()  # without the state of this training
        if first_trees is None or init_model is not None:  # else the start is that of the last fit
            self.start_kind_, self.start_coef_ = start.kind, start.coefficients
            self.n_start_trees_ = len(start.trees)
            self.linear_coef_ = start.explained
        self.best_iteration_ = n_trees_used - self.n_start_trees_
        return self

    def predict(
        self,
        X: Any,
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
        num_iteration: int | None = None,
        **kwargs: Any,
    ) -> FloatArray:
        """Return a score for each row; only their order within a query means anything.

        Parameters
        ----------
        X : features, as in :meth:`fit`; a column of query ids may be there or not.
        qid, group : the queries; needed, and used, only with ``start="query_linear"``.
        num_iteration : number of trees to use; ``None`` for ``best_iteration_``.
        **kwargs : passed to ``lightgbm.Booster.predict``, e.g. ``pred_contrib=True``. What comes
            back then is of the trees alone, without a start that is not made of trees.
        """
        check_is_fitted(self)
        features = self._features_only(X)
        trees = self.best_iteration_ if num_iteration is None else num_iteration
        if trees > 0:  # else all, as in LightGBM
            trees += self.n_start_trees_
        kwargs.setdefault("num_threads", resolve_n_jobs(self.n_jobs))
        if is_sequence(features):
            return np.concatenate(
                [self.booster_.predict(rows, num_iteration=trees, **kwargs) for rows in batches(X)]
            )
        features = self._validate_features(features, reset=False)
        predicted: FloatArray = self.booster_.predict(
            as_lightgbm_input(features), num_iteration=trees, **kwargs
        )
        if self.start_kind_ in ("zero", "linear") or predicted.ndim > 1:
            return predicted
        return predicted + self._start_scores(X, features, qid, group)

    def _start_scores(self, X: Any, features: Any, qid: Any, group: Any) -> FloatArray:
        """Return what a start that is not made of trees adds."""
        n_rows = count_rows_of(features)
        if self.start_kind_ == "model":
            if isinstance(self.start, SavedByName):
                raise ValueError(
                    f"the model starts from {self.start.name}, of which its file holds only the "
                    "name: give it again, with set_params(start=...)"
                )
            return model_scores(self.start, features, QueryLayout.from_group([n_rows], n_rows))
        if group is None:
            qid = self._queries_of(X, qid, "Ranker.predict of a start relative to the query")
        layout = QueryLayout.from_either(qid, group, n_rows)
        coefficients: Any = self.start_coef_
        return relative_scores(coefficients, numeric_matrix(features), layout)

    def rank(self, X: Any, *, qid: Any = None, group: ArrayLike | None = None) -> IntArray:
        """Return the rank of each row within its query: 1 is the best; ties go by row order."""
        if group is None:
            qid = self._queries_of(X, qid, "Ranker.rank")
        scores = self.predict(X, qid=qid, group=group)
        layout = QueryLayout.from_either(qid, group, len(scores))
        query = np.repeat(np.arange(layout.n_queries), layout.sizes)
        best_first = np.lexsort((-layout.sort(scores), query))
        ranks = np.empty(len(scores), dtype=np.int64)
        ranks[best_first] = np.arange(len(scores)) - np.repeat(layout.bounds[:-1], layout.sizes) + 1
        original: IntArray = layout.unsort(ranks)
        return original

    def score(
        self,
        X: Any,
        y: ArrayLike,
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the mean NDCG@10 over queries that have a relevant document.

        Parameters
        ----------
        X, y, qid, group : as in :meth:`fit`.
        sample_weight : weight of each query, or of each row if constant within queries.
        """
        if group is None:
            qid = self._queries_of(X, qid, "Ranker.score")
        scores, labels = self.predict(X, qid=qid, group=group), one_column(y)
        return float(
            ndcg_score(labels, scores, qid=qid, group=group, k=10, sample_weight=sample_weight)
        )

    @property
    def feature_importances_(self) -> NDArray[Any]:
        """Importance of each feature: splits or gain, by ``importance_type``."""
        check_is_fitted(self)
        importances: NDArray[Any] = self.booster_.feature_importance(self.importance_type)
        return importances

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
