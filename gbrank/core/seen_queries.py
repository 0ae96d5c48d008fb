"""Whether a model is judged on queries that it was trained on, by hashes of their ids."""

import hashlib
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbrank.core.ids import as_ids, number_runs

_GREATEST_EXACT = 2.0**53


def hash_queries(qid: Any) -> NDArray[np.uint64]:
    """Return a number for each different query id, in ascending order, and below it its rows.

    Parameters
    ----------
    qid : query id of each row, of any kind; 1 and 1.0 are the same id.

    Examples
    --------
    >>> from gbrank.core.seen_queries import hash_queries
    >>> hash_queries([7, 7, 3, 7])
    array([[3, 7],
           [1, 3]], dtype=uint64)
    """
    values = as_ids(qid)
    starts, codes, ids = number_runs(values)
    lengths = np.diff(starts, append=len(values))
    sizes = np.bincount(codes, lengths, minlength=len(ids)).astype(np.uint64)
    hashes = _hash_all(np.asarray(ids))
    order = np.argsort(hashes, kind="stable")
    return np.stack([hashes[order], sizes[order]])


def _hash_all(ids: NDArray[Any]) -> NDArray[np.uint64]:
    if ids.dtype.kind == "f" and (np.abs(ids) < _GREATEST_EXACT).all() and (ids % 1 == 0).all():
        ids = ids.astype(np.int64)
    if ids.dtype.kind in "biumM":
        return ids.astype(np.int64).view(np.uint64)
    digests = (hashlib.blake2b(str(each).encode(), digest_size=8).digest() for each in ids.tolist())
    return np.frombuffer(b"".join(digests), dtype=np.uint64)


def warn_of_seen_queries(estimator: Any, qid: Any) -> None:
    """Warn, once for each fit, if some of these queries were trained on.

    Not if they are just those: whoever judges a model on what it was trained on knows. Nor if both
    sets count their queries from 0, or from 1, and are not equally many: such numbers name none.
    Rows that were split without regard for queries leave gaps, or all ids in both sets.

    Parameters
    ----------
    estimator : its ``training_queries_`` are those that it was trained on, if it knows.
    qid : query id of each row.
    """
    seen = getattr(estimator, "training_queries_", None)
    if seen is None:
        return
    judged = hash_queries(qid)
    if np.array_equal(judged, seen) or not np.isin(judged[0], seen[0]).any():
        return
    if judged.shape != seen.shape and _counts_up(judged[0]) and _counts_up(seen[0]):
        return
    estimator.training_queries_ = None
    warnings.warn(
        "the model is judged on queries whose ids training saw, too: if they are the same queries, "
        "the score is too good. KFold and train_test_split of scikit-learn tear queries apart; "
        "gbrank.QueryKFold and QueryShuffleSplit do not",
        UserWarning,
        stacklevel=3,
    )


def _counts_up(hashes: NDArray[np.uint64]) -> bool:
    """Return whether ids are whole numbers from 0 or 1 on without a gap."""
    return bool(hashes[0] <= 1 and hashes[-1] - hashes[0] == len(hashes) - 1)
