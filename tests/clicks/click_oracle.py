"""Slow, plain versions of what a click log, harvesting and EM are, and logs with known truth."""

import numpy as np


def draw_log(rng, n_queries=40, n_items=6, sessions=100, theta=(1.0, 0.6, 0.4, 0.3), shown=None):
    """Return qid, item, position, click of sessions with random orders, and the relevances."""
    theta = np.asarray(theta)
    gamma = rng.beta(1.5, 3, (n_queries, n_items))
    rows = []
    for query in range(n_queries):
        for _ in range(sessions):
            order = rng.permutation(n_items)[: len(theta)] if shown is None else shown
            clicked = rng.random(len(theta)) < theta * gamma[query, order]
            rows += [
                (query, item, place, click)
                for place, (item, click) in enumerate(zip(order, clicked, strict=True), 1)
            ]
    qid, item, position, click = np.array(rows).T
    return qid, item, position, click, gamma


def count(qid, item, position, click):
    """Return {(query, item, position): [impressions, clicks]}."""
    found = {}
    for q, i, p, c in zip(qid, item, position, click, strict=True):
        entry = found.setdefault((q, i, p), [0, 0])
        entry[0] += 1
        entry[1] += c
    return found


def harvested_rate(counts, k, l):  # noqa: E741
    """Return the sum of click rates at ``k`` over the items seen at ``k`` and at ``l``."""
    total = 0.0
    for (q, i, p), (shown, clicked) in counts.items():
        if p == k and (q, i, l) in counts:
            total += clicked / shown
    return total


def expectation_maximisation(counts, positions, rounds):
    """Return theta and gamma after so many rounds of EM, as the textbook has it."""
    theta = dict.fromkeys(positions, 0.5)
    theta[positions[0]] = 1.0
    gamma = {(q, i): 0.5 for q, i, _ in counts}
    for _ in range(rounds):
        looked = {p: [0.0, 0.0] for p in positions}
        relevant = {key: [0.0, 0.0] for key in gamma}
        for (q, i, p), (shown, clicked) in counts.items():
            t, g = theta[p], gamma[q, i]
            missed = shown - clicked
            looked[p][0] += clicked + missed * t * (1 - g) / (1 - t * g)
            looked[p][1] += shown
            relevant[q, i][0] += clicked + missed * (1 - t) * g / (1 - t * g)
            relevant[q, i][1] += shown
        theta = {p: a / b for p, (a, b) in looked.items()}
        theta[positions[0]] = 1.0
        gamma = {key: a / b for key, (a, b) in relevant.items()}
    return np.array([theta[p] for p in positions]), gamma
