"""LightGBM's parameters of its own ranking losses, as what they say to ours.

In ``lgb.train({"objective": LambdaMART(), "lambdarank_truncation_level": 10, "seed": 7}, ...)``
LightGBM itself does nothing with the last two: an objective that was not given them reads them.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gbrank.core import TRUE_WORDS

_SEEDS = ("seed", "random_seed", "random_state")


def _numbers(value: Any) -> list[float] | None:
    entries = value.split(",") if isinstance(value, str) else np.ravel(value).tolist()
    return [float(entry) for entry in entries if entry != ""] or None


def _unsigned(value: Any) -> int:
    return int(value) % 2**32  # LightGBM's generator starts from a seed below 0 in the same way


_READERS: dict[str, Callable[[Any], Any]] = {
    "label_gain": _numbers,
    "lambdarank_norm": lambda value: str(value).lower() in TRUE_WORDS,
    "lambdarank_truncation_level": int,
    "objective_seed": _unsigned,
    "sigmoid": float,
}


def read_lightgbm_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what LightGBM's parameters say about a ranking loss, by LightGBM's names.

    Parameters
    ----------
    params : all parameters of a training, as LightGBM takes them: numbers may be text.

    Examples
    --------
    >>> from gbrank.objectives._lightgbm_params import read_lightgbm_params
    >>> read_lightgbm_params({"seed": 7, "label_gain": "0,1,3", "num_leaves": 31})
    {'label_gain': [0.0, 1.0, 3.0], 'objective_seed': 15521}
    """
    said = {
        name: _READERS.get(name, lambda value: value)(value)
        for name, value in params.items()
        if value is not None and (name in _READERS or name.startswith("lambdarank_"))
    }
    seed = next((params[name] for name in _SEEDS if params.get(name) is not None), None)
    if seed is not None:
        said.setdefault("objective_seed", seed_of_objective(int(seed)))
    return {name: value for name, value in said.items() if value is not None}


def seed_of_objective(seed: int) -> int:
    """Return the ``objective_seed`` that ``seed`` implies in LightGBM: the fifth that it draws.

    Examples
    --------
    >>> from gbrank.objectives._lightgbm_params import seed_of_objective
    >>> seed_of_objective(7)
    15521
    """
    state = _unsigned(seed)
    for _ in range(5):
        state = (state * 214013 + 2531011) % 2**32
    return (state >> 16) % 2**15 % 32767
