"""The page of clicks: draws averaged before anything is compared, by hand; and as it is written."""

import numpy as np
import pytest
from click_study import page, store

#: Two draws of one fold, one of another; one set; the second draw lacks clean labels.
TRIALS = {
    "a 1": {"naive": 0.5, "clean": 0.7, "ips": 0.6},
    "a 1 3": {"naive": 0.3, "ips": 0.7},
    "a 2": {"naive": 0.5, "clean": 0.9, "ips": 0.8},
}


def test_draws_are_averaged_within_a_set_and_fold():
    assert page.units(TRIALS, "ips", "naive") == pytest.approx([(0.1 + 0.4) / 2, 0.3])
    assert page.units(TRIALS, "clean") == pytest.approx([0.7, 0.9])
    assert page.units(TRIALS, "ips", "naive", also=["clean"]) == pytest.approx([0.1, 0.3])
    assert page.units(TRIALS, "dual").size == 0


def test_the_share_of_the_gap_is_of_draws_that_have_both_ends():
    assert page.gap_closed(TRIALS, "ips") == pytest.approx((0.1 + 0.3) / (0.2 + 0.4))
    assert page.gap_closed(TRIALS, "dual") is None


def test_losses_have_the_interval_of_a_t_test():
    difference = np.array([0.01, -0.02, 0.03, 0.0, -0.01])
    trials = {f"a {n}": {"x": 0.5 + d, "naive": 0.5} for n, d in enumerate(difference, 1)}
    mean, span, p, counts = page._loss(trials, "x", "naive")
    reach = 2.7764 * difference.std(ddof=1) / np.sqrt(5)  # of t, four degrees of freedom
    assert (mean, counts) == (pytest.approx(0.002), "5, 5")
    assert span == f"{0.002 - reach:+.4f} to {0.002 + reach:+.4f}"
    assert float(p) > 0.5


def test_the_page_is_what_the_results_say(tmp_path, monkeypatch):
    kept = (store.RESULTS / "README.md").read_text(encoding="utf-8")
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    page.write()
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == kept
