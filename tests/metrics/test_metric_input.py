"""Bad input: one clear error each, before any work; and the shapes that good input may have."""

import re

import numpy as np
import pytest

from gbrank.metrics import (
    average_precision_score,
    compare,
    dcg_score,
    err_score,
    evaluate,
    feval,
    get_metric,
    get_scorer,
    list_metrics,
    ndcg_score,
    pairwise_disagreement,
    precision_at_k,
    recall_at_k,
    reciprocal_rank_score,
    spearman_score,
    topk_zero_one_loss,
)

FUNCTIONS = {
    "dcg": dcg_score,
    "ndcg": ndcg_score,
    "err": err_score,
    "map": average_precision_score,
    "mrr": reciprocal_rank_score,
    "precision": precision_at_k,
    "recall": recall_at_k,
    "pairwise_disagreement": pairwise_disagreement,
    "topk_zero_one": topk_zero_one_loss,
    "spearman": spearman_score,
}
LABELS, SCORES, GROUP = [1.0, 0.0, 2.0, 0.0], [0.1, 0.2, 0.3, 0.4], [2, 2]

WRONG = [
    ({"scores": [0.1, 0.2, 0.3]}, "scores must have one entry per row: got 3 for 4 rows"),
    ({"scores": [0.1, 0.2, np.nan, 0.4]}, "scores must be finite.*row 2 (query 1) has nan"),
    ({"scores": [0.1, np.inf, 0.3, 0.4]}, "scores must be finite.*row 1 (query 0) has inf"),
    ({"labels": [1.0, np.nan, 0.0, 1.0]}, "labels must be finite.*row 1 (query 0) has nan"),
    ({"labels": [], "scores": [], "group": []}, "labels must have at least one row"),
    ({"labels": [[1.0, 0.0], [2.0, 0.0]]}, "labels must be one-dimensional"),
    ({"group": [2, 1]}, "group sizes must sum to the number of rows"),
    ({"group": None}, "give either qid"),
    ({"qid": [1, 1, 2, 2]}, "give either qid.*got both"),
    ({"group": None, "qid": [1, 1, 2]}, "qid must have one entry per row: got 3 for 4"),
    ({"k": 0}, "k must be at least 1, got 0"),
    ({"k": -3}, "k must be at least 1, got -3"),
    ({"k": 0.0}, "k must be an integer >= 1, or a fraction.*got 0"),
    ({"k": 1.5}, "k must be an integer >= 1, or a fraction.*got 1.5"),
    ({"k": np.nan}, "k must be an integer >= 1, or a fraction"),
    ({"sample_weight": [1.0, 2.0, 1.0, 1.0]}, "sample_weight must be the same.*row 1 (query 0)"),
    ({"sample_weight": [1.0, 1.0, 1.0]}, "sample_weight must have one entry per query (2) or"),
    ({"sample_weight": [1.0, -1.0]}, "weights must be finite numbers >= 0.*query 1 is -1"),
    ({"empty": "zero"}, 'empty must be "skip" or a finite number'),
    ({"empty": np.nan}, 'empty must be "skip" or a finite number'),
    ({"ties": "random"}, "ties must be one of.*'average'.*got 'random'"),
    ({"convention": "xgboost"}, "convention must be None or one of.*'lightgbm'.*got 'xgboost'"),
    ({"n_jobs": 0}, "n_jobs must be None or an integer other than 0"),
]


def _pattern(text):
    """Return the text as a regular expression in which only ``.*`` has a meaning."""
    return ".*".join(re.escape(part) for part in text.split(".*"))


@pytest.mark.parametrize(("change", "message"), WRONG, ids=[text[:40] for _, text in WRONG])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_metric_refuses_bad_input(name, change, message):
    arguments = {"labels": LABELS, "scores": SCORES, "group": GROUP} | change
    with pytest.raises(ValueError, match=_pattern(message)):
        FUNCTIONS[name](arguments.pop("labels"), arguments.pop("scores"), **arguments)


@pytest.mark.parametrize("k", ["10", [1], True])
def test_a_cutoff_of_the_wrong_type(k):
    with pytest.raises(TypeError, match="k must be None, an integer or a fraction"):
        ndcg_score(LABELS, SCORES, group=GROUP, k=k)


def test_labels_that_are_no_numbers():
    with pytest.raises(TypeError, match="labels must be numbers"):
        ndcg_score(["a", "b", "c", "d"], SCORES, group=GROUP)


