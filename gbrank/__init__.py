"""Learning to rank with LightGBM: the losses that the literature proved, as tree objectives."""

__version__ = "0.1.0"
