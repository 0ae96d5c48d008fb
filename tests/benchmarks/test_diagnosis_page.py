"""What docs/noise.md says of recommendations is what was measured, and what counts as a winner."""

import json

import diagnosis
import numpy as np
import pytest

ROOT = diagnosis.RESULTS.parents[1]


@pytest.fixture(scope="module")
def sets():
    return json.loads(diagnosis.FILE.read_text(encoding="utf-8"))["recommendations"]["sets"]


def test_the_sentence_on_recommendations(sets):
    beaten = [(s, loss) for s in sets for loss, winner in s["winner"].items() if winner]
    left = [(s, loss) for s, loss in beaten if s["chosen"][loss] != loss]
    assert {loss for _, loss in beaten} == {"kl", "squared"}
    assert all(s["quality"][s["chosen"][loss]] > s["quality"][loss] for s, loss in left)
    said = " ".join((ROOT / "docs" / "noise.md").read_text(encoding="utf-8").split())
    assert f"On {len(sets)} sets of 90 queries" in said
    assert f"left in {len(left)} of {len(beaten)} cases, and for the better in all" in said
    for loss in ("xendcg", "lambdamart", "gain_pairwise"):
        gains = [s["quality"][s["chosen"][loss]] - s["quality"][loss] for s in sets]
        assert abs(np.mean(gains)) < 0.0005


def test_a_winner_is_far_ahead_and_surely():
    rng = np.random.default_rng(0)
    base = rng.uniform(0.3, 0.7, 400)
    far = base + 0.03 + rng.normal(0, 0.05, 400)
    near = base + 0.01 + rng.normal(0, 0.01, 400)
    unsure = base + 0.03 + rng.normal(0, 0.5, 400)
    assert diagnosis.true_winner({"a": base, "b": far, "c": near}, "a") == "b"
    assert diagnosis.true_winner({"a": base, "b": far, "c": near}, "b") is None
    assert diagnosis.true_winner({"a": base, "c": near}, "a") is None
    assert diagnosis.true_winner({"a": base, "d": unsure}, "a") is None
