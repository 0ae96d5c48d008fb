"""The command ``gbrank``: train, predict, evaluate, compare, convert, objectives, bench."""

from gbrank.cli.application import main

__all__ = ["main"]