@pytest.mark.parametrize("name", ["pairwise_disagreement", "spearman"])
def test_metrics_of_the_whole_list_have_no_cutoff(name):
    with pytest.raises(ValueError, match=f"{name} has no cut-off.*got k=3"):
        FUNCTIONS[name](LABELS, SCORES, group=GROUP, k=3)
    with pytest.raises(ValueError, match=f"{name} has no cut-off"):
        get_metric(f"{name}@3")


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_negative_labels_only_where_their_order_alone_counts(name):
    labels = [-1.0, 0.0, 2.0, 0.0]
    if name in ("pairwise_disagreement", "spearman"):
        shifted = [0.0, 1.0, 3.0, 1.0]
        expected = FUNCTIONS[name](shifted, SCORES, group=GROUP)
        assert FUNCTIONS[name](labels, SCORES, group=GROUP) == expected
    else:
        with pytest.raises(ValueError, match=r"labels must be finite numbers >= 0.*row 0"):
            FUNCTIONS[name](labels, SCORES, group=GROUP)


def test_gains_that_make_no_sense():
    with pytest.raises(ValueError, match=r"gain must be finite.*label 2000 at row 2 \(query 1\)"):
        ndcg_score([1, 0, 2000, 0], SCORES, group=GROUP)
    with pytest.raises(ValueError, match=r"gain is a table of 2 entries.*row 2 \(query 1\) has 2"):
        ndcg_score(LABELS, SCORES, group=GROUP, gain=[0, 1])
    with pytest.raises(ValueError, match='gain must be "exp", "linear"'):
        ndcg_score(LABELS, SCORES, group=GROUP, gain="cubic")
    with pytest.raises(ValueError, match="discount must be one of"):
        ndcg_score(LABELS, SCORES, group=GROUP, discount="linear")


def test_grades_beyond_the_largest():
    with pytest.raises(
        ValueError, match=r"labels must be at most max_grade = 1.*row 2 \(query 1\)"
    ):
        err_score(LABELS, SCORES, group=GROUP, max_grade=1)
    with pytest.raises(ValueError, match="max_grade must be a number > 0 or None, got 0"):
        err_score(LABELS, SCORES, group=GROUP, max_grade=0)
    with pytest.raises(ValueError, match=r"gain must give probabilities.*row 2"):
        err_score(LABELS, SCORES, group=GROUP, gain=[0.0, 0.5, 1.5])
    with pytest.raises(ValueError, match='gain must be "exp", or a table or function'):
        err_score(LABELS, SCORES, group=GROUP, gain="linear")


def test_a_gain_is_asked_only_about_labels_that_occur():
    def gain(labels):
        assert set(labels) <= {0.0, 3.0}
        return labels

    assert dcg_score([3, 0], [2, 1], group=[2], gain=gain) == 3.0


@pytest.mark.parametrize("make", [get_metric, feval, get_scorer])
def test_an_unknown_name_comes_with_the_list(make):
    with pytest.raises(ValueError, match=r"unknown metric 'auc'; known are dcg, err, map"):
        make("auc")
    with pytest.raises(ValueError, match="the cut-off of 'ndcg@ten' must be an integer"):
        make("ndcg@ten")
    with pytest.raises(ValueError, match="must be an integer >= 1 or a fraction"):
        make("ndcg@1.5")
    with pytest.raises(ValueError, match="the cut-off is given twice"):
        make("ndcg@10", k=5)
    with pytest.raises(TypeError, match="named by a string"):
        make(10)


@pytest.mark.parametrize("make", [get_metric, feval, get_scorer])
@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("ndcg5", "ndcg@5"),
        ("ndcg_10", "ndcg@10"),
        ("NDCG@0.5", "ndcg@0.5"),
        ("ndgc@10", "ndcg@10"),
        ("presicion", "precision"),
        ("MAP", "map"),
    ],
)
def test_an_unknown_name_that_resembles_one_says_which(make, name, meant):
    with pytest.raises(ValueError, match=f"unknown metric '{name}'; did you mean '{meant}'?"):
        make(name)


@pytest.mark.parametrize("make", [get_metric, feval, get_scorer, lambda m: compare(*TWO, metric=m)])
def test_a_class_where_a_metric_object_is_meant(make):
    with pytest.raises(TypeError, match=r"got the class NDCG: call it, NDCG\(\)"):
        make(type(get_metric("ndcg")))


TWO = (LABELS, {"a": SCORES, "b": SCORES[::-1]})


def test_an_option_that_there_is_not():
    with pytest.raises(TypeError, match="ndcg has no option 'gian'; did you mean 'gain'"):
        ndcg_score(LABELS, SCORES, group=GROUP, gian="linear")
    with pytest.raises(TypeError, match="recall has no option 'gain'; it has k, threshold"):
        get_metric("recall@3", gain="linear")


def test_other_options():
    with pytest.raises(ValueError, match="threshold must be a finite number, got nan"):
        recall_at_k(LABELS, SCORES, group=GROUP, threshold=np.nan)
    with pytest.raises(ValueError, match="divide_by must be 'relevant' or 'reachable', got 'all'"):
        average_precision_score(LABELS, SCORES, group=GROUP, divide_by="all")


