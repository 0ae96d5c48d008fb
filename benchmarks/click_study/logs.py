"""Real logs: the curves of all estimators, and how well they predict clicks of other sessions.

Relevances of items, and propensities, are estimated from two thirds of the sessions (a session goes
to the other third by its number modulo 3); held-out clicks on items that were seen often enough are
then predicted by ``theta_k gamma_i``, gamma drawn towards the mean by a Beta prior of weight 2.
"No position" has theta = 1 everywhere, "rates" the mean click rates of positions.

One log has human labels of documents that its clicks are on too. There ``gamma`` from all click
sessions ranks the labelled documents of each query, ties averaged; beside it, the mean position at
which a document was shown. Propensities are monotone there.
"""

import warnings
from pathlib import Path

import numpy as np
from scipy import stats

from click_study.store import load, save
from gbrank.clicks import ClickLog, Propensities, estimate_propensities, report
from gbrank.metrics import ndcg_score

LOGS = ("yandex_clicks", "websearch_clicks_2014", "tiangong_st_demo")
LABELLED = "tiangong_st_demo"
METHODS = ("pivot", "neighbours", "all_pairs", "em")


def read(folder: Path, name: str) -> tuple[np.ndarray, ...]:
    """Return query, item, position, click and session of each row."""
    with np.load(folder / "clicks" / f"{name}.npz", allow_pickle=False) as arrays:
        query, doc, click = (arrays[key] for key in ("query", "doc", "click"))
        if "label" in arrays:  # lists with human labels have no clicks
            kept = arrays["part"] < 3
            query, doc, click = query[kept], doc[kept], click[kept]
    n, ranks = doc.shape
    rows = np.repeat(query, ranks)
    position = np.tile(np.arange(1, ranks + 1), n)
    session = np.repeat(np.arange(n), ranks)
    shown = doc.ravel() >= 0
    clicked = (click.ravel() > 0).astype(float)
    return tuple(each[shown] for each in (rows, doc.ravel(), position, clicked, session))


def relevances(log: ClickLog, theta: Propensities) -> np.ndarray:
    """Return the relevance of each item: clicks per look, drawn towards the mean."""
    seen = theta.at(log.positions)[log.places] * log.impressions
    items = log.items_of_entries
    looks = np.bincount(items, seen, log.n_items)
    clicks = np.bincount(items, log.clicks, log.n_items)
    mean = clicks.sum() / looks.sum()
    gamma: np.ndarray = (clicks + 2 * mean) / (looks + 2)
    return gamma


def predict(train: ClickLog, rows: list[np.ndarray], theta: Propensities, trained: dict) -> float:
    """Return the mean log-likelihood per impression of held-out clicks."""
    gamma = relevances(train, theta)
    query, doc, position, click = rows
    numbers = np.array([trained.get(pair, -1) for pair in zip(query, doc, strict=True)])
    known = (numbers >= 0) & np.isin(position, theta.positions)
    chance = np.clip(theta.at(position[known]) * gamma[numbers[known]], 1e-4, 1 - 1e-4)
    hit = click[known] > 0
    return float(np.where(hit, np.log(chance), np.log1p(-chance)).mean())


def estimated(log: ClickLog, method: str, **options: object) -> Propensities:
    """Return propensities, cut-off positions filled in."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimate_propensities(log, method, unconnected="interpolate", **options)


def judge(folder: Path) -> dict[str, dict[str, float]]:
    """Return NDCG@10 by human labels of each way to rank by clicks, and p against no correction."""
    query, doc, position, click, _ = read(folder, LABELLED)
    log = ClickLog(query, doc, position, click)
    number = {pair: at for at, pair in enumerate(_pairs(log, query, doc))}
    with np.load(folder / "clicks" / f"{LABELLED}.npz", allow_pickle=False) as arrays:
        grades, lists, shown = (
            arrays[key][arrays["part"] == 3] for key in ("label", "query", "doc")
        )
    labels: dict[tuple[int, int], list[int]] = {}
    for of, documents, given in zip(lists.tolist(), shown.tolist(), grades.tolist(), strict=True):
        for document, grade in zip(documents, given, strict=True):
            if grade >= 0 and (of, document) in number:
                labels.setdefault((of, document), []).append(grade)
    keys = sorted(labels)
    items = np.array([number[key] for key in keys])
    y, qid = np.array([np.mean(labels[key]) for key in keys]), np.array([key[0] for key in keys])
    rates = log.per_position(log.clicks) / log.per_position(log.impressions)
    entries = log.items_of_entries
    total = np.bincount(entries, log.positions[log.places] * log.impressions, log.n_items)
    scores = {
        "no position": relevances(log, Propensities(log.positions, np.ones(log.n_positions))),
        "rates": relevances(log, Propensities(log.positions, rates / rates[0])),
        **{m: relevances(log, estimated(log, m, n_bootstrap=0, monotone=True)) for m in METHODS},
        "order shown": -total / np.bincount(entries, log.impressions, log.n_items),
    }
    by_query = {
        name: ndcg_score(y, each[items], qid=qid, k=10, per_query=True, empty="skip")
        for name, each in scores.items()
    }
    judged = np.isfinite(by_query["no position"])  # some labels differ
    by_query = {name: each[judged] for name, each in by_query.items()}
    plain = by_query["no position"]
    return {
        name: {
            "ndcg@10": round(float(each.mean()), 5),
            "p": 1.0 if name == "no position" else float(stats.ttest_rel(each, plain).pvalue),
            "queries": len(each),
        }
        for name, each in by_query.items()
    }


def _pairs(log: ClickLog, query: np.ndarray, doc: np.ndarray) -> list[tuple[int, int]]:
    at = log.first_rows
    return list(zip(query[at].tolist(), doc[at].tolist(), strict=True))


def run(folder: Path) -> None:
    """Measure all logs."""
    found = load("logs")
    found["labels"] = judge(folder)
    for name in LOGS:
        query, doc, position, click, session = read(folder, name)
        kept = session % 3 > 0
        train = ClickLog(query[kept], doc[kept], position[kept], click[kept])
        rows = [each[~kept] for each in (query, doc, position, click)]
        pairs = _pairs(train, query[kept], doc[kept])
        trained = {pair: number for number, pair in enumerate(pairs)}
        said = report(train)
        trial = {
            "log": repr(train),
            "connected": said.is_connected,
            "cut off": said.cut_off.tolist(),
            "shared": said.n_items_shared,
            "rates": np.round(said.rates, 4).tolist(),
            "curves": {},
            "likelihood": {},
        }
        flat = Propensities(train.positions, np.ones(train.n_positions))
        relative = Propensities(train.positions, said.rates / said.rates[0])
        trial["likelihood"]["no position"] = predict(train, rows, flat, trained)
        trial["likelihood"]["rates"] = predict(train, rows, relative, trained)
        for method in METHODS:
            made = estimated(train, method)
            trial["curves"][method] = {
                "positions": made.positions.tolist(),
                "values": np.round(made.values, 4).tolist(),
                "lower": np.round(made.lower, 4).tolist(),
                "upper": np.round(made.upper, 4).tolist(),
                "interpolated": made.interpolated.astype(int).tolist(),
            }
            trial["likelihood"][method] = predict(train, rows, made, trained)
        found["trials"][name] = trial
        save("logs", found)
