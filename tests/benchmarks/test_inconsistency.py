"""Figures 3 and 4 of Ravikumar et al. (2011): points by arithmetic, sides by the losses."""

from math import e, log2, sqrt
from pathlib import Path

import numpy as np
import pytest
from inconsistency import CASES, relevance, targets

from gbrank.theory import minimizer

PAGE = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "inconsistency.md"


def test_points_are_those_of_the_paper():
    cosine, listnet = CASES
    # gains of labels (1, 5) and (2, 1) are (1, 31) and (3, 1)
    best = (31 + 1 / log2(3), 3 + 1 / log2(3))
    expected = [[1 / best[0], 31 / best[0]], [3 / best[1], 1 / best[1]]]
    np.testing.assert_allclose(relevance(cosine.vectors), expected, rtol=1e-12)
    lengths = sqrt(1 + 31**2), sqrt(3**2 + 1)
    expected = [[1 / lengths[0], 31 / lengths[0]], [3 / lengths[1], 1 / lengths[1]]]
    np.testing.assert_allclose(targets(cosine), expected, rtol=1e-12)
    low, high = 1 / (1 + e**4), 1 / (1 + e)
    np.testing.assert_allclose(targets(listnet), [[low, 1 - low], [1 - high, high]], rtol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.figure)
def test_means_are_on_different_sides_and_the_loss_follows_its_own(case):
    wanted, learnt = case.chances @ relevance(case.vectors), case.chances @ targets(case)
    assert np.argmax(wanted) != np.argmax(learnt)
    assert np.argmax(minimizer(case.objective, case.vectors, case.chances)) == np.argmax(learnt)
    text = PAGE.read_text(encoding="utf-8")
    for mean in (wanted, learnt):
        assert f"({mean[0]:.4f}, {mean[1]:.4f})" in text
