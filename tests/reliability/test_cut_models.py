"""A model file cut short, wherever, is refused with a ValueError that names the file."""

import pytest
from small_fits import fit, small_data

from gbrank import Ranker


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "whole.txt"
    ranker = fit(0)
    ranker.save_model(path)
    return ranker, path.read_bytes()


def test_cut_short_at_many_places(saved, tmp_path):
    _, whole = saved
    path = tmp_path / "cut.txt"
    # every place near the two ends, where the format has most to say, and 200 in between
    places = {*range(200), *range(len(whole) - 200, len(whole)), *range(0, len(whole), 99)}
    for place in sorted(places):
        path.write_bytes(whole[:place])
        with pytest.raises(ValueError, match=r"cut\.txt is not a model file of gbrank"):
            Ranker.load_model(path)


def test_a_cut_file_is_no_model_to_go_on_from(saved, tmp_path):
    _, whole = saved
    path, data = tmp_path / "cut.txt", small_data(0)
    path.write_bytes(whole[: len(whole) - 1])
    with pytest.raises(ValueError, match="not a model file of gbrank"):
        Ranker(n_estimators=1, n_jobs=1).fit(data.X, data.y, qid=data.qid, init_model=path)


def test_the_whole_file_is_accepted(saved, tmp_path):
    ranker, whole = saved
    path, data = tmp_path / "whole.txt", small_data(0)
    path.write_bytes(whole)
    assert (Ranker.load_model(path).predict(data.X) == ranker.predict(data.X)).all()
