"""From rows to trees: one booster or several of different seeds, on top of where they start."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import lightgbm as lgb
import numpy as np

from gbrank.boosting.datasets import Rows, make_dataset, refuse_if_nothing_can_be_split
from gbrank.boosting.model_text import merge_models
from gbrank.boosting.train import EvaluationResults, train
from gbrank.objectives import Objective


@contextlib.contextmanager
def _memory_errors() -> Iterator[None]:
    """Raise Python's own error where LightGBM, which knows only one kind, ran out of memory."""
    try:
        yield
    except lgb.basic.LightGBMError as error:
        if "bad_alloc" not in str(error):
            raise
        raise MemoryError("there is not enough memory for LightGBM to train") from error


@_memory_errors()
def boost(
    params: dict[str, Any],
    objectives: Sequence[Objective],
    training: Rows | lgb.Dataset,
    evaluation: Sequence[Rows | lgb.Dataset],
    n_trees: int,
    *,
    start: Any,
    first_trees: lgb.Booster | None,
    min_child_samples: int,
    **comforts: Any,
) -> tuple[lgb.Booster, int, EvaluationResults]:
    """Return the booster, the number of trees to predict with, and the metrics tree by tree.

    One booster is trained per objective, with LightGBM's seed counted up; the result is their mean,
    on top of the start. ``comforts`` goes to :func:`gbrank.boosting.train.train`.
    """
    if not isinstance(training, lgb.Dataset):
        training = make_dataset(start.added_to(training, start.training_scores), params)
    sets = [
        rows
        if isinstance(rows, lgb.Dataset)
        else make_dataset(start.added_to(rows), params, training)
        for rows in evaluation
    ]
    if first_trees is None:  # else LightGBM must set the first scores before it makes bins
        refuse_if_nothing_can_be_split(training, min_child_samples)
    boosters, counts, all_results = [], [], []
    for number, objective in enumerate(objectives):
        booster, results, interrupted = train(
            {**params, "objective": objective, "seed": params["seed"] + number},
            training,
            n_trees,
            evaluation=sets,
            first_trees=first_trees,
            **comforts,
        )
        boosters.append(booster)
        counts.append(booster.best_iteration or booster.current_iteration())
        all_results.append(results)
        if interrupted:
            break
    if len(boosters) == 1 and not start.trees:
        return boosters[0], counts[0], all_results[0]
    whole = merge_models(boosters, counts, start.trees)
    return whole, whole.num_trees(), _mean_results(all_results)


def _mean_results(results: Sequence[EvaluationResults]) -> EvaluationResults:
    """Return the mean of metric values, tree by tree, as far as all boosters went."""
    means: EvaluationResults = {}
    for name, metrics in results[0].items():
        means[name] = {}
        for metric in metrics:
            curves = [result[name][metric] for result in results]
            length = min(map(len, curves))
            means[name][metric] = np.mean([curve[:length] for curve in curves], axis=0).tolist()
    return means
