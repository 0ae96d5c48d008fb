"""The Ranker as a file."""

import os
import warnings
from typing import Any, Self

import lightgbm as lgb
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gbrank.boosting import read_model, write_model


class RankerFiles(BaseEstimator):
    """The part of the Ranker that saves and loads."""

    booster_: lgb.Booster
    objective_: Any
    best_iteration_: int
    n_start_trees_: int

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
        return ranker


def _is_saved(attribute: str) -> bool:
    """Return whether a model file holds this attribute as it is: what fit sets, but the trees."""
    by_fit = attribute.endswith("_") and not attribute.startswith("_")
    return by_fit and attribute not in ("booster_", "objective_", "feature_importances_")
