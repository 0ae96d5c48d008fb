"""Noise that is like life: each kind does what its name says, in training and in validation."""

import numpy as np
import pytest

from gbrank.noise.corruption import corrupt, label_matrix
from gbrank.noise.kinds import KINDS, is_known, kind_of, level_text, noise_name, what_is_corrupted
from gbrank.noise.presets import Noise, load_preset, read_preset
from gbrank.noise.sources import open_source
from gbrank.simulate import careless_judge, confuse_labels, noise_matrix

GRADES = 5


@pytest.fixture(scope="module")
def parts():
    return open_source("synthetic", {"n_queries": 60, "list_length": 12}).split(0, "random")


def noisy(parts, kind, level, **options):
    train, valid, _ = parts
    noise = Noise(kind, (level,), ("s",), validation="noisy", **options)
    return corrupt(train, valid, noise, level, GRADES, seed=3)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "none"])
def test_both_protocols(parts, kind):
    train, valid, _ = parts
    level = 0.4
    for protocol in ("noisy", "clean"):
        noise = Noise(kind, (level,), ("s",), validation=protocol)
        changed, validation, report = corrupt(train, valid, noise, level, GRADES, seed=3)
        differs = len(changed.y) != len(train.y) or (changed.y != train.y).any()
        assert differs, kind
        expected = protocol == "noisy" or kind in ("clicks", "position_clicks")
        is_changed = len(validation.y) != len(valid.y) or (validation.y != valid.y).any()
        assert is_changed == expected, (kind, protocol)
        if kind not in ("negatives", "clicks", "position_clicks"):
            assert report.document_noise == (changed.y != train.y).mean()


def test_missing_positives_only_lose(parts):
    changed, _, _ = noisy(parts, "missing", 0.5)
    clean = parts[0].y
    assert (changed.y[clean == 0] == 0).all()
    assert set(np.unique(changed.y - clean * (changed.y > 0))) == {0.0}
    assert 0.35 < (changed.y[clean > 0] == 0).mean() < 0.65


def test_neighbours_move_by_one(parts):
    changed, _, _ = noisy(parts, "neighbours", 0.6)
    assert np.abs(changed.y - parts[0].y).max() == 1
    assert 0.5 < (changed.y != parts[0].y).mean() < 0.7


def test_a_careless_judge_takes_whole_queries(parts):
    train = parts[0]
    changed, _, _ = noisy(parts, "judge", 0.25)
    touched = np.unique(train.qid[changed.y != train.y])
    assert len(touched) == round(0.25 * train.n_queries)
    more = careless_judge(train, None, 0.5, random_state=3)
    assert set(touched) <= set(np.unique(train.qid[more.y != train.y]))


def test_noise_grows_with_the_level(parts):
    train = parts[0]
    for kind in ("uniform", "matrix", "neighbours", "missing", "judge"):
        few, many = (noisy(parts, kind, level)[0].y != train.y for level in (0.2, 0.5))
        assert few.sum() < many.sum()
        assert (few & ~many).sum() <= 0.1 * few.sum(), kind  # drawn again, a label may come back


def test_a_matrix_of_ones_own(parts):
    swap = np.eye(GRADES)[::-1]
    rows = tuple(map(tuple, swap.tolist()))
    changed, _, _ = noisy(parts, "matrix", 1.0, matrix=rows)
    assert (changed.y == GRADES - 1 - parts[0].y).all()
    with pytest.raises(ValueError, match="the noise matrix has 2 grades, but the data have 5"):
        label_matrix(Noise("matrix", (1.0,), ("s",), matrix=((1, 0), (0, 1))), 1.0, 5)


@pytest.mark.parametrize("kind", ["uniform", "neighbours", "underrated", "missing"])
def test_matrices_are_probabilities_and_drawn_as_they_say(kind):
    for grades in (2, 3, 5):
        matrix = noise_matrix(kind, 0.4, grades)
        assert matrix.sum(axis=0) == pytest.approx(np.ones(grades))
        truth = np.repeat(np.arange(grades), 20_000)
        drawn = confuse_labels(truth, np.zeros(len(truth)), matrix).astype(int)
        counted = np.array(
            [np.bincount(drawn[truth == u], minlength=grades) for u in range(grades)]
        )
        assert pytest.approx(matrix, abs=0.02) == (counted / 20_000).T


def test_what_cannot_be_confused_is_refused():
    with pytest.raises(ValueError, match="integers from 0 to 1, but "):
        confuse_labels([0, 1, 2], ["a", "a", "a"], np.eye(2))
    with pytest.raises(ValueError, match="kind must be"):
        noise_matrix("none", 0.1, 3)
    with pytest.raises(ValueError, match="fraction"):
        careless_judge([0, 1], ["a", "a"], 1.5)


def test_names_of_protocols():
    assert noise_name("labels", "clean") == "labels"
    assert noise_name("labels", "noisy") == "labels_and_validation"
    assert noise_name("clicks", "noisy") == noise_name("clicks", "clean") == "clicks"
    assert kind_of("labels_and_validation") == "labels"
    assert is_known("judge_and_validation")
    assert not is_known("clicks_and_validation")
    assert not is_known("nothing")
    assert level_text("missing_and_validation", 0.5) == "50% positives missed"
    assert "validation and test are clean" in what_is_corrupted("labels")
    assert "Training and validation labels" in what_is_corrupted("labels_and_validation")


def test_validation_is_noisy_unless_asked_otherwise():
    assert load_preset("demo").noises[0].validation == "noisy"
    for name in ("results", "bruch2021-fig2-labels"):  # as in the papers
        assert load_preset(name).noises[0].validation == "clean"
    assert [n.validation for n in load_preset("life").noises][:2] == ["noisy", "clean"]
    given = {
        "title": "t", "about": "a", "trials": 1, "metrics": ["ndcg"], "objectives": ["xendcg"],
        "settings": {"s": {"trees": 1, "patience": 0}},
        "noise": [{"kind": "labels", "levels": [0.1], "validation": "both"}],
    }  # fmt: skip
    preset = read_preset("mine", given)
    assert [noise.name for noise in preset.noises] == ["labels_and_validation", "labels"]
    with pytest.raises(ValueError, match="validation must be one of"):
        read_preset("mine", {**given, "validation": "dirty", "noise": [{"kind": "labels"}]}
                    ).with_choices()  # fmt: skip
    noise = [{"kind": "matrix", "levels": [0.1], "matrix": [[1.0, 1.0], [1.0, 0.0]]}]
    with pytest.raises(ValueError, match="columns of preset mine: matrix must sum to 1"):
        read_preset("mine", {**given, "noise": noise}).with_choices()
    with pytest.raises(ValueError, match="settings s must say 'patience'"):
        read_preset("mine", {**given, "settings": {"s": {"trees": 3}}}).with_choices()
    with pytest.raises(ValueError, match="'title' is missing"):
        read_preset("mine", {key: value for key, value in given.items() if key != "title"})
