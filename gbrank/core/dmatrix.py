"""What an objective or a metric may read of the data set that XGBoost hands to it.

As :mod:`gbrank.core.training_data` for LightGBM: by the names of methods alone, XGBoost is not
imported. Two things differ. XGBoost hands over new scores and new copies of the labels at every
step, so that the Booster, which is among the callers, stands for the training and counts its trees;
and its weights are those of queries.
"""

import json
from typing import Any

import numpy as np

from gbrank.core.callers import find_caller
from gbrank.core.typing import FloatArray

#: What a metric must begin with for XGBoost to know, if nobody says, that more of it is better.
_MAXIMIZED = ("auc", "pre", "map", "ndcg")


class DMatrixData:
    """An ``xgboost.DMatrix``, as far as a callable needs it; attributes as of ``TrainingData``.

    Parameters
    ----------
    dmatrix : the DMatrix.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.core.dmatrix import DMatrixData
    >>> class Like:  # what is read of a DMatrix
    ...     get_label = lambda self: np.float32([0, 1, 2, 0])
    ...     get_weight = lambda self: np.float32([2, 5])
    ...     get_uint_info = lambda self, name: np.uint32([0, 3, 4])
    >>> data = DMatrixData(Like())
    >>> data.group, data.weight
    (array([3, 1]), array([2., 2., 2., 5.], dtype=float32))
    """

    #: XGBoost has no positions, draws no queries and counts no changes of a DMatrix.
    position = None
    bags_by_query = False
    version = None

    def __init__(self, dmatrix: Any) -> None:
        self._dmatrix = dmatrix
        self._booster = find_caller("xgboost.core", "num_boosted_rounds")

    @staticmethod
    def is_dataset(thing: Any) -> bool:
        """Return whether ``thing`` is a DMatrix of XGBoost, by its methods."""
        return hasattr(thing, "get_uint_info") and hasattr(thing, "get_label")

    @property
    def labels(self) -> Any:
        """The label of each row."""
        return self._dmatrix.get_label()

    @property
    def group(self) -> Any:
        """The number of rows of each query, or ``None``."""
        bounds = np.asarray(self._dmatrix.get_uint_info("group_ptr"), dtype=np.int64)
        return np.diff(bounds) if len(bounds) > 1 else None

    @property
    def weight(self) -> Any:
        """The weight of each row, that of its query, or ``None``."""
        weights, sizes = self._dmatrix.get_weight(), self.group
        if len(weights) == 0:
            return None
        per_query = sizes is not None and len(weights) == len(sizes)
        return np.repeat(weights, sizes) if per_query else weights

    def scores(self, given: Any) -> FloatArray:
        """Return the scores as the kernels take them: XGBoost's are in single precision."""
        return np.ascontiguousarray(given, dtype=np.float64).reshape(-1)

    def training_of(self, scores: Any) -> Any:
        """Return the object that lives as long as this training does."""
        return self._dmatrix if self._booster is None else self._booster

    @property
    def iteration(self) -> int | None:
        """How many trees there are; ``None`` if no Booster calls."""
        return None if self._booster is None else int(self._booster.num_boosted_rounds())

    @property
    def first_iteration(self) -> int:
        """How many trees there were before this training."""
        return self.iteration or 0

    @property
    def params(self) -> dict[str, Any]:
        """What XGBoost's parameters say to a loss, by LightGBM's names: its seed."""
        seed = self._general().get("seed")
        return {} if seed is None else {"objective_seed": int(seed)}

    @property
    def n_threads(self) -> int | None:
        """XGBoost's ``nthread``; ``None`` for its default."""
        threads = int(self._general().get("nthread") or 0)
        return threads if threads > 0 else None

    def torn_query(self) -> None:
        """Return a query of which some rows are missing: ``xgb.cv`` makes folds of whole ones."""

    def stops_at_the_wrong_end(self, names: list[str], greater_is_better: list[bool]) -> str | None:
        """Return a metric of which early stopping takes less for more, or more for less.

        Parameters
        ----------
        names : of the metrics, in their order.
        greater_is_better : of each.
        """
        container = find_caller("xgboost.callback", "callbacks")
        for callback in getattr(container, "callbacks", ()):
            if type(callback).__name__ != "EarlyStopping":
                continue
            watched = getattr(callback, "metric_name", None) or names[-1]
            maximize = getattr(callback, "maximize", None)
            if maximize is None:
                maximize = watched.startswith(_MAXIMIZED)
            if watched in names and greater_is_better[names.index(watched)] != maximize:
                return watched
        return None

    def _general(self) -> dict[str, Any]:
        """Return XGBoost's general parameters, where the Booster can be found."""
        if self._booster is None:
            return {}
        config = json.loads(self._booster.save_config())
        found: dict[str, Any] = config.get("learner", {}).get("generic_param", {})
        return found
