"""Real logs: the curves of all estimators, and how well they predict clicks of other sessions.

Relevances of items, and propensities, are estimated from two thirds of the sessions (a session goes
to the other third by its number modulo 3); held-out clicks on items that were seen often enough are
then predicted by ``theta_k gamma_i``, gamma drawn towards the mean by a Beta prior of weight 2.
"No position" has theta = 1 everywhere, "rates" the mean click rates of positions.
"""

import warnings
from pathlib import Path

import numpy as np

from click_study.store import load, save
from gbrank.clicks import ClickLog, Propensities, estimate_propensities, report

LOGS = ("yandex_clicks", "websearch_clicks_2014", "tiangong_st_demo")
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


def predict(train: ClickLog, rows: list[np.ndarray], theta: Propensities, trained: dict) -> float:
    """Return the mean log-likelihood per impression of held-out clicks."""
    seen = theta.at(train.positions)[train.places] * train.impressions
    items = train.items_of_entries
    looks = np.bincount(items, seen, train.n_items)
    clicks = np.bincount(items, train.clicks, train.n_items)
    mean = clicks.sum() / looks.sum()
    gamma = (clicks + 2 * mean) / (looks + 2)
    query, doc, position, click = rows
    numbers = np.array([trained.get(pair, -1) for pair in zip(query, doc, strict=True)])
    known = (numbers >= 0) & np.isin(position, theta.positions)
    chance = np.clip(theta.at(position[known]) * gamma[numbers[known]], 1e-4, 1 - 1e-4)
    hit = click[known] > 0
    return float(np.where(hit, np.log(chance), np.log1p(-chance)).mean())


def run(folder: Path) -> None:
    """Measure all logs."""
    found = load("logs")
    for name in LOGS:
        query, doc, position, click, session = read(folder, name)
        kept = session % 3 > 0
        train = ClickLog(query[kept], doc[kept], position[kept], click[kept])
        rows = [each[~kept] for each in (query, doc, position, click)]
        at = train.first_rows
        pairs = zip(query[kept][at].tolist(), doc[kept][at].tolist(), strict=True)
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
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = estimate_propensities(train, method, unconnected="interpolate")
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
