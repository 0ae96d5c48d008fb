"""Ranker: a scikit-learn estimator that trains LightGBM on any of the objectives."""

import copy
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import lightgbm as lgb
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from gbrank.boosting import (
    Boosted,
    SavedByName,
    TrainingOptions,
    boost,
    check_columns,
    check_dataset,
    check_no_placeholders,
    feature_names,
    first_trees_of,
    is_model_file,
    lightgbm_params,
    read_model,
    write_model,
)
from gbrank.core import (
    FloatArray,
    IntArray,
    QueryLayout,
    RankingData,
    as_lightgbm_input,
    batches,
    check_seed,
    column_names,
    count_rows_of,
    hold_out_queries,
    is_sequence,
    is_table,
    one_column,
    resolve_n_jobs,
    take_column,
)
from gbrank.metrics import feval, ndcg_score
from gbrank.objectives import Objective, QuerySubsampled, get_objective
from gbrank.preferences import Observations
from gbrank.start import Start, check_start

__all__ = ["Ranker", "resolve_objective", "set_trained"]


class Ranker(BaseEstimator):
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
        chance decides less where the validation set is small.
    start : {"auto", "zero", "linear", "query_linear"}, estimator or callable, default="auto"
        Where boosting starts. "linear": from a :class:`gbrank.linear.LinearRanker`, which becomes
        part of the trees. "query_linear": from one on features relative to their query, stronger
        where absolute values mean little; :meth:`predict` then needs ``qid``. "auto": "linear", if
        there are labels and up to 1,000 features in memory, else "zero". An estimator: from what
        a copy of it predicts, which is fitted to the training rows first if it is not fitted. A
        function of ``X``: from what it returns.
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
    n_boosters_ : int
        Number of boosters whose mean the model is.
    start_kind_ : {"zero", "linear", "query_linear", "model"}
        Where boosting started.
    start_model_ : estimator or callable
        The copy of ``start`` that boosting started from; ``None`` where that was none.
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
            result. Columns must be those it was trained on, in the same order; categories may
            come in another one. A start that is not made of trees is an error.
        callbacks : list of callables
            LightGBM callbacks.
        """
        check_no_placeholders(self.get_params())
        objective = resolve_objective(self.objective, self.random_state, self.n_jobs)
        params = lightgbm_params(self._own_params())
        check_start(self.start)
        continued, n_trees = self._continued_model(init_model)
        if n_trees == 0:
            return self
        if continued is not None and not (init_score is None and eval_init_score is None):
            raise ValueError(
                "init_score cannot be given when training goes on: it goes on from the scores of "
                "the trees, which LightGBM puts in its place"
            )
        evaluated = _evaluation_sets(
            eval_X, eval_y, eval_qid, eval_sample_weight, eval_init_score, self.qid or qid
        )
        holds_out = self.early_stopping_rounds is not None and not evaluated
        if holds_out:
            self._check_holding_out(X, preferences)
        observed = _observations(objective, preferences)
        # another object learns, so that a fit that fails leaves this one as it was
        model = self._unfitted_copy()
        start = Start()
        training: Any
        evaluation: list[Any] = []
        if isinstance(X, lgb.Dataset):
            given = (y, qid, group, sample_weight, init_score, preferences)
            training = model._read_dataset(X, params, given)
        else:
            has_labels = y is not None or observed is None
            y = y if has_labels else np.zeros(count_rows_of(X))
            training = model._read_rows(
                X, y, qid, group, sample_weight, init_score, "Ranker.fit", reset=True
            )
            if observed is not None:
                objective.set_params(observations=observed.bind(training.layout, keys=keys))
            objective.check_labels(training.y, training.layout)
            if holds_out:
                training, held_out = self._hold_out(training)
                evaluation = [held_out]
            if continued is None:
                seed = int(self.random_state or 0)
                start = Start.fit(self.start, training, objective, has_labels=has_labels, seed=seed)
        evaluation += [model._read_evaluation_set(given, params, training) for given in evaluated]
        if isinstance(training, RankingData):
            training = start.added_to(training, is_training=True)
            evaluation = [start.added_to(data) for data in evaluation]
        options = TrainingOptions(
            n_trees,
            self.min_child_samples,
            metrics=self._fevals(),
            early_stopping_rounds=self.early_stopping_rounds,
            early_stopping_window=self.early_stopping_window,
            callbacks=callbacks or (),
            show_progress=self.verbose >= 1,
        )
        boosted = boost(
            params,
            self._objectives(objective),
            training,
            evaluation,
            options,
            None if continued is None else continued.booster,
        )
        set_trained(model, boosted, start, continued)
        self._take_over(model)
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
        num_iteration : number of trees to use, on top of the start; ``None`` for
            ``best_iteration_``. A mean of several models (``n_models``) has no other number.
        **kwargs : passed to ``lightgbm.Booster.predict``, e.g. ``pred_contrib=True``. What comes
            back then is of the trees alone, without a start that is not made of trees.
            ``start_iteration`` is for models that start from zero only.
        """
        check_is_fitted(self)
        features = self._features_only(X)
        trees = self._trees_to_use(num_iteration, kwargs.get("start_iteration", 0))
        kwargs.setdefault("num_threads", resolve_n_jobs(self.n_jobs))
        in_trees = self.start_kind_ in ("zero", "linear")
        if is_sequence(features):
            if not in_trees:
                raise ValueError(
                    "X must be in memory: the start of this model is not made of trees, and needs "
                    "more than the rows of a lightgbm.Sequence one after the other"
                )
            return np.concatenate(
                [self.booster_.predict(rows, num_iteration=trees, **kwargs) for rows in batches(X)]
            )
        features = self._validate_features(features, reset=False)
        predicted: FloatArray = self.booster_.predict(
            as_lightgbm_input(features), num_iteration=trees, **kwargs
        )
        if in_trees or predicted.ndim > 1:
            return predicted
        return predicted + self._start_scores(X, features, qid, group)

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

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write the model as text that LightGBM, and what reads LightGBM's text, predicts from.

        The file holds the ``best_iteration_`` trees that :meth:`predict` uses and no others, so
        that every reader predicts the same; it names ``lambdarank`` as objective, since readers
        know no other name for "a score to rank by". The objective, all parameters and the fitted
        attributes are with it, under a checksum. A function among the parameters (a gain, a
        metric) is kept by name only. The file is replaced in one step or not at all.

        Parameters
        ----------
        path : the file to write; its folder must exist.

        See Also
        --------
        gbrank.boosting.model_file : the format.
        """
        check_is_fitted(self)
        fitted = {name: value for name, value in vars(self).items() if _is_saved(name)}
        parameters = self.get_params(deep=False)
        metadata = {"objective": self.objective_, "parameters": parameters, "fitted": fitted}
        n_trees = self.n_start_trees_ + self.best_iteration_
        write_model(self.booster_, path, metadata, num_iteration=n_trees)

    @classmethod
    def load_model(cls, path: str | os.PathLike[str]) -> Self:
        """Return the model that :meth:`save_model` wrote: same parameters, same predictions.

        Nothing in the file is run. A file that is damaged, or was not written by
        :meth:`save_model`, raises a ``ValueError`` that says what is wrong with it; a file of a
        newer version gives a warning. A function that was saved by name, or an objective that is
        not registered here, is not needed to predict; :meth:`fit` asks for it.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from gbrank import Ranker
        >>> from gbrank.data import make_ranking
        >>> data = make_ranking(n_queries=30, random_state=0)
        >>> ranker = Ranker("listnet", n_estimators=5).fit(data.X, data.y, qid=data.qid)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ranker.save_model(pathlib.Path(folder) / "model.txt")
        ...     loaded = Ranker.load_model(pathlib.Path(folder) / "model.txt")
        >>> loaded
        Ranker(n_estimators=5, objective='listnet')
        >>> bool((loaded.predict(data.X) == ranker.predict(data.X)).all())
        True
        """
        booster, metadata = read_model(path)
        parameters, fitted = metadata.get("parameters"), metadata.get("fitted")
        complete = "objective" in metadata
        if not complete or not isinstance(parameters, dict) or not isinstance(fitted, dict):
            raise ValueError(f"{os.fspath(path)} holds trees, but no Ranker")
        unknown = sorted(parameters.keys() - set(cls._get_param_names()))
        if unknown:
            warnings.warn(
                f"parameters of the saved model are not known here, and left out: {unknown}",
                stacklevel=2,
            )
        ranker = cls(**{name: parameters[name] for name in parameters if name not in unknown})
        ranker.booster_, ranker.objective_ = booster, metadata["objective"]
        for name, value in fitted.items():
            if _is_saved(name):
                setattr(ranker, name, value)
        for name, value in {"n_boosters_": 1, "start_model_": None}.items():
            ranker.__dict__.setdefault(name, value)  # what files of old do not say
        return ranker

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    # --- the life of a fit -----------------------------------------------------------------------

    def _own_params(self) -> dict[str, Any]:
        """Return all parameters, also in a subclass whose constructor has others."""
        return {name: getattr(self, name) for name in Ranker._get_param_names()}

    def _unfitted_copy(self) -> Self:
        """Return the same parameters without anything that :meth:`fit` has set."""
        twin = copy.copy(self)
        for name in filter(_is_set_by_fit, list(vars(twin))):
            delattr(twin, name)
        return twin

    def _take_over(self, model: Self) -> None:
        """Become what another Ranker has learned, all at once."""
        kept = {name: value for name, value in vars(self).items() if not _is_set_by_fit(name)}
        learned = {name: value for name, value in vars(model).items() if _is_set_by_fit(name)}
        self.__dict__ = kept | learned

    def _continued_model(self, init_model: Any) -> tuple["_Continued | None", int]:
        """Return the model whose training goes on, if one does, and how many trees to add."""
        if init_model is not None:
            if not isinstance(self.start, str) or self.start not in ("auto", "zero"):
                raise ValueError(
                    "init_model is where training starts: it cannot be given together with "
                    f"start={self.start!r}"
                )
            return _Continued.of(init_model), self.n_estimators
        if not (self.warm_start and hasattr(self, "booster_")):
            return None, self.n_estimators
        if self.n_models > 1 or self.n_boosters_ > 1 or self.start_kind_ not in ("zero", "linear"):
            raise ValueError(
                "warm_start=True goes on with one model whose start is 'zero' or 'linear'; here "
                f"n_models={max(self.n_models, self.n_boosters_)} and the start is "
                f"{self.start_kind_!r}"
            )
        n_trees = self.n_estimators - self.best_iteration_
        if n_trees < 0:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {self.best_iteration_} "
                "trees there are already: warm_start=True goes on from them"
            )
        if n_trees == 0:
            warnings.warn(
                "warm_start=True without a greater n_estimators adds no trees", stacklevel=3
            )
        return _Continued.of(self), n_trees

    def _objectives(self, objective: Objective) -> list[Objective]:
        """Return one objective for each model: seeds counted up, on a part of the queries."""
        objectives = []
        for number in range(self.n_models):
            one = clone(objective)
            if number and "random_state" in one.get_params(deep=False):
                one.set_params(random_state=one.get_params()["random_state"] + number)
            if self.query_subsample < 1:
                seed = int(self.random_state or 0) + number
                one = QuerySubsampled(one, self.query_subsample, seed, n_jobs=one.n_jobs)
            objectives.append(one)
        return objectives

    def _fevals(self) -> list[Callable[..., Any]]:
        wanted = self.eval_metric
        metrics = wanted if isinstance(wanted, list | tuple) else [wanted]
        return [feval(metric) if isinstance(metric, str) else metric for metric in metrics]

    # --- queries held out ------------------------------------------------------------------------

    def _check_holding_out(self, X: Any, preferences: Observations | None) -> None:
        if preferences is not None:
            raise ValueError(
                "early_stopping_rounds needs an evaluation set with labels: preferences have none"
            )
        if self.validation_fraction is None or isinstance(X, lgb.Dataset):
            raise ValueError(
                "early_stopping_rounds needs an evaluation set: pass eval_X, eval_y, eval_qid, or, "
                "unless X is a Dataset, give validation_fraction"
            )

    def _hold_out(self, data: RankingData) -> tuple[RankingData, RankingData]:
        """Take queries from the training set for early stopping that has no others to judge by."""
        fraction: Any = self.validation_fraction
        kept, held_out = hold_out_queries(data.n_queries, fraction, self.random_state or 0)
        if len(kept) == 0:
            raise ValueError(
                f"validation_fraction={fraction} of {data.n_queries} queries leaves none to train "
                "on"
            )
        return data.take(kept), data.take(held_out)

    # --- reading data ----------------------------------------------------------------------------

    def _read_rows(
        self,
        X: Any,
        y: Any,
        qid: Any,
        group: Any,
        sample_weight: Any,
        init_score: Any,
        caller: str,
        *,
        reset: bool,
    ) -> RankingData:
        """Return checked rows; remember their columns, or compare them with those of training."""
        if y is None:
            raise ValueError(f"{caller} requires y to be passed, but the target y is None")
        if reset:
            self.qid_column_ = qid if isinstance(qid, str) else self.qid
        if group is None:
            qid = self._queries_of(X, qid, caller)
        X = self._validate_features(self._features_only(X), reset=reset)
        return RankingData.checked(X, y, qid, group, sample_weight, init_score)

    def _read_dataset(
        self, dataset: lgb.Dataset, params: dict[str, Any], given: tuple[Any, ...]
    ) -> lgb.Dataset:
        """Return a Dataset that the user has made; remember its columns."""
        names = ("y", "qid", "group", "sample_weight", "init_score", "preferences")
        extra = [name for name, value in zip(names, given, strict=True) if value is not None]
        if extra:
            raise ValueError(
                f"a Dataset brings its own labels, queries and weights: {extra} given too"
            )
        if not isinstance(self.start, str) or self.start not in ("auto", "zero"):
            raise ValueError(
                f"start={self.start!r} needs features in memory, but X is a Dataset: give it "
                "init_score, and use start='zero'"
            )
        check_dataset(dataset, params, "X")
        self.qid_column_ = None
        self.n_features_in_ = dataset.num_feature()
        columns = feature_names(dataset)
        if columns is not None:
            self.feature_names_in_ = np.array(columns, dtype=object)
        return dataset

    def _read_evaluation_set(
        self, given: Sequence[Any], params: dict[str, Any], training: RankingData | lgb.Dataset
    ) -> RankingData | lgb.Dataset:
        X, y, qid, weight, init_score = given
        if not isinstance(X, lgb.Dataset):
            return self._read_rows(
                X, y, qid, None, weight, init_score, "an evaluation set", reset=False
            )
        if not isinstance(training, lgb.Dataset):
            raise ValueError("eval_X is a Dataset, so X must be one too: they share their bins")
        return check_dataset(X.set_reference(training), params, "eval_X")

    def _queries_of(self, X: Any, qid: Any, caller: str) -> Any:
        """Return query ids: those given, or the column of X that is named or remembered."""
        wanted = qid if qid is not None else getattr(self, "qid_column_", self.qid)
        if wanted is None:
            raise ValueError(
                f"{caller} needs to know the queries: pass qid= (the query id of each row, or the "
                "name of a column of X) or group= (the number of rows of each query). In "
                "cross-validation, name the column with Ranker(qid=...), or enable metadata "
                "routing and request qid"
            )
        if not isinstance(wanted, str):
            return wanted
        if not is_table(X):
            raise ValueError(
                f"qid={wanted!r} names a column, but X has no names: it is of type "
                f"{type(X).__name__}. Pass a data frame, or the query id of each row"
            )
        if wanted not in column_names(X):
            raise ValueError(f"X has no column {wanted!r} of query ids; it has {column_names(X)}")
        return take_column(X, wanted)[0]

    def _features_only(self, X: Any) -> Any:
        """Return X without its column of query ids, if it has one."""
        name = getattr(self, "qid_column_", self.qid)
        return take_column(X, name)[1] if name is not None and name in column_names(X) else X

    def _validate_features(self, X: Any, *, reset: bool) -> Any:
        """Check features and remember, or compare, their number and names.

        Arrays are checked as scikit-learn does; tables keep their types, so that LightGBM sees
        categories.
        """
        if is_sequence(X):
            return self._validate_sequence(X, reset=reset)
        if is_table(X):
            check_columns(X)
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse=("csr", "csc"),
            dtype=(np.float64, np.float32),
            ensure_all_finite=False,
            ensure_min_samples=2 if reset else 1,
        )

    def _validate_sequence(self, X: Any, *, reset: bool) -> Any:
        parts = X if isinstance(X, list) else [X]
        first_row = np.asarray(parts[0][0])
        if first_row.dtype != np.float64:
            raise TypeError(f"rows of a lightgbm.Sequence must be float64, got {first_row.dtype}")
        n_features = first_row.shape[-1]
        if reset:
            self.n_features_in_ = n_features
        elif n_features != self.n_features_in_:
            raise ValueError(
                f"X has {n_features} features, but Ranker is expecting {self.n_features_in_}"
            )
        return X

    # --- predicting ------------------------------------------------------------------------------

    def _trees_to_use(self, num_iteration: int | None, start_iteration: int) -> int:
        """Return how many trees of the booster to use, those of the start included; 0 for all."""
        if self.n_boosters_ > 1 and num_iteration not in (None, 0, -1, self.best_iteration_):
            raise ValueError(
                f"num_iteration must be None for a mean of {self.n_boosters_} models, whose trees "
                f"come model by model, got {num_iteration}"
            )
        if start_iteration and (self.n_boosters_ > 1 or self.start_kind_ != "zero"):
            raise ValueError(
                "start_iteration must be 0 unless there is one model that starts from zero, got "
                f"{start_iteration}; here are {self.n_boosters_}, and the start is "
                f"{self.start_kind_!r}"
            )
        trees = self.best_iteration_ if num_iteration is None else num_iteration
        return trees + self.n_start_trees_ if trees > 0 else trees

    def _start_scores(self, X: Any, features: Any, qid: Any, group: Any) -> FloatArray:
        """Return what a start that is not made of trees adds."""
        n_rows = count_rows_of(features)
        layout = QueryLayout.from_group([n_rows])
        if self.start_kind_ == "query_linear":
            if group is None:
                qid = self._queries_of(X, qid, "Ranker.predict of a start relative to the query")
            layout = QueryLayout.from_either(qid, group, n_rows)
        # of a model that was loaded from a file: what it starts from is not in the file
        model = self.start if isinstance(self.start_model_, SavedByName) else self.start_model_
        if isinstance(model, SavedByName):
            raise ValueError(
                f"the model starts from {model.name}, of which its file holds only the name: give "
                "it again, with set_params(start=...)"
            )
        return Start(self.start_kind_, model, self.start_coef_).scores(features, layout)


# --- what others need too ------------------------------------------------------------------------


def resolve_objective(objective: Any, random_state: int | None, n_jobs: int | None) -> Objective:
    """Return the objective that the parameters of a Ranker stand for, checked; never the given one.

    Parameters
    ----------
    objective : name or instance.
    random_state : seed of an objective that is given by name.
    n_jobs : threads of an objective that has no number of its own.
    """
    if isinstance(objective, str):
        resolved = get_objective(objective)
        if "random_state" in resolved.get_params() and random_state is not None:
            check_seed(random_state)
            resolved.set_params(random_state=int(random_state))
    else:
        resolved = clone(get_objective(objective))
    if resolved.n_jobs is None:
        resolved.set_params(n_jobs=n_jobs)
    resolved.check_params()
    return resolved


def set_trained(
    ranker: Ranker, boosted: Boosted, start: Start, continued: "_Continued | None" = None
) -> None:
    """Give a Ranker what training has found: all that fit sets but what is known of the columns.

    Parameters
    ----------
    ranker : not fitted yet.
    boosted : the trees that were grown on top of the start.
    start : where they start; of a model whose training went on, zero.
    continued : that model.
    """
    ranker.booster_, n_start_trees = start.merged_into(boosted.booster, boosted.n_trees)
    ranker.objective_ = resolve_objective(ranker.objective, ranker.random_state, ranker.n_jobs)
    ranker.evals_result_ = boosted.results
    ranker.n_boosters_ = boosted.n_boosters
    ranker.start_kind_, ranker.start_coef_ = start.kind, start.coefficients
    ranker.start_model_ = start.model if start.kind == "model" else None
    ranker.linear_coef_ = start.effects()
    if continued is not None:
        ranker.start_kind_, ranker.linear_coef_ = continued.start_kind, continued.linear_coef
        ranker.n_boosters_ = max(boosted.n_boosters, continued.n_boosters)
        if ranker.n_boosters_ == 1:  # else they are not the first ones
            n_start_trees = continued.n_start_trees
    ranker.n_start_trees_ = n_start_trees
    ranker.best_iteration_ = boosted.n_trees - (0 if continued is None else n_start_trees)


def _is_set_by_fit(attribute: str) -> bool:
    return attribute.endswith("_") and not attribute.startswith("_")


def _is_saved(attribute: str) -> bool:
    """Return whether a model file holds this attribute as it is: what fit sets, but the trees."""
    apart = ("booster_", "objective_", "feature_importances_")
    return _is_set_by_fit(attribute) and attribute not in apart


@dataclass(frozen=True)
class _Continued:
    """A model whose training goes on.

    Attributes
    ----------
    booster : the trees that it predicts with.
    start_kind, n_start_trees, linear_coef, n_boosters : as of a Ranker.
    """

    booster: lgb.Booster
    start_kind: str = "zero"
    n_start_trees: int = 0
    linear_coef: FloatArray | None = None
    n_boosters: int = 1

    @classmethod
    def of(cls, model: Any) -> "_Continued":
        """Take a Ranker, another estimator of LightGBM, a Booster or the path of a file."""
        if isinstance(model, lgb.Booster):
            return cls(model)
        if isinstance(model, str | os.PathLike):
            if not is_model_file(model):
                return cls(lgb.Booster(model_file=model))
            model = Ranker.load_model(model)
        if not hasattr(model, "booster_") or not hasattr(model, "best_iteration_"):
            raise TypeError(
                "init_model must be a fitted Ranker, a Booster or the path of a model, got "
                f"{type(model).__name__}"
            )
        if getattr(model, "start_kind_", "zero") not in ("zero", "linear"):
            raise ValueError(
                "init_model must have a start that its trees hold, 'zero' or 'linear', but that of "
                f"this one is {model.start_kind_!r}, which new trees would not know of"
            )
        n_start_trees = getattr(model, "n_start_trees_", 0)
        return cls(
            first_trees_of(model.booster_, (model.best_iteration_ or 0) + n_start_trees),
            getattr(model, "start_kind_", "zero"),
            n_start_trees,
            getattr(model, "linear_coef_", None),
            getattr(model, "n_boosters_", 1),
        )


def _observations(objective: Objective, preferences: Observations | None) -> Observations | None:
    """Return what an objective learns from instead of labels: what fit got, or its own."""
    if preferences is None:
        own = getattr(objective, "observations", None)
        return own if isinstance(own, Observations) else None
    if not isinstance(preferences, Observations):
        raise TypeError(
            "preferences must be gbrank.preferences.Comparisons, Selections or PartialOrders, got "
            f"{type(preferences).__name__}"
        )
    if "observations" not in objective.get_params(deep=False):
        raise ValueError(
            f"{type(objective).__name__} learns from labels, not from preferences; use "
            "objective='ustatistic', 'preference_logistic' or 'pairwise_logistic'"
        )
    return preferences


def _evaluation_sets(
    eval_X: Any, eval_y: Any, eval_qid: Any, weight: Any, init_score: Any, column: Any
) -> list[tuple[Any, ...]]:
    """Return (X, y, qid, weight, init_score) of each evaluation set."""
    required = {"eval_X": eval_X, "eval_y": eval_y, "eval_qid": eval_qid}
    optional = {"eval_sample_weight": weight, "eval_init_score": init_score}
    named = required | optional
    if all(value is None for value in named.values()):
        return []
    if eval_X is None:
        present = [name for name, value in named.items() if value is not None]
        raise ValueError(f"an evaluation set needs eval_X, but only {present} came")
    n_sets = len(eval_X) if isinstance(eval_X, tuple) else 1
    if eval_qid is None and isinstance(column, str):
        named["eval_qid"] = (column,) * n_sets if isinstance(eval_X, tuple) else column
    parts = {}
    for name, value in named.items():
        if not isinstance(eval_X, tuple) or value is None:
            parts[name] = [value] * n_sets
        elif not isinstance(value, tuple) or len(value) != n_sets:
            got = len(value) if isinstance(value, tuple) else type(value).__name__
            raise ValueError(
                "eval_X, eval_y and eval_qid must be tuples of the same length: eval_X has "
                f"{n_sets}, {name} {got}"
            )
        else:
            parts[name] = list(value)
    sets = list(zip(*parts.values(), strict=True))
    for X, y, qid, *_ in sets:
        missing = [name for name, value in (("eval_y", y), ("eval_qid", qid)) if value is None]
        if missing and not isinstance(X, lgb.Dataset):
            raise ValueError(
                f"an evaluation set needs eval_X, eval_y and eval_qid: {missing} missing"
            )
    return sets
