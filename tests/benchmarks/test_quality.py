"""The comparison with peers: folds, noise, kept runs, paired tests, and the page."""

import numpy as np
import pytest
import quality
from comparison import contestants, figures, page, paired
from comparison.results import Results
from comparison.sets import FOLDS, SETS, load_fold
from comparison.table import Run, Table, table_path
from scipy import stats

N_QUERIES = 40


@pytest.fixture
def folder(tmp_path):
    """Return a folder with ten tiny data sets."""
    for number, name in enumerate(SETS):
        rng = np.random.default_rng(number)
        qid = np.repeat(np.arange(N_QUERIES), 6)
        X = rng.normal(size=(len(qid), 3)).astype(np.float32)
        y = np.digitize(X[:, 0] + rng.normal(size=len(qid)), [0.0, 1.0])
        part = qid % 5 + 1
        if number == 0:  # one split instead of five parts
            part = np.where(qid % 5 == 0, 2, np.where(qid % 5 == 1, 1, 0))
        np.savez(tmp_path / f"{name}.npz", X=X, y=y, qid=qid, part=part)
    return tmp_path


@pytest.mark.parametrize("name", SETS[:2])
def test_folds_are_of_whole_queries_and_test_all_of_them(folder, name):
    tested = []
    for number in FOLDS:
        fold = load_fold(folder, name, number)
        parts = [set(part.qid) for part in (fold.train, fold.valid, fold.test)]
        assert sum(map(len, parts)) == len(set.union(*parts)) == N_QUERIES
        assert set(fold.rest.qid) == parts[0] | parts[1]
        assert [len(part) / N_QUERIES for part in parts] == [0.6, 0.2, 0.2]
        tested += parts[2]
    assert name == SETS[0] or sorted(tested) == list(range(N_QUERIES))


def test_noise_is_in_the_labels_that_it_should_be_in(folder):
    clean = load_fold(folder, SETS[1], 2)
    noisy = load_fold(folder, SETS[1], 2, 0.6)
    half = load_fold(folder, SETS[1], 2, 0.6, clean_validation=True)
    changed = {
        (which, part): np.mean(getattr(fold, part).y != getattr(clean, part).y)
        for which, fold in (("noisy", noisy), ("half", half))
        for part in ("train", "valid", "test")
    }
    assert changed["noisy", "test"] == changed["half", "test"] == changed["half", "valid"] == 0
    assert min(changed["noisy", "train"], changed["noisy", "valid"], changed["half", "train"]) > 0.2
    np.testing.assert_array_equal(noisy.train.y, half.train.y)
    for part in ("train", "valid", "test"):
        np.testing.assert_array_equal(getattr(noisy, part).X, getattr(clean, part).X)


