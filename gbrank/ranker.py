"""Ranker: a scikit-learn estimator that trains LightGBM on any of the objectives."""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import lightgbm as lgb
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from gbrank._saved_values import refuse_stand_ins
from gbrank.layout import FloatArray, IntArray, QueryLayout, check_labels, check_weights
from gbrank.metrics import feval, ndcg_score
from gbrank.model_file import read_model, write_model
from gbrank.objectives import Objective, get_objective
from gbrank.objectives.params import check_seed, check_whole
from gbrank.parallel import resolve_n_jobs

# Constructor parameters that go to LightGBM, under LightGBM's own names.
_LIGHTGBM_NAMES = {
    "boosting_type": "boosting",
    "num_leaves": "num_leaves",
    "max_depth": "max_depth",
    "learning_rate": "learning_rate",
    "min_split_gain": "min_gain_to_split",
    "min_child_weight": "min_sum_hessian_in_leaf",
    "min_child_samples": "min_data_in_leaf",
    "subsample": "bagging_fraction",
    "subsample_freq": "bagging_freq",
    "subsample_for_bin": "bin_construct_sample_cnt",
    "colsample_bytree": "feature_fraction",
    "reg_alpha": "lambda_l1",
    "reg_lambda": "lambda_l2",
}
# What the Ranker decides itself, and where to say otherwise.
_DECIDED_HERE = {
    "objective": "objective",
    "metric": "eval_metric",
    "num_threads": "n_jobs",
    "num_iterations": "n_estimators",
    "n_estimators": "n_estimators",
    "early_stopping_round": "early_stopping_rounds",
    "seed": "random_state",
    "random_state": "random_state",
    "verbosity": "verbose",
    **{name: name for name in _LIGHTGBM_NAMES},
    **{theirs: ours for ours, theirs in _LIGHTGBM_NAMES.items()},
}


