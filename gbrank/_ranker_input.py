"""What the Ranker makes of its input: queries from a column, features, rows held out."""

from collections.abc import Sequence
from typing import Any

import lightgbm as lgb
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from gbrank.boosting import Rows, check_dataset, check_rows
from gbrank.core import column_names, is_sequence, is_table, take_column
from gbrank.objectives import Objective
from gbrank.preferences import Observations


class RankerInput(BaseEstimator):
    """The part of the Ranker that reads data; no name of it is public."""

    qid: str | None
    early_stopping_rounds: int | None
    validation_fraction: float | None
    random_state: int | None

    def _checked_rows(
        self,
        X: Any,
        y: Any,
        qid: Any,
        group: Any,
        weight: Any,
        init_score: Any,
        caller: str,
        *,
        reset: bool,
    ) -> Rows:
        if y is None:
            raise ValueError(f"{caller} requires y to be passed, but the target y is None")
        if reset:
            self.qid_column_ = qid if isinstance(qid, str) else self.qid
        if group is None:
            qid = self._queries_of(X, qid, caller)
        X = self._validate_features(self._features_only(X), reset=reset)
        return check_rows(X, y, qid, group, weight, init_score)

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

    def _require_held_out_queries(self, X: Any, observed: Observations | None) -> None:
        if observed is not None:
            raise ValueError(
                "early_stopping_rounds needs an evaluation set with labels: preferences have none"
            )
        if self.validation_fraction is None or isinstance(X, lgb.Dataset):
            raise ValueError(
                "early_stopping_rounds needs an evaluation set: pass eval_X, eval_y, eval_qid, or, "
                "unless X is a Dataset, give validation_fraction"
            )

    def _hold_out(self, rows: Rows, evaluated: bool) -> tuple[Rows, list[Rows]]:
        """Take queries from the training set for early stopping that has no others to judge by."""
        if self.early_stopping_rounds is None or self.validation_fraction is None or evaluated:
            return rows, []
        n_queries = rows.layout.n_queries
        n_held_out = max(round(self.validation_fraction * n_queries), 1)
        if n_held_out >= n_queries:
            raise ValueError(
                f"validation_fraction={self.validation_fraction} of {n_queries} queries leaves "
                "none to train on"
            )
        shuffled = np.random.default_rng(self.random_state or 0).permutation(n_queries)
        held_out, kept = np.sort(shuffled[:n_held_out]), np.sort(shuffled[n_held_out:])
        return rows.of_queries(kept)[0], [rows.of_queries(held_out)[0]]

    def _own_dataset(self, dataset: lgb.Dataset, params: dict[str, Any]) -> lgb.Dataset:
        """Prepare a Dataset that the user has made."""
        check_dataset(dataset, params, "X")
        self.qid_column_ = None
        self.n_features_in_ = dataset.num_feature()
        names = dataset.get_feature_name()
        self.__dict__.pop("feature_names_in_", None)
        if names != [f"Column_{at}" for at in range(len(names))]:
            self.feature_names_in_ = np.array(names, dtype=object)
        return dataset

    def _evaluation_rows(
        self, given: Sequence[Any], params: dict[str, Any], training: Rows | lgb.Dataset
    ) -> Rows | lgb.Dataset:
        X, y, qid, weight, init_score = given
        if not isinstance(X, lgb.Dataset):
            return self._checked_rows(
                X, y, qid, None, weight, init_score, "an evaluation set", reset=False
            )
        if not isinstance(training, lgb.Dataset):
            raise ValueError("eval_X is a Dataset, so X must be one too: they share their bins")
        return check_dataset(X.set_reference(training), params, "eval_X")

    def _validate_features(self, X: Any, *, reset: bool) -> Any:
        """Check features and remember, or compare, their number and names.

        Arrays are checked as scikit-learn does; tables keep their types, so that LightGBM sees
        categories.
        """
        if is_sequence(X):
            return self._validate_sequence(X, reset=reset)
        if is_table(X):
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


def preferences_of(objective: Objective, preferences: Observations | None) -> Observations | None:
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


def refuse_with_dataset(*given: Any) -> None:
    names = ("y", "qid", "group", "sample_weight", "init_score", "preferences")
    extra = [name for name, value in zip(names, given, strict=True) if value is not None]
    if extra:
        raise ValueError(f"a Dataset brings its own labels, queries and weights: {extra} given too")


def evaluation_sets(
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
