"""The diagnosis of labels, on data whose noise is known."""

import json

import numpy as np
import pytest

from gbrank.cli import main
from gbrank.core import QueryLayout, RankingData
from gbrank.metrics import get_metric, ndcg_score
from gbrank.noise import aggregate_judges, diagnose
from gbrank.noise.estimation import (
    estimate_matrix,
    grade_probabilities,
    noise_of_matrix,
    true_shares,
)
from gbrank.noise.second_look import find_suspects
from gbrank.noise.sensitivity import extrapolate, recommend
from gbrank.simulate import confuse_labels, noise_matrix, noise_report


def with_anchors(seed, matrix, n_queries=100, length=15):
    """Rows half of which show their grade, and labels by the matrix."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, len(matrix), n_queries * length)
    X = rng.normal(size=(len(truth), 3))
    X[:, 0] = np.where(rng.random(len(truth)) < 0.5, 10.0 * truth, -10.0 + 0.5 * truth)
    qid = np.repeat(np.arange(n_queries), length)
    labels = confuse_labels(truth.astype(float), qid, matrix, random_state=seed + 1)
    return X, labels, qid, truth


def test_intervals_hold_the_matrix():
    matrix = noise_matrix("neighbours", 0.3, 3)
    held, inside = [], []
    for seed in range(12):
        X, y, qid, truth = with_anchors(seed, matrix)
        data = RankingData.checked(X, y, qid)
        chances, fold_of = grade_probabilities(data, 3, 3, seed)
        found = estimate_matrix(y.astype(int), chances, fold_of, data.layout, random_state=seed)
        assert found.matrix.sum(axis=0) == pytest.approx(np.ones(3))
        assert found.is_certain.all() or seed  # a test at 5% may fail
        held.append((found.low <= matrix) & (matrix <= found.high))
        low, high = found.document_noise[1:]
        inside.append(low <= (y != truth).mean() <= high)
    assert np.mean(held) >= 0.9
    assert np.mean(inside) >= 0.8


def test_without_anchors_it_says_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = np.clip(np.round(X[:, 0] + rng.normal(size=1500)) + 1, 0, 3)
    found = diagnose(X, y, np.repeat(np.arange(100), 15), objectives=[], n_labels=5)
    assert not found.is_identified
    assert "Not identified" in str(found)
    assert "at most" in str(found)


def test_pair_noise_of_a_matrix_is_that_of_labels_drawn_by_it():
    matrix, shares = noise_matrix("underrated", 0.4, 4), np.array([0.5, 0.25, 0.15, 0.1])
    rng = np.random.default_rng(0)
    truth = rng.choice(4, 4000, p=shares).astype(float)
    qid = np.repeat(np.arange(20), 200)
    noisy = confuse_labels(truth, qid, matrix, random_state=1)
    counted = noise_report(truth, noisy, qid)
    documents, pairs = noise_of_matrix(matrix, shares)
    assert documents == pytest.approx(counted.document_noise, abs=0.02)
    assert pairs == pytest.approx(counted.pair_noise, abs=0.02)
    assert true_shares(matrix, matrix @ shares) == pytest.approx(shares)


def test_second_look_is_ranked_by_chance_and_says_what_the_metric_would_change():
    """The change of a row is that of the metric computed again with each other grade."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 12)
    chances = rng.dirichlet(np.ones(3), 12)
    layout = QueryLayout.from_group([5, 7])
    found = find_suspects(labels, chances, layout, get_metric("ndcg@3"), _not_certain())
    scores = chances @ [0.0, 1.0, 3.0]
    for row in range(12):
        rows = slice(0, 5) if row < 5 else slice(5, 12)
        change = 0.0
        for grade in range(3):
            other = labels.copy()
            other[row] = grade
            values = [
                ndcg_score(y[rows], scores[rows], group=[len(scores[rows])], k=3)
                for y in (labels, other)
            ]
            change += chances[row, grade] * abs(values[1] - values[0])
        assert found.change[row] == pytest.approx(change, abs=1e-9)
    assert (np.diff(found.chance[found.rows]) <= 0).all()


