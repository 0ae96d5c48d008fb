"""The one room that calls LightGBM: parameters, data sets, training, model files."""

from gbrank.boosting.datasets import Rows, check_dataset, check_rows, make_dataset
from gbrank.boosting.ensemble import boost
from gbrank.boosting.model_file import read_model, write_model
from gbrank.boosting.model_text import merge_models
from gbrank.boosting.params import LIGHTGBM_NAMES, check_other_params
from gbrank.boosting.saved_values import SavedByName, check_no_placeholders
from gbrank.boosting.train import as_booster

__all__ = [
    "LIGHTGBM_NAMES",
    "Rows",
    "SavedByName",
    "as_booster",
    "boost",
    "check_dataset",
    "check_no_placeholders",
    "check_other_params",
    "check_rows",
    "make_dataset",
    "merge_models",
    "read_model",
    "write_model",
]