def test_names_and_cutoffs():
    assert get_metric("ndcg@10").k == 10
    assert get_metric("ndcg@0.2").k == 0.2
    assert get_metric("ndcg@1").k == 1
    assert isinstance(get_metric("ndcg@1.0").k, float)
    assert get_metric("err").k is None
    for name in [*list_metrics(), "ndcg@10", "ndcg@0.2", "ndcg@1.0", "precision@1"]:
        assert get_metric(name).full_name == name
    metric = get_metric("ndcg@3", ties="worst")
    assert get_metric(metric) is metric
    with pytest.raises(ValueError, match="has its options already"):
        get_metric(metric, ties="average")


def test_bad_input_of_evaluate():
    options = {"group": GROUP}
    with pytest.raises(ValueError, match=r"model 'b': scores must be finite.*row 1"):
        evaluate(LABELS, {"a": SCORES, "b": [0, np.nan, 0, 0]}, **options)
    with pytest.raises(ValueError, match="model 'b': scores must have one entry per row"):
        evaluate(LABELS, {"a": SCORES, "b": [0, 1]}, **options)
    with pytest.raises(ValueError, match="scores must hold at least one model"):
        evaluate(LABELS, {}, **options)
    with pytest.raises(ValueError, match="metrics must name at least one metric"):
        evaluate(LABELS, SCORES, metrics=[], **options)
    with pytest.raises(ValueError, match="'ndcg' comes twice"):
        evaluate(LABELS, SCORES, metrics=["ndcg", get_metric("ndcg", ties="worst")], **options)
    with pytest.raises(ValueError, match="unknown metric 'auc'"):
        evaluate(LABELS, SCORES, metrics=["auc"], **options)


def test_bad_input_of_compare():
    models = {"a": SCORES, "b": SCORES[::-1]}
    with pytest.raises(ValueError, match="scores must be a dict of at least two models, got 1"):
        compare(LABELS, {"a": SCORES}, group=GROUP)
    with pytest.raises(ValueError, match="scores must be a dict of at least two models, got list"):
        compare(LABELS, SCORES, group=GROUP)
    with pytest.raises(ValueError, match="confidence must be between 0 and 1"):
        compare(LABELS, models, group=GROUP, confidence=95)
    with pytest.raises(ValueError, match="n_resamples must be an integer >= 1"):
        compare(LABELS, models, group=GROUP, n_resamples=0)
    with pytest.raises(ValueError, match=r"at least two queries must count.*1 of 2 do"):
        compare([1, 0, 0, 0], models, group=GROUP)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_blank_queries(name):
    """A blank query is left out or counts what ``empty`` says; all blank give NaN and a warning."""
    labels, scores, group = [2.0, 0.0, 0.0, 0.0], [2.0, 1.0, 2.0, 1.0], [2, 2]
    alone = FUNCTIONS[name](labels[:2], scores[:2], group=[2])
    assert FUNCTIONS[name](labels, scores, group=group) == alone
    for value in (0.0, 1.0):
        counted = FUNCTIONS[name](labels, scores, group=group, empty=value)
        assert counted == pytest.approx((alone + value) / 2)
    each = FUNCTIONS[name](labels, scores, group=group, per_query=True)
    assert each[0] == alone
    assert np.isnan(each[1])
    with pytest.warns(UserWarning, match="is NaN: every query is blank"):
        assert np.isnan(FUNCTIONS[name]([0.0, 0.0], [1.0, 2.0], group=[2]))
    with pytest.warns(UserWarning, match="is NaN: the weights of all queries sum to 0"):
        assert np.isnan(FUNCTIONS[name](labels, scores, group=group, sample_weight=[0, 1]))


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_query_without_rows_is_blank(name):
    each = FUNCTIONS[name](
        [2.0, 0.0, 1.0, 0.0], [2, 1, 2, 1], group=[0, 2, 0, 2, 0], per_query=True
    )
    assert np.isnan(each[[0, 2, 4]]).all()
    assert np.isfinite(each[[1, 3]]).all()


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_kinds_of_arrays(name):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 3, 60), rng.integers(0, 9, 60)
    qid = np.repeat(np.arange(6), 10)
    expected = FUNCTIONS[name](labels.astype(float), scores.astype(float), qid=qid)
    read_only = labels.astype(float)
    read_only.flags.writeable = False
    strided = np.repeat(scores.astype(float), 2)[::2]
    assert FUNCTIONS[name](read_only, strided, qid=qid.astype(str)) == expected
    assert FUNCTIONS[name](labels.tolist(), scores.tolist(), group=[10] * 6) == expected
    assert FUNCTIONS[name](labels.astype("int8"), scores.astype("float32"), qid=qid) == expected
    frame = pd.DataFrame(
        {"y": labels, "s": scores, "q": pd.Categorical(qid)}, index=range(60, 0, -1)
    )
    assert FUNCTIONS[name](frame.y, frame.s, qid=frame.q) == expected
