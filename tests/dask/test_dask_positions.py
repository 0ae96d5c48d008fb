"""Positions on a cluster are refused, in words, before anything is sent there."""

import pytest

from gbrank import PositionBias


@pytest.mark.parametrize(
    ("objective", "options"), [(None, {"position": [1] * 4}), (PositionBias("xendcg"), {})]
)
def test_positions_are_refused(objective, options):
    da = pytest.importorskip("dask.array")
    ranker = pytest.importorskip("gbrank.dask").DaskRanker(objective)
    with pytest.raises(ValueError, match=r"cannot learn a bias of positions.*ips_labels"):
        ranker.fit(da.ones((4, 2)), da.ones(4), qid=da.ones(4), **options)
