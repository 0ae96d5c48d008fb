"""What RESULTS.md says of the survey is what its trials say."""

import numpy as np
import pytest

survey = pytest.importorskip("survey")
REPLACED, CLEAN_VALIDATION, MISSED = 2, 3, 5
#: Losses on the same trees.
PLAIN = ("xendcg", "lightgbm:rank_xendcg", "listnet", "kl", "lambdamart", "gain_pairwise")


@pytest.fixture(scope="module")
def values():
    return survey.read()[0]


def is_significant(difference):
    return survey.interval(difference).startswith("**")


def test_the_page_is_what_the_script_writes():
    text = (survey.RESULTS / "RESULTS.md").read_text(encoding="utf-8")
    assert survey.page() == text.partition(survey.BEGIN)[2].partition(survey.END)[0]


def test_intervals_are_students():
    """Of 1, 2, 3, 4 half an interval is 3.1824 * sqrt(5 / 3) / 2, of the others sqrt(29 / 3)."""
    assert survey.interval(np.array([1.0, 2.0, 3.0, 4.0])) == "**+2.500 ± 2.054**"
    assert survey.interval(np.array([-1.0, 2.0, -3.0, 4.0])) == "+0.500 ± 4.947"


def test_the_ranker_is_ahead_under_every_noise(values):
    ahead = values["Ranker()"] - values[survey.BASE]
    assert (ahead.mean(axis=1) > 0).all()
    assert all(map(is_significant, ahead))


def test_one_difference_between_losses_can_be_told_apart(values):
    found = [
        (name, point)
        for name in PLAIN
        for point, difference in enumerate(values[name] - values[survey.BASE])
        if is_significant(difference)
    ]
    assert found == [("listnet", MISSED)]
    fallen = {name: np.diff(values[name].mean(axis=1)[[REPLACED, 0]])[0] for name in PLAIN}
    assert sorted(fallen, key=fallen.get)[:3] == ["xendcg", "lightgbm:rank_xendcg", "listnet"]


def test_the_ridge_is_above_every_loss_on_plain_trees_with_many_wrong_labels(values):
    ridge = values["floor:ridge"].mean(axis=1)
    for point in (REPLACED, CLEAN_VALIDATION):
        assert all(ridge[point] > values[name].mean(axis=1)[point] for name in PLAIN)
