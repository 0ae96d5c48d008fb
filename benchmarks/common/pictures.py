"""Pictures for the results pages."""

from gbrank.plotting import save_png as save_png