def _not_certain():
    class Nothing:
        is_certain = np.zeros(3, dtype=bool)

    return Nothing()


def test_injected_errors_come_first():
    from sklearn.metrics import average_precision_score

    matrix = noise_matrix("uniform", 0.1, 3)
    X, y, qid, truth = with_anchors(1, matrix)
    found = diagnose(X, y, qid, objectives=[], n_labels=50)
    wrong = y != truth
    assert average_precision_score(wrong, found.chances) > 3 * wrong.mean()
    rows = [each["row"] for each in found.suspects]
    assert wrong[rows].mean() > 0.5
    assert len(set(rows)) == 50
    assert all(y[each["row"]] == each["label"] for each in found.suspects)
    assert list(found.to_frame().columns) == ["row", "query", "label", "better", "chance", "change"]


def test_rows_in_any_order_are_named_as_given():
    X, y, qid, _ = with_anchors(1, noise_matrix("uniform", 0.1, 3), n_queries=40)
    names = np.array([f"q{q}" for q in qid])
    mixed = np.random.default_rng(0).permutation(len(y))
    found = diagnose(X[mixed], y[mixed], names[mixed], objectives=[], n_labels=10)
    for each in found.suspects:
        assert y[mixed][each["row"]] == each["label"]
        assert names[mixed][each["row"]] == each["query"]


def test_simex_goes_back_along_the_line():
    levels = np.array([0.0, 0.2, 0.4])
    # a metric that falls by .5 for each share of labels that is lost
    kept = 0.8 * (1 - levels)
    assert extrapolate(levels, (0.5 * kept)[None], 0.2)[0] == pytest.approx(0.5)
    assert extrapolate(levels, (0.5 * kept)[None], 0.0)[0] == pytest.approx(0.4)


class _Found:
    def __init__(self, objective, values):
        self.objective, self.values = objective, np.array([values])


def test_a_recommendation_needs_a_test():
    rng = np.random.default_rng(0)
    base = rng.random(200)
    same = recommend([_Found("a", base), _Found("b", base + rng.normal(0, 0.1, 200))], "a")
    assert same.objective == "a"
    assert "no loss is significantly better" in same.text
    better = recommend(
        [_Found("a", base), _Found("b", base + rng.normal(0.05, 0.1, 200)), _Found("c", base)], "a"
    )
    assert better.objective == "b"
    assert better.comparisons[0]["p_holm"] < 0.05
    assert better.comparisons[0]["required_queries"] > 1
    worse = recommend([_Found("a", base), _Found("b", base - 0.1)], "a")
    assert worse.objective == "a"


@pytest.fixture(scope="module")
def whole():
    X, y, qid, _ = with_anchors(3, noise_matrix("uniform", 0.2, 3), n_queries=40, length=8)
    options = {"objectives": ["xendcg", "squared"], "n_estimators": 5, "levels": (0.0, 0.3)}
    return diagnose(X, y, qid, n_labels=5, n_folds=3, **options)


def test_the_whole_of_it(whole, tmp_path):
    pytest.importorskip("matplotlib")
    text = str(whole)
    for heading in ("How noisy are the labels?", "Labels worth a second look", "Which loss?"):
        assert heading in text
    assert "Recommendation: " in text
    whole.write_html(tmp_path / "page.html", title="<mine>")
    page = (tmp_path / "page.html").read_text()
    assert "&lt;mine&gt;: label noise" in page
    assert page.count("<img") == 2
    assert "http" not in page.replace("http://www.w3.org", "")
    kept = json.loads(json.dumps(whole.as_dict()))
    assert kept["recommendation"]["default"] == "xendcg"
    assert len(kept["sensitivity"][0]["means"]) == 2


