"""Metrics by name: "ndcg@10", "err", "map", "precision@0.2"."""

from __future__ import annotations

from typing import Any

from gbrank.metrics._base import Metric
from gbrank.metrics.average_precision import AveragePrecision
from gbrank.metrics.dcg import DCG
from gbrank.metrics.err import ERR
from gbrank.metrics.ndcg import NDCG
from gbrank.metrics.pairwise import PairwiseDisagreement
from gbrank.metrics.precision import Precision
from gbrank.metrics.recall import Recall
from gbrank.metrics.reciprocal_rank import ReciprocalRank
from gbrank.metrics.spearman import Spearman
from gbrank.metrics.topk import TopKZeroOne

_REGISTRY: dict[str, type[Metric]] = {
    "dcg": DCG,
    "err": ERR,
    "map": AveragePrecision,
    "mrr": ReciprocalRank,
    "ndcg": NDCG,
    "pairwise_disagreement": PairwiseDisagreement,
    "precision": Precision,
    "recall": Recall,
    "spearman": Spearman,
    "topk_zero_one": TopKZeroOne,
}


def list_metrics() -> list[str]:
    """Return the names of all metrics; most take a cut-off, as in "ndcg@10" or "ndcg@0.2".

    Examples
    --------
    >>> from gbrank.metrics import list_metrics
    >>> "ndcg" in list_metrics()
    True
    """
    return sorted(_REGISTRY)


def get_metric(name: str | Metric, **options: Any) -> Metric:
    """Return the metric called ``name``, with ``options`` such as ``ties="worst"``.

    A name may end in a cut-off: "ndcg@10" looks at the first ten documents, "ndcg@0.2" at the first
    fifth of each list. A metric object is returned as it is.

    Parameters
    ----------
    name : str or Metric
        One of :func:`list_metrics`, with or without a cut-off; or a metric object.
    **options : keyword arguments
        Keyword arguments of the function of that metric, e.g. ``gain="linear"``.

    Examples
    --------
    >>> from gbrank.metrics import get_metric
    >>> get_metric("ndcg@1")([0, 1], [0.1, 0.2], group=[2])
    1.0
    """
    if isinstance(name, Metric):
        if options:
            raise ValueError(f"{name} has its options already, got {sorted(options)} besides")
        return name
    if not isinstance(name, str):
        raise TypeError(f"a metric is named by a string such as 'ndcg@10', got {name!r}")
    base, at, cutoff = name.partition("@")
    if base not in _REGISTRY:
        raise ValueError(f"unknown metric {name!r}; known are {', '.join(list_metrics())}")
    if at:
        if options.get("k") is not None:
            raise ValueError(f"the cut-off is given twice: in {name!r} and as k={options['k']!r}")
        options["k"] = _read_cutoff(name, cutoff)
    return _REGISTRY[base](**options)


def _read_cutoff(name: str, text: str) -> int | float:
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise ValueError(
            f"the cut-off of {name!r} must be an integer or a fraction, got {text!r}"
        ) from None
