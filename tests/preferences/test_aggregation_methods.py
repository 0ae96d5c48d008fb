"""What is special to one aggregation: solvers at their limits, closed forms, other libraries."""

import numpy as np
import preference_oracle as oracle
import pytest
from preference_oracle import draw

from gbrank import preferences
from gbrank.preferences import Comparisons, Selections, aggregate


class TestBradleyTerry:
    @pytest.fixture
    def choix(self):
        return pytest.importorskip("choix")

    @pytest.mark.parametrize("penalty", [1e-4, 0.1, 2.0])
    @pytest.mark.parametrize("n_edges", [30, 400])
    def test_equals_choix(self, choix, penalty, n_edges):
        winner, loser, _ = draw(12, n_edges, seed=5)
        scores = preferences.bradley_terry(
            Comparisons(None, winner, loser), qid=[0] * 12, penalty=penalty
        )
        pairs = list(zip(winner.tolist(), loser.tolist(), strict=True))
        # choix penalises alpha |s|^2; its optimiser leaves gradients of 1e-8
        expected = choix.opt_pairwise(12, pairs, alpha=penalty / 2, tol=1e-12)
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-5)

    def test_tends_to_maximum_likelihood_where_that_exists(self, choix):
        winner, loser, _ = draw(6, 500, seed=6)
        scores = preferences.bradley_terry(
            Comparisons(None, winner, loser), qid=[0] * 6, penalty=1e-9
        )
        pairs = list(zip(winner.tolist(), loser.tolist(), strict=True))
        expected = choix.ilsr_pairwise(6, pairs, tol=1e-12)
        np.testing.assert_allclose(scores, expected - expected.mean(), rtol=0, atol=1e-6)

    @pytest.mark.parametrize("penalty", [1e-12, 1e-3, 10.0])
    def test_the_gradient_vanishes_even_where_no_likelihood_is_greatest(self, penalty):
        """Documents 0 > 1 > 2 > 3 without an exception: the gradient of the penalised loss is 0."""
        winner, loser = [0, 0, 1, 2, 0], [1, 2, 2, 3, 3]
        s = preferences.bradley_terry(
            Comparisons(None, winner, loser), qid=[0] * 4, penalty=penalty
        )
        pull = penalty * s
        for a, b in zip(winner, loser, strict=True):
            chance_to_lose = 1.0 / (1.0 + np.exp(s[a] - s[b]))
            pull[a] -= chance_to_lose
            pull[b] += chance_to_lose
        assert np.abs(pull).max() < 1e-9 * min(1.0, penalty * 100)
        assert (np.diff(s) < 0).all()

    @pytest.mark.parametrize("seed", range(12))
    def test_the_gradient_vanishes_for_weights_of_any_size(self, seed):
        generator = np.random.default_rng(seed)
        winner, loser, weight = draw(20, int(generator.integers(5, 80)), seed, spread=4.0)
        weight *= 10.0 ** generator.uniform(-4, 4, size=len(weight))
        penalty = 10.0 ** generator.uniform(-5, 1)
        s = preferences.bradley_terry(
            Comparisons(None, winner, loser, weight), qid=[0] * 20, penalty=penalty
        )
        wins = oracle.wins_matrix(20, zip(winner, loser, weight, strict=True))
        difference = s[:, None] - s[None, :]
        pull = wins * np.exp(-np.logaddexp(0.0, difference))
        parts = np.column_stack((penalty * s, -pull.sum(axis=1), pull.sum(axis=0)))
        assert (np.abs(parts.sum(axis=1)) <= 1e-8 * (np.abs(parts).sum(axis=1) + penalty)).all()

    def test_one_comparison_solves_one_equation(self):
        """With s = (d / 2, -d / 2) the gradient says penalty d / 2 = 1 / (1 + e^d)."""
        s = preferences.bradley_terry(Comparisons(None, [0], [1]), qid=[0, 0], penalty=0.1)
        d = s[0] - s[1]
        assert 0.1 * d / 2 == pytest.approx(1.0 / (1.0 + np.exp(d)), rel=1e-10)


class TestBorda:
    """Which functions are the Borda count A 1 of a skew-symmetric matrix A, and that borda is not.

    Duchi, Mackey and Jordan 2013, section 5.1 and 6.2.
    """

    winner, loser, weight = draw(6, 25, seed=11)
    wins = oracle.wins_matrix(6, zip(winner, loser, weight, strict=True))
    seen = Comparisons(None, winner, loser, weight)

    def test_of_the_mean_adjacency(self):
        mean = (self.wins - self.wins.T) / self.weight.sum()
        np.testing.assert_allclose(
            preferences.mean_adjacency(self.seen, qid=[0] * 6), mean.sum(axis=1), atol=1e-14
        )

    def test_of_log_odds(self):
        odds = np.log((self.wins + 0.5) / (self.wins.T + 0.5))
        np.testing.assert_allclose(
            5 * preferences.log_odds(self.seen, qid=[0] * 6), odds.sum(axis=1), atol=1e-12
        )

    def test_of_chances_to_win(self):
        met = self.wins + self.wins.T
        chance = np.where(met > 0, self.wins / np.where(met > 0, met, 1.0), 0.5)
        np.fill_diagonal(chance, 0.5)
        count = (chance - chance.T).sum(axis=1)
        rate = preferences.win_rate(self.seen, qid=[0] * 6)
        np.testing.assert_allclose(2 * 5 * rate - 5, count, atol=1e-12)

    def test_borda_is_another_score(self):
        """Document 0 beats 1 three times and loses to 2 once: 3/4 of 4, but 1/2 by opponent."""
        seen = Comparisons(None, [0, 0, 0, 2], [1, 1, 1, 0])
        assert preferences.borda(seen, qid=[0] * 3).tolist() == [0.75, 0.0, 1.0]
        assert preferences.win_rate(seen, qid=[0] * 3).tolist() == [0.5, 0.25, 0.75]
        net = preferences.mean_adjacency(seen, qid=[0] * 3)
        assert net.tolist() == [0.5, -0.75, 0.25]  # 0 before 2, which borda has the other way round


