"""What a set of observations has to say: how much, about what, and whether it agrees."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gbrank.core import FloatArray, IntArray, QueryLayout, kernel
from gbrank.preferences._pairs import count_pairs, label_components, make_workspace, tables_of
from gbrank.preferences.binding import BoundObservations

if TYPE_CHECKING:
    from gbrank.preferences.base import Observations


@dataclass(frozen=True, eq=False)
class Summary:
    """Figures of observations, per query in the order of the layout, and printed as totals.

    Attributes
    ----------
    n_observations : number of observations.
    n_documents : number of documents of all queries.
    observations : observations of each query.
    comparisons : comparisons of each query: the edges of its observations, those of weight 0 left
        out.
    pairs : different pairs of documents that were compared, of each query.
    components : connected groups of documents of each query. With 1 all documents can be compared,
        at least through others; a document that was never compared is a group of its own.
    unseen : documents of each query that were never compared.
    weights : total weight of the comparisons of each query.
    contradicting : weight of the comparisons of each query that went against the majority of their
        pair.
    """

    n_observations: int
    n_documents: int
    observations: IntArray
    comparisons: IntArray
    pairs: IntArray
    components: IntArray
    unseen: IntArray
    weights: FloatArray
    contradicting: FloatArray

    @property
    def disagreement(self) -> float:
        """Share of the weight of comparisons that contradicts the majority of its pair."""
        total = float(self.weights.sum())
        return float(self.contradicting.sum()) / total if total > 0.0 else 0.0

    @property
    def disagreement_per_query(self) -> FloatArray:
        """The same of each query; NaN where nothing was compared."""
        shares = np.full(len(self.weights), np.nan)
        np.divide(self.contradicting, self.weights, out=shares, where=self.weights > 0.0)
        return shares

    def __repr__(self) -> str:
        n_queries, seen = len(self.observations), int(np.count_nonzero(self.observations))
        connected = int(np.count_nonzero(self.components == 1))
        compared = self.n_documents - int(self.unseen.sum())
        return "\n".join(
            (
                f"observations             {self.n_observations}",
                f"comparisons              {int(self.comparisons.sum())}",
                f"different pairs          {int(self.pairs.sum())}",
                f"queries observed         {seen} of {n_queries}",
                f"documents compared       {compared} of {self.n_documents}",
                f"comparisons per query    {_spread(self.comparisons)}",
                f"components per query     {_spread(self.components)}",
                f"connected queries        {connected} of {n_queries}",
                f"share of disagreement    {self.disagreement:.4f}",
            )
        )


def summarize(
    observations: "Observations | BoundObservations",
    layout: QueryLayout | None = None,
    *,
    qid: Any = None,
    keys: Any = None,
) -> Summary:
    """Count comparisons, connected groups of documents and contradictions of each query.

    Parameters
    ----------
    observations : Comparisons, PartialOrders or Selections.
    layout : the queries of the rows, default=None
        May be left out where ``qid`` is given.
    qid : query id of each row, default=None.
    keys : key of each row, for ``items="key"``, default=None.

    Examples
    --------
    >>> from gbrank.preferences import Comparisons, summarize
    >>> seen = Comparisons(None, winner=[0, 0, 1, 3], loser=[1, 1, 0, 4])
    >>> figures = summarize(seen, qid=["a", "a", "a", "b", "b"])
    >>> figures
    observations             4
    comparisons              4
    different pairs          2
    queries observed         2 of 2
    documents compared       4 of 5
    comparisons per query    mean 2, from 1 to 3
    components per query     mean 1.5, from 1 to 2
    connected queries        1 of 2
    share of disagreement    0.2500
    >>> figures.components
    array([2, 1])
    """
    bound = observations
    if not isinstance(bound, BoundObservations):
        bound = bound.bind(layout, qid, keys)
    n_queries = bound.layout.n_queries
    counts = np.zeros((4, n_queries), dtype=np.int64)
    weights = np.zeros((2, n_queries))
    _summarize_queries(
        bound.layout.bounds,
        np.array(bound.query_bounds),
        np.arange(len(bound)),
        tables_of(bound),
        make_workspace(bound),
        counts,
        weights,
    )
    return Summary(len(bound), bound.layout.n_rows, np.diff(bound.query_bounds), *counts, *weights)


@kernel()
def _summarize_queries(bounds, chosen_bounds, chosen, tables, workspace, counts, weights):
    edge_bounds, _, _, edge_weights, observation_weights = tables[:5]
    low, high = workspace[0][2], workspace[0][3]
    wins_low, wins_high = workspace[1][1], workspace[1][2]
    component, seen = workspace[2][0], workspace[2][1]
    for query in range(len(bounds) - 1):
        drawn = chosen[chosen_bounds[query] : chosen_bounds[query + 1]]
        n_documents = bounds[query + 1] - bounds[query]
        for observation in drawn:
            for edge in range(edge_bounds[observation], edge_bounds[observation + 1]):
                if observation_weights[observation] * edge_weights[edge] > 0.0:
                    counts[0, query] += 1
        n_pairs = count_pairs(drawn, tables, n_documents, workspace)
        label_components(low, high, n_pairs, n_documents, component)
        seen[:n_documents] = 0
        counts[1, query] = n_pairs
        for pair in range(n_pairs):
            seen[low[pair]] = seen[high[pair]] = 1
            weights[0, query] += wins_low[pair] + wins_high[pair]
            weights[1, query] += min(wins_low[pair], wins_high[pair])
        for document in range(n_documents):
            counts[2, query] += component[document] == document
            counts[3, query] += seen[document] == 0


def _spread(values: IntArray) -> str:
    if len(values) == 0:
        return "none"
    return f"mean {float(values.mean()):.4g}, from {int(values.min())} to {int(values.max())}"
