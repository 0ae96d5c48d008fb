"""Which additive model: chosen on validation queries of fold 1 alone, and on other sets.

Position-based clicks of eta = 1, as in the ranking below but with draws of their own (production
rankers, lists, clicks), judged by the validation queries of fold 1. Three of the sets take no part
in the ranking at all. What is varied: the loss beside which the bias is learned, how fast it is
learned (the share of a Newton step per tree; 0.1 is what trees have), a penalty on it, and the
number of trees. Penalties count rows. Two draws a set are kept: a third was run and dropped to save
time, when one set of it had been seen.
"""

from collections.abc import Callable
from pathlib import Path

from click_study.ranking import Lists
from click_study.store import load, save
from gbrank import ClickSoftmax, GainPairwise, LambdaMART, PairwiseLogistic, PositionBias

SETS = ("MQ2008", "MQ2007_partial", "OHSUMED_QLN", "target_types_sigir2017", "f1_races",
        "trec_object_runs", "table_www2018")  # fmt: skip
#: Of these the ranking has nothing.
OTHERS = SETS[4:]


def _beside(base: Callable[[], object], trees: int | None = None, **bias: float):
    return lambda d: d.fit(PositionBias(base(), **bias), d.clicks, trees=trees, position=d.position)


VARIANTS: dict[str, Callable[[Lists], float]] = {
    "clean": lambda d: d.fit(ClickSoftmax(), d.clean),
    "naive": lambda d: d.fit(ClickSoftmax(), d.clicks),
    "ips all_pairs": lambda d: d.ips_by_rows(d.estimated("all_pairs")),
    "softmax": _beside(ClickSoftmax),
    "softmax, rate .3": _beside(ClickSoftmax, learning_rate=0.3),
    "softmax, penalty .01": _beside(ClickSoftmax, regularization=0.01),
    "softmax, 30 trees": _beside(ClickSoftmax, 30),
    "naive lambdamart": lambda d: d.fit(LambdaMART(), d.clicks),
    "lambdamart": _beside(LambdaMART),
    "lambdamart, rate .3": _beside(LambdaMART, learning_rate=0.3),
    "lambdamart, rate 1": _beside(LambdaMART, learning_rate=1.0),
    "lambdamart, penalty .01": _beside(LambdaMART, regularization=0.01),
    "lambdamart, 30 trees": _beside(LambdaMART, 30),
    "pairwise logistic": _beside(PairwiseLogistic),
    "gain pairwise": _beside(lambda: GainPairwise(norm=None, gain="linear")),
}


def run(folder: Path, draws: int) -> None:
    """Measure what is missing."""
    found = load("additive")
    for draw in range(1, draws + 1):
        for name in SETS:
            trial = found["trials"].setdefault(f"{name} {draw}", {})
            missing = [each for each in VARIANTS if each not in trial]
            if not missing:
                continue
            data = Lists(folder, name, 1, "position", 1.0, draw=draw, judged_by="validation")
            for each in missing:
                trial[each] = VARIANTS[each](data)
            save("additive", found)
