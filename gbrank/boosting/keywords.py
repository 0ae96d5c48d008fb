"""Calls as LightGBM and its estimators have them: what they mean here, or one clear error."""

import inspect
from collections.abc import Mapping
from typing import Any, Self

import lightgbm as lgb
import numpy as np

from gbrank.boosting.params import DECIDED_HERE, LIGHTGBM_NAMES, main_names
from gbrank.core import did_you_mean, is_sequence, is_table

# Words of other estimators that no alias of LightGBM is.
_MEANT = {
    "eval_at": "eval_metric, e.g. eval_metric='ndcg@5'",
    "label_gain": "lgb_params={'label_gain': ...}, or the gain of an objective",
    "group": "group= of fit",
    "class_weight": "sample_weight= of fit",
    "silent": "verbose",
}


class HintsAtParameters:
    """Makes a constructor that gets an unknown parameter say which one is meant.

    A base class with ``__new__`` only: the signature of the estimator stays that of its
    ``__init__``.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Make the object, unless a keyword is not one of its parameters."""
        known = inspect.signature(cls.__init__).parameters
        takes_any = any(each.kind is each.VAR_KEYWORD for each in known.values())
        for name in kwargs:
            if name not in known and not takes_any:
                hint = _hint(name, list(known))
                raise TypeError(f"{cls.__name__} has no parameter {name!r}{hint}")
        return super().__new__(cls)


def _hint(name: str, known: list[str]) -> str:
    """Return which parameter of a Ranker is meant by a name of LightGBM or by a misspelt one."""
    if name in _MEANT:
        return f": use {_MEANT[name]}"
    theirs = main_names()
    main_name = theirs.get(name, name)
    ours = DECIDED_HERE.get(main_name)
    if ours in known:
        return f": use {ours}, which is LightGBM's {main_name}"
    if name in theirs:
        return f": it is one of LightGBM's, so use lgb_params={{{name!r}: ...}}"
    return did_you_mean(name, [*known, *LIGHTGBM_NAMES])


#: What ``lightgbm.Booster.predict`` takes besides its own arguments, by LightGBM's main names.
_OF_PREDICTIONS = (
    "num_threads",
    "pred_early_stop",
    "pred_early_stop_freq",
    "pred_early_stop_margin",
    "predict_disable_shape_check",
)


def check_prediction_arguments(given: Mapping[str, Any]) -> None:
    """Raise a ``TypeError`` for what LightGBM would drop without a word when it predicts.

    Parameters
    ----------
    given : arguments for ``lightgbm.Booster.predict``.

    Examples
    --------
    >>> from gbrank.boosting import check_prediction_arguments
    >>> check_prediction_arguments({"pred_contribs": True})
    Traceback (most recent call last):
    TypeError: predict has no argument 'pred_contribs'; did you mean 'pred_contrib'?
    """
    if not given:  # as nearly always: reading a signature takes longer than ten documents
        return
    own = [
        name
        for name, each in inspect.signature(lgb.Booster.predict).parameters.items()
        if each.kind is not each.VAR_KEYWORD and name not in ("self", "data")
    ]
    theirs = main_names()
    for name in given:
        if name not in own and theirs.get(name) not in _OF_PREDICTIONS:
            hint = "; use num_iteration" if theirs.get(name) == "num_iterations" else None
            raise TypeError(f"predict has no argument {name!r}{hint or did_you_mean(name, own)}")


# --- evaluation sets -----------------------------------------------------------------------------


def evaluation_arguments(
    given: Mapping[str, Any], eval_set: Any = None, eval_group: Any = None
) -> dict[str, Any]:
    """Return ``eval_X``, ``eval_y`` ... of a fit, each one thing or a tuple of several.

    Parameters
    ----------
    given : the arguments of these names; a list of tables or matrices is several sets.
    eval_set : pairs (X, y), as ``LGBMRanker.fit`` takes them.
    eval_group : sizes of the queries of each set, as ``LGBMRanker.fit`` takes them.
    """
    named = dict(given)
    if eval_set is not None:
        if named["eval_X"] is not None or named["eval_y"] is not None:
            raise ValueError("eval_set is another form of eval_X and eval_y: give one of them")
        is_one = isinstance(eval_set, tuple) and not isinstance(eval_set[0], tuple | list)
        pairs = [eval_set] if is_one else list(eval_set)
        if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
            raise ValueError("eval_set must be a list of pairs (X, y)")
        sets = zip(*pairs, strict=True)
        named["eval_X"], named["eval_y"] = pairs[0] if is_one else map(tuple, sets)
    if eval_group is not None:
        if named["eval_qid"] is not None:
            raise ValueError("eval_group and eval_qid both say which queries there are: give one")
        several = isinstance(named["eval_X"], tuple) or _is_several(named["eval_X"])
        sizes = tuple(eval_group) if several else (eval_group,)
        queries = tuple(_as_qid(each) for each in sizes)
        named["eval_qid"] = queries if several else queries[0]
    if _is_several(named["eval_X"]):
        named["eval_X"] = tuple(named["eval_X"])
    if isinstance(named["eval_X"], tuple):
        named = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in named.items()
        }
    return named


def _is_several(eval_X: Any) -> bool:
    """Return whether a list is one of evaluation sets, not of rows or of Sequences."""
    return (
        isinstance(eval_X, list)
        and bool(eval_X)
        and not is_sequence(eval_X)
        and all(
            isinstance(each, lgb.Dataset) or is_table(each) or len(getattr(each, "shape", ())) == 2
            for each in eval_X
        )
    )


def _as_qid(group: Any) -> Any:
    sizes = np.asarray(group)
    if sizes.ndim != 1 or not np.issubdtype(sizes.dtype, np.integer):
        raise ValueError(
            "eval_group must be the number of rows of each query, for each evaluation set, got "
            f"{group!r}"
        )
    return np.repeat(np.arange(len(sizes)), sizes)
