"""From rows to trees: one booster, early stopping, Ctrl-C."""

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb

from gbrank.boosting.callbacks import InterruptAfterTree, KeepBooster, ShowProgress, StopEarly
from gbrank.boosting.datasets import check_continued_dataset, check_splittable, make_dataset
from gbrank.boosting.params import take_param
from gbrank.core import RankingData
from gbrank.objectives import Objective

EvaluationResults = dict[str, dict[str, list[float]]]


@dataclass(frozen=True)
class TrainingOptions:
    """How to train, besides LightGBM's parameters.

    Attributes
    ----------
    n_trees : the most trees of a booster, not counting those of ``continued``.
    min_child_samples : rows that a leaf needs, for error messages.
    metrics : LightGBM's fevals, of which the first decides early stopping.
    early_stopping_rounds : as in the Ranker.
    callbacks : of the user.
    show_progress : whether there is a line that shows it.
    is_whole : whether the booster that LightGBM returns is the whole model, and not what is grown
        on top of a start.
    """

    n_trees: int
    min_child_samples: int
    metrics: Sequence[Callable[..., Any]] = ()
    early_stopping_rounds: int | None = None
    callbacks: Sequence[Callable[..., Any]] = ()
    show_progress: bool = False
    is_whole: bool = True


@dataclass(frozen=True)
class Boosted:
    """What training gives.

    Attributes
    ----------
    booster : the trees; of several boosters, their sum.
    n_trees : how many of its trees to predict with.
    n_boosters : how many boosters it is the sum of.
    results : metrics on the evaluation sets, tree by tree.
    """

    booster: lgb.Booster
    n_trees: int
    n_boosters: int
    results: EvaluationResults


@contextlib.contextmanager
def memory_errors() -> Iterator[None]:
    """Raise Python's own error where LightGBM, which knows only one kind, ran out of memory."""
    try:
        yield
    except lgb.basic.LightGBMError as error:
        if "bad_alloc" not in str(error):
            raise
        raise MemoryError("there is not enough memory for LightGBM to train") from error


@memory_errors()
def boost(
    params: dict[str, Any],
    objective: Objective,
    training: RankingData | lgb.Dataset,
    evaluation: Sequence[RankingData | lgb.Dataset],
    options: TrainingOptions,
    continued: lgb.Booster | None = None,
) -> Boosted:
    """Train one booster.

    Parameters
    ----------
    params : parameters of LightGBM, but the objective.
    objective : the loss.
    training : what to train on.
    evaluation : what metrics are computed on, of the same kind.
    options : how.
    continued : a model whose trees come first.
    """
    if not isinstance(training, lgb.Dataset):
        training = make_dataset(training, params, continued=continued, by_order=objective.by_order)
    elif continued is not None:
        check_continued_dataset(continued, training)
    sets = [
        data if isinstance(data, lgb.Dataset) else make_dataset(data, params, training)
        for data in evaluation
    ]
    params, _ = take_param(params, "categorical_feature", None)  # the Datasets know
    if continued is None:  # else LightGBM must set the first scores before it makes bins
        check_splittable(training, options.min_child_samples)
    splits_before = 0 if continued is None else _count_splits(continued)
    own = {**params, "objective": objective}
    booster, results = _train_one(own, training, sets, options, continued)
    warn_of_no_splits([booster], splits_before)
    return Boosted(booster, booster.best_iteration or booster.current_iteration(), 1, results)


def _train_one(
    params: dict[str, Any],
    training: lgb.Dataset,
    evaluation: list[lgb.Dataset],
    options: TrainingOptions,
    continued: lgb.Booster | None,
) -> tuple[lgb.Booster, EvaluationResults]:
    """Return the trained booster, and the metrics tree by tree.

    ``best_iteration`` of the booster is 0 where nothing stopped early. After Ctrl-C the trees grown
    so far are returned, with a warning; before the first tree it is raised.
    """
    results: EvaluationResults = {}
    keep = KeepBooster()
    stop = None
    if options.early_stopping_rounds is not None:
        stop = StopEarly(options.early_stopping_rounds)
    progress = ShowProgress(options.n_trees) if options.show_progress else None
    watching: list[Any] = [*options.callbacks, keep]
    if evaluation:
        watching.append(lgb.record_evaluation(results))
    watching += [callback for callback in (stop, progress) if callback is not None]
    # MLflow's autolog has its own lightgbm.train, which would log a part for the whole
    train = lgb.train if options.is_whole else lgb.engine.train
    try:
        with InterruptAfterTree() as interrupt:
            booster = train(
                params,
                training,
                num_boost_round=options.n_trees,
                valid_sets=evaluation,
                feval=list(options.metrics) if evaluation else None,
                init_model=continued,
                callbacks=[*watching, interrupt],
            )
    except KeyboardInterrupt:
        if keep.booster is None or keep.new_trees == 0:
            raise
        warnings.warn(
            f"training was interrupted after {keep.new_trees} of {options.n_trees} trees; these "
            "are kept",
            stacklevel=5,
        )
        best = 0 if stop is None else stop.best_iteration
        booster = keep.booster
        # as lgb.train does at its end: trees only, without the data they were grown on
        booster.model_from_string(booster.model_to_string(num_iteration=-1)).free_dataset()
        booster.best_iteration = best
    finally:
        if progress is not None:
            progress.close()
    return booster, results


def warn_of_no_splits(boosters: Sequence[lgb.Booster], splits_before: int = 0) -> None:
    """Warn if not one tree of all boosters has a split, as LightGBM does in its log at the most.

    Parameters
    ----------
    boosters : after training.
    splits_before : how many splits each had before.
    """
    if all(_count_splits(booster) <= splits_before for booster in boosters):
        warnings.warn(
            "nothing was learned: every tree is a single leaf. Check the labels (do they differ "
            "within queries?), the queries, and whether min_child_samples, min_child_weight, "
            "min_split_gain or reg_lambda leave room for a split",
            stacklevel=4,
        )


def _count_splits(booster: lgb.Booster) -> int:
    return int(booster.feature_importance("split").sum())