class Ranker(BaseEstimator):
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
        What is computed on evaluation sets, e.g. "ndcg@5"; the first decides early stopping.
    early_stopping_rounds : int, default=None
        Stop when the first metric has not improved on the evaluation set for so many trees.
    lgb_params : dict, default=None
        Any other LightGBM parameters, e.g. ``{"force_col_wise": True}``.
    random_state : int, default=None
        Seed of LightGBM, and of an objective that is given by name. ``None`` stands for 0.
    n_jobs : int, default=None
        Threads, of LightGBM and of the objective; ``None`` for all CPUs.
    verbose : int, default=-1
        LightGBM's ``verbosity``.

    Attributes
    ----------
    booster_ : lightgbm.Booster
        The trained model.
    objective_ : Objective
        The objective it was trained with.
    best_iteration_ : int
        Number of trees that :meth:`predict` uses.
    evals_result_ : dict
        Metric values on the evaluation sets, tree by tree.
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
        self.lgb_params = lgb_params
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        eval_X: Any = None,
        eval_y: Any = None,
        eval_qid: Any = None,
        init_model: Any = None,
        callbacks: Sequence[Callable[..., Any]] | None = None,
    ) -> Self:
        """Train.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Features; rows in any order if ``qid`` is given. Missing values are allowed.
        y : array of shape (n_rows,)
            Relevance, finite and >= 0, whole or fractional.
        qid : array of shape (n_rows,)
            Query of each row: numbers, strings, categories.
        group : array of shape (n_queries,)
            Instead of ``qid``: number of rows of each query, rows of a query being consecutive.
        sample_weight : array of shape (n_rows,)
            Weight of each row; multiplies its gradient and curvature.
        eval_X, eval_y, eval_qid : one evaluation set, or a tuple of several
            Queries on which ``eval_metric`` is computed after each tree.
        init_model : Booster, Ranker or path
            Model whose training is continued; its trees are part of the result.
        callbacks : list of callables
            LightGBM callbacks.
        """
        if y is None:
            raise ValueError("Ranker.fit requires y to be passed, but the target y is None")
        if qid is None and group is None:
            raise ValueError(
                "Ranker.fit needs to know the queries: pass qid= (the query id of each row) or "
                "group= (the number of rows of each query)"
            )
        refuse_stand_ins(self.get_params())
        objective = self._resolve_objective()
        params = self._lightgbm_params()
        evaluation_sets = _evaluation_sets(eval_X, eval_y, eval_qid)
        self.evals_result_: dict[str, dict[str, list[float]]] = {}
        callbacks = self._callbacks(callbacks, bool(evaluation_sets))
        X = self._validate_features(X, reset=True)
        labels = _column(y)
        layout = QueryLayout.from_either(qid, group, _num_samples(X))
        objective.check_labels(check_labels(labels, layout), layout)
        training = make_dataset(X, labels, layout, sample_weight, params)
        evaluation = [
            make_dataset(
                self._validate_features(features, reset=False),
                _column(target),
                QueryLayout.from_qid(queries, _num_samples(features)),
                None,
                params,
                training,
            )
            for features, target, queries in evaluation_sets
        ]
        if init_model is None:  # else LightGBM must set the first scores before it makes bins
            _refuse_if_nothing_can_be_split(training, self.min_child_samples)
        self.booster_ = lgb.train(
            {**params, "objective": objective},
            training,
            num_boost_round=self.n_estimators,
            valid_sets=evaluation,
            feval=self._fevals() if evaluation else None,
            init_model=_as_lightgbm_model(init_model),
            callbacks=callbacks,
        )
        self.objective_ = objective
        trees = self.booster_.current_iteration()
        stopped = self.early_stopping_rounds is not None and self.booster_.best_iteration > 0
        self.best_iteration_ = self.booster_.best_iteration if stopped else trees
        return self

    def predict(self, X: Any, *, num_iteration: int | None = None, **kwargs: Any) -> FloatArray:
        """Return a score for each row; only their order within a query means anything.

        Parameters
        ----------
        X : features, as in :meth:`fit`.
        num_iteration : number of trees to use; ``None`` for ``best_iteration_``.
        **kwargs : passed to ``lightgbm.Booster.predict``, e.g. ``pred_contrib=True``.
        """
        check_is_fitted(self)
        X = self._validate_features(X, reset=False)
        trees = self.best_iteration_ if num_iteration is None else num_iteration
        kwargs.setdefault("num_threads", resolve_n_jobs(self.n_jobs))
        scores: FloatArray = self.booster_.predict(X, num_iteration=trees, **kwargs)
        return scores

    def rank(self, X: Any, *, qid: Any = None, group: ArrayLike | None = None) -> IntArray:
        """Return the rank of each row within its query: 1 is the best; ties go by row order."""
        scores = self.predict(X)
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
        if qid is None and group is None:
            raise ValueError(
                "Ranker.score needs to know the queries: pass qid= (the query id of each row) or "
                "group= (the number of rows of each query). In cross-validation, enable metadata "
                "routing and call set_score_request(qid=True)"
            )
        scores = self.predict(X)
        return float(
            ndcg_score(_column(y), scores, qid=qid, group=group, k=10, sample_weight=sample_weight)
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

    def _lightgbm_params(self) -> dict[str, Any]:
        check_whole("n_estimators", self.n_estimators, low=1)
        if self.early_stopping_rounds is not None:
            check_whole("early_stopping_rounds", self.early_stopping_rounds, low=1, also="None")
        if self.random_state is not None:
            check_seed(self.random_state)
        params = {theirs: getattr(self, ours) for ours, theirs in _LIGHTGBM_NAMES.items()}
        params |= {
            "metric": "None",
            "num_threads": resolve_n_jobs(self.n_jobs),
            "seed": int(self.random_state or 0),
            "verbosity": self.verbose,
        }
        for name, value in (self.lgb_params or {}).items():
            if name in _DECIDED_HERE:
                raise ValueError(
                    f"lgb_params must not set {name!r}: use the Ranker's parameter "
                    f"{_DECIDED_HERE[name]!r}"
                )
            if name == "bagging_by_query" and value:
                raise ValueError(
                    "bagging_by_query=True is not supported: with a custom objective LightGBM then "
                    "pairs gradients with the wrong rows"
                )
            params[name] = value
        return params

    def _validate_features(self, X: Any, *, reset: bool) -> Any:
        """Check features and remember, or compare, their number and names.

        Arrays are checked as scikit-learn does; tables keep their types, so that LightGBM sees
        categories.
        """
        if hasattr(X, "columns") or hasattr(X, "column_names"):
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

    def _fevals(self) -> list[Callable[..., Any]]:
        wanted = self.eval_metric
        metrics = wanted if isinstance(wanted, list | tuple) else [wanted]
        return [feval(metric) if isinstance(metric, str) else metric for metric in metrics]

    def _callbacks(
        self, given: Sequence[Callable[..., Any]] | None, evaluated: bool
    ) -> list[Callable[..., Any]]:
        callbacks = list(given or [])
        if evaluated:
            callbacks.append(lgb.record_evaluation(self.evals_result_))
        if self.early_stopping_rounds is not None:
            if not evaluated:
                raise ValueError(
                    "early_stopping_rounds needs an evaluation set: pass eval_X, eval_y, eval_qid"
                )
            callbacks.append(
                lgb.early_stopping(
                    self.early_stopping_rounds, first_metric_only=True, verbose=self.verbose > 0
                )
            )
        return callbacks


def _is_saved(attribute: str) -> bool:
    """Tell whether a model file holds this attribute as it is: what fit sets, but the trees."""
    by_fit = attribute.endswith("_") and not attribute.startswith("_")
    return by_fit and attribute not in ("booster_", "objective_", "feature_importances_")


def _column(y: Any) -> NDArray[Any]:
    """Return labels as one-dimensional; a single column is taken as such."""
    values = np.asarray(y)
    return values.ravel() if values.ndim == 2 and values.shape[1] == 1 else values


def make_dataset(
    X: Any,
    labels: NDArray[Any],
    layout: QueryLayout,
    weight: ArrayLike | None,
    params: dict[str, Any],
    reference: lgb.Dataset | None = None,
) -> lgb.Dataset:
    """Return a Dataset of checked labels and weights, its rows in query order."""
    checked = check_labels(labels, layout)
    if weight is not None:
        weight = layout.sort(check_weights(weight, layout))
        if not np.any(weight):
            raise ValueError("sample weights must contain at least one non-zero number")
    if layout.order is not None:
        X = _safe_indexing(X.tocsr() if issparse(X) else X, layout.order)
    return lgb.Dataset(
        X,
        layout.sort(checked),
        group=layout.sizes,
        weight=weight,
        reference=reference,
        params=params,
    )


def _refuse_if_nothing_can_be_split(training: lgb.Dataset, min_child_samples: int) -> None:
    """Say clearly what LightGBM, with a custom objective, answers with a failed C++ check."""
    training.construct()
    if all(training.feature_num_bin(feature) == 0 for feature in range(training.num_feature())):
        raise ValueError(
            "no feature can be split on: every one is constant, or there are too few rows "
            f"({training.num_data()}) for leaves of min_child_samples={min_child_samples}"
        )


def _evaluation_sets(eval_X: Any, eval_y: Any, eval_qid: Any) -> list[tuple[Any, Any, Any]]:
    given = {"eval_X": eval_X, "eval_y": eval_y, "eval_qid": eval_qid}
    missing = [name for name, value in given.items() if value is None]
    if len(missing) == 3:
        return []
    if missing:
        raise ValueError(f"an evaluation set needs eval_X, eval_y and eval_qid: {missing} missing")
    if not isinstance(eval_X, tuple):
        return [(eval_X, eval_y, eval_qid)]
    if not (len(eval_X) == len(eval_y) == len(eval_qid)):
        raise ValueError(
            "eval_X, eval_y and eval_qid must be tuples of the same length, got "
            f"{len(eval_X)}, {len(eval_y)} and {len(eval_qid)}"
        )
    return list(zip(eval_X, eval_y, eval_qid, strict=True))


def _as_lightgbm_model(model: Any) -> Any:
    if isinstance(model, Ranker):
        check_is_fitted(model)
        return model.booster_
    return model
