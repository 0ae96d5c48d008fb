"""Aggregations written as their formulas read, with dense matrices and plain loops."""

import numpy as np


def wins_matrix(n_documents, edges):
    """Return n[i, j], the weight of comparisons that i won against j; edges are (i, j, weight)."""
    wins = np.zeros((n_documents, n_documents))
    for winner, loser, weight in edges:
        wins[winner, loser] += weight
    return wins


def draw(n_documents, n_edges, seed, spread=1.0):
    """Draw winners, losers and weights of comparisons by the Bradley-Terry model."""
    generator = np.random.default_rng(seed)
    utility = spread * generator.normal(size=n_documents)
    a = generator.integers(0, n_documents, size=n_edges)
    b = (a + generator.integers(1, n_documents, size=n_edges)) % n_documents
    swap = generator.random(n_edges) > 1.0 / (1.0 + np.exp(utility[b] - utility[a]))
    winner, loser = np.where(swap, a, b), np.where(swap, b, a)
    return winner, loser, generator.uniform(0.5, 2.0, size=n_edges).round(3)


def mean_adjacency(wins, observation_weight):
    adjacency = wins / observation_weight
    return (adjacency - adjacency.T).sum(axis=1)


def log_odds(wins, smoothing=0.5):
    m = len(wins)
    return np.array(
        [
            sum(
                np.log((wins[i, j] + smoothing) / (wins[j, i] + smoothing))
                for j in range(m)
                if j != i
            )
            / (m - 1)
            for i in range(m)
        ]
    )


def win_rate(wins):
    m = len(wins)
    rates = np.zeros(m)
    for i in range(m):
        for j in range(m):
            met = wins[i, j] + wins[j, i]
            if i != j:
                rates[i] += (wins[i, j] / met if met else 0.5) / (m - 1)
    return rates


def borda(wins):
    met = (wins + wins.T).sum(axis=1)
    return np.array([wins[i].sum() / met[i] if met[i] else 0.5 for i in range(len(wins))])


def thurstone_mosteller(wins, smoothing=0.5):
    """Pseudo-inverse of the masked Laplacian: of all least squares solutions the shortest."""
    mask = (wins + wins.T > 0).astype(float)
    odds = np.log((wins + smoothing) / (wins.T + smoothing))
    laplacian = np.diag(mask.sum(axis=1)) - mask
    return np.linalg.pinv(laplacian) @ (mask * odds).sum(axis=1)


def principal_eigenvector(wins, smoothing=0.5):
    """The Perron vector by a dense eigenvalue decomposition."""
    values, vectors = np.linalg.eig((wins + smoothing) / (wins.T + smoothing))
    vector = np.abs(np.real(vectors[:, np.argmax(np.real(values))]))
    return np.log(vector) - np.log(vector).mean()


def cascade(n_documents, lists, clicks, weights):
    """Clicks per examination; NaN for documents that were never examined."""
    clicked, examined = np.zeros(n_documents), np.zeros(n_documents)
    for shown, click, weight in zip(lists, clicks, weights, strict=True):
        for position, document in enumerate(shown):
            examined[document] += weight
            if position == click:
                clicked[document] += weight
                break
    with np.errstate(invalid="ignore"):
        return clicked / examined
