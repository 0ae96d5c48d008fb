"""The command ``gbrank``, on the public names of the package."""

from gbrank.cli.application import main

__all__ = ["main"]
