"""Metrics by name: "ndcg@10", "err", "map", "precision@0.2"."""

from __future__ import annotations

import re
from typing import Any

from gbrank.core import did_you_mean, find_class
from gbrank.metrics._base import Metric

#: Filled by the files of the metrics, through ``metric_function``.
_REGISTRY: dict[str, type[Metric]] = {}


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
    if isinstance(name, type) and issubclass(name, Metric):
        raise TypeError(
            f"a metric object is needed, got the class {name.__name__}: call it, {name.__name__}()"
        )
    if not isinstance(name, str):
        raise TypeError(
            f"a metric is named by a string such as 'ndcg@10', or is a metric object, got {name!r}"
        )
    base, at, cutoff = name.partition("@")
    if base not in _REGISTRY:
        raise ValueError(
            f"unknown metric {name!r}{_suggest(name)}; known are {', '.join(list_metrics())}"
        )
    if at:
        if options.get("k") is not None:
            raise ValueError(f"the cut-off is given twice: in {name!r} and as k={options['k']!r}")
        options["k"] = _read_cutoff(name, cutoff)
    return _REGISTRY[base](**options)


def find_metric(text: str, **options: Any) -> Metric:
    """Return a metric by name or by class, with a cut-off or without: ``FILE.py:Class@5``.

    Parameters
    ----------
    text : str
        As in :func:`get_metric`, or where a class of one's own is.
    **options : keyword arguments
        As in :func:`get_metric`.

    Examples
    --------
    >>> from gbrank.metrics import find_metric
    >>> find_metric("ndcg@5").full_name
    'ndcg@5'
    """
    if ":" not in text:
        return get_metric(text, **options)
    place, at, cutoff = text.partition("@")
    if at:
        options["k"] = _read_cutoff(text, cutoff)
    found: Metric = find_class(place, Metric)(**options)
    return found


def register_metric(name: str, cls: type[Metric]) -> type[Metric]:
    """Make a :class:`Metric` subclass known by name, wherever metrics are named.

    That is in :func:`get_metric`, :func:`evaluate`, :func:`compare`, :func:`feval`,
    :func:`get_scorer` and ``Ranker(eval_metric=...)``, with a cut-off behind an "@" as for all
    others. A name that is taken is an error, unless it is the same class again.
    :func:`check_metric` says whether it behaves as a metric should.

    Parameters
    ----------
    name : str
        The name, which is also that of the class.
    cls : type
        A subclass of :class:`Metric`, mostly of :class:`SimpleMetric`.

    Examples
    --------
    >>> from gbrank.metrics import get_metric, register_metric
    >>> ndcg = type(get_metric("ndcg"))
    >>> register_metric("ndcg", ndcg) is ndcg  # known already, and the same class
    True
    """
    if not (isinstance(cls, type) and issubclass(cls, Metric)):
        raise TypeError(f"cls must be a subclass of gbrank.metrics.Metric, got {cls!r}")
    if not isinstance(name, str) or not re.fullmatch(r"[^@,\s]+", name):
        raise ValueError(f"name must be a word without '@' and commas, got {name!r}")
    if getattr(cls, "name", None) != name:
        raise ValueError(
            f"{cls.__name__}.name must be {name!r}, as results are listed under it, got "
            f"{getattr(cls, 'name', None)!r}"
        )
    if _REGISTRY.get(name, cls) is not cls:
        raise ValueError(f"the name {name!r} is taken by {_REGISTRY[name].__name__}")
    _REGISTRY[name] = cls
    return cls


def _suggest(name: str) -> str:
    """Return a hint for a name that is not known: "ndcg5" is meant as "ndcg@5"."""
    word, cutoff = re.fullmatch(r"(.*?)[@ _:(-]*([0-9.]*)\)?", name.lower(), re.S).groups()  # type: ignore[union-attr]
    hint = did_you_mean(word, list_metrics())
    return hint.replace("'?", f"@{cutoff}'?") if cutoff else hint


def _read_cutoff(name: str, text: str) -> int | float:
    try:
        cutoff = int(text) if text.isdecimal() else float(text)
    except ValueError:
        cutoff = 0
    if not (cutoff >= 1 if isinstance(cutoff, int) else 0 < cutoff <= 1):
        raise ValueError(
            f"the cut-off of {name!r} must be an integer >= 1 or a fraction of the list in (0, 1], "
            f"got {text!r}"
        )
    return cutoff
