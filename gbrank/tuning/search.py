"""What is asked for, checked, and what comes out of it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from gbrank.boosting import Part, cut_parts, name_objectives, search_space
from gbrank.core import (
    RankingData,
    check_integer,
    check_number,
    check_seed,
    check_whole_queries,
    hold_out_queries,
    resolve_n_jobs,
)
from gbrank.metrics import Metric, get_metric
from gbrank.objectives import Objective
from gbrank.ranker import Ranker, read_rows, resolve_objective
from gbrank.tuning.blending import Blending
from gbrank.tuning.optuna_storage import OptunaStorage, is_optuna_storage
from gbrank.tuning.result import TuneResult, ranker_params
from gbrank.tuning.running import Search
from gbrank.tuning.samplers import OptunaSampler, RandomSampler, Sampler
from gbrank.tuning.space import Space, make_ranker, read_space
from gbrank.tuning.storage import FileStorage
from gbrank.tuning.trainer import FoldTrainer
from gbrank.tuning.trials import Trial

#: Parameters of the Ranker that a search has itself, and what says them there.
_DECIDED_BY_TUNE = {
    "preset": "the search decides what is trained",
    "eval_metric": "use metric= of tune",
    "n_jobs": "use n_jobs= of tune",
    "random_state": "use random_state= of tune",
    "verbose": "use verbose= of tune",
}

WITHOUT_OPTUNA = (
    "Optuna is not installed, so that points are drawn at random, with successive halving; with "
    'pip install "gbrank[tune]" a model of the trials proposes the next one, and storages and '
    "dashboards of Optuna can be used"
)


def tune(
    X: Any,
    y: ArrayLike,
    qid: Any = None,
    *,
    group: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    metric: str | Metric = "ndcg@10",
    objectives: Sequence[str | Objective] | str = "auto",
    n_trials: int | None = 50,
    timeout: float | None = None,
    cv: Any = 5,
    space: Mapping[str, Any] | None = None,
    start: Sequence[str] | str = ("linear", "zero"),
    storage: Any = None,
    sampler: Any = None,
    race: float | None = 0.1,
    n_members: int = 4,
    holdout: float | None = None,
    ranker: Ranker | None = None,
    callback: Callable[[Trial], None] | None = None,
    n_jobs: int | None = 1,
    random_state: int = 0,
    verbose: int = 0,
) -> TuneResult:
    """Search for the best loss, its parameters, trees and start; say what that was worth.

    Queries are cut into folds once, features binned once. The first trials are what ``Ranker()``
    trains as it comes; what follows is proposed by Optuna, or drawn at random where that is not
    installed. The boosters of a trial stop by the metric on held-out queries. Folds come in
    groups, and after each a trial that is behind the best one, query by query, is dropped. In the
    end the best trials are blended, as the Ranker blends its own members. Where this blend is ahead
    of the defaults, query by query, with p < 0.05 on folds that did not choose, it is blended with
    them; else ``best_ranker_`` is the Ranker as it comes. The table compares on such folds, too.

    Ctrl-C ends the search and keeps its trials.

    Parameters
    ----------
    X, y, qid, group, sample_weight :
        As in :meth:`gbrank.Ranker.fit`; features in memory.
    metric : str or Metric, default="ndcg@10"
        What trials are judged, and stopped, by.
    objectives : list of str and Objective, or "auto", default="auto"
        The losses to choose from. A name is searched with its parameters, an instance is taken as
        it is.
    n_trials : int, default=50
        How many trials there are in the end, those in ``storage`` included; ``None`` if only
        ``timeout`` ends the search.
    timeout : float, default=None
        Seconds of search. The trials of the defaults are always finished; the blend is trained
        after it.
    cv : int, splitter or list of splits, default=5
        Folds of whole queries; each query is held out at most once. With more than 100,000 rows
        a number stands for one part, held out, as in the Ranker.
    space : dict, default=None
        As :meth:`gbrank.Ranker.search_space` has it, which ``None`` stands for. Entries may also be
        a list, for a choice, or a pair ``(low, high)``.
    start : str or list of str, default=("linear", "zero")
        Where boosting may start.
    storage : path, URL or storage of Optuna, default=None
        Where trials are kept: a file, which is made, or goes on from what it holds; or, as URL or
        object, what Optuna takes. Several processes may share one.
    sampler : Optuna sampler or "random", default=None
        What proposes points; ``None`` for Optuna's tree-structured Parzen estimator, or "random",
        with a warning, where Optuna is not installed.
    race : float, default=0.1
        p-value below which a trial that is behind is dropped; ``None`` drops none.
    n_members : int, default=4
        How many trials ``best_ranker_`` is blended from, the defaults besides; 1 for the best
        alone, 0 to train none.
    holdout : float, default=None
        Share of the queries that takes no part in anything but the final comparison; ``None``
        compares on the folds, each with what was chosen without it.
    ranker : Ranker, default=None
        Whose parameters hold in all trials, where the space does not say otherwise:
        ``lgb_params``, ``n_estimators``, ``early_stopping_rounds``, ``qid`` ... What ``tune`` has
        itself, as ``n_jobs``, is an error there.
    callback : callable, default=None
        Called with each finished trial, e.g. to log it.
    n_jobs : int, default=1
        Threads: folds are grown side by side. The result is the same for any number.
    random_state : int, default=0
        Seed of folds, points and trees: one worker finds the same trials with the same seed.
    verbose : int, default=0
        1 shows progress.

    Returns
    -------
    TuneResult
        ``best_ranker_``, ``trials_``, ``table()`` and plots.

    Examples
    --------
    >>> import gbrank
    >>> from gbrank.data import make_ranking
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> small = gbrank.Ranker(n_estimators=10)
    >>> result = gbrank.tune(data.X, data.y, data.qid, n_trials=3, cv=3, ranker=small)
    >>> len(result.trials), result.best_ranker_.predict(data.X).shape == data.y.shape
    (3, True)
    """
    judge = get_metric(metric)
    losses = name_objectives(objectives)
    base = _read_ranker(ranker, losses, judge, n_jobs, random_state)
    _check_budget(n_trials, timeout, race, n_members, holdout)
    check_integer("verbose", verbose, low=-1)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {callback!r}")
    starts = _read_starts(start)
    given = search_space(list(losses.values()), starts) if space is None else space
    checked = read_space(given, losses, starts, base)
    proposes = _choose_sampler(sampler, checked, random_state, judge)
    model = clone(base)
    data, order = read_rows(model, X, y, qid, group, sample_weight, "tune")
    rest, held = data, None
    rows = {"X": X, "y": y, "qid": qid, "group": group, "sample_weight": sample_weight}
    if holdout is not None:
        kept, apart = hold_out_queries(data.n_queries, holdout, random_state)
        if min(len(kept) - 10, len(apart) - 2) < 0:
            raise ValueError(
                f"holdout={holdout} of {data.n_queries} queries leaves {len(kept)} to tune on and "
                f"{len(apart)} to compare on: 10 and 2 are needed"
            )
        rest, held, order = data.take(kept), data.take(apart), None
        rows = {"X": rest.X, "y": rest.y, "group": rest.layout.sizes}
        rows["sample_weight"] = rest.sample_weight
    parts = _cut(cv, rest, order, random_state)
    trainer = FoldTrainer(base, losses, rest, parts, judge)
    search = Search(trainer, proposes, checked, losses, base, judge, race, callback, n_members)
    file = _open_storage(storage, search.identity(rest, parts, random_state), checked, judge)
    try:
        interrupted = search.run(file, n_trials, timeout, verbose)
    finally:
        file.release()
        file.close()
    best = search.best()
    blending = Blending(search, n_members)
    blended = blending.blend(model, n_members, order, rows)
    compared, where = blending.compared(held, random_state, blended, rows)
    return TuneResult(
        best_ranker_=blended,
        best_params_=ranker_params(make_ranker(best.point, losses, base)),
        best_point_=best.point,
        best_score_=best.value,
        metric=judge.full_name,
        greater_is_better=judge.greater_is_better,
        trials=search.trials,
        comparison_=compared,
        judged_on=where,
        tuned_share_=blending.tuned_share,
        n_fold_trainings_=trainer.n_fold_trainings,
        seconds_=search.seconds,
        defaults=search.defaults_name,
        is_interrupted=interrupted,
        _space=dict(checked),
    )


# --- what is asked for ---------------------------------------------------------------------------


def _read_ranker(
    ranker: Any, losses: Mapping[str, Objective], metric: Metric, n_jobs: int | None, seed: int
) -> Ranker:
    """Return the Ranker whose parameters hold in all trials; raise an error for those of others."""
    check_seed(seed)
    resolve_n_jobs(n_jobs)
    if ranker is not None and not isinstance(ranker, Ranker):
        raise TypeError(f"ranker must be a gbrank.Ranker, got {type(ranker).__name__}")
    base = Ranker() if ranker is None else clone(ranker)
    if base.objective is not None:
        raise ValueError("ranker must have no objective of its own: use objectives=")
    if base.boosting_type in ("dart", "rf"):
        raise ValueError(f"ranker: boosting_type={base.boosting_type!r} cannot be cross-fitted")
    as_it_comes = Ranker().get_params()
    for name, instead in _DECIDED_BY_TUNE.items():
        if getattr(base, name) != as_it_comes[name]:
            raise ValueError(f"ranker must leave {name} as it comes: {instead}")
    base.set_params(eval_metric=metric.full_name, n_jobs=n_jobs, random_state=seed, verbose=-1)
    for loss in losses.values():  # not all go with noise=, for one
        resolve_objective(clone(base).set_params(objective=loss))
    return base


def _read_starts(start: Any) -> list[str]:
    starts = [start] if isinstance(start, str) else start
    if not isinstance(starts, list | tuple) or not starts:
        raise ValueError(f"start must be 'linear', 'zero' or a list of them, got {start!r}")
    return list(starts)


def _check_budget(n_trials: Any, timeout: Any, race: Any, n_members: Any, holdout: Any) -> None:
    if n_trials is None and timeout is None:
        raise ValueError("n_trials and timeout must not both be None: nothing would end the search")
    if n_trials is not None:
        check_integer("n_trials", n_trials, low=1, also="None")
    if timeout is not None:
        check_number("timeout", timeout, low=0.0, low_open=True, also="None")
    if race is not None:
        check_number("race", race, low=0.0, high=0.5, also="None")
    if holdout is not None:
        check_number("holdout", holdout, low=0.0, high=0.9, low_open=True, also="None")
    check_integer("n_members", n_members, low=0)


def _choose_sampler(sampler: Any, space: Space, seed: int, metric: Metric) -> Sampler:
    if sampler == "random":
        return RandomSampler(space, seed)
    try:
        with warnings.catch_warnings():
            # of the progress bar that Optuna imports, in notebooks, and nobody sees here
            warnings.filterwarnings("ignore", "IProgress not found")
            import optuna
    except ImportError as error:
        if sampler is not None:
            raise ImportError('sampler needs Optuna: pip install "gbrank[tune]"') from error
        warnings.warn(f"{WITHOUT_OPTUNA}; sampler='random' asks for this", stacklevel=3)
        return RandomSampler(space, seed)
    if sampler is not None and not isinstance(sampler, optuna.samplers.BaseSampler):
        raise TypeError(f"sampler must be 'random' or a sampler of Optuna, got {sampler!r}")
    return OptunaSampler(space, seed, metric.greater_is_better, sampler)


def _cut(cv: Any, data: RankingData, order: Any, seed: int) -> list[Part]:
    """Return the folds as numbers of queries, and at last the whole."""
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        check_integer("cv", cv, low=2)
        parts = cut_parts(data.layout, int(cv), 0.2, seed)
        if not parts:
            raise ValueError(
                f"tune needs at least 10 queries to hold some out, got {data.n_queries}"
            )
        return parts
    query = np.repeat(np.arange(data.n_queries), data.layout.sizes)
    if hasattr(cv, "split") and not isinstance(cv, str):
        folds = list(cv.split(np.empty((data.n_rows, 1)), data.y, query))
    elif isinstance(cv, list | tuple) and cv:
        folds = list(cv)
        if order is not None:  # rows are named as the user has them
            place = np.argsort(order)
            folds = [tuple(np.sort(place[np.asarray(rows)]) for rows in fold) for fold in folds]
    else:
        raise ValueError(f"cv must be an integer >= 2, a splitter or a list of splits, got {cv!r}")
    checked = check_whole_queries(folds, data.layout)
    parts = [(np.unique(query[inside]), np.unique(query[outside])) for inside, outside in checked]
    judges = np.concatenate([outside for _, outside in parts])
    if len(np.unique(judges)) < len(judges):
        raise ValueError(
            "cv holds a query out twice: use QueryKFold, or splits that do not overlap"
        )
    whole = (np.arange(data.n_queries), np.arange(0))
    return [*parts, whole] if len(parts) > 1 else parts


def _open_storage(storage: Any, identity: dict[str, str], space: Space, metric: Metric) -> Any:
    if is_optuna_storage(storage):
        return OptunaStorage(storage, identity, space, metric.greater_is_better)
    if storage is not None and (not isinstance(storage, str | os.PathLike) or not str(storage)):
        raise TypeError(
            f"storage must be the path of a file, or a URL or storage of Optuna, got {storage!r}"
        )
    return FileStorage(storage, identity)
