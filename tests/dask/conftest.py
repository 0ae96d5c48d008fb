"""One cluster of three processes for all tests of this folder."""

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

QUIET = {"threads_per_worker": 1, "dashboard_address": ":0"}


@pytest.fixture(scope="session")
def cluster():
    with distributed.LocalCluster(n_workers=3, processes=True, **QUIET) as three:
        yield three


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as connected:
        yield connected


@pytest.fixture
def one_worker():
    """A single worker within this process: nothing has to start or to be compiled again."""
    with (
        distributed.LocalCluster(n_workers=1, processes=False, **QUIET) as single,
        distributed.Client(single) as connected,
    ):
        yield connected


@pytest.fixture
def cut():
    """Return a function that makes Dask arrays of so many rows a chunk."""

    def chunked(rows, *arrays):
        return [
            da.from_array(np.asarray(each), chunks=(rows, *(-1,) * (np.ndim(each) - 1)))
            for each in arrays
        ]

    return chunked
