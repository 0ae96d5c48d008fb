"""Propensities: how likely a user looks at each position, relative to the first."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import (
    BoolArray,
    FloatArray,
    IntArray,
    as_numbers,
    check_file,
    check_number,
    write_atomically,
)
from gbrank.plotting import PropensityDisplay
from gbrank.preferences import read_integers

_FORMAT = "gbrank propensities"


@dataclass(frozen=True, eq=False, init=False)
class Propensities:
    """The propensity of each position: its chance to be looked at, that of the first being 1.

    :func:`gbrank.clicks.estimate_propensities` makes one from a log; an experiment, or another
    system, may give the numbers too.

    Parameters
    ----------
    positions : array of integers >= 0
        The positions.
    values : array of the same shape
        Their propensities, > 0. One of 0 is an error: no weight makes up for what nobody sees.
    lower, upper : arrays of the same shape, default=None
        Limits of the interval of each; ``None`` where there are none.
    confidence : float, default=0.95
        Probability that the intervals are made for.
    method : str, default="given"
        Where they come from.
    interpolated : array of bool, default=None
        Which of them no data speak for, so that they were taken from their neighbours.

    Examples
    --------
    >>> from gbrank.clicks import Propensities
    >>> propensities = Propensities([1, 2, 3], [1.0, 0.5, 0.25])
    >>> propensities.at([3, 1, 1])
    array([0.25, 1.  , 1.  ])
    >>> propensities.weights([3, 1, 1], clip=0.4)
    array([2.5, 1. , 1. ])
    """

    positions: IntArray
    values: FloatArray
    lower: FloatArray | None
    upper: FloatArray | None
    confidence: float
    method: str
    interpolated: BoolArray

    def __init__(
        self,
        positions: ArrayLike,
        values: ArrayLike,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        *,
        confidence: float = 0.95,
        method: str = "given",
        interpolated: ArrayLike | None = None,
    ) -> None:
        where = read_integers(positions, "positions")
        order = np.argsort(where, kind="stable")
        if len(where) == 0 or (np.diff(where[order]) == 0).any():
            raise ValueError("positions must be at least one, and different")
        check_number("confidence", confidence, low=0.0, high=1.0, low_open=True, high_open=True)
        found = _as_row("values", values, len(where))
        wrong = ~((found > 0) & (found < np.inf))
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ValueError(
                f"propensities must be finite numbers > 0, but that of position {where[at]} is "
                f"{found[at]:g}: no weight makes up for what nobody looks at. Leave the rows of "
                "such positions out"
            )
        if (lower is None) != (upper is None):
            raise ValueError("lower and upper must be given together, or neither")
        parts: dict[str, Any] = {
            "positions": where,
            "values": found,
            "lower": None if lower is None else _as_row("lower", lower, len(where)),
            "upper": None if upper is None else _as_row("upper", upper, len(where)),
            "interpolated": np.zeros(len(where), dtype=bool)
            if interpolated is None
            else np.asarray(interpolated, dtype=bool).reshape(len(where)),
        }
        for name, part in parts.items():
            if part is not None:
                part = part[order]
                part.flags.writeable = False
            object.__setattr__(self, name, part)
        object.__setattr__(self, "confidence", float(confidence))
        object.__setattr__(self, "method", str(method))

    def at(self, position: ArrayLike) -> FloatArray:
        """Return the propensity of the position of each row.

        Parameters
        ----------
        position : array of shape (n_rows,)
            Positions; one that has no propensity is an error.
        """
        wanted = read_integers(position, "position")
        places = np.minimum(np.searchsorted(self.positions, wanted), len(self.positions) - 1)
        unknown = self.positions[places] != wanted
        if unknown.any():
            row = int(np.argmax(unknown))
            raise ValueError(
                f"position must be one of those with a propensity, {_spell(self.positions)}, but "
                f"row {row} has {wanted[row]}"
            )
        found: FloatArray = self.values[places]
        return found

    def weights(self, position: ArrayLike | None = None, *, clip: float = 0.0) -> FloatArray:
        """Return ``1 / max(propensity, clip)`` of the position of each row.

        Clipping trades variance for bias: what was clicked below the clip counts
        ``propensity / clip`` of what it should.

        Parameters
        ----------
        position : array of shape (n_rows,), default=None
            Positions of rows; ``None`` for one weight per position of :attr:`positions`.
        clip : float, default=0.0
            The least propensity that is divided by, in [0, 1].
        """
        check_number("clip", clip, low=0.0, high=1.0)
        found = self.values if position is None else self.at(position)
        weights: FloatArray = 1.0 / np.maximum(found, clip)
        return weights

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a small JSON file, which is replaced in one step or not at all.

        Parameters
        ----------
        path : the file.
        """
        content = {
            "format": _FORMAT,
            "positions": self.positions.tolist(),
            "values": self.values.tolist(),
            "lower": None if self.lower is None else _finite_or_none(self.lower),
            "upper": None if self.upper is None else _finite_or_none(self.upper),
            "confidence": self.confidence,
            "method": self.method,
            "interpolated": self.interpolated.tolist(),
        }
        write_atomically(path, json.dumps(content, indent=1).encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return what :meth:`save` wrote; nothing in the file is run.

        Parameters
        ----------
        path : the file.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from gbrank.clicks import Propensities
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "propensities.json"
        ...     Propensities([0, 1], [1.0, 0.5]).save(path)
        ...     Propensities.load(path)
        Propensities(given, 2 positions from 0 to 1: 1 0.5)
        """
        name = os.fspath(path)
        try:
            content = json.loads(check_file(path).read_text(encoding="utf-8"))
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise ValueError(f"{name} is damaged, or no file of propensities: {error}") from None
        if not isinstance(content, dict) or content.pop("format", None) != _FORMAT:
            raise ValueError(f"{name} is no file of propensities")
        try:
            content = {key: _numbers(value) for key, value in content.items()}
            return cls(content.pop("positions"), content.pop("values"), **content)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{name} is damaged: {error}") from None

    def plot(self, ax: Any = None, **kwargs: Any) -> PropensityDisplay:
        """Draw the curve, with its intervals, on ``ax`` or on new axes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw.
        **kwargs : keyword arguments
            For matplotlib's ``errorbar``.
        """
        display = PropensityDisplay(
            self.positions, self.values, self.lower, self.upper, name=self.method
        )
        return display.plot(ax, **kwargs)

    def __repr__(self) -> str:
        values = " ".join(f"{value:.3g}" for value in self.values[:12])
        more = " ..." if len(self.values) > 12 else ""
        return (
            f"Propensities({self.method}, {len(self.positions)} positions from "
            f"{self.positions[0]} to {self.positions[-1]}: {values}{more})"
        )


def as_propensities(propensity: Any, position: ArrayLike | None, n_rows: int) -> FloatArray:
    """Return the propensity of each row, from an object or from one number per row.

    Parameters
    ----------
    propensity : Propensities, or an array of one number > 0 per row.
    position : position of each row; needed with an object.
    n_rows : number of rows.
    """
    if isinstance(propensity, Propensities):
        if position is None:
            raise ValueError("position must be given: where each row was shown")
        found = propensity.at(position)
    else:
        found = as_numbers(propensity, "propensity")
    if len(found) != n_rows:
        name = "position" if isinstance(propensity, Propensities) else "propensity"
        raise ValueError(f"{name} must have one entry per row: got {len(found)} for {n_rows} rows")
    wrong = ~((found > 0) & (found < np.inf))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"propensity must be finite numbers > 0, but row {row} has {found[row]:g}: no weight "
            "makes up for what nobody looks at"
        )
    return found


def _as_row(name: str, values: Any, length: int) -> FloatArray:
    found = as_numbers(values, name).copy()
    if len(found) != length:
        raise ValueError(f"{name} must be as many as positions, {length}, got {len(found)}")
    return found


def _spell(positions: IntArray) -> str:
    contiguous = len(positions) > 2 and positions[-1] - positions[0] == len(positions) - 1
    if contiguous:
        return f"{positions[0]} to {positions[-1]}"
    return ", ".join(map(str, positions[:20].tolist())) + (" ..." if len(positions) > 20 else "")


def _finite_or_none(values: FloatArray) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]


def _numbers(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return [float("nan") if each is None else each for each in value]
