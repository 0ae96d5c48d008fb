"""What a click log can tell: rates by position, what links positions, how much weights cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbrank.clicks._pairs import components, count_links
from gbrank.clicks.estimators import estimate_propensities
from gbrank.clicks.log import ClickLog
from gbrank.clicks.propensities import Propensities
from gbrank.core import FloatArray, IntArray
from gbrank.metrics import text_table
from gbrank.plotting import PropensityDisplay


@dataclass(frozen=True, eq=False)
class ClickReport:
    """Figures of a click log, which print as a table.

    Attributes
    ----------
    positions : the positions, from the top; what follows up to ``effective`` is by position.
    impressions, clicks : how much was shown and clicked.
    rates : clicks per impression.
    shared : items that were also seen at another position.
    groups : number of the connected group: positions are joined by items seen and clicked at both.
    propensities : the propensities that ``effective_clicks`` is about; ``None`` where there are
        none.
    n_items, n_items_shared : items in all, and those seen at two or more positions.
    effective_clicks : effective sample size of the clicks, ``(sum w)^2 / sum w^2``, if each is
        weighted by one over its propensity; NaN without propensities.
    links : matrix of the number of items seen at each two positions.
    """

    positions: IntArray
    impressions: FloatArray
    clicks: FloatArray
    rates: FloatArray
    shared: IntArray
    groups: IntArray
    propensities: Propensities | None
    n_items: int
    n_items_shared: int
    effective_clicks: float
    links: IntArray

    @property
    def is_connected(self) -> bool:
        """Whether propensities of all positions can be told from this log."""
        return bool((self.groups == self.groups[0]).all())

    @property
    def cut_off(self) -> IntArray:
        """The positions that nothing links to the first."""
        found: IntArray = self.positions[self.groups != self.groups[0]]
        return found

    def plot(self, ax: Any = None, **kwargs: Any) -> PropensityDisplay:
        """Draw click rates relative to the first position, and propensities where there are some.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` for new axes.
        **kwargs : keyword arguments
            For matplotlib's ``errorbar``.
        """
        relative = self.rates / self.rates[0] if self.rates[0] > 0 else self.rates
        display = PropensityDisplay(
            self.positions, relative, name="clicks per impression", ylabel="relative to the first"
        ).plot(ax, **kwargs)
        if self.propensities is not None:
            self.propensities.plot(display.ax_, **kwargs)
            display.ax_.set_ylabel("relative to the first")
        return display

    def __repr__(self) -> str:
        header = ["position", "impressions", "clicks", "rate", "items shared", "propensity"]
        rows = []
        for at, position in enumerate(self.positions.tolist()):
            known = self.propensities is not None and position in self.propensities.positions
            value = f"{self.propensities.at([position])[0]:.3f}" if known else "-"  # type: ignore[union-attr]
            rows.append(
                [
                    str(position),
                    f"{self.impressions[at]:g}",
                    f"{self.clicks[at]:g}",
                    f"{self.rates[at]:.4f}",
                    str(self.shared[at]),
                    value,
                ]
            )
        total = self.clicks.sum()
        lines = [
            text_table(header, rows),
            f"{self.n_items_shared} of {self.n_items} items were seen at two or more positions",
        ]
        if self.is_connected:
            lines.append("positions are connected: propensities of all can be estimated")
        else:
            names = ", ".join(map(str, self.cut_off.tolist()))
            lines.append(
                f"cut off: {names}. No item seen and clicked there and elsewhere links them to the "
                "first position, so that their propensities cannot be told from this log"
            )
        if np.isfinite(self.effective_clicks):
            lines.append(
                f"weighted by propensities of {self.propensities.method}, "  # type: ignore[union-attr]
                f"{total:g} clicks are worth {self.effective_clicks:.4g}"
            )
        return "\n".join(lines)


def report(
    log: ClickLog, propensities: Propensities | None = None, *, clip: float = 0.0
) -> ClickReport:
    """Count clicks by position, and say whether the log can tell propensities.

    Parameters
    ----------
    log : ClickLog
        What was shown and clicked.
    propensities : Propensities, default=None
        Those that clicks are to be weighted by; ``None`` for those harvested from all pairs of
        positions, if these are connected.
    clip : float, default=0.0
        The least propensity that is divided by.

    Returns
    -------
    ClickReport
        Which prints as a table, and plots.

    Examples
    --------
    >>> from gbrank.clicks import ClickLog, report
    >>> log = ClickLog(["q"] * 3, ["a", "a", "b"], [1, 2, 3], [4, 2, 1], impressions=[10] * 3)
    >>> report(log)
    position  impressions  clicks    rate  items shared  propensity
    --------  -----------  ------  ------  ------------  ----------
    1                  10       4  0.4000             1           -
    2                  10       2  0.2000             1           -
    3                  10       1  0.1000             0           -
    1 of 2 items were seen at two or more positions
    cut off: 3. No item seen and clicked there and elsewhere links them to the first position, so
    that their propensities cannot be told from this log
    """
    if not isinstance(log, ClickLog):
        raise TypeError(f"log must be a ClickLog, got {type(log).__name__}")
    links, informative = count_links(log)
    groups = components(informative)
    clicks, impressions = log.per_position(log.clicks), log.per_position(log.impressions)
    told = bool((groups == groups[0]).all()) and bool((clicks > 0).all())
    if propensities is None and told:
        propensities = estimate_propensities(log, n_bootstrap=0)
    effective = float("nan")
    if propensities is not None and clicks.sum() > 0:
        weights = propensities.weights(log.positions, clip=clip)
        effective = float((clicks @ weights) ** 2 / (clicks @ weights**2))
    several = np.diff(log.item_bounds) > 1
    also_elsewhere = np.repeat(several, np.diff(log.item_bounds))
    return ClickReport(
        positions=log.positions,
        impressions=impressions,
        clicks=clicks,
        rates=clicks / impressions,
        shared=np.bincount(log.places[also_elsewhere], minlength=log.n_positions),
        groups=groups,
        propensities=propensities,
        n_items=log.n_items,
        n_items_shared=int(several.sum()),
        effective_clicks=effective,
        links=links,
    )
