"""Whether penalties should count documents or rows, and whether to clip: on validation queries.

A log shows a document in many lists, so that a leaf of 20 rows may rest on one document, and l2 of
20 rows be next to nothing. ``unbiased=`` multiplies what counts documents by the number of rows per
document. Position-based clicks of eta = 1, draws of their own, judged by the validation queries of
fold 1, on the sets of the part above. The choice was made on up to five draws of these, by a script
that is not kept, which counted items of the log instead of different rows and tried more (clicks
merged by document, twice the penalties, one penalty alone, clips of .1, .3 and .5). What is here
was run afterwards, with what ``unbiased=`` does now: one draw of each set, two of some.
"""

from collections.abc import Callable
from pathlib import Path

from click_study.additive import SETS
from click_study.ranking import Lists
from click_study.store import load, save
from gbrank import ClickSoftmax, LambdaMART, PositionBias

VARIANTS: dict[str, Callable[[Lists], float]] = {
    "clean": lambda d: d.fit(ClickSoftmax(), d.clean),
    "clean documents": lambda d: d.fit(ClickSoftmax(), d.clean, documents=True),
    "naive": lambda d: d.fit(ClickSoftmax(), d.clicks),
    "naive documents": lambda d: d.fit(ClickSoftmax(), d.clicks, documents=True),
    "ips by rows": lambda d: d.ips_by_rows(d.estimated("all_pairs")),
    "ips": lambda d: d.ips(d.estimated("all_pairs"), clip=0.0),
    "ips, clip .2": lambda d: d.ips(d.estimated("all_pairs"), clip=0.2),
    "additive by rows": lambda d: d.fit(PositionBias(LambdaMART()), d.clicks, position=d.position),
    "additive": lambda d: d.beside(PositionBias(LambdaMART())),
}


def run(folder: Path, draws: int) -> None:
    """Measure what is missing."""
    found = load("documents")
    for draw in range(1, draws + 1):
        for name in SETS:
            trial = found["trials"].setdefault(f"{name} {draw}", {})
            missing = [each for each in VARIANTS if each not in trial]
            if not missing:
                continue
            data = Lists(folder, name, 1, "position", 1.0, draw=draw, judged_by="validation")
            for each in missing:
                trial[each] = VARIANTS[each](data)
            save("documents", found)