def test_on_the_command_line(tmp_path, capsys):
    X, y, qid, _ = with_anchors(3, noise_matrix("uniform", 0.2, 3), n_queries=20, length=6)
    np.savez(tmp_path / "mine.npz", X=X, y=y, qid=qid)
    out = tmp_path / "page.html"
    command = ["noise", "diagnose", str(tmp_path / "mine.npz"), "--objectives", "xendcg"]
    assert main([*command, "--out", str(out), "--json", "--top", "3"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["second_look"]) == 3
    assert found["recommendation"] is None  # there is nothing to compare a single loss with
    assert "mine.npz: label noise" in out.read_text()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [0.5] * 40}, "labels must be grades 0, 1"),
        ({"y": [0] * 40}, "all labels are 0"),
        ({"qid": [0] * 40}, "1 queries: at least 5 are needed"),
        ({"metric": "ndgc"}, "unknown metric"),
        ({"levels": (0.1, 0.2)}, "levels must begin with 0"),
        ({"n_labels": 0}, "n_labels must be"),
        ({"objectives": ["xendgc"]}, "there is no objective 'xendgc'"),
    ],
)
def test_bad_input(change, message):
    rng = np.random.default_rng(0)
    given = {"y": rng.integers(0, 3, 40), "qid": np.repeat(np.arange(8), 5), **change}
    with pytest.raises(ValueError, match=message):
        diagnose(rng.normal(size=(40, 2)), **given)


# --- judges ----------------------------------------------------------------------------------


def judged(seed=0, n_items=200):
    """Items that four judges labelled: right in 95%, 80%, 60% and by chance."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n_items)
    rows = {"query": [], "item": [], "judge": [], "label": []}
    for judge, right in (("good", 0.95), ("fair", 0.8), ("poor", 0.6), ("random", 1 / 3)):
        other = (truth + rng.integers(1, 3, n_items)) % 3
        given = np.where(rng.random(n_items) < right, truth, other)
        rows["query"] += [f"q{i // 10}" for i in range(n_items)]
        rows["item"] += [i % 10 for i in range(n_items)]
        rows["judge"] += [judge] * n_items
        rows["label"] += given.tolist()
    return rows, truth


def test_judges_are_weighted_by_what_they_are_worth():
    rows, truth = judged()
    found = aggregate_judges(rows["query"], rows["item"], rows["judge"], rows["label"])
    assert found.judges == ["good", "fair", "poor", "random"]
    assert found.reliability == pytest.approx([0.95, 0.8, 0.6, 1 / 3], abs=0.08)
    votes = np.array(rows["label"]).reshape(4, -1)
    plain = np.abs(votes.mean(axis=0) - truth).mean()
    assert np.abs(found.label - truth).mean() < 0.5 * plain
    majority = np.array([np.bincount(v, minlength=3).argmax() for v in votes.T])
    assert (found.probabilities.argmax(axis=1) == truth).mean() > (majority == truth).mean()
    assert (found.label != np.round(found.label)).any()  # fractional
    assert found.matrix.sum(axis=0) == pytest.approx(np.ones(3))
    assert found.query[:2].tolist() == ["q0", "q0"]
    assert (found.n_judgments == 4).all()


def test_judges_of_a_frame_and_in_a_diagnosis():
    pandas = pytest.importorskip("pandas")
    rows, _ = judged()
    frame = pandas.DataFrame(rows).rename(columns={"item": "doc"})
    found = aggregate_judges(frame, item="doc")
    assert found.to_frame().shape == (200, 4)
    X = np.random.default_rng(0).normal(size=(200, 2))
    labels = np.array(rows["label"][200:400])  # of the fair judge
    whole = diagnose(X, labels, np.repeat(np.arange(20), 10), judges=found, objectives=[])
    assert whole.is_identified
    assert whole.estimate.method == "judges"
    with pytest.raises(ValueError, match="no column 'item'"):
        aggregate_judges(frame)


def test_bad_judgments():
    with pytest.raises(ValueError, match="a judge judges an item once"):
        aggregate_judges(["q", "q"], [1, 1], ["a", "a"], [0, 1])
    with pytest.raises(ValueError, match=r"row 1 has 0\.5"):
        aggregate_judges(["q", "q"], [1, 2], ["a", "a"], [0, 0.5])
    with pytest.raises(ValueError, match="judge has 1 entries, label 2"):
        aggregate_judges(["q", "q"], [1, 2], ["a"], [0, 1])
    with pytest.raises(ValueError, match="must be arrays"):
        aggregate_judges(["q", "q"])
