"""Objectives as they are written on a command line: ours, those of peers, and floors.

``xendcg``, ``listmle(k=10)``, ``lightgbm:lambdarank(lambdarank_norm=False)``,
``xgboost:rank:ndcg``, ``catboost:YetiRank``, ``floor:ridge``. What stands in brackets are options
of that objective. ``ranker:default`` is one booster, ``gbrank.Ranker(preset="fast")``, and
``ranker:listnet(start='linear')`` one with that objective and these parameters: it keeps its own
trees, whatever the settings of the others; ``query_features='zscore'`` is no parameter of it: its
trees then see, besides each feature, what ``QueryScaler`` makes of it. ``Ranker()`` is the
estimator as it comes, with training and validation queries together to cross-fit on, and
``Ranker(preset='best')`` likewise. ``my_losses.py:MyLoss(k=5)`` or ``my_package.losses:MyLoss`` is
a class of your own.
"""

import ast
import importlib.util
import re
from dataclasses import dataclass
from typing import Any

from gbrank.boosting import lightgbm_params
from gbrank.objectives import Objective, find_objective, list_objectives
from gbrank.ranker import Ranker

LIGHTGBM = ("lambdarank", "rank_xendcg")
XGBOOST = ("rank:ndcg", "rank:pairwise", "rank:map")
CATBOOST = ("YetiRank", "QueryRMSE", "PairLogit", "QuerySoftMax")
#: What is no loss but belongs in every plot, and the best order where the data are synthetic.
FLOORS = ("single_feature", "ridge")
CEILINGS = ("bayes",)
#: The family of the Ranker as it comes.
AS_IT_COMES = "Ranker"
#: The option of a ``ranker:`` that adds features relative to their query.
QUERY_FEATURES = "query_features"
FAMILIES = {
    "lightgbm": LIGHTGBM,
    "xgboost": XGBOOST,
    "catboost": CATBOOST,
    "floor": FLOORS,
    "ceiling": CEILINGS,
}


@dataclass(frozen=True)
class ObjectiveName:
    """One objective: whose it is, its name there, and its options."""

    text: str
    family: str
    name: str
    options: tuple[tuple[str, Any], ...]

    @property
    def is_learner(self) -> bool:
        """Whether something is boosted, as opposed to a floor or a ceiling."""
        return is_learner(self.text)

    def make(self, seed: int) -> Objective:
        """Return the objective of ours that is named, on one thread."""
        loss: Objective = find_objective(self.name)(n_jobs=1, **dict(self.options))
        return loss.set_params(random_state=seed) if "random_state" in loss.get_params() else loss


def is_learner(text: str) -> bool:
    """Return whether a name is that of a learner, and not a floor or a ceiling."""
    return not text.startswith(("floor:", "ceiling:"))


def shown_name(text: str) -> str:
    """Return a name as people read it in a picture."""
    known = {
        "ceiling:bayes": "best possible order",
        "floor:ridge": "ridge regression",
        "floor:single_feature": "best single feature",
    }
    family, _, name = text.partition(":")
    makers = {"lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost"}
    if text.startswith(f"{AS_IT_COMES}("):
        return f"gbrank {text}"
    return known.get(text, f"{makers[family]} {name}" if family in makers else text)


def parse_objective(text: str) -> ObjectiveName:
    """Read a name with options; refuse unknown ones, and peers that are not installed."""
    families = "|".join(["gbrank", "ranker", *FAMILIES])
    whole = re.fullmatch(r"Ranker(\(.*\))", text.strip())
    if whole:
        ranker = ObjectiveName(text.strip(), AS_IT_COMES, AS_IT_COMES, _options(whole[1], text))
        _check_options(ranker)
        return ranker
    own = re.fullmatch(r"([^()]+:[A-Za-z_]\w*)(\(.*\))?", text.strip())
    if own and not re.match(rf"({families}):", text.strip()):
        mine = ObjectiveName(text.strip(), "gbrank", own[1], _options(own[2] or "()", text))
        _check_options(mine)
        return mine
    found = re.fullmatch(rf"(?:({families}):)?([\w:]+)(\(.*\))?", text.strip())
    if not found:
        raise ValueError(f"objective {text!r} is not written as name or name(option=value, ...)")
    family, name = found[1] or "gbrank", found[2]
    options = _options(found[3] or "()", text)
    ours = list_objectives(observations=False)  # those that learn from labels
    known = ["default", *ours] if family == "ranker" else FAMILIES.get(family, ours)
    if name not in known:
        others = ", ".join(f"{peer}:{theirs}" for peer in FAMILIES for theirs in FAMILIES[peer])
        raise ValueError(
            f"there is no objective {text!r}: ours are {', '.join(ours)}; others are {others}"
        )
    if family in ("xgboost", "catboost") and importlib.util.find_spec(family) is None:
        raise ImportError(f'{text} needs {family}: pip install "gbrank[peers]"')
    parsed = ObjectiveName(text.strip(), family, name, options)
    if family in ("gbrank", "ranker"):
        _check_options(parsed)
    return parsed


def _check_options(objective: ObjectiveName) -> None:
    try:
        if objective.family == "gbrank":
            objective.make(seed=0).check_params()
        else:
            preset = {} if objective.family == AS_IT_COMES else {"preset": "fast"}
            options = {**preset, **ranker_options(objective.options)}
            lightgbm_params(Ranker(**options).get_params(deep=False))
    except (OSError, TypeError, ValueError) as error:
        raise ValueError(f"objective {objective.text!r}: {error}") from error


def ranker_options(options: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    """Return the parameters of the Ranker among the options of a ``ranker:``."""
    return {name: value for name, value in options if name != QUERY_FEATURES}


def _options(brackets: str, text: str) -> tuple[tuple[str, Any], ...]:
    try:
        call = ast.parse(f"f{brackets}", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
            raise ValueError("options are written name=value")
        return tuple((str(k.arg), ast.literal_eval(k.value)) for k in call.keywords)
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"the options of objective {text!r} cannot be read: {error}") from error
