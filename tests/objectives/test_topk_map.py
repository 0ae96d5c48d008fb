"""The top-k map, and ListNet on it."""

from math import exp

import numpy as np
import pytest

from gbrank import ListNet
from gbrank.objectives._topk import keep_top
from gbrank.testing import check_objective


@pytest.mark.parametrize(
    ("labels", "k", "expected"),
    [
        ([3, 1, 2, 0], 1, [3, 0, 0, 0]),
        ([3, 1, 2, 0], 2, [3, 0, 2, 0]),
        ([3, 1, 2, 0], 3, [3, 1, 2, 0]),
        ([3, 2, 2, 2, 1], 2, [3, 2, 2, 2, 0]),  # all tied at the k-th label stay
        ([3, 3, 3, 1], 2, [3, 3, 3, 0]),
        ([1, 0, 0, 0], 2, [1, 0, 0, 0]),  # the k-th label is 0
        ([3, 1, 2], 3, [3, 1, 2]),
        ([3, 1, 2], 9, [3, 1, 2]),
        ([3, 1, 2], None, [3, 1, 2]),
        ([2, 2], 1, [2, 2]),
        ([4], 1, [4]),
    ],
)
def test_labels_below_the_kth_count_as_zero(labels, k, expected):
    values = np.array(labels, dtype=float)
    np.testing.assert_array_equal(keep_top(values, np.array([0, len(values)]), k), expected)
    np.testing.assert_array_equal(values, labels)  # the input is not touched


def test_each_query_has_its_own_kth_label():
    values = np.array([1.0, 2.0, 3.0, 9.0, 8.0, 0.5, 0.7])
    kept = keep_top(values, np.array([0, 3, 3, 5, 7]), 1)
    np.testing.assert_array_equal(kept, [0, 0, 3, 9, 0, 0, 0.7])


def test_listnet_on_the_map_spelled_out():
    labels, zeros = [3.0, 1.0, 2.0], [0.0, 0.0, 0.0]
    plain = {"neumann_order": 0}
    grad, _ = ListNet(k=1, **plain).grad_hess(labels, zeros, [3])
    total = exp(3) + 2
    np.testing.assert_allclose(grad, 1 / 3 - np.array([exp(3), 1, 1]) / total, rtol=1e-6)
    assert ListNet(k=1).loss(labels, zeros, [3])[0] == pytest.approx(np.log(3), rel=1e-14)
    grad, _ = ListNet(k=2, temperature=0.5, **plain).grad_hess(labels, zeros, [3])
    total = exp(6) + 1 + exp(4)
    np.testing.assert_allclose(grad, 1 / 3 - np.array([exp(6), 1, exp(4)]) / total, rtol=1e-6)


def test_a_k_of_at_least_the_list_is_plain_listnet():
    labels, scores = [0.0, 4.0, 1.0, 2.0], [0.3, -0.2, 1.0, 0.0]
    for k in (4, 100):
        np.testing.assert_array_equal(
            ListNet(k=k).grad_hess(labels, scores, [4]), ListNet().grad_hess(labels, scores, [4])
        )


@pytest.mark.parametrize("k", [1, 3])
def test_listnet_on_the_map_keeps_the_contract(k):
    check_objective(ListNet(k=k))


def test_bad_k_is_named():
    with pytest.raises(ValueError, match="k must be an integer >= 1 or None, got 0"):
        ListNet(k=0)
