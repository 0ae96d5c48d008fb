"""The objectives by name, and the table of what each of them says about itself.

This file knows no loss: the file of a loss ends with :func:`register_objective`. Objectives that
wrap another one look its name up here.
"""

from typing import Any

from gbrank.core import did_you_mean, find_class
from gbrank.objectives.base import Objective

_REGISTRY: dict[str, type[Objective]] = {}

# Names of the same losses elsewhere: of LightGBM, and of XGBoost where the formula is one of ours.
_ALIASES = {
    "lambdarank": "lambdamart",
    "rank_xendcg": "xendcg",
    "xe_ndcg": "xendcg",
    "xe_ndcg_mart": "xendcg",
    "xendcg_mart": "xendcg",
}
# What comes near to losses of XGBoost and CatBoost.
_NEAR = {
    "rank:ndcg": "'lambdamart'",
    "rank:pairwise": "'pairwise_logistic'",
    "rank:map": "LambdaMART(metric='map')",
    "YetiRank": "'yetiloss'",
    "YetiRankPairwise": "'yetiloss'",
    "PairLogit": "'pairwise_logistic'",
    "PairLogitPairwise": "'pairwise_logistic'",
    "QueryRMSE": "'squared'",
    "QuerySoftMax": "'listnet'",
}

_HEADER = ("name", "loss of a query", "consistent with", "cost", "when")


def register_objective(name: str, cls: type[Objective]) -> type[Objective]:
    """Make an :class:`Objective` subclass known by name, for ``Ranker(objective=name)``.

    A name that is taken raises an error, unless it is the same class again.

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
    objective : a name from :func:`list_objectives`, or an instance. LightGBM's names of the same
        losses, "lambdarank" and "rank_xendcg", are understood.
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
    if isinstance(objective, type) and issubclass(objective, Objective):
        raise TypeError(
            f"objective must be an instance, got the class {objective.__name__}: call it, "
            f"{objective.__name__}()"
        )
    if not isinstance(objective, str):
        raise TypeError(
            f"objective must be a name or an instance of gbrank.Objective, got {objective!r}"
        )
    name = objective if objective in _REGISTRY else _ALIASES.get(objective, objective)
    if name not in _REGISTRY:
        raise ValueError(
            f"objective must be one of {list_objectives()}, or a name made known with "
            f"gbrank.register_objective, got {objective!r}{_suggest(objective)}"
        )
    return _REGISTRY[name](**params)


def find_objective(text: str) -> type[Objective]:
    """Return the class of a loss, by its name or by ``FILE.py:Class`` or ``module:Class``.

    Parameters
    ----------
    text : a name from :func:`list_objectives`, or where a class of one's own is.

    Examples
    --------
    >>> from gbrank.objectives import find_objective
    >>> find_objective("gbrank.objectives:XENDCG").__name__
    'XENDCG'
    """
    if ":" in text:
        found: type[Objective] = find_class(text, Objective)
        return found
    return type(get_objective(text))


def _suggest(name: str) -> str:
    """Return a hint for a name that is not known."""
    if name in _NEAR:
        return f"; near to it is {_NEAR[name]}"
    return did_you_mean(name.lower(), [*_REGISTRY, *_ALIASES])


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


def describe_objectives() -> list[dict[str, str]]:
    """Return name, loss, consistency, cost and use of every objective, in the table's order.

    Formulas stand between backquotes. An objective that says nothing about itself has a name alone.

    Examples
    --------
    >>> from gbrank.objectives import describe_objectives
    >>> describe_objectives()[1]["loss"]
    '`-sum softmax(r)_i log rho_i`'
    """
    rows = []
    for name, cls in _REGISTRY.items():
        said = {
            "loss": cls.formula,
            "consistent_with": cls.consistent_with,
            "cost": cls.cost,
            "when": cls.when,
        }
        rows.append({"name": name, **{column: cell for column, cell in said.items() if cell}})
    return rows


def markdown_table() -> str:
    """Return the table of the objectives that say something about themselves, in Markdown.

    Examples
    --------
    >>> from gbrank.objectives import markdown_table
    >>> print(markdown_table().splitlines()[0])
    | name | loss of a query | consistent with | cost | when |
    """
    rows = [list(row.values()) for row in describe_objectives() if len(row) == len(_HEADER)]
    cells = [[f"`{name}`", *said] for name, *said in rows]
    lines = [_HEADER, *([cell.replace("|", "\\|") for cell in row] for row in cells)]
    texts = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([texts[0], "|" + "---|" * len(_HEADER), *texts[1:]])
