"""What an objective or a metric may read of the data set that LightGBM hands to it.

By the names of its methods alone: LightGBM is not imported here. Whoever gets a Dataset inside a
callable reads it through :func:`read_dataset`, so that what is known of LightGBM's class, its
private parts included, is known in this file only.
"""

import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from gbrank.core.callers import find_caller
from gbrank.core.dmatrix import DMatrixData

#: LightGBM's names of one parameter.
_NUM_THREADS = ("num_threads", "num_thread", "nthread", "nthreads", "n_jobs")
#: What LightGBM takes for true, in lower case.
TRUE_WORDS = ("true", "1", "+")
#: Why a training that draws queries by LightGBM's own parameter is an error.
NO_BAGGING_BY_QUERY = (
    "bagging_by_query=True is not supported: with a custom objective LightGBM then pairs gradients "
    "with the wrong rows. Remove it; QuerySubsampled, around the objective, draws queries"
)


def bags_by_query(params: Mapping[str, Any]) -> bool:
    """Return whether these parameters ask LightGBM to draw queries for each tree."""
    return str(params.get("bagging_by_query", False)).lower() in TRUE_WORDS


def training_params(dataset: Any) -> dict[str, Any]:
    """Return the parameters of the training that calls an objective or a metric.

    A Dataset has parameters too, but those of the first training that it was used for: LightGBM
    leaves them alone once the Dataset is constructed. The Booster has the right ones, and it is
    among the callers; where it cannot be found, what the Dataset has must do.

    Parameters
    ----------
    dataset : the Dataset that LightGBM handed over, or whatever came in its place.
    """
    booster = find_caller("lightgbm.basic", "train_set")
    if booster is not None:
        return dict(getattr(booster, "params", None) or {})
    params = getattr(dataset, "params", None) if TrainingData.is_dataset(dataset) else None
    return dict(params or {})


class TrainingData:
    """A ``lightgbm.Dataset``, as far as a callable needs it.

    Parameters
    ----------
    dataset : the Dataset, constructed.

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np
    >>> from gbrank.core.training_data import TrainingData
    >>> params = {"num_threads": 2, "verbose": -1}
    >>> dataset = lgb.Dataset(np.eye(4), [0, 1, 2, 0], group=[3, 1], params=params)
    >>> data = TrainingData(dataset.construct())
    >>> data.labels, data.weight, data.group, data.n_threads
    (array([0., 1., 2., 0.], dtype=float32), None, array([3, 1], dtype=int32), 2)
    """

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    @staticmethod
    def is_dataset(thing: Any) -> bool:
        """Return whether ``thing`` is a Dataset of LightGBM, by its methods."""
        return hasattr(thing, "get_label") and hasattr(thing, "get_position")

    @property
    def labels(self) -> Any:
        """The label of each row."""
        return self._dataset.get_label()

    @property
    def weight(self) -> Any:
        """The weight of each row, or ``None``."""
        return self._dataset.get_weight()

    @property
    def group(self) -> Any:
        """The number of rows of each query, or ``None``."""
        return self._dataset.get_group()

    @property
    def position(self) -> Any:
        """The position at which each row was shown, or ``None``."""
        return self._dataset.get_position()

    @property
    def version(self) -> Any:
        """What is another where labels, weights, queries or positions may be others.

        ``None`` where LightGBM does not count its changes of a Dataset.
        """
        changes = getattr(self._dataset, "version", None)
        return None if changes is None else (weakref.ref(self._dataset), changes)

    def scores(self, given: Any) -> Any:
        """Return the scores that LightGBM handed over, which are as the kernels take them."""
        return given

    def training_of(self, scores: Any) -> Any:
        """Return the object that lives as long as this training does: its Booster.

        Where it cannot be found, its one buffer of scores must do.
        """
        booster = find_caller("lightgbm.basic", "train_set")
        return scores if booster is None else booster

    @property
    def iteration(self) -> int | None:
        """How many trees there are: whoever is called must count for himself."""
        return None

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the training: see :func:`training_params`."""
        return training_params(self._dataset)

    @property
    def n_threads(self) -> int | None:
        """LightGBM's ``num_threads`` where the Dataset knows it; 0 and below mean its default."""
        params = self.params
        for name in _NUM_THREADS:
            if params.get(name) is not None:
                return int(params[name]) if int(params[name]) > 0 else None
        return None

    @property
    def bags_by_query(self) -> bool:
        """Whether LightGBM was asked to draw queries for each tree."""
        return bags_by_query(self.params)

    @property
    def first_iteration(self) -> int:
        """How many iterations came before: of ``init_model``, or of this very training.

        After ``set_label`` in mid-training LightGBM begins with a new array of scores. Where the
        trees of ``init_model`` are kept is private: with a guard.
        """
        booster = find_caller("lightgbm.basic", "train_set")
        if booster is not None:
            return int(booster.current_iteration())
        predictor = getattr(self._dataset, "_predictor", None)
        current_iteration = getattr(predictor, "current_iteration", None)
        return int(current_iteration()) if callable(current_iteration) else 0

    def torn_query(self) -> int | None:
        """Return a query of which only some rows are in this Dataset, one that is a subset."""
        used = getattr(self._dataset, "used_indices", None)
        reference = getattr(self._dataset, "reference", None)
        group = None if used is None or reference is None else reference.get_group()
        if group is None:
            return None
        sizes = np.asarray(group, dtype=np.int64)
        query_of_row = np.repeat(np.arange(len(sizes)), sizes)
        used_rows = np.bincount(query_of_row[np.asarray(used)], minlength=len(sizes))
        torn = (used_rows > 0) & (used_rows < sizes)
        return int(np.argmax(torn)) if torn.any() else None


def calling_training() -> TrainingData | None:
    """Return the data of the LightGBM training that is calling; ``None`` if none is.

    LightGBM's scikit-learn wrapper hands on arrays alone, but its Booster is among the callers.
    """
    booster = find_caller("lightgbm.basic", "train_set")
    dataset = getattr(booster, "train_set", None)
    return None if dataset is None else TrainingData(dataset)


def is_same_array(kept: Any, given: Any) -> bool:
    """Return whether two arrays are one; or equal, as XGBoost hands out copies.

    Parameters
    ----------
    kept, given : arrays, or ``None``.
    """
    if kept is given:
        return True
    return kept is not None and given is not None and np.array_equal(kept, given)


def read_dataset(thing: Any) -> TrainingData | DMatrixData | None:
    """Return what a callable may read of a data set of LightGBM or XGBoost; ``None`` for others.

    Parameters
    ----------
    thing : what the callable got.
    """
    for kind in (TrainingData, DMatrixData):
        if kind.is_dataset(thing):
            return kind(thing)
    return None
