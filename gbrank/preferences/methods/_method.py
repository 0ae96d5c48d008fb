"""What every aggregation shares: checks, threads, and the way back to the user's rows."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from gbrank.core import FloatArray, IntArray, QueryLayout, cut_queries, resolve_n_jobs, share_pieces
from gbrank.preferences.base import Observations
from gbrank.preferences.binding import BoundObservations
from gbrank.preferences.methods._pairs import Workspace, make_workspace, tables_of

#: A method has at most two numbers as parameters.
Numbers = tuple[float, float]


class Method:
    """One way to turn observations of a query into a score per document.

    Parameters
    ----------
    name : what the method is called.
    driver : kernel ``(first, last, document_bounds, chosen_bounds, chosen, tables, numbers,
        workspace, out)`` that writes the scores of all documents of queries ``first`` to ``last``
        (exclusive) from their chosen observations.
    read_parameters : function that checks the keyword parameters and returns two numbers.
    needs_lists : whether the method reads lists and clicks instead of edges.
    cost : relative cost of an edge; a document of a cheap loss costs 1.
    """

    def __init__(
        self,
        name: str,
        driver: Callable[..., None],
        read_parameters: Callable[..., Numbers],
        *,
        needs_lists: bool = False,
        cost: int = 4,
    ) -> None:
        self.name = name
        self.driver = driver
        self.needs_lists = needs_lists
        self.cost = cost
        self._read_parameters = read_parameters

    def __repr__(self) -> str:
        return f"Method({self.name!r})"

    @property
    def defaults(self) -> dict[str, Any]:
        """The parameters and their defaults."""
        parameters = inspect.signature(self._read_parameters).parameters
        return {name: parameter.default for name, parameter in parameters.items()}

    def read_parameters(self, **parameters: Any) -> Numbers:
        """Check parameters and return the numbers that the driver takes."""
        unknown = sorted(set(parameters) - set(self.defaults))
        if unknown:
            known = ", ".join(self.defaults) or "no parameters"
            raise ValueError(f"method {self.name!r} takes {known}, got {unknown[0]!r}")
        return self._read_parameters(**parameters)

    def check_observations(self, bound: BoundObservations) -> None:
        """Refuse observations that the method cannot read."""
        if self.needs_lists and bound.shown is None:
            raise ValueError(
                f"method {self.name!r} needs Selections (lists and clicks), got comparisons or "
                "partial orders"
            )

    def run(
        self,
        first: int,
        last: int,
        bound: BoundObservations,
        chosen_bounds: IntArray,
        chosen: IntArray,
        numbers: Numbers,
        workspace: Workspace,
        out: FloatArray,
    ) -> None:
        """Write the scores of the documents of queries ``first`` to ``last``, in layout order.

        Parameters
        ----------
        first, last : the queries, ``last`` exclusive.
        bound : the observations.
        chosen_bounds : first entry of ``chosen`` of each query, and at last their number.
        chosen : observations to use, as numbers in ``bound``, those of a query next to each other.
        numbers : what :meth:`read_parameters` returned.
        workspace : scratch of this thread, see :func:`gbrank.preferences.make_workspace`.
        out : float64, one per row, in layout order.
        """
        self.driver(
            first,
            last,
            bound.layout.bounds,
            chosen_bounds,
            chosen,
            tables_of(bound),
            numbers,
            workspace,
            out,
        )

    def scores(
        self,
        observations: Observations | BoundObservations,
        layout: QueryLayout | None,
        qid: Any,
        keys: Any,
        n_jobs: int | None,
        **parameters: Any,
    ) -> FloatArray:
        """Aggregate all observations; return one score per row, in the user's order."""
        numbers = self.read_parameters(**parameters)
        bound = bind(observations, layout, qid, keys)
        self.check_observations(bound)
        chosen_bounds = np.array(bound.query_bounds)
        chosen = np.arange(len(bound))
        out = np.empty(bound.layout.n_rows)
        entries = bound.edge_bounds
        if self.needs_lists and bound.shown_bounds is not None:
            entries = bound.shown_bounds
        cost = bound.layout.sizes + self.cost * np.diff(entries[bound.query_bounds])
        threads = resolve_n_jobs(n_jobs)
        cuts = cut_queries(cost, threads)
        workspaces = [make_workspace(bound) for _ in range(min(threads, len(cuts) - 1))]

        def work(thread: int, piece: int) -> None:
            first, last = cuts[piece], cuts[piece + 1]
            space = workspaces[thread]
            self.run(first, last, bound, chosen_bounds, chosen, numbers, space, out)

        share_pieces(work, len(cuts) - 1, len(workspaces))
        scores: FloatArray = bound.layout.unsort(out)
        return scores


def bind(
    observations: Observations | BoundObservations,
    layout: QueryLayout | None,
    qid: Any = None,
    keys: Any = None,
) -> BoundObservations:
    """Bind observations that are not bound yet; refuse anything else."""
    if isinstance(observations, BoundObservations):
        if layout is not None and not _same_rows(layout, observations.layout):
            raise ValueError("layout must be None or the one that the observations are bound to")
        return observations
    if not isinstance(observations, Observations):
        raise TypeError(
            "observations must be Comparisons, Selections or PartialOrders, got "
            f"{type(observations).__name__}"
        )
    return observations.bind(layout, qid, keys)


def _same_rows(one: QueryLayout, other: QueryLayout) -> bool:
    return one is other or (
        np.array_equal(one.bounds, other.bounds) and np.array_equal(one.inverse, other.inverse)
    )
