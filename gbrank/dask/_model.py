"""What a trained DaskRanker does: scores, ranks and judges, lazily; becomes a Ranker; is saved."""

import os
from typing import Any

import dask.dataframe as dd
import lightgbm as lgb
import numpy as np
from dask import delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from gbrank.boosting import Boosted
from gbrank.dask import _blocks
from gbrank.dask._parts import Description
from gbrank.dask._ranks import rank_blocks
from gbrank.dask.metrics import ndcg_score
from gbrank.objectives import Objective
from gbrank.ranker import Ranker, set_trained
from gbrank.start import Start


class DaskModel(BaseEstimator):
    """The part of the DaskRanker that uses a trained model."""

    qid: str | None
    repartition: str
    local_: Ranker

    def predict(self, X: Any, *, num_iteration: int | None = None) -> Any:
        """Return a score for each row, not computed yet: an array, or a series with X's index.

        Parameters
        ----------
        X : features, as in :meth:`fit`; a column of query ids may be there or not.
        num_iteration : number of trees to use; ``None`` for all.
        """
        check_is_fitted(self)
        X = _blocks.check_features(X)
        if X.shape[1] - self._has_column(X) != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1] - self._has_column(X)} features, but DaskRanker is expecting "
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
        scores = self.predict(X)
        wanted = self._queries(qid)
        if wanted is None:
            _blocks.query_blocks(X, None, "DaskRanker.score")
        return ndcg_score(
            y,
            scores,
            qid=_blocks.column_named(X, wanted),
            k=10,
            sample_weight=sample_weight,
            repartition=self.repartition,
        )

    def to_local(self) -> Ranker:
        """Return the model as a :class:`gbrank.Ranker`, which predicts the same without Dask."""
        check_is_fitted(self)
        twin: Ranker = clone(self.local_)
        twin.__dict__.update(self.local_.__dict__)
        return twin

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write the model as :meth:`gbrank.Ranker.save_model` does; Ranker.load_model reads it."""
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

    def _queries(self, qid: Any) -> Any:
        return qid if qid is not None else getattr(self.local_, "qid_column_", self.qid)

    def _has_column(self, X: Any) -> bool:
        column = getattr(self.local_, "qid_column_", None)
        return isinstance(X, dd.DataFrame) and column is not None and column in X.columns


def _predict_block(model: Ranker, X: Any, num_iteration: int | None) -> Any:
    n_rows = _blocks.rows_of(X)
    scores = model.predict(X, num_iteration=num_iteration) if n_rows else np.empty(0)
    return _blocks.as_column_of(X, scores, "score")


def fill_in(
    local: Ranker, booster: lgb.Booster, start: Start, described: Description, column: str | None
) -> None:
    """Give a Ranker the attributes that its own fit sets."""
    set_trained(local, Boosted(booster, booster.current_iteration(), 1, {}), start)
    local.n_features_in_ = described.n_features
    local.qid_column_ = column
    if described.names is not None and all(isinstance(name, str) for name in described.names):
        local.feature_names_in_ = np.array(described.names, dtype=object)
