"""The kinds of noise, and how each is called in tables, plots and text.

A kind comes in two protocols: validation labels corrupted as the training ones, the name of the
kind with ``_and_validation``, or left clean. Clicks always replace both.
"""

from typing import NamedTuple

#: What ends the name of a kind whose validation labels are corrupted too.
BOTH = "_and_validation"
#: In a preset: the labels of validation queries.
PROTOCOLS = ("noisy", "clean")


class Kind(NamedTuple):
    """What is said of a kind of noise."""

    title: str
    axis: str
    #: Behind a level in per cent.
    level: str
    is_share: bool = True


KINDS = {
    "none": Kind("Clean data", "nothing is corrupted", ""),
    "labels": Kind("Wrong labels", "share of training labels replaced", "labels replaced"),
    "uniform": Kind(
        "Labels replaced, all grades alike", "share of training labels drawn again", "labels drawn"
    ),
    "matrix": Kind(
        "Wrong labels that depend on the grade",
        "weight of the noise matrix",
        "of the noise matrix",
    ),
    "neighbours": Kind(
        "Labels one grade off", "share of training labels moved by one grade", "labels moved"
    ),
    "judge": Kind(
        "One careless judge", "share of queries judged at random", "queries judged at random"
    ),
    "missing": Kind(
        "Missing positives", "share of relevant documents labelled 0", "positives missed"
    ),
    "negatives": Kind(
        "Padded lists", "documents added to each training list", "documents added", False
    ),
    "clicks": Kind("Clicks", "click probability of grade 0", ""),
    "position_clicks": Kind(
        "Clicks by position", "click probability of grade 0 where it is looked at", ""
    ),
}
CLICKS = ("clicks", "position_clicks")


def noise_name(kind: str, validation: str) -> str:
    """Return the name under which trials of a kind and a protocol are kept."""
    plain = validation == "clean" or kind in (*CLICKS, "none")
    return kind if plain else kind + BOTH


def kind_of(noise: str) -> str:
    """Return the kind of a noise by its name."""
    return noise.removesuffix(BOTH)


def is_known(noise: object) -> bool:
    """Return whether a name is that of a kind in one of its protocols."""
    if not isinstance(noise, str) or kind_of(noise) not in KINDS:
        return False
    return noise == kind_of(noise) or kind_of(noise) not in (*CLICKS, "none")


def axis_of(noise: str) -> str:
    """Say what the levels of a noise are."""
    return KINDS[kind_of(noise)].axis


def title_of(noise: str) -> str:
    """Return the heading of a noise, with its protocol."""
    kind = KINDS[kind_of(noise)]
    return kind.title + (", in validation queries too" if noise.endswith(BOTH) else "")


def what_is_corrupted(noise: str) -> str:
    """Say what is corrupted, and what is not."""
    kind = kind_of(noise)
    if kind == "none":
        return "Nothing is corrupted."
    if kind in CLICKS:
        return "Training and validation labels become clicks; test labels are clean."
    where = "Training and validation" if noise.endswith(BOTH) else "Training"
    done = "lists are padded" if kind == "negatives" else "labels are corrupted"
    rest = "test queries are clean" if noise.endswith(BOTH) else "validation and test are clean"
    return f"{where} {done}; {rest}."


def percent(level: float) -> str:
    """Return a level as people read it."""
    return f"{100 * level:g}%"


def level_text(noise: str, level: float) -> str:
    """Say what a level of a noise is."""
    kind = kind_of(noise)
    if kind == "none":
        return "clean data"
    if kind in CLICKS:
        return f"grade 0 clicked with probability {level:g}"
    return f"{percent(level)} {KINDS[kind].level}"
