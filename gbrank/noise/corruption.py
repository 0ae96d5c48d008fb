"""Put the noise of a preset into training data, and into validation data where it says so."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gbrank.noise.kinds import CLICKS
from gbrank.noise.presets import Noise
from gbrank.noise.sources import Lists
from gbrank.simulate import (
    NoiseReport,
    add_negatives,
    careless_judge,
    cascade_clicks,
    confuse_labels,
    noise_matrix,
    noise_report,
    perturb_labels,
    position_based_clicks,
)

#: Bruch (2021): probabilities of new labels 0 to 4, and of clicks on labels 0 to 4.
NEW_LABELS = (0.5, 0.2, 0.15, 0.1, 0.05)
CLICK_CHANCES = (0.05, 0.3, 0.5, 0.7, 0.95)
#: Kinds that are a matrix of their name.
_AS_MATRIX = {"uniform": "uniform", "neighbours": "neighbours", "missing": "missing"}


def corrupt(
    train: Lists, valid: Lists, noise: Noise, level: float, grades: int, seed: int
) -> tuple[Lists, Lists, NoiseReport]:
    """Return training and validation lists with noise, and how noisy the training labels are.

    The same seed gives noise that grows with the level, so that curves over levels are smooth.
    """
    if noise.kind == "none":
        return train, valid, noise_report(train, train)
    make = _click if noise.kind in CLICKS else _KINDS.get(noise.kind, _confuse)
    noisy, report = make(train, noise, level, grades, seed)
    if noise.kind in CLICKS or noise.validation == "noisy":
        valid, _ = make(valid, noise, level, grades, seed + 1)
    return noisy, valid, report


def label_matrix(noise: Noise, level: float, grades: int) -> np.ndarray:
    """Return the matrix ``T[l, u]`` of a kind that is one, at a level."""
    if noise.kind in _AS_MATRIX:
        return noise_matrix(_AS_MATRIX[noise.kind], level, grades)
    if not noise.matrix:
        return noise_matrix("underrated", level, grades)
    whole = np.array(noise.matrix)
    if len(whole) != grades:
        raise ValueError(
            f"the noise matrix has {len(whole)} grades, but the data have {grades}: 0 to "
            f"{grades - 1}"
        )
    mixed: np.ndarray = (1.0 - level) * np.eye(grades) + level * whole
    return mixed


def _confuse(
    lists: Lists, noise: Noise, level: float, grades: int, seed: int
) -> tuple[Lists, NoiseReport]:
    noisy = confuse_labels(lists, None, label_matrix(noise, level, grades), random_state=seed)
    return noisy, noise_report(lists, noisy)


def _replace(
    lists: Lists, noise: Noise, level: float, grades: int, seed: int
) -> tuple[Lists, NoiseReport]:
    chances = label_probabilities(noise.probabilities or NEW_LABELS, grades)
    noisy = perturb_labels(lists, None, level, chances, random_state=seed)
    return noisy, noise_report(lists, noisy)


def _judge(lists: Lists, _: Noise, level: float, __: int, seed: int) -> tuple[Lists, NoiseReport]:
    noisy = careless_judge(lists, None, level, random_state=seed)
    return noisy, noise_report(lists, noisy)


def _pad(lists: Lists, _: Noise, level: float, __: int, seed: int) -> tuple[Lists, NoiseReport]:
    padded = add_negatives(lists, fraction=level, random_state=seed)
    return Lists(*padded, query=padded.qid), noise_report(padded, padded)


def _click(
    lists: Lists, noise: Noise, level: float, grades: int, seed: int
) -> tuple[Lists, NoiseReport]:
    chances = click_probabilities(noise.probabilities or CLICK_CHANCES, grades, level)
    model = cascade_clicks if noise.kind == "clicks" else position_based_clicks
    clicks = model(lists, None, chances, noise.impressions, random_state=seed)
    shown = lists.take_rows(clicks.rows)
    clicked = replace(shown, y=clicks.clicks.astype(np.float64), qid=clicks.impressions)
    return clicked, noise_report(shown.y, clicks.clicks, clicks.impressions)


_KINDS: dict[str, Callable[[Lists, Noise, float, int, int], tuple[Lists, NoiseReport]]] = {
    "labels": _replace,
    "judge": _judge,
    "negatives": _pad,
}


def label_probabilities(probabilities: tuple[float, ...], grades: int) -> np.ndarray:
    """Return the probabilities of the grades that a data set has, scaled to sum to 1."""
    kept = np.array(probabilities[:grades])
    chances: np.ndarray = kept / kept.sum()
    return chances


def click_probabilities(
    probabilities: tuple[float, ...], grades: int, of_zero: float
) -> np.ndarray:
    """Return click probabilities for the grades of a data set, with that of grade 0 set.

    With fewer or more grades than probabilities, the lowest and the highest grade keep theirs, and
    those between are interpolated: .05, .5 and .95 for three grades.
    """
    if grades == len(probabilities):
        chances = np.array(probabilities)
    else:
        places = np.linspace(0, len(probabilities) - 1, grades)
        chances = np.interp(places, np.arange(len(probabilities)), probabilities)
    chances[0] = of_zero
    return chances
