"""From rows to trees: one booster or several of different seeds, on top of where they start."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import lightgbm as lgb
import numpy as np

from gbrank._datasets import Rows, make_dataset, refuse_if_nothing_can_be_split
from gbrank._model_text import put_together
from gbrank._start import explained, fit_linear, linear_scores, model_scores, start_trees
from gbrank._training import EvaluationResults, train
from gbrank.layout import FloatArray
from gbrank.linear.columns import RELATIVE
from gbrank.objectives import Objective


@dataclass
class Start:
    """Where boosting starts.

    Attributes
    ----------
    kind : "zero", "linear", "query_linear" or "model".
    trees : text blocks of a pointwise linear start.
    coefficients : of a query-relative start: of each feature's z-score and rank within the query.
    explained : one number per feature, or None: see ``Ranker.linear_coef_``.
    training_scores : scores of the training rows, where they are known already.
    scores : function of features and layout, or None for zero.
    """

    kind: str = "zero"
    trees: list[str] = field(default_factory=list)
    coefficients: FloatArray | None = None
    explained: FloatArray | None = None
    training_scores: FloatArray | None = None
    scores: Callable[..., FloatArray] | None = None

    def added_to(self, rows: Rows, known: FloatArray | None = None) -> Rows:
        """Return rows whose first scores are those of the start, or ``known``."""
        if self.scores is None:
            return rows
        scores = self.scores(rows.X, rows.layout) if known is None else known
        if rows.init_score is not None:
            scores = scores + rows.init_score
        return replace(rows, init_score=scores)


def make_start(start: Any, rows: Rows, objective: Objective, seed: int) -> Start:
    """Fit, or take as it is, what :func:`gbrank._start.resolve_start` returned."""
    if isinstance(start, str) and start == "zero":
        return Start()
    if not isinstance(start, str):
        return Start("model", scores=lambda X, layout: model_scores(start, X, layout))
    linear, training_scores = fit_linear(start, rows, objective, seed)
    relative = start == "query_linear"
    return Start(
        start,
        trees=[] if relative else start_trees(linear),
        coefficients=linear.coef_[:, RELATIVE:].copy() if relative else None,
        explained=explained(linear),
        training_scores=training_scores,
        scores=lambda X, layout: linear_scores(linear, X, layout),
    )


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
    start: Start,
    first_trees: lgb.Booster | None,
    min_child_samples: int,
    **comforts: Any,
) -> tuple[lgb.Booster, int, EvaluationResults]:
    """Return the booster, the number of trees to predict with, and the metrics tree by tree.

    One booster is trained per objective, with LightGBM's seed counted up; the result is their mean,
    on top of the start. ``comforts`` goes to :func:`gbrank._training.train`.
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
    whole = put_together(boosters, counts, start.trees)
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