class TestEigenvector:
    def test_consistent_ratios_come_back(self):
        """n_ij and n_ji such that (n_ij + c) / (n_ji + c) = v_i / v_j exactly."""
        v = np.array([8.0, 4.0, 2.0, 1.0])
        pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
        winner, loser = zip(*pairs, strict=True)
        weight = [v[i] - 0.5 for i, _ in pairs]
        scores = preferences.principal_eigenvector(
            Comparisons(None, winner, loser, weight), qid=[0] * 4
        )
        np.testing.assert_allclose(scores, np.log(v) - np.log(v).mean(), rtol=0, atol=1e-12)

    @pytest.mark.parametrize("strength", [10.0, 1e3, 1e5])
    def test_circles_converge(self, strength):
        """0 beats 1 beats 2 beats 0, equally hard: all are equal."""
        scores = preferences.principal_eigenvector(
            Comparisons(None, [0, 1, 2], [1, 2, 0], [strength] * 3), qid=[0] * 3
        )
        np.testing.assert_allclose(scores, 0.0, rtol=0, atol=1e-9)

    def test_strong_contradictions(self):
        winner, loser, _ = draw(9, 40, seed=8, spread=3.0)
        weight = np.full(40, 1e3)
        scores = preferences.principal_eigenvector(
            Comparisons(None, winner, loser, weight), qid=[0] * 9
        )
        wins = oracle.wins_matrix(9, zip(winner, loser, weight, strict=True))
        expected = oracle.principal_eigenvector(wins)
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-7)


class TestThurstoneMosteller:
    @pytest.mark.parametrize("n_documents", [50, 400])
    def test_a_long_chain(self, n_documents):
        """Neighbours only: differences of scores are the log-odds themselves."""
        winner, loser = np.arange(n_documents - 1), np.arange(1, n_documents)
        scores = preferences.thurstone_mosteller(
            Comparisons(None, winner, loser), qid=[0] * n_documents
        )
        np.testing.assert_allclose(np.diff(scores), -np.log(1.5 / 0.5), rtol=0, atol=1e-8)
        assert abs(scores.mean()) < 1e-10

    def test_components_each_have_mean_zero(self):
        """{0, 1, 2} and {3, 4} are compared among themselves, 5 never."""
        seen = Comparisons(None, [0, 1, 3, 3], [1, 2, 4, 4])
        scores = preferences.thurstone_mosteller(seen, qid=[0] * 6)
        apart = [np.log(3), 0, -np.log(3), np.log(5) / 2, -np.log(5) / 2, 0]
        np.testing.assert_allclose(scores, apart, rtol=0, atol=1e-12)


class TestCascade:
    def draw(self, weighted):
        generator = np.random.default_rng(4)
        lists = [generator.permutation(9)[: generator.integers(1, 7)].tolist() for _ in range(60)]
        lists = [[document for document in entry if document < 8] for entry in lists]
        clicks = [int(generator.integers(-1, len(entry))) if entry else -1 for entry in lists]
        weight = generator.uniform(0.1, 2.0, size=60) if weighted else np.ones(60)
        return lists, clicks, weight

    @pytest.mark.parametrize("weighted", [False, True])
    def test_equals_the_closed_form(self, weighted):
        lists, clicks, weight = self.draw(weighted)
        observations = Selections([0] * 60, lists, clicks, weight=weight)
        scores = preferences.cascade(observations, qid=[0] * 9)
        expected = oracle.cascade(9, lists, clicks, weight)
        np.testing.assert_allclose(scores[:8], expected[:8], rtol=1e-12)
        assert np.isnan(expected[8])  # never examined: the clicks per examination of the query
        examined = sum(
            w * (len(entry) if click < 0 else click + 1)
            for entry, click, w in zip(lists, clicks, weight, strict=True)
        )
        clicked = sum(w for click, w in zip(clicks, weight, strict=True) if click >= 0)
        assert scores[8] == pytest.approx(clicked / examined)
        assert preferences.cascade(observations, qid=[0] * 9, prior=0.25)[8] == 0.25

    def test_maximises_the_likelihood(self):
        lists, clicks, weight = self.draw(weighted=True)

        def likelihood(p):
            total = 0.0
            for entry, click, w in zip(lists, clicks, weight, strict=True):
                for position, document in enumerate(entry):
                    if position == click:
                        total += w * np.log(p[document])
                        break
                    total += w * np.log1p(-p[document])
            return total

        best = preferences.cascade(Selections([0] * 60, lists, clicks, weight=weight), qid=[0] * 9)
        assert ((best[:8] > 0.02) & (best[:8] < 0.98)).all()
        for document in range(8):
            for move in (-0.01, 0.01):
                other = best.copy()
                other[document] += move
                assert likelihood(other) < likelihood(best)

    def test_strength_counts_as_examinations(self):
        observations = Selections(None, [[0, 1], [1, 0]], [0, None])
        scores = preferences.cascade(observations, qid=[0] * 3, prior=0.2, strength=2.0)
        expected = [(1 + 2 * 0.2) / (2 + 2), (0 + 2 * 0.2) / (1 + 2), 0.2]
        np.testing.assert_allclose(scores, expected, rtol=1e-14)

    def test_needs_lists(self):
        with pytest.raises(ValueError, match="method 'cascade' needs Selections"):
            aggregate(Comparisons(None, [0], [1]), "cascade", qid=[0, 0])
