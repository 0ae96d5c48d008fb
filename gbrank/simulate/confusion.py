"""Wrong labels that depend on the truth, or on who judged: matrices, and careless judges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import (
    FloatArray,
    RankingData,
    check_choice,
    check_integer,
    check_noise_matrix,
    check_number,
    check_random_state,
)
from gbrank.simulate._rows import labels_and_layout

#: What :func:`noise_matrix` makes.
MATRICES = ("uniform", "neighbours", "underrated", "missing")


def noise_matrix(kind: str, level: float, n_grades: int) -> FloatArray:
    """Return ``T[l, u]``, the probability of label ``l`` given the true grade ``u``.

    Parameters
    ----------
    kind : {"uniform", "neighbours", "underrated", "missing"}
        "uniform": with probability ``level`` the label is drawn again, all grades alike.
        "neighbours": with probability ``level`` it is a grade next to the true one, either with
        the same probability. "underrated": with probability ``level`` a relevant document gets a
        lower grade, all lower ones alike, and grade 0 becomes 1 with a quarter of that. "missing":
        with probability ``level`` a relevant document gets grade 0, as one that nobody judged.
    level : float
        From 0 to 1.
    n_grades : int
        Number of grades, 2 or more.

    Examples
    --------
    >>> from gbrank.simulate import noise_matrix
    >>> noise_matrix("missing", 0.5, 3)
    array([[1. , 0.5, 0.5],
           [0. , 0.5, 0. ],
           [0. , 0. , 0.5]])
    """
    check_choice("kind", kind, MATRICES)
    check_number("level", level, low=0.0, high=1.0)
    check_integer("n_grades", n_grades, low=2)
    wrong = np.zeros((n_grades, n_grades))  # where a corrupted label goes, column by column
    grades = np.arange(n_grades)
    share = np.full(n_grades, float(level))
    if kind == "uniform":
        wrong[:] = 1.0 / n_grades
    elif kind == "neighbours":
        near = np.abs(grades[:, None] - grades) == 1
        wrong = near / near.sum(axis=0)
    elif kind == "underrated":
        lower = grades[:, None] < grades
        wrong[:, 1:] = lower[:, 1:] / grades[1:]
        wrong[1, 0], share[0] = 1.0, level / 4.0
    else:
        wrong[0] = 1.0
    matrix: FloatArray = (1.0 - share) * np.eye(n_grades) + share * wrong
    return matrix


def confuse_labels(
    labels: RankingData | ArrayLike,
    qid: Any = None,
    matrix: ArrayLike | None = None,
    *,
    random_state: int | np.random.Generator | None = 0,
) -> Any:
    """Draw every label again, given the true grade: class-conditional noise.

    With one seed, labels that stay with a matrix stay with any that keeps more of them.

    Parameters
    ----------
    labels : RankingData or array of shape (n_rows,)
        True grades 0, 1, ...; or data that have them. They are not changed.
    qid : array of shape (n_rows,), default=None
        Query id of each row; only with an array of labels.
    matrix : array of shape (n_grades, n_grades)
        ``matrix[l, u]`` is the probability of label ``l`` given the true grade ``u``, as
        :func:`noise_matrix` returns it.
    random_state : int, Generator or None, default=0
        Seed, generator, or ``None`` for other numbers every time (in a Ranker it stands for 0).

    Returns
    -------
    array or RankingData
        Labels as float64; with data, a copy that has these labels.

    Examples
    --------
    >>> from gbrank.simulate import confuse_labels, noise_matrix
    >>> confuse_labels([0, 1, 2, 2], [0, 0, 0, 0], noise_matrix("missing", 1.0, 3))
    array([0., 0., 0., 0.])
    """
    checked, layout = labels_and_layout(labels, qid)
    noise = check_noise_matrix(matrix)
    grades = checked.astype(np.int64)
    if (grades != checked).any() or checked.max(initial=0.0) >= len(noise):
        row = int(np.argmax((grades != checked) | (checked >= len(noise))))
        raise ValueError(
            f"matrix has {len(noise)} grades, so labels must be integers from 0 to "
            f"{len(noise) - 1}, but {layout.describe_row(row)} has {checked[row]:g}"
        )
    lots = check_random_state(random_state).random(len(grades))
    noisy = np.empty(len(grades))
    for grade in range(len(noise)):
        # the true grade comes first, so that a label stays for all lots below its probability
        order = np.argsort(np.arange(len(noise)) != grade, kind="stable")
        ends = np.cumsum(noise[order, grade])
        mine = grades == grade
        place = np.searchsorted(ends, lots[mine], side="right")
        noisy[mine] = order[np.minimum(place, len(noise) - 1)]
    return replace(labels, y=noisy) if isinstance(labels, RankingData) else noisy


def careless_judge(
    labels: RankingData | ArrayLike,
    qid: Any = None,
    fraction: float | None = None,
    *,
    random_state: int | np.random.Generator | None = 0,
) -> Any:
    """Give whole queries to a judge who does not look: all their labels are drawn at random.

    New labels have the distribution of all labels. With one seed, queries that are judged so at
    20% are at 40% too.

    Parameters
    ----------
    labels : RankingData or array of shape (n_rows,)
        Labels; or data that have them. They are not changed.
    qid : array of shape (n_rows,), default=None
        Query id of each row; only with an array of labels.
    fraction : float
        Share of the queries, from 0 to 1.
    random_state : int, Generator or None, default=0
        Seed, generator, or ``None`` for other numbers every time (in a Ranker it stands for 0).

    Returns
    -------
    array or RankingData
        Labels as float64; with data, a copy that has these labels.

    Examples
    --------
    >>> from gbrank.simulate import careless_judge
    >>> careless_judge([0, 1, 0, 3], ["a", "a", "b", "b"], fraction=0.0)
    array([0., 1., 0., 3.])
    """
    checked, layout = labels_and_layout(labels, qid)
    check_number("fraction", fraction, low=0.0, high=1.0)
    assert fraction is not None  # it comes behind qid, which may be left out
    generator = check_random_state(random_state)
    lots = generator.permutation(layout.n_queries)
    drawn = generator.choice(checked, len(checked)) if len(checked) else checked
    careless = lots < round(fraction * layout.n_queries)
    rows = layout.unsort(np.repeat(careless, layout.sizes))
    noisy = np.where(rows, drawn, checked)
    return replace(labels, y=noisy) if isinstance(labels, RankingData) else noisy
