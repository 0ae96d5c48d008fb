"""Document noise and pair noise against plain loops over pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gbrank.simulate import noise_report, perturb_labels


def count_pairs(clean, noisy, qid):
    n = reversed_ = lost = invented = 0
    for i in range(len(clean)):
        for j in range(i):
            if qid[i] != qid[j]:
                continue
            true, given_ = np.sign(clean[i] - clean[j]), np.sign(noisy[i] - noisy[j])
            n += true != 0
            reversed_ += true * given_ < 0
            lost += true != 0 and given_ == 0
            invented += true == 0 and given_ != 0
    return n, reversed_, lost, invented


@settings(deadline=None)  # the first call compiles
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 8), st.sampled_from("abc")),
        min_size=1,
        max_size=40,
    )
)
def test_counts_equal_a_loop_over_pairs(rows):
    clean, noisy, qid = (np.array(column) for column in zip(*rows, strict=True))
    noisy = noisy / 2
    report = noise_report(clean, noisy, qid)
    n, reversed_, lost, invented = count_pairs(clean, noisy, qid)
    assert (report.n_pairs, report.reversed_pairs, report.lost_pairs, report.invented_pairs) == (
        n,
        reversed_,
        lost,
        invented,
    )
    assert report.document_noise == np.mean(clean != noisy)
    assert report.n_documents == len(rows)
    assert report.n_queries == len(set(qid))
    if n:
        assert report.pair_noise == pytest.approx((reversed_ + lost / 2) / n, abs=1e-15)
    else:
        assert np.isnan(report.pair_noise)


def test_same_and_opposite_and_constant_labels():
    clean, qid = np.array([2, 1, 0, 0]), np.zeros(4)
    assert noise_report(clean, clean, qid).pair_noise == 0.0
    assert noise_report(clean, clean, qid).document_noise == 0.0
    assert noise_report(clean, 2 - clean, qid).pair_noise == 1.0
    assert noise_report(clean, np.ones(4), qid).pair_noise == 0.5


def test_labels_that_say_nothing_have_pair_noise_one_half():
    rng = np.random.default_rng(0)
    clean, qid = rng.integers(0, 5, 20_000), np.repeat(np.arange(200), 100)
    noisy = perturb_labels(clean, qid, 1.0)
    assert noise_report(clean, noisy, qid).pair_noise == pytest.approx(0.5, abs=0.01)


def test_it_reads_as_text():
    text = str(noise_report([2, 1, 0, 0], [2, 0, 1, 0], ["a"] * 4))
    assert "4 documents of 1 queries: 50.0% of the labels differ" in text
    assert "5 pairs of unequal labels: 30.0% pair noise (1 reversed, 1 lost)" in text
    assert "1 pairs of equal labels are ordered by the noise" in text


def test_degenerate_and_bad_input():
    assert np.isnan(noise_report([1], [2], ["a"]).pair_noise)
    assert noise_report([1], [2], ["a"]).document_noise == 1.0
    with pytest.raises(ValueError, match="labels must have one entry per row: got 1 for 2 rows"):
        noise_report([1, 2], [1], ["a", "a"])
