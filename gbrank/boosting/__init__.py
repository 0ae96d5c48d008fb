"""The one room that calls LightGBM: parameters, data sets, training, model text and files."""

from gbrank.boosting.blend import Blend, blend_members
from gbrank.boosting.callbacks import CheckedMetric
from gbrank.boosting.cross_fit import (
    GrownMember,
    Member,
    cross_fit,
    cut_parts,
    grow_part,
    part_shares,
)
from gbrank.boosting.cv import cv
from gbrank.boosting.datasets import (
    check_columns,
    check_columns_of_categories,
    check_dataset,
    feature_names,
    linear_limits,
    make_dataset,
)
from gbrank.boosting.documents import counted_in_rows, in_lightgbm_units, mean_hessian
from gbrank.boosting.fitted_values import check_fitted_values
from gbrank.boosting.fold_datasets import FoldDatasets, Part
from gbrank.boosting.held_out import HeldOut, rows_of
from gbrank.boosting.keywords import (
    HintsAtParameters,
    check_prediction_arguments,
    evaluation_arguments,
)
from gbrank.boosting.model_file import (
    begins_as_model,
    is_lightgbm_file,
    is_model_file,
    read_lightgbm_model,
    read_model,
    save_booster,
    write_model,
)
from gbrank.boosting.model_text import (
    describe_size,
    first_trees_of,
    gain_of_variance,
    merge_models,
    replace_parameters,
    step_tree,
)
from gbrank.boosting.params import (
    LIGHTGBM_NAMES,
    check_other_params,
    is_constrained,
    lightgbm_params,
    main_names,
    with_seeds_of_later_trees,
)
from gbrank.boosting.presets import (
    AUTO,
    DEFAULT_OBJECTIVE,
    ONE_BOOSTER,
    PRESETS,
    resolve_preset,
)
from gbrank.boosting.saved_values import SavedByName, check_no_placeholders
from gbrank.boosting.search_space import name_objectives, search_space, split_point
from gbrank.boosting.train import Boosted, TrainingOptions, boost, warn_of_no_splits

__all__ = [
    "AUTO",
    "DEFAULT_OBJECTIVE",
    "LIGHTGBM_NAMES",
    "ONE_BOOSTER",
    "PRESETS",
    "Blend",
    "Boosted",
    "CheckedMetric",
    "FoldDatasets",
    "GrownMember",
    "HeldOut",
    "HintsAtParameters",
    "Member",
    "Part",
    "SavedByName",
    "TrainingOptions",
    "begins_as_model",
    "blend_members",
    "boost",
    "check_columns",
    "check_columns_of_categories",
    "check_dataset",
    "check_fitted_values",
    "check_no_placeholders",
    "check_other_params",
    "check_prediction_arguments",
    "counted_in_rows",
    "cross_fit",
    "cut_parts",
    "cv",
    "describe_size",
    "evaluation_arguments",
    "feature_names",
    "first_trees_of",
    "gain_of_variance",
    "grow_part",
    "in_lightgbm_units",
    "is_constrained",
    "is_lightgbm_file",
    "is_model_file",
    "lightgbm_params",
    "linear_limits",
    "main_names",
    "make_dataset",
    "mean_hessian",
    "merge_models",
    "name_objectives",
    "part_shares",
    "read_lightgbm_model",
    "read_model",
    "replace_parameters",
    "resolve_preset",
    "rows_of",
    "save_booster",
    "search_space",
    "split_point",
    "step_tree",
    "warn_of_no_splits",
    "with_seeds_of_later_trees",
    "write_model",
]
