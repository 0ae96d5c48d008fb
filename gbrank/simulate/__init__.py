"""Noise of known strength, put into clean data."""

from gbrank.simulate.labels import perturb_labels

__all__ = ["perturb_labels"]
