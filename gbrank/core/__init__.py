"""Arrays and numbers: what knows no loss, no LightGBM and no estimator."""

from gbrank.core.data import RankingData
from gbrank.core.fastmath import exp, exp32, log, sigmoid
from gbrank.core.files import atomic_file, write_atomically
from gbrank.core.frames import (
    as_lightgbm_input,
    batches,
    column_names,
    count_rows_of,
    is_sequence,
    is_table,
    numeric_matrix,
    take_column,
    take_rows,
)
from gbrank.core.gains import (
    DISCOUNTS,
    LARGEST_GAIN,
    DiscountSpec,
    GainSpec,
    PowerDiscount,
    compute_discounts,
    compute_gains,
    ideal_dcg,
)
from gbrank.core.ids import as_ids, is_missing, number_runs, stable_argsort
from gbrank.core.kernels import EXACT_MATH, kernel
from gbrank.core.queries import QueryLayout
from gbrank.core.rng import draw_categories, random_key, random_uniform
from gbrank.core.sorting import sort_by_score, sort_descending
from gbrank.core.threads import cut_queries, resolve_n_jobs, share_pieces
from gbrank.core.training_data import TrainingData
from gbrank.core.typing import BoolArray, Float32Array, FloatArray, IntArray
from gbrank.core.validation import (
    as_numbers,
    check_choice,
    check_integer,
    check_labels,
    check_number,
    check_positions,
    check_probabilities,
    check_query_weights,
    check_random_state,
    check_scores,
    check_seed,
    check_weights,
    count_rows,
    did_you_mean,
    one_column,
    one_dimensional,
)
from gbrank.core.within_query import ranks, shares, z_scores

__all__ = [
    "DISCOUNTS",
    "EXACT_MATH",
    "LARGEST_GAIN",
    "BoolArray",
    "DiscountSpec",
    "Float32Array",
    "FloatArray",
    "GainSpec",
    "IntArray",
    "PowerDiscount",
    "QueryLayout",
    "RankingData",
    "TrainingData",
    "as_ids",
    "as_lightgbm_input",
    "as_numbers",
    "atomic_file",
    "batches",
    "check_choice",
    "check_integer",
    "check_labels",
    "check_number",
    "check_positions",
    "check_probabilities",
    "check_query_weights",
    "check_random_state",
    "check_scores",
    "check_seed",
    "check_weights",
    "column_names",
    "compute_discounts",
    "compute_gains",
    "count_rows",
    "count_rows_of",
    "cut_queries",
    "did_you_mean",
    "draw_categories",
    "exp",
    "exp32",
    "ideal_dcg",
    "is_missing",
    "is_sequence",
    "is_table",
    "kernel",
    "log",
    "number_runs",
    "numeric_matrix",
    "one_column",
    "one_dimensional",
    "random_key",
    "random_uniform",
    "ranks",
    "resolve_n_jobs",
    "share_pieces",
    "shares",
    "sigmoid",
    "sort_by_score",
    "sort_descending",
    "stable_argsort",
    "take_column",
    "take_rows",
    "write_atomically",
    "z_scores",
]
