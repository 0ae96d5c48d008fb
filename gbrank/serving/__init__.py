"""Models in production: exported to search engines, compiled, explained.

Everything here works on a booster, or on whatever has one: ``Ranker``, ``LGBMRanker``.
"""

from gbrank.serving._engine import Interval
from gbrank.serving.export import Export, export

__all__ = ["Export", "Interval", "export"]