def test_runs_are_kept_and_not_run_again(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(quality, "RESULTS", tmp_path)
    calls = []

    def train(fold, seed):
        calls.append(seed)
        scores = fold.test.X[:, 0]
        return [contestants.Result(name, scores, 7, 1.5) for name in ("one", "one, refit")]

    monkeypatch.setitem(quality.CONTESTANTS, "one", train)
    monkeypatch.setitem(quality.STOPPED, "one", ["one", "one, refit"])
    for _ in range(2):
        for clean in (False, True):
            quality.run(folder, SETS[1], "one", 0.6, 3, clean)
    assert calls == [3, 3]
    table = Table(table_path(tmp_path / "quality", SETS[1]), np.arange(N_QUERIES))
    expected = [Run(m, 0.6, 3, c) for c in (False, True) for m in ("one", "one, refit")]
    assert table.runs == expected
    fold = load_fold(folder, SETS[1], 3)
    values = quality.query_values(fold, fold.test.X[:, 0])
    np.testing.assert_allclose(table.values[0][:, np.unique(fold.test.qid)], values, atol=1e-4)
    assert np.isnan(table.values[0][:, np.unique(fold.rest.qid)]).all()
    with pytest.raises(ValueError, match="has results of other queries"):
        Table(table.path, np.arange(3))


def test_the_ranker_gets_all_queries_but_the_test_queries(folder, monkeypatch):
    seen = []

    class Spy:
        def __init__(self, **params):
            self.params = params

        def fit(self, X, y, qid):
            seen.append((self.params, X, y, qid))
            return self

        def predict(self, X):
            return X[:, 0]

        @property
        def booster_(self):
            return self

        def num_trees(self):
            return 3

    monkeypatch.setattr(contestants, "Ranker", Spy)
    fold = load_fold(folder, SETS[1], 1)
    [result] = contestants.CONTESTANTS["Ranker()"](fold, 1)
    params, X, y, qid = seen[0]
    assert params == {"n_jobs": 1, "random_state": 1}, "exactly as it comes"
    assert (X is fold.rest.X, y is fold.rest.y, qid is fold.rest.qid) == (True, True, True)
    assert (result.model, result.trees) == ("Ranker()", 3)


def test_over_folds_is_the_corrected_t_of_nadeau_and_bengio():
    rng = np.random.default_rng(0)
    one = rng.normal(0.1, 1, (1, 5))
    found = paired.over_folds(one)
    t = one.mean() / np.sqrt((1 / 5 + 1 / 4) * one.var(ddof=1))
    assert found.p == pytest.approx(2 * stats.t.sf(abs(t), 4))
    many = rng.normal(0.3, 1, (10, 5))
    found = paired.over_folds(many)
    assert found.mean == pytest.approx(many.mean())
    assert found.error == pytest.approx(np.sqrt(np.mean(many.var(axis=1, ddof=1)) * 0.45 / 10))
    assert paired.over_folds(np.zeros((3, 5))).p == 1.0
    assert paired.over_folds(-many).p == pytest.approx(found.p)


def test_over_folds_rejects_as_often_as_it_says_where_folds_vary_together():
    """Folds of a set share a part of their error, of the size that the correction stands for."""
    rng = np.random.default_rng(1)
    shared = rng.normal(size=(2000, 10, 1)) * np.sqrt(1 / 4)
    draws = rng.normal(size=(2000, 10, 5)) + shared
    rejected = np.mean([paired.over_folds(each).p < 0.05 for each in draws])
    assert 0.03 < rejected < 0.07


def test_over_queries_and_sets():
    rng = np.random.default_rng(0)
    values = rng.normal(0.2, 1, 50)
    with_gaps = np.insert(values, [3, 9], np.nan)
    assert paired.over_queries(with_gaps).p == pytest.approx(stats.ttest_1samp(values, 0).pvalue)
    assert paired.over_sets(np.arange(1.0, 11.0)) == pytest.approx(2 / 2**10)


def test_critical_difference_of_the_textbook():
    """Demsar 2006, table 5a: q of .05 is 2.569 for four models, 2.728 for five."""
    for n_models, q in ((4, 2.569), (5, 2.728)):
        expected = q * np.sqrt(n_models * (n_models + 1) / (6 * 14))
        assert paired.critical_difference(n_models, 14) == pytest.approx(expected, rel=1e-3)
    ranks = paired.mean_ranks(np.array([[0.9, 0.8], [0.5, 0.8], [0.1, 0.2]]))
    np.testing.assert_allclose(ranks, [1.25, 1.75, 3.0])


def test_bars_join_what_cannot_be_told_apart():
    ranks = np.array([1.0, 2.0, 2.5, 4.0, 6.0])
    assert figures._alike(ranks, 1.5) == [(0, 2), (2, 3)]
    assert figures._alike(ranks, 0.1) == []
    assert figures._alike(ranks, 9.0) == [(0, 4)]


def test_a_peer_as_it_comes_has_its_own_rate_and_trees(folder, monkeypatch):
    calls = []

    def fit(objective, train, valid, trees, seed, rate):
        calls.append((objective, len(train.y), valid, trees, rate))
        return (lambda X: X[:, 0]), trees

    monkeypatch.setitem(contestants.PEERS, "XGBoost rank:ndcg", (fit, "rank:ndcg"))
    fold = load_fold(folder, SETS[1], 1)
    [result] = contestants.CONTESTANTS["XGBoost rank:ndcg, as it comes"](fold, 1)
    assert calls == [("rank:ndcg", len(fold.rest.y), None, 100, 0.3)]
    assert result.model == "XGBoost rank:ndcg, as it comes"


def test_the_page(tmp_path):
    """Where `Ranker()` leads everywhere it says so; a set where it trails is named."""
    levels = (0.0, 0.6)
    strength = dict.fromkeys(page.PEERS, 0.5) | dict.fromkeys(contestants.FLOORS, 0.4)
    strength |= dict.fromkeys(contestants.RANKERS, 0.6)
    for name in SETS:
        rng = np.random.default_rng(0)
        table = Table(table_path(tmp_path, name), np.arange(50))
        write, table._write = table._write, lambda: None  # once, at the end
        for model, mean in strength.items():
            if name == "f1_races" and model == "Ranker()":
                mean = 0.3
            for noise in levels:
                for fold in FOLDS:
                    at = np.flatnonzero(np.arange(50) % 5 == fold - 1)
                    values = np.clip(mean - noise / 10 + rng.normal(0, 0.02, (2, 10)), 0, 1)
                    table.add(Run(model, noise, fold), at, values, 10, 2.0)
        write()
    page.write_page(Results(tmp_path), tmp_path)
    text = (tmp_path / "quality.md").read_text()
    assert "At p < .05 `Ranker()` is below it on f1_races (ndcg@5), f1_races (ndcg@10)." in text
    assert "First, or within one standard error of the difference, on 10 of 10 sets" in text
    assert "`Ranker()` loses on no set more than the linear floor loses plus .01" in text
    for picture in ("quality_noise.png", "quality_ranks.png"):
        assert (tmp_path / picture).stat().st_size > 5000
    means = Results(tmp_path).folds("Ranker()", 0.0, "ndcg@5").mean()
    assert f"| {page.short(means, 4)} |" in text
