"""Which IPS and which additive model: on validation queries, with draws of their own.

Position-based clicks of eta = 1, where there is something to mend, and of eta = 0, where there is
not. All penalties count documents, as ``unbiased=`` has them, but those of "clean" and "naive".
The four sets of the ranking are judged by the validation queries of fold 1; the other sets, which
have no part in the ranking, by those of the fold that the number of the draw says.

- clip: the least propensity that clicks are divided by;
- ratio: every row of a document has its clicks, all lists together, by the sum of its propensities
  as a label, which is as unbiased and has less variance than the mean of click by propensity;
- shrunk: the same with a prior, as many looks with the mean click rate as the spread of the
  documents beyond chance says;
- penalty, rate: of the bias that is learned, by row, and the share of a Newton step per tree;
- offset: the bias is the logarithm of propensities estimated from the log, and stays;
- started: it starts there, and is learned;
- items: it is learned from documents seen at several positions, as ``unbiased="additive"`` does;
  all others by LightGBM's rule. "Within, no prior" was its first form, which is not kept: levels
  of documents had no prior.

All variants were run on five draws, then those that were behind left out. p is over draws, which
share their validation queries. Chosen were the clip, which was ahead here and in the part above,
and "items", which is level with LightGBM's rule here and right where that is not (the part below).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from click_study.ranking import FOUR, Lists
from click_study.store import load, save
from gbrank import ClickSoftmax, LambdaMART, PositionBias

#: Of these the ranking has nothing.
OTHERS = ("f1_races", "trec_object_runs", "table_www2018")
SETS = (*FOUR, *OTHERS)
#: The first draw: smaller numbers belong to the parts "additive" and "documents".
FIRST = 11


def ratio(d: Lists, prior: bool = False) -> np.ndarray:
    """Return the clicks of each row's document by the sum of its propensities."""
    theta = d.estimated("all_pairs").at(d.position)
    clicks, looks = np.bincount(d.documents, d.clicks), np.bincount(d.documents, theta)
    mean = clicks.sum() / looks.sum()
    more = 0.0
    if prior:
        chance = np.bincount(d.documents, theta * mean * (1 - theta * mean))
        spread = max(((clicks - mean * looks) ** 2 - chance).sum() / (looks**2).sum(), 1e-9)
        more = max(mean * (1 - mean) / spread - 1, 0.0)
    labels: np.ndarray = (clicks + more * mean)[d.documents] / (looks + more)[d.documents]
    return labels


class Started(PositionBias):
    """A bias that does not start at 0."""

    def __init__(
        self, base, regularization=0.0, learning_rate="auto", start=(), *, n_jobs=None
    ) -> None:
        self.start = start
        super().__init__(base, regularization, learning_rate, n_jobs=n_jobs)

    def make_step_with_positions(self, labels, layout, position):
        step, adjustment = super().make_step_with_positions(labels, layout, position)
        adjustment.learned.bias += np.asarray(self.start, dtype=np.float32)
        return step, adjustment


def _beside(base: Any, **settings: Any) -> Callable[[Lists], float]:
    return lambda d: d.beside(PositionBias(base(), **settings))


def _started(base: Any, **settings: Any) -> Callable[[Lists], float]:
    return lambda d: d.beside(
        Started(base(), start=np.log(d.estimated("all_pairs").values), **settings)
    )


def _by_items(base: Any) -> Callable[[Lists], float]:
    return lambda d: d.fit(base(), d.clicks, position=d.position, unbiased="additive")


def _clipped(clip: float) -> Callable[[Lists], float]:
    return lambda d: d.ips(d.estimated("all_pairs"), clip=clip)


VARIANTS: dict[str, Callable[[Lists], float]] = {
    "clean": lambda d: d.fit(ClickSoftmax(), d.clean),
    "clean documents": lambda d: d.fit(ClickSoftmax(), d.clean, documents=True),
    "naive": lambda d: d.fit(ClickSoftmax(), d.clicks),
    "naive documents": lambda d: d.fit(ClickSoftmax(), d.clicks, documents=True),
    "naive lambdamart": lambda d: d.fit(LambdaMART(), d.clicks, documents=True),
    "ips": _clipped(0.0),
    "ips, clip .1": _clipped(0.1),
    "ips, clip .2": _clipped(0.2),
    "ips, clip .3": _clipped(0.3),
    "ips, ratio": lambda d: d.fit(ClickSoftmax(), ratio(d), documents=True),
    "ips, shrunk": lambda d: d.fit(ClickSoftmax(), ratio(d, prior=True), documents=True),
    "additive": _beside(LambdaMART),
    "additive, penalty .01": _beside(LambdaMART, regularization=0.01),
    "additive, penalty .03": _beside(LambdaMART, regularization=0.03),
    "additive, rate .03": _beside(LambdaMART, learning_rate=0.03),
    "additive, rate .3": _beside(LambdaMART, learning_rate=0.3),
    "additive, started": _started(LambdaMART),
    "additive, offset": _started(LambdaMART, learning_rate=0.0),
    "additive, items": _by_items(LambdaMART),
    "softmax": _beside(ClickSoftmax),
    "softmax, penalty .01": _beside(ClickSoftmax, regularization=0.01),
    "softmax, started": _started(ClickSoftmax),
    "softmax, offset": _started(ClickSoftmax, learning_rate=0.0),
    "softmax, items": _by_items(ClickSoftmax),
}


def run(folder: Path, draws: int, strength: float, only: list[str] | None = None) -> None:
    """Measure what is missing."""
    found = load("choices")
    for draw in range(FIRST, FIRST + draws):
        for name in SETS:
            fold = 1 if name in FOUR else 1 + draw % 5
            trial = found["trials"].setdefault(f"{strength:g} {name} {fold} {draw}", {})
            missing = [each for each in only or VARIANTS if each not in trial]
            if not missing:
                continue
            data = Lists(
                folder, name, fold, "position", strength, draw=draw, judged_by="validation"
            )
            for each in missing:
                trial[each] = VARIANTS[each](data)
            save("choices", found)
