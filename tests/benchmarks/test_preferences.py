"""The benchmark of aggregated preferences: what it computes in another way than the package."""

import numpy as np
import pytest

pytest.importorskip("scipy")

from preferences import BASES, CENTERED, load_parts
from preferences_linear import DRAWS, LinearTask

from gbrank import UStatistic


@pytest.fixture(scope="module")
def task():
    return LinearTask("synthetic", load_parts("synthetic", None, True))


@pytest.mark.parametrize("order", [3, None])
def test_draws_of_one_form_serve_the_other(task, order):
    zeros, group = np.zeros(task.layout.n_rows), task.layout.sizes
    seen = task.comparisons(20, 0)
    makes = [UStatistic(seen, base=BASES[name], order=order) for name in ("", CENTERED)]
    for objective in makes:
        found = task.at_zero(objective, zeros)
        draws = DRAWS if order else 1
        itself = UStatistic(seen, base=objective.base, order=order)
        each = [itself(zeros, zeros, None, group) for _ in range(draws)]
        expected = [np.sum([pair[at] for pair in each], axis=0, dtype=float) for at in (0, 1)]
        atol = 1e-6 * np.abs(expected[0]).max()  # float32 gradients
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-5, atol=atol)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-6)
    printed, centered = (task.at_zero(make, zeros)[0] for make in makes)
    assert np.abs(printed - centered).max() > 0.1 * np.abs(printed).max()
