"""A click log: merged as plain loops would, from any kind of input, refused in words."""

import pickle

import numpy as np
import pandas as pd
import pytest
from click_oracle import count, draw_log

from gbrank.clicks import ClickLog, report


def as_counts(log, items):
    """Return what the log holds as {(query, item, position): [impressions, clicks]}."""
    found = {}
    for query in range(log.n_queries):
        for number in range(log.query_bounds[query], log.query_bounds[query + 1]):
            item = items[log.first_rows[number]]
            for at in range(log.item_bounds[number], log.item_bounds[number + 1]):
                key = (log.query_ids[query], item, log.positions[log.places[at]])
                assert key not in found
                found[key] = [log.impressions[at], log.clicks[at]]
    return found


def test_rows_are_merged():
    rng = np.random.default_rng(0)
    qid, item, position, click, _ = draw_log(rng, 5, 6, 30)
    order = rng.permutation(len(qid))
    qid, item, position, click = (each[order] for each in (qid, item, position, click))
    log = ClickLog(qid, item, position, click)
    assert as_counts(log, item) == count(qid, item, position, click)
    assert (qid[log.first_rows] == log.query_ids[log.queries_of_items]).all()
    names = np.array([f"d{each}" for each in item], dtype=object)
    spelled = ClickLog([f"q{each}" for each in qid], names, position + 7, click)
    expected = {(f"q{q}", f"d{i}", p + 7): n for (q, i, p), n in as_counts(log, item).items()}
    assert as_counts(spelled, names) == expected
    # positions so far apart that they need another way, and ids beyond 2^32
    far = ClickLog(qid * 2**40, item * 2**33, position * 10**9, click)
    expected = {
        (q * 2**40, i * 2**33, p * 10**9): n for (q, i, p), n in as_counts(log, item).items()
    }
    assert as_counts(far, item * 2**33) == expected
    assert far.positions.tolist() == [10**9, 2 * 10**9, 3 * 10**9, 4 * 10**9]


def test_impressions_weigh():
    log = ClickLog([1, 1, 1], [5, 5, 6], [1, 1, 2], [3, 1, 0], impressions=[10, 2, 4])
    assert log.impressions.tolist() == [12, 4]
    assert log.clicks.tolist() == [4, 0]


def test_from_tables_and_files(tmp_path):
    frame = pd.DataFrame(
        {"q": ["a", "a", "b"], "d": [1, 2, 1], "position": [0, 1, 0], "c": [1, 0, 1]}
    )
    names = {"qid": "q", "item": "d", "click": "c"}
    log = ClickLog.from_frame(frame, **names)
    assert repr(log) == "ClickLog(impressions=3, clicks=2, queries=2, items=3, positions=2)"
    frame.to_csv(tmp_path / "log.csv", index=False)
    frame.to_csv(tmp_path / "log.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "log.parquet")
    for name in ("log.csv", "log.tsv", "log.parquet"):
        again = ClickLog.read(tmp_path / name, **names)
        assert repr(again) == repr(log)
        assert (again.clicks == log.clicks).all()
    with pytest.raises(ValueError, match=r"click must name a column .* no 'click'"):
        ClickLog.from_frame(frame, qid="q", item="d")
    (tmp_path / "log.txt").write_text("")
    with pytest.raises(ValueError, match=r"must end with .parquet, .csv or .tsv, got log.txt"):
        ClickLog.read(tmp_path / "log.txt")
    with pytest.raises(FileNotFoundError):
        ClickLog.read(tmp_path / "none.csv")


def test_it_cannot_be_changed():
    log = ClickLog([1, 1], [1, 2], [1, 2], [1, 0])
    with pytest.raises(AttributeError, match="cannot be changed"):
        log.clicks = 3
    with pytest.raises(ValueError, match="read-only"):
        log.clicks[0] = 3
    assert repr(pickle.loads(pickle.dumps(log))) == repr(log)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"position": None}, "position must be given"),
        ({"position": [1, -1, 2]}, r"position must be integers >= 0, but entry 1 is -1"),
        ({"position": [1, 2]}, r"position must have one entry per row: got 2 for 3 rows"),
        ({"click": [0, 2, 0]}, r"click must be from 0 to 1, but row 1 has 2"),
        ({"click": [0, np.nan, 0]}, r"click must be from 0 to 1, but row 1 has nan"),
        ({"impressions": [1, 0, 1]}, r"impressions must be finite numbers > 0, but row 1 has 0"),
        ({"item": [1, 2]}, r"item must have one entry per row: got 2 for 3 rows"),
        ({"item": ["a", None, "b"]}, r"item must not be missing, but that of entry 1 is"),
    ],
)
def test_refusals(change, message):
    good = {"qid": [1, 1, 1], "item": [1, 2, 3], "position": [1, 2, 3], "click": [1, 0, 0]}
    with pytest.raises(ValueError, match=message):
        ClickLog(**{**good, **change})


def test_report():
    rng = np.random.default_rng(1)
    qid, item, position, click, _ = draw_log(rng, 20, 5, 60)
    found = report(ClickLog(qid, item, position, click))
    for at, place in enumerate((1, 2, 3, 4)):
        assert found.impressions[at] == (position == place).sum()
        assert found.clicks[at] == click[position == place].sum()
    assert found.is_connected
    weights = 1 / found.propensities.at(position[click == 1])
    assert found.effective_clicks == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert "positions are connected" in repr(found)
    # items of positions 1 and 2 change places, those of 3 and 4 too, but not between
    two = np.where(position <= 2, item % 2, 2 + item % 2) + 10 * (position <= 2)
    cut = report(ClickLog(qid, two, position, click))
    assert cut.cut_off.tolist() == [3, 4]
    assert cut.links[0, 1] == 40
    assert cut.links[0, 2] == 0
    assert np.isnan(cut.effective_clicks)
    assert "cut off: 3, 4." in repr(cut)


def test_report_plots():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    log = ClickLog([1] * 4, [1, 1, 2, 2], [1, 2, 1, 2], [4, 2, 6, 3], [10] * 4)
    display = report(log).plot()
    lines = [line.get_ydata().tolist() for line in display.ax_.lines]
    assert lines[0] == pytest.approx([1.0, 0.5])
    assert any(line == pytest.approx([1.0, 0.5]) for line in lines[1:])
