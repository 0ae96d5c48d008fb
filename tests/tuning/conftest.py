import pytest

import gbrank
from gbrank.data import make_ranking


@pytest.fixture(scope="session")
def rows():
    return make_ranking(n_queries=120, n_features=10, random_state=0)


@pytest.fixture(scope="session")
def quick(rows):
    """Return a function that tunes small trees on small data."""

    def tune(**options):
        usual = {
            "objectives": ["xendcg", "lambdamart"],
            "n_trials": 5,
            "cv": 3,
            "ranker": gbrank.Ranker(n_estimators=6),
        }
        return gbrank.tune(rows.X, rows.y, rows.qid, **{**usual, **options})

    return tune


@pytest.fixture(scope="session")
def found(quick):
    """One search that several tests look at."""
    return quick(n_trials=7)
