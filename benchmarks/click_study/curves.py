"""Whether the additive bias is that of positions: the curve learned, against the one clicks had.

On one draw of each set of the part above: the standard deviation over positions of what was learned
less the logarithm of the true propensities, both beside ``ClickSoftmax``, whose scores are
logarithms of click rates. 0 is right; a bias that is never learned would have 0 for eta = 0 and
0.69 for eta = 1. The production ranker is the weak one of the ranking below, or fitted to all
training queries, so that good documents stand at the top. NDCG@10 is that of the validation queries
of fold 1.
"""

from pathlib import Path

import numpy as np

from click_study.choices import FIRST, SETS
from click_study.ranking import KNOWN, TREES, Lists
from click_study.store import load, save
from gbrank import ClickSoftmax, PositionBias, Ranker

STRENGTHS = (0.0, 1.0)
RULES = ("LightGBM's rule", "documents at several positions")
#: Production rankers, and to how many training queries they are fitted.
PRODUCTION = {"weak": KNOWN, "good": 10**9}


def run(folder: Path) -> None:
    """Measure what is missing."""
    found = load("curves")
    for kind, known in PRODUCTION.items():
        for strength in STRENGTHS:
            for name in SETS:
                trial = found["trials"].setdefault(f"{kind} {strength:g} {name}", {})
                if len(trial) == len(RULES):
                    continue
                data = Lists(
                    folder, name, 1, "position", strength,
                    draw=FIRST, judged_by="validation", known=known,
                )  # fmt: skip
                for rule in RULES:
                    trial[rule] = _measure(data, strength, by_documents=rule == RULES[1])
                save("curves", found)


def _measure(data: Lists, strength: float, *, by_documents: bool) -> dict[str, float]:
    objective = PositionBias(ClickSoftmax(), items=data.documents if by_documents else None)
    ranker = Ranker(objective, preset="fast", start="zero", **TREES)
    ranker.set_params(**data.counting())
    ranker.fit(data.X, data.clicks, qid=data.lists, position=data.position)
    wrong = ranker.bias_ + strength * np.log(ranker.positions_)
    return {"error": round(float(wrong.std()), 4), "ndcg@10": data.judged(ranker)}
