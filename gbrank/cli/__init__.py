"""The command ``gbrank``, on the public names of the package."""

from gbrank.cli.application import main
from gbrank.cli.warm import warm_up

__all__ = ["main", "warm_up"]
