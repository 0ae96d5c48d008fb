"""The benchmark of aggregated preferences: what it computes in another way than the package."""

import numpy as np
import pytest

pytest.importorskip("scipy")

from preferences import BASES, CENTERED, load_parts
from preferences_linear import DRAWS, LinearTask
from preferences_report import Results, ridge_ranges

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


@pytest.mark.parametrize(
    ("far", "expected"),
    [
        # three seeds: 4.303 standard errors of the mean make a 95% interval
        ([0.002, 0.003, 0.004], "yes"),  # .003 with +-.0025
        ([0.020, 0.021, 0.022], "no"),
        ([0.005, 0.010, 0.021], "cannot be told"),
        ([0.002], "not tested"),
    ],
)
def test_verdicts_on_lambda(far, expected):
    rows = [
        {"set": "data", "loss": "ridge", "ridge": ridge, "seed": seed, "risk": 0.3 + risk}
        for seed, distance in enumerate(far)
        for ridge, risk in ((0.1, 0.0), (1.0, distance / 2), (10.0, distance))
    ]
    [found] = ridge_ranges(Results(rows))
    assert (found.data_set, found.form) == ("data", "as printed")
    assert (found.least[0], found.largest[0]) == (0.1, 10.0)
    assert found.widths == pytest.approx(far)
    assert found.verdict() == expected
