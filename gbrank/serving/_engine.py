"""What an engine is: how it writes a model, and how it would score rows with what was written."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gbrank.core import BoolArray, Float32Array, FloatArray
from gbrank.serving._trees import Node, splits_of

GREATEST32 = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Interval:
    """Values of a feature that an engine sends another way than LightGBM.

    Attributes
    ----------
    feature : str
        Its name.
    first, last : float
        The least and the greatest of these values.
    reason : str
        Why the engine cannot do it.
    """

    feature: str
    first: float
    last: float
    reason: str


@dataclass(frozen=True)
class Forest:
    """Trees to write.

    Attributes
    ----------
    trees : with splits that only compare.
    names : of all features, as the engine is to know them.
    """

    trees: list[Node]
    names: list[str]

    def used(self) -> list[int]:
        """Return the features that some tree splits."""
        return sorted({split.feature for split in splits_of(self.trees)})


class Engine(ABC):
    """A format, and the arithmetic of those who read it.

    Attributes
    ----------
    takes : the type of numbers that features have there.
    """

    takes: ClassVar[type[np.floating[Any]]] = np.float32

    @abstractmethod
    def document(
        self, forest: Forest, name: str, strict: bool = False
    ) -> tuple[Any, list[Interval]]:
        """Return the model as JSON, and where it decides otherwise than LightGBM.

        Parameters
        ----------
        forest : what to write.
        name : of the model.
        strict : whether the document may be less simple where that avoids a difference.
        """

    @abstractmethod
    def leaves(self, document: Any, X: NDArray[Any], names: Sequence[str]) -> FloatArray:
        """Return the value of each tree (columns) for each row, read from the document."""

    @abstractmethod
    def total(self, values: FloatArray) -> NDArray[Any]:
        """Return the score of each row, summed as the engine sums."""

    @abstractmethod
    def example(self, names: Sequence[str], name: str) -> Any:
        """Return an example of what tells the engine how features are computed."""

    def check_names(self, names: Sequence[str]) -> None:  # noqa: B027 - most take any name
        """Raise an error for names that the engine does not take."""


# --- numbers -------------------------------------------------------------------------------------


def float32_below(values: Any) -> Float32Array:
    """Return the greatest float32 numbers that are not greater."""
    exact = np.asarray(values, dtype=np.float64)
    with np.errstate(over="ignore"):
        rounded = exact.astype(np.float32)
    below: Float32Array = np.where(
        rounded > exact, np.nextafter(rounded, np.float32(-np.inf)), rounded
    )
    return below


def float32_above(values: Any) -> Float32Array:
    """Return the float32 numbers one step above; infinity above the greatest of all."""
    with np.errstate(over="ignore"):
        above: Float32Array = np.nextafter(np.asarray(values, np.float32), np.float32(np.inf))
    return above


def as_float32(value: float, what: str) -> float:
    """Return a number as float32 would hold it; its digits read back to the same float32."""
    with np.errstate(over="ignore"):
        rounded = np.float32(value)
    if not np.isfinite(rounded):
        raise ValueError(f"{what} must fit into single precision, got {value!r}")
    return float(rounded)


def sum_float32(values: FloatArray) -> Float32Array:
    """Return sums over columns in single precision, from left to right."""
    total = np.zeros(len(values), dtype=np.float32)
    for column in values.T:
        total += column.astype(np.float32)
    return total


# --- walking through a document ------------------------------------------------------------------


def walk(
    root: Any,
    n_rows: int,
    value_of: Callable[[Any], float | None],
    goes_left: Callable[[Any, NDArray[np.intp]], BoolArray],
    children_of: Callable[[Any], tuple[Any, Any]],
) -> FloatArray:
    """Return the value that each row reaches in one tree.

    Parameters
    ----------
    root : the first node.
    n_rows : how many rows there are.
    value_of : the value of a leaf; ``None`` for a split.
    goes_left : which of some rows go left at a split.
    children_of : the two children of a split, the left one first.
    """
    reached = np.empty(n_rows)
    waiting = [(root, np.arange(n_rows))]
    while waiting:
        node, rows = waiting.pop()
        value = value_of(node)
        if value is not None:
            reached[rows] = value
            continue
        is_left = goes_left(node, rows)
        left, right = children_of(node)
        waiting += [(left, rows[is_left]), (right, rows[~is_left])]
    return reached
