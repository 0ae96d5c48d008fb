"""What every aggregation shares: its public function, checks, threads, the way back to the rows."""

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from gbrank.core import FloatArray, IntArray, QueryLayout, cut_queries, resolve_n_jobs, share_pieces
from gbrank.preferences._pairs import Workspace, make_workspace, tables_of
from gbrank.preferences.base import Observations
from gbrank.preferences.binding import BoundObservations

#: A method has at most two numbers as parameters.
Numbers = tuple[float, float]


class Method:
    """One way to turn observations of a query into a score per document.

    Parameters
    ----------
    name : what the method is called.
    driver : kernel ``(first, last, queries, tables, numbers, workspace, out)`` that writes the
        scores of all documents of queries ``first`` to ``last`` (exclusive) from their chosen
        observations.
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
        """Raise an error for observations that the method cannot read."""
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
        queries = (bound.layout.bounds, chosen_bounds, chosen)
        self.driver(first, last, queries, tables_of(bound), numbers, workspace, out)

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
        bound = _bind(observations, layout, qid, keys)
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


#: Every aggregation by its name; :func:`aggregation` enters them.
METHODS: dict[str, Method] = {}


class Aggregation(Protocol):
    """The public function of a method."""

    def __call__(
        self,
        observations: Observations | BoundObservations,
        layout: QueryLayout | None = None,
        *,
        qid: Any = None,
        keys: Any = None,
        n_jobs: int | None = None,
        **parameters: Any,
    ) -> FloatArray:
        """Return one score per row, in the user's order."""


def aggregation(
    driver: Callable[..., None], *, needs_lists: bool = False, cost: int = 4
) -> Callable[[Callable[..., Numbers]], Aggregation]:
    """Make a method and its public function out of a function that checks the method's parameters.

    The decorated function takes the method's own parameters and returns the two numbers that the
    driver gets. What all methods take is added to its signature and to its docstring.

    Parameters
    ----------
    driver, needs_lists, cost : see :class:`Method`.
    """

    def make(read_parameters: Callable[..., Numbers]) -> Aggregation:
        name = read_parameters.__name__
        method = Method(name, driver, read_parameters, needs_lists=needs_lists, cost=cost)
        METHODS[name] = method

        def scores(observations, layout=None, *, qid=None, keys=None, n_jobs=None, **parameters):  # type: ignore[no-untyped-def]
            return method.scores(observations, layout, qid, keys, n_jobs, **parameters)

        shared = list(inspect.signature(scores).parameters.values())[:-1]
        own = [
            parameter.replace(annotation=inspect.Parameter.empty)
            for parameter in inspect.signature(read_parameters).parameters.values()
        ]
        functools.update_wrapper(scores, read_parameters)
        del scores.__annotations__, scores.__wrapped__  # type: ignore[attr-defined]
        scores.__signature__ = inspect.Signature([*shared[:2], *own, *shared[2:]])  # type: ignore[attr-defined]
        scores.__doc__ = _document(read_parameters.__doc__ or "", needs_lists)
        return scores

    return make


_DOCUMENTED = """Parameters
----------
observations : {kinds}
    What was observed, bound to rows or not.
layout : QueryLayout, default=None
    The queries of the rows; may be left out where ``qid`` is given.{own}
qid : array-like, default=None
    Query id of each row.
keys : array-like, default=None
    Key of each row, for observations with ``items="key"``.
n_jobs : int, default=None
    Number of threads, see :func:`gbrank.core.threads.resolve_n_jobs`; scores do not depend on it.

Returns
-------
ndarray of float64
    One score per row, in the user's order."""


def _document(own: str, needs_lists: bool) -> str:
    """Return the docstring of the public function, given that of the method's own parameters."""
    sections = re.split(r"\n\n(?=[A-Z]\w+\n---)", inspect.cleandoc(own))
    parameters = ""
    for section in sections[1:]:
        if section.startswith("Parameters\n"):
            parameters = "\n" + section.split("\n", 2)[2]
            sections.remove(section)
    kinds = "Selections" if needs_lists else "Comparisons, PartialOrders or Selections"
    shared = _DOCUMENTED.format(kinds=kinds, own=parameters)
    return "\n\n".join([sections[0], shared, *sections[1:]])


def _bind(
    observations: Observations | BoundObservations,
    layout: QueryLayout | None,
    qid: Any = None,
    keys: Any = None,
) -> BoundObservations:
    """Bind observations that are not bound yet."""
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
