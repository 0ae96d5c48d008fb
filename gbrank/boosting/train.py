"""One call of ``lgb.train``, with what people expect around it: early stopping, Ctrl-C."""

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import lightgbm as lgb

from gbrank.boosting.callbacks import InterruptAfterTree, KeepBooster, ShowProgress, StopEarly
from gbrank.boosting.model_file import is_model_file, read_model

EvaluationResults = dict[str, dict[str, list[float]]]


def train(
    params: dict[str, Any],
    training: lgb.Dataset,
    n_trees: int,
    *,
    evaluation: list[lgb.Dataset],
    metrics: list[Callable[..., Any]],
    early_stopping_rounds: int | None,
    early_stopping_window: int,
    first_trees: lgb.Booster | None,
    callbacks: Sequence[Callable[..., Any]] | None,
    show_progress: bool,
) -> tuple[lgb.Booster, EvaluationResults, bool]:
    """Return the trained booster, the metrics tree by tree, and whether Ctrl-C ended it.

    ``best_iteration`` of the booster is 0 where nothing stopped early. After Ctrl-C the trees grown
    so far are returned, with a warning; before the first tree it is raised.
    """
    results: EvaluationResults = {}
    interrupted = False
    keep = KeepBooster()
    stop = None
    if early_stopping_rounds is not None:
        stop = StopEarly(early_stopping_rounds, early_stopping_window)
    progress = ShowProgress(n_trees) if show_progress else None
    watching: list[Any] = [*(callbacks or []), keep]
    if evaluation:
        watching.append(lgb.record_evaluation(results))
    watching += [callback for callback in (stop, progress) if callback is not None]
    try:
        with InterruptAfterTree() as interrupt:
            booster = lgb.train(
                params,
                training,
                num_boost_round=n_trees,
                valid_sets=evaluation,
                feval=metrics if evaluation else None,
                init_model=first_trees,
                callbacks=[*watching, interrupt],
            )
    except KeyboardInterrupt:
        if keep.booster is None or keep.new_trees == 0:
            raise
        warnings.warn(
            f"training was interrupted after {keep.new_trees} of {n_trees} trees; these are kept",
            stacklevel=4,
        )
        best = 0 if stop is None else stop.best_iteration
        booster, interrupted = keep.booster, True
        # as lgb.train does at its end: trees only, without the data they were grown on
        booster.model_from_string(booster.model_to_string(num_iteration=-1)).free_dataset()
        booster.best_iteration = best
    finally:
        if progress is not None:
            progress.close()
    return booster, results, interrupted


def as_booster(model: Any) -> lgb.Booster | None:
    """Return the trees that a model predicts with; a file of ours is checked first."""
    if model is None or isinstance(model, lgb.Booster):
        return model
    if isinstance(model, str | os.PathLike):
        return read_model(model)[0] if is_model_file(model) else lgb.Booster(model_file=model)
    if not hasattr(model, "booster_"):
        raise TypeError(
            "init_model must be a fitted Ranker, a Booster or the path of a model, got "
            f"{type(model).__name__}"
        )
    n_trees = model.best_iteration_ + getattr(model, "n_start_trees_", 0)
    text = model.booster_.model_to_string(num_iteration=n_trees or -1)
    return lgb.Booster(model_str=text)
