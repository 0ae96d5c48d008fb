"""Scores with a meaning: probabilities of grades, and the gain to expect, from any Ranker.

A ranker's scores order one list and mean nothing else. Here they are mapped, by curves that never
fall, to the probability that a document's label is at least g, for every grade g. The curves are
fitted to out-of-fold scores, of whole queries that the booster behind the score did not see; on
training scores they would promise too much. As they never fall, no two documents change places.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from gbrank.core import (
    FloatArray,
    GainSpec,
    IntArray,
    atomic_file,
    check_choice,
    check_file,
    check_integer,
    compute_gains,
    one_column,
    take_rows,
)
from gbrank.model_selection import QueryKFold
from gbrank.ranker import Ranker

#: More grades than these are no grades: a curve for each would be fitted to next to nothing.
MOST_GRADES = 64
METHODS = ("isotonic", "platt")
_FORMAT = "gbrank calibration 1"


class CalibratedRanker(MetaEstimatorMixin, BaseEstimator):
    """A ranker whose predictions are comparable across queries: probabilities and expected gains.

    Parameters
    ----------
    ranker : Ranker, default=None
        What ranks, not fitted; ``None`` for ``Ranker()``. Its out-of-fold scores are used where it
        cross-fits by itself; otherwise it is fitted ``cv`` times more.
    method : {"isotonic", "platt"}, default="isotonic"
        The curve from score to probability: any that never falls, or a logistic one, which needs
        less data and cannot bend.
    cv : int >= 2, default=5
        Folds of whole queries, where the ranker has no out-of-fold scores.
    gain : "exp", "linear", table or callable, default="exp"
        What a label is worth, in :meth:`predict`.

    Attributes
    ----------
    ranker_ : Ranker
        Fitted to all rows.
    grades_ : array
        The labels that occurred, increasing.
    curves_ : list of arrays of shape (2, n_points)
        For every grade but the lowest: "isotonic" has scores and, below them, the probability of at
        least that grade there, with lines between; "platt" the slope and the intercept.

    Examples
    --------
    >>> from gbrank import CalibratedRanker, Ranker
    >>> from gbrank.data import make_ranking
    >>> train, test = make_ranking(n_queries=100, random_state=0).split(0.5)
    >>> model = CalibratedRanker(Ranker(n_estimators=20)).fit(train.X, train.y, qid=train.qid)
    >>> relevant = model.probability(test.X, at_least=1)
    >>> bool((relevant >= 0).all() and (relevant <= 1).all())
    True
    >>> model.predict_proba(test.X).shape == (len(test.y), len(model.grades_))
    True
    """

    def __init__(
        self,
        ranker: Ranker | None = None,
        *,
        method: str = "isotonic",
        cv: int = 5,
        gain: GainSpec = "exp",
    ) -> None:
        self.ranker = ranker
        self.method = method
        self.cv = cv
        self.gain = gain

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Train the ranker, and fit the curves to its out-of-fold scores.

        Parameters
        ----------
        X, y, qid, group : as in :meth:`gbrank.Ranker.fit`; labels are grades.
        **fit_params : handed on to it, e.g. ``sample_weight``. By row, they need a ranker that
            cross-fits by itself.
        """
        check_choice("method", self.method, METHODS)
        check_integer("cv", self.cv, low=2)
        ranker = Ranker() if self.ranker is None else clone(self.ranker)
        labels = np.asarray(one_column(y), dtype=np.float64)
        grades = np.unique(labels)
        if not 2 <= len(grades) <= MOST_GRADES:
            raise ValueError(
                f"labels must be 2 to {MOST_GRADES} grades to be calibrated, got {len(grades)} "
                "different values"
            )
        ranker.fit(X, y, qid=qid, group=group, **fit_params)
        scores = self._out_of_fold(ranker, X, labels, qid, group, fit_params)
        known = ~np.isnan(scores)
        curves = [self._curve(scores[known], labels[known] >= grade) for grade in grades[1:]]
        compute_gains(grades, self.gain)  # its error comes before anything is kept
        self.ranker_, self.grades_, self.curves_ = ranker, grades, curves
        self._take_columns(ranker)
        return self

    def _take_columns(self, ranker: Ranker) -> None:
        """Say what a fitted ranker says of the columns of X."""
        self.n_features_in_ = ranker.n_features_in_
        if hasattr(ranker, "feature_names_in_"):
            self.feature_names_in_ = ranker.feature_names_in_
        elif hasattr(self, "feature_names_in_"):  # of an earlier fit
            del self.feature_names_in_

    def _out_of_fold(
        self, ranker: Ranker, X: Any, labels: FloatArray, qid: Any, group: Any, fit_params: Any
    ) -> FloatArray:
        """Return scores by boosters that did not see the row, NaN where there are none."""
        known: FloatArray = getattr(ranker, "cv_predictions_", np.empty(0))
        if len(known) and np.isfinite(known).sum() >= 2:
            return known
        if fit_params:
            raise ValueError(
                f"{sorted(fit_params)} can only be handed on to a ranker that cross-fits by "
                "itself, such as Ranker()"
            )
        if group is not None:
            qid = np.repeat(np.arange(len(np.asarray(group))), np.asarray(group))
        column = ranker.qid_column_ if qid is None or isinstance(qid, str) else None
        ids = qid if column is None else np.asarray(X[column])
        scores = np.full(len(labels), np.nan)
        for inside, outside in QueryKFold(self.cv, shuffle=True, random_state=0).split(
            np.empty((len(labels), 0)), labels, ids
        ):
            part = clone(ranker).fit(
                take_rows(X, inside),
                labels[inside],
                qid=column if column is not None else np.asarray(ids)[inside],
            )
            scores[outside] = part.predict(take_rows(X, outside), qid=np.asarray(ids)[outside])
        return scores

    def _curve(self, scores: FloatArray, reached: Any) -> FloatArray:
        """Return the curve of one grade."""
        if self.method == "isotonic":
            fitted = IsotonicRegression(y_min=0.0, y_max=1.0).fit(scores, reached)
            return np.array([fitted.X_thresholds_, fitted.y_thresholds_], dtype=np.float64)
        spread = max(float(scores.std()), 1e-12)  # the solver wants numbers around 1
        fitted = LogisticRegression(C=1e6).fit((scores / spread)[:, None], reached)
        slope, intercept = float(fitted.coef_[0, 0]) / spread, float(fitted.intercept_[0])
        if slope <= 0:  # a curve that falls would turn lists around
            share = float(np.mean(reached))
            slope, intercept = 0.0, float(np.log(share / (1 - share)))
        return np.array([[slope], [intercept]])

    # --- what it predicts ----------------------------------------------------------------------

    def predict(self, X: Any, *, qid: Any = None, group: ArrayLike | None = None) -> FloatArray:
        """Return the expected gain of each row, comparable across queries.

        Parameters
        ----------
        X, qid, group : as in :meth:`gbrank.Ranker.predict`.
        """
        shares = self.predict_proba(X, qid=qid, group=group)
        gains = compute_gains(self.grades_, self.gain)
        expected: FloatArray = shares @ gains
        return expected

    def predict_proba(
        self, X: Any, *, qid: Any = None, group: ArrayLike | None = None
    ) -> FloatArray:
        """Return the probability of each grade, a column for each of ``grades_``.

        Parameters
        ----------
        X, qid, group : as in :meth:`gbrank.Ranker.predict`.
        """
        reached = self._reached(X, qid, group)
        ends = np.ones((len(reached), 1)), np.zeros((len(reached), 1))
        bounds = np.hstack([ends[0], reached, ends[1]])
        return bounds[:, :-1] - bounds[:, 1:]

    def probability(
        self, X: Any, at_least: float = 1.0, *, qid: Any = None, group: ArrayLike | None = None
    ) -> FloatArray:
        """Return the probability that the label of each row is at least ``at_least``.

        Parameters
        ----------
        X, qid, group : as in :meth:`gbrank.Ranker.predict`.
        at_least : one of ``grades_``, or a number between them.
        """
        reached = self._reached(X, qid, group)
        above = int(np.searchsorted(self.grades_, at_least, side="left"))
        if above == 0:
            return np.ones(len(reached))
        if above == len(self.grades_):
            return np.zeros(len(reached))
        found: FloatArray = reached[:, above - 1]
        return found

    def rank(self, X: Any, *, qid: Any = None, group: ArrayLike | None = None) -> IntArray:
        """Return the rank of each row within its query, by the ranker's own scores.

        Probabilities may be equal where scores are not; the scores decide.

        Parameters
        ----------
        X, qid, group : as in :meth:`gbrank.Ranker.rank`.
        """
        check_is_fitted(self)
        return self.ranker_.rank(X, qid=qid, group=group)

    def score(
        self,
        X: Any,
        y: ArrayLike,
        *,
        qid: Any = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return what the ranker's ``score`` says: calibration leaves the order alone.

        Parameters
        ----------
        X, y, qid, group, sample_weight : as in :meth:`gbrank.Ranker.score`.
        """
        check_is_fitted(self)
        return self.ranker_.score(X, y, qid=qid, group=group, sample_weight=sample_weight)

    def _reached(self, X: Any, qid: Any, group: Any) -> FloatArray:
        """Return the probability of at least each grade but the lowest, never rising by column."""
        check_is_fitted(self)
        scores = self.ranker_.predict(X, qid=qid, group=group)
        if self.method == "isotonic":
            columns = [np.interp(scores, *curve) for curve in self.curves_]
        else:
            columns = [expit(curve[0] * scores + curve[1]) for curve in self.curves_]
        # each curve is fitted by itself; a higher grade is never likelier than a lower one
        return np.minimum.accumulate(np.column_stack(columns), axis=1)

    # --- files ---------------------------------------------------------------------------------

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write the ranker to ``path``, as it saves itself, and the curves to a file beside it.

        The first is a model like any other, for LightGBM and search engines; the second, with
        ".calibration.json" behind the name, is what :meth:`load_model` needs besides.

        Parameters
        ----------
        path : the file of the ranker.
        """
        check_is_fitted(self)
        self.ranker_.save_model(path)
        content = {
            "format": _FORMAT,
            "model": _checksum(path),
            "method": self.method,
            "gain": self.gain if isinstance(self.gain, str) else None,
            "gains": compute_gains(self.grades_, self.gain).tolist(),
            "grades": self.grades_.tolist(),
            "curves": [curve.tolist() for curve in self.curves_],
        }
        # the name was made here, so that a link under it is not one of the user's
        with atomic_file(_beside(path), follow_links=False) as file:
            file.write(json.dumps(content).encode())

    @classmethod
    def load_model(cls, path: str | os.PathLike[str]) -> Self:
        """Return a model that :meth:`save_model` wrote; nothing in the files is run.

        Parameters
        ----------
        path : the file of the ranker.
        """
        where = _beside(path)
        try:
            content = json.loads(check_file(where).read_bytes())
            grades, gains = (np.array(content[k], dtype=np.float64) for k in ("grades", "gains"))
            curves = [np.array(curve, dtype=np.float64) for curve in content["curves"]]
            written, model, method = (content[k] for k in ("format", "model", "method"))
            gain = content["gain"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{where} holds no calibration: {error}") from None
        sound = (
            written == _FORMAT
            and method in METHODS
            and grades.ndim == 1
            and gains.shape == grades.shape
            and len(curves) == len(grades) - 1
            and all(_is_curve(curve, method) for curve in curves)
        )
        if not sound:
            raise ValueError(f"{where} holds no calibration, or one of another version")
        if model != _checksum(path):
            raise ValueError(f"{where} belongs to another model than {os.fspath(path)}")
        table = dict(zip(grades.tolist(), gains.tolist(), strict=True))
        loaded = cls(method=method, gain=gain if isinstance(gain, str) else _GainTable(table))
        loaded.ranker_ = Ranker.load_model(path)
        loaded.ranker = clone(loaded.ranker_)
        loaded.grades_, loaded.curves_ = grades, curves
        loaded._take_columns(loaded.ranker_)
        return loaded


@dataclass(frozen=True)
class _GainTable:
    """Gains of a loaded model whose own gain was not a word."""

    gains: dict[float, float]

    def __call__(self, labels: FloatArray) -> FloatArray:
        return np.array([self.gains[label] for label in np.asarray(labels).tolist()])


def _is_curve(curve: FloatArray, method: str) -> bool:
    if curve.ndim != 2 or len(curve) != 2 or not curve.size or not np.isfinite(curve).all():
        return False
    if method == "platt":
        return curve.shape == (2, 1) and bool(curve[0, 0] >= 0)
    rises = bool((np.diff(curve) >= 0).all())
    return rises and bool((curve[1] >= 0).all() and (curve[1] <= 1).all())


def _beside(path: str | os.PathLike[str]) -> str:
    return f"{os.fspath(path)}.calibration.json"


def _checksum(path: str | os.PathLike[str]) -> str:
    return hashlib.sha256(check_file(path).read_bytes()).hexdigest()
