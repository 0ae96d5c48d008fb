"""The objectives, by class and by name."""

from typing import Any

from gbrank.objectives._table import ROWS, as_plain_text, markdown_table
from gbrank.objectives.base import Objective, Training
from gbrank.objectives.bregman import Bregman
from gbrank.objectives.cosine import Cosine
from gbrank.objectives.gain_pairwise import GainPairwise
from gbrank.objectives.kl import KL
from gbrank.objectives.lambdamart import LambdaMART
from gbrank.objectives.listmle import ListMLE
from gbrank.objectives.listnet import ListNet
from gbrank.objectives.observed import observed_totals
from gbrank.objectives.pairwise import PairwiseLogistic
from gbrank.objectives.preference import PreferenceLogistic
from gbrank.objectives.qnorm import QNorm
from gbrank.objectives.smoothed import Smoothed
from gbrank.objectives.squared import Squared
from gbrank.objectives.subsampled import QuerySubsampled
from gbrank.objectives.ustatistic import UStatistic
from gbrank.objectives.xendcg import XENDCG

__all__ = [
    "KL",
    "ROWS",
    "XENDCG",
    "Bregman",
    "Cosine",
    "GainPairwise",
    "LambdaMART",
    "ListMLE",
    "ListNet",
    "Objective",
    "PairwiseLogistic",
    "PreferenceLogistic",
    "QNorm",
    "QuerySubsampled",
    "Smoothed",
    "Squared",
    "Training",
    "UStatistic",
    "as_plain_text",
    "get_objective",
    "list_objectives",
    "markdown_table",
    "objective_name",
    "observed_totals",
    "register_objective",
]

_REGISTRY: dict[str, type[Objective]] = {
    "bregman_logistic": Bregman,
    "cosine": Cosine,
    "gain_pairwise": GainPairwise,
    "kl": KL,
    "lambdamart": LambdaMART,
    "listmle": ListMLE,
    "listnet": ListNet,
    "pairwise_logistic": PairwiseLogistic,
    "preference_logistic": PreferenceLogistic,
    "qnorm": QNorm,
    "smoothed": Smoothed,
    "squared": Squared,
    "ustatistic": UStatistic,
    "xendcg": XENDCG,
}


def list_objectives(*, observations: bool | None = None) -> list[str]:
    """Return the names of all objectives, sorted.

    Parameters
    ----------
    observations : bool, default=None
        ``True`` for those only that need observations of :mod:`gbrank.preferences` to train,
        ``False`` for those that train on labels alone, ``None`` for all.

    Examples
    --------
    >>> from gbrank import list_objectives
    >>> "xendcg" in list_objectives()
    True
    >>> list_objectives(observations=True)
    ['preference_logistic', 'ustatistic']
    """
    return sorted(
        name
        for name, cls in _REGISTRY.items()
        if observations is None or cls.needs_observations == observations
    )


def get_objective(objective: str | Objective, /, **params: Any) -> Objective:
    """Return an objective by name, with ``params`` for its constructor; an instance as it is.

    Parameters
    ----------
    objective : a name from :func:`list_objectives`, or an instance.
    params : keyword arguments of its constructor; with a name only.

    Examples
    --------
    >>> from gbrank import get_objective
    >>> get_objective("xendcg", gamma=0.5)
    XENDCG(gamma=0.5)
    """
    if isinstance(objective, Objective):
        if params:
            raise ValueError(
                f"parameters {sorted(params)} go with a name; this objective is built already: "
                f"{objective!r}. Use its set_params"
            )
        return objective
    if not isinstance(objective, str):
        raise TypeError(
            f"objective must be a name or an instance of gbrank.Objective, got {objective!r}"
        )
    if objective not in _REGISTRY:
        raise ValueError(
            f"objective must be one of {list_objectives()}, or a name made known with "
            f"gbrank.register_objective, got {objective!r}"
        )
    return _REGISTRY[objective](**params)


def register_objective(name: str, cls: type[Objective]) -> type[Objective]:
    """Make an :class:`Objective` subclass known by name, for ``Ranker(objective=name)``.

    A name that is taken is refused, unless it is the same class again.

    Parameters
    ----------
    name : the name.
    cls : the class, whose constructor works without arguments.

    Examples
    --------
    >>> from gbrank import XENDCG, register_objective
    >>> register_objective("xendcg", XENDCG).__name__  # known already, and the same class
    'XENDCG'
    """
    if not (isinstance(cls, type) and issubclass(cls, Objective)):
        raise TypeError(f"only a subclass of gbrank.Objective can be registered, got {cls!r}")
    if _REGISTRY.get(name, cls) is not cls:
        raise ValueError(f"the name {name!r} is taken by {_REGISTRY[name].__name__}")
    _REGISTRY[name] = cls
    return cls


def objective_name(objective: Objective) -> str | None:
    """Return the name under which the class of ``objective`` is known; ``None`` if it has none.

    Parameters
    ----------
    objective : an instance.

    Examples
    --------
    >>> from gbrank.objectives import XENDCG, objective_name
    >>> objective_name(XENDCG(gamma=0.5))
    'xendcg'
    """
    return next((name for name, cls in _REGISTRY.items() if cls is type(objective)), None)
