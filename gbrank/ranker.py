"""Ranker: a scikit-learn estimator that trains LightGBM on any of the objectives."""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import lightgbm as lgb
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from gbrank._datasets import make_dataset, one_column, refuse_if_nothing_can_be_split
from gbrank._lightgbm_params import LIGHTGBM_NAMES, check_other_params
from gbrank._ranker_input import (
    RankerInput,
    evaluation_sets,
    preferences_of,
    refuse_with_dataset,
)
from gbrank._saved_values import refuse_stand_ins
from gbrank._tables import as_lightgbm_input, count_rows_of, is_sequence
from gbrank._training import as_booster, train
from gbrank.layout import FloatArray, IntArray, QueryLayout
from gbrank.metrics import feval, ndcg_score
from gbrank.model_file import read_model, write_model
from gbrank.objectives import Objective, QuerySubsampled, get_objective
from gbrank.objectives.params import check_number, check_seed, check_whole
from gbrank.parallel import resolve_n_jobs
from gbrank.preferences import Observations


class Ranker(RankerInput):
    """Gradient boosted trees for ranking: LightGBM's trees, any of gbrank's losses.

    Parameters are named as in LightGBM's scikit-learn interface.

    Parameters
    ----------
    objective : str or Objective, default="xendcg"
        A name from :func:`gbrank.list_objectives` or an instance, e.g. ``LambdaMART(sigmoid=2)``.
    n_estimators : int, default=100
        Number of trees.
    learning_rate : float, default=0.1
        Shrinkage of each tree.
    num_leaves : int, default=31
        Leaves of a tree.
    max_depth : int, default=-1
        Depth of a tree; -1 for no limit.
    min_child_samples : int, default=20
        Rows that a leaf needs.
    min_child_weight : float, default=1e-3
        Sum of curvatures that a leaf needs.
    min_split_gain : float, default=0.0
        Gain that a split needs.
    subsample : float, default=1.0
        Share of rows drawn every ``subsample_freq`` trees.
    subsample_freq : int, default=0
        0 draws no rows.
    subsample_for_bin : int, default=200000
        Rows from which feature bins are made.
    colsample_bytree : float, default=1.0
        Share of features a tree may use.
    reg_alpha : float, default=0.0
        L1 penalty on leaf values.
    reg_lambda : float, default=0.0
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
    query_subsample : float, default=1.0
        Share of the queries that each tree sees, drawn anew for each.
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
        Number of trees that :meth:`predict` uses.
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
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        max_depth: int = -1,
        min_child_samples: int = 20,
        min_child_weight: float = 1e-3,
        min_split_gain: float = 0.0,
        subsample: float = 1.0,
        subsample_freq: int = 0,
        subsample_for_bin: int = 200_000,
        colsample_bytree: float = 1.0,
        reg_alpha: float = 0.0,
        reg_lambda: float = 0.0,
        boosting_type: str = "gbdt",
        importance_type: str = "split",
        eval_metric: Any = "ndcg@10",
        early_stopping_rounds: int | None = None,
        validation_fraction: float | None = 0.1,
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
        self.query_subsample = query_subsample
        self.warm_start = warm_start
        self.qid = qid
        self.lgb_params = lgb_params
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

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
            Weight of each row, which multiplies its gradient and curvature; or of each query, in
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
        refuse_stand_ins(self.get_params())
        objective = self._resolve_objective()
        params = self._lightgbm_params()
        first_trees, n_trees = self._trees_to_go_on_from(init_model)
        if n_trees == 0:
            return self
        evaluated = evaluation_sets(
            eval_X, eval_y, eval_qid, eval_sample_weight, eval_init_score, self.qid or qid
        )
        if self.early_stopping_rounds is not None and not evaluated:
            self._require_held_out_queries(X, preferences_of(objective, preferences))
        if isinstance(X, lgb.Dataset):
            refuse_with_dataset(y, qid, group, sample_weight, init_score, preferences)
            training, held_out = self._own_dataset(X, params), None
        else:
            observed = preferences_of(objective, preferences)
            if y is None and observed is not None:
                y = np.zeros(count_rows_of(X))
            rows = self._checked_rows(
                X, y, qid, group, sample_weight, init_score, "Ranker.fit", reset=True
            )
            if observed is not None:
                objective.set_params(observations=observed.bind(rows.layout, keys=keys))
            objective.check_labels(rows.labels, rows.layout)
            rows, held_out = self._hold_out(rows, bool(evaluated))
            training = make_dataset(rows, params)
        evaluation = [self._evaluation_dataset(given, params, training) for given in evaluated]
        if held_out is not None:
            evaluation = [make_dataset(held_out, params, training)]
        if first_trees is None:  # else LightGBM must set the first scores before it makes bins
            refuse_if_nothing_can_be_split(training, self.min_child_samples)
        self.booster_, self.evals_result_ = train(
            {**params, "objective": self._on_some_queries(objective)},
            training,
            n_trees,
            evaluation=evaluation,
            metrics=self._fevals(),
            early_stopping_rounds=self.early_stopping_rounds,
            first_trees=first_trees,
            callbacks=callbacks,
            show_progress=self.verbose >= 1,
        )
        self.objective_ = self._resolve_objective()  # without the state of this training
        self.best_iteration_ = self.booster_.best_iteration or self.booster_.current_iteration()
        return self

    def predict(self, X: Any, *, num_iteration: int | None = None, **kwargs: Any) -> FloatArray:
        """Return a score for each row; only their order within a query means anything.

        Parameters
        ----------
        X : features, as in :meth:`fit`; a column of query ids may be there or not.
        num_iteration : number of trees to use; ``None`` for ``best_iteration_``.
        **kwargs : passed to ``lightgbm.Booster.predict``, e.g. ``pred_contrib=True``.
        """
        check_is_fitted(self)
        X = self._features_only(X)
        if is_sequence(X):
            parts = X if isinstance(X, list) else [X]
            batches = [
                np.asarray(part[first : first + part.batch_size])
                for part in parts
                for first in range(0, len(part), part.batch_size)
            ]
            scores = [self.predict(rows, num_iteration=num_iteration, **kwargs) for rows in batches]
            return np.concatenate(scores)
        X = self._validate_features(X, reset=False)
        trees = self.best_iteration_ if num_iteration is None else num_iteration
        kwargs.setdefault("num_threads", resolve_n_jobs(self.n_jobs))
        predicted: FloatArray = self.booster_.predict(
            as_lightgbm_input(X), num_iteration=trees, **kwargs
        )
        return predicted

    def rank(self, X: Any, *, qid: Any = None, group: ArrayLike | None = None) -> IntArray:
        """Return the rank of each row within its query: 1 is the best; ties go by row order."""
        scores = self.predict(X)
        if group is None:
            qid = self._queries_of(X, qid, "Ranker.rank")
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
        scores, labels = self.predict(X), one_column(y)
        return float(
            ndcg_score(labels, scores, qid=qid, group=group, k=10, sample_weight=sample_weight)
        )

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
        gbrank.model_file : the format.
        """
        check_is_fitted(self)
        fitted = {name: value for name, value in vars(self).items() if _is_saved(name)}
        parameters = self.get_params(deep=False)
        metadata = {"objective": self.objective_, "parameters": parameters, "fitted": fitted}
        write_model(self.booster_, path, metadata, num_iteration=self.best_iteration_)

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
        if not {"objective", "parameters", "fitted"} <= metadata.keys():
            raise ValueError(f"{os.fspath(path)} holds trees, but no Ranker")
        parameters = metadata["parameters"]
        unknown = sorted(parameters.keys() - set(cls._get_param_names()))
        if unknown:
            warnings.warn(
                f"parameters of the saved model are not known here, and left out: {unknown}",
                stacklevel=2,
            )
        ranker = cls(**{name: parameters[name] for name in parameters if name not in unknown})
        ranker.booster_, ranker.objective_ = booster, metadata["objective"]
        for name, value in metadata["fitted"].items():
            if _is_saved(name):
                setattr(ranker, name, value)
        return ranker

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

    def _resolve_objective(self) -> Objective:
        if isinstance(self.objective, str):
            objective = get_objective(self.objective)
            if "random_state" in objective.get_params() and self.random_state is not None:
                check_seed(self.random_state)
                objective.set_params(random_state=int(self.random_state))
        else:
            objective = clone(get_objective(self.objective))
        if objective.n_jobs is None:
            objective.set_params(n_jobs=self.n_jobs)
        objective.check_params()
        return objective

    def _on_some_queries(self, objective: Objective) -> Objective:
        if self.query_subsample == 1:
            return objective
        seed = int(self.random_state or 0)
        return QuerySubsampled(objective, self.query_subsample, seed, n_jobs=objective.n_jobs)

    def _lightgbm_params(self) -> dict[str, Any]:
        check_whole("n_estimators", self.n_estimators, low=1)
        if self.early_stopping_rounds is not None:
            check_whole("early_stopping_rounds", self.early_stopping_rounds, low=1, also="None")
            if self.boosting_type == "dart":
                raise ValueError(
                    "early_stopping_rounds cannot be used with boosting_type='dart', which changes "
                    "earlier trees"
                )
        if self.validation_fraction is not None:
            check_number(
                "validation_fraction",
                self.validation_fraction,
                low=0.0,
                high=1.0,
                low_open=True,
                also="None",
            )
        check_number("query_subsample", self.query_subsample, low=0.0, high=1.0, low_open=True)
        if self.random_state is not None:
            check_seed(self.random_state)
        params = {theirs: getattr(self, ours) for ours, theirs in LIGHTGBM_NAMES.items()}
        return params | {
            "metric": "None",
            "num_threads": resolve_n_jobs(self.n_jobs),
            "seed": int(self.random_state or 0),
            "verbosity": self.verbose - 1 if self.verbose > 0 else self.verbose,
            **check_other_params(self.lgb_params),
        }

    def _trees_to_go_on_from(self, init_model: Any) -> tuple[lgb.Booster | None, int]:
        """Return the trees to start from, and how many to add."""
        if init_model is not None or not (self.warm_start and hasattr(self, "booster_")):
            return as_booster(init_model), self.n_estimators
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
        return as_booster(self), n_trees

    def _fevals(self) -> list[Callable[..., Any]]:
        wanted = self.eval_metric
        metrics = wanted if isinstance(wanted, list | tuple) else [wanted]
        return [feval(metric) if isinstance(metric, str) else metric for metric in metrics]


def _is_saved(attribute: str) -> bool:
    """Tell whether a model file holds this attribute as it is: what fit sets, but the trees."""
    by_fit = attribute.endswith("_") and not attribute.startswith("_")
    return by_fit and attribute not in ("booster_", "objective_", "feature_importances_")
