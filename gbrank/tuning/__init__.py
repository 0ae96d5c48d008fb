"""Tuning that is right for rankers: folds of whole queries, racing query by query, honest results.

``search`` has :func:`tune`, ``running`` runs trials, ``space`` says what is searched, ``samplers``
what is tried next, ``trainer`` trains it on folds that are binned once, ``racing`` drops losers,
``storage`` and ``optuna_storage`` keep trials, ``judgement`` says what tuning is worth,
``blending`` makes one Ranker of them, ``result`` is what comes out.
"""

from gbrank.tuning.result import TuneResult
from gbrank.tuning.search import WITHOUT_OPTUNA as WITHOUT_OPTUNA
from gbrank.tuning.search import tune
from gbrank.tuning.trials import Trial

__all__ = ["Trial", "TuneResult", "tune"]
