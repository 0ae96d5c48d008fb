"""Put the noise of a preset into training data (clicks: into validation data too)."""

from dataclasses import replace

import numpy as np

from gbrank.noise.presets import Noise
from gbrank.noise.sources import Lists
from gbrank.simulate import NoiseReport, add_negatives, cascade_clicks, noise_report, perturb_labels

#: Bruch (2021): probabilities of new labels 0 to 4, and of clicks on labels 0 to 4.
NEW_LABELS = (0.5, 0.2, 0.15, 0.1, 0.05)
CLICKS = (0.05, 0.3, 0.5, 0.7, 0.95)


def corrupt(
    train: Lists, valid: Lists, noise: Noise, level: float, grades: int, seed: int
) -> tuple[Lists, Lists, NoiseReport]:
    """Return training and validation lists with noise, and how noisy the training labels are.

    The same seed gives noise that grows with the level, so that curves over levels are smooth.
    """
    if noise.kind == "labels":
        chances = label_probabilities(noise.probabilities or NEW_LABELS, grades)
        noisy = perturb_labels(train, None, level, chances, random_state=seed)
        return noisy, valid, noise_report(train, noisy)
    if noise.kind == "negatives":
        padded = add_negatives(train, fraction=level, random_state=seed)
        longer = Lists(*padded, query=padded.qid)
        return longer, valid, noise_report(padded, padded)
    if noise.kind == "clicks":
        chances = click_probabilities(noise.probabilities or CLICKS, grades, level)
        clicked = []
        for number, lists in enumerate((train, valid)):
            clicks = cascade_clicks(
                lists, None, chances, noise.impressions, random_state=seed + number
            )
            shown = lists.take_rows(clicks.rows)
            clicked.append(
                replace(shown, y=clicks.clicks.astype(np.float64), qid=clicks.impressions)
            )
            if number == 0:
                report = noise_report(shown.y, clicks.clicks, clicks.impressions)
        return clicked[0], clicked[1], report
    return train, valid, noise_report(train, train)


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
