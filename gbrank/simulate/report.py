"""How wrong are noisy labels? The share of documents, and the share of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import FloatArray, QueryLayout, RankingData, check_labels
from gbrank.metrics import pairwise_disagreement
from gbrank.simulate._rows import labels_and_layout


@dataclass(frozen=True)
class NoiseReport:
    """How noisy labels differ from clean ones; see :func:`noise_report`.

    Attributes
    ----------
    n_queries, n_documents : int, how much there is.
    document_noise : float, share of documents whose label differs.
    n_pairs : int, pairs of documents of one query whose clean labels differ.
    reversed_pairs : int, how many of them the noisy labels order the other way round.
    lost_pairs : int, how many of them the noisy labels hold equal.
    invented_pairs : int, pairs of equal clean labels that the noisy labels order.
    pair_noise : float, ``(reversed_pairs + lost_pairs / 2) / n_pairs``; nan without pairs.
    """

    n_queries: int
    n_documents: int
    document_noise: float
    n_pairs: int
    reversed_pairs: int
    lost_pairs: int
    invented_pairs: int
    pair_noise: float

    def __str__(self) -> str:
        return (
            f"{self.n_documents} documents of {self.n_queries} queries: "
            f"{self.document_noise:.1%} of the labels differ\n"
            f"{self.n_pairs} pairs of unequal labels: {self.pair_noise:.1%} pair noise "
            f"({self.reversed_pairs} reversed, {self.lost_pairs} lost)\n"
            f"{self.invented_pairs} pairs of equal labels are ordered by the noise"
        )


def noise_report(
    clean: RankingData | ArrayLike, noisy: RankingData | ArrayLike, qid: Any = None
) -> NoiseReport:
    """Compare noisy labels with clean ones, by documents and by pairs of one query.

    A loss learns from the order within a query, so the pair noise, the share of pairs of unequal
    clean labels that the noisy ones put in the wrong order, says more about what noise will cost
    than the share of wrong labels. A pair whose noisy labels are equal counts 1/2. Pair noise is 0
    if the order is intact, and 1/2 where noisy labels say nothing about clean ones.

    Parameters
    ----------
    clean, noisy : RankingData or arrays of shape (n_rows,)
        Labels, finite and >= 0; or data with the same rows. For clicks, give
        ``clean=labels[rows]``, ``noisy=clicks`` and ``qid=impressions``.
    qid : array of shape (n_rows,), default=None
        Query id of each row, of any type and in any order; only with an array ``clean``.

    Returns
    -------
    NoiseReport

    Examples
    --------
    >>> from gbrank.simulate import noise_report
    >>> report = noise_report([2, 1, 0, 0], [2, 0, 1, 0], qid=["a", "a", "a", "a"])
    >>> report.document_noise, report.pair_noise  # of 5 pairs, 1 is reversed and 1 lost
    (0.5, 0.3)
    """
    checked, layout = labels_and_layout(clean, qid)
    true = layout.sort(checked)
    given = layout.sort(check_labels(noisy.y if isinstance(noisy, RankingData) else noisy, layout))
    n_pairs, n_given = _unequal_pairs(true, layout), _unequal_pairs(given, layout)
    wrong, half = (
        _wrong_pairs(true, given, layout, n_pairs, ties) for ties in ("worst", "average")
    )
    lost = 2 * (wrong - half)
    reversed_pairs = wrong - lost
    # Pairs that the noisy labels order, and the clean ones do not order likewise.
    invented = _wrong_pairs(given, true, layout, n_given, "worst") - reversed_pairs
    total = int(n_pairs.sum())
    return NoiseReport(
        n_queries=layout.n_queries,
        n_documents=layout.n_rows,
        document_noise=float(np.mean(true != given)) if layout.n_rows else float("nan"),
        n_pairs=total,
        reversed_pairs=round(reversed_pairs),
        lost_pairs=round(lost),
        invented_pairs=round(invented),
        pair_noise=round(2 * half) / (2 * total) if total else float("nan"),
    )


def _unequal_pairs(labels: FloatArray, layout: QueryLayout) -> FloatArray:
    """Return, for each query, how many pairs of its documents have different labels."""
    query = np.repeat(np.arange(layout.n_queries), layout.sizes)
    order = np.lexsort((labels, query))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(labels[order]) != 0) | (np.diff(query) != 0)
    starts = np.flatnonzero(new)
    same = np.diff(starts, append=len(order)).astype(np.float64)
    pairs_of_equals = np.bincount(
        query[starts], weights=same * (same - 1) / 2, minlength=layout.n_queries
    )
    sizes = layout.sizes.astype(np.float64)
    unequal: FloatArray = sizes * (sizes - 1) / 2 - pairs_of_equals
    return unequal


def _wrong_pairs(
    true: FloatArray, given: FloatArray, layout: QueryLayout, n_pairs: FloatArray, ties: str
) -> float:
    if not n_pairs.any():
        return 0.0
    shares = pairwise_disagreement(
        true, given, group=layout.sizes, ties=ties, empty=0.0, per_query=True
    )
    return float(np.sum(np.rint(2 * np.asarray(shares) * n_pairs)) / 2)
