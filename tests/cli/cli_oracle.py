"""What commands should print, computed in plain loops."""

import numpy as np

#: What the columns of the fixture ``table`` are.
COLUMNS = ("--label", "grade", "--qid", "query", "--drop", "url", "size")


def ndcg_of_queries(y, scores, qid, k):
    """NDCG@k of each query that has a relevant document; equal scores share their ranks."""
    values = []
    for query in dict.fromkeys(qid.tolist()):
        rows = qid == query
        gains, own = 2.0 ** y[rows] - 1.0, scores[rows]
        if gains.sum() == 0:
            continue
        discounts = [
            1.0 / np.log2(rank + 1) if rank <= k else 0.0 for rank in range(1, len(own) + 1)
        ]
        total = 0.0
        for gain, score in zip(gains, own, strict=True):
            above, equal = int((own > score).sum()), int((own == score).sum())
            total += gain * sum(discounts[above : above + equal]) / equal
        values.append(total / float(np.dot(np.sort(gains)[::-1], discounts)))
    return np.array(values)


def err_of_queries(y, scores, qid, largest):
    """ERR of each query that has a relevant document; scores must differ."""
    values = []
    for query in dict.fromkeys(qid.tolist()):
        rows = qid == query
        if y[rows].max() == 0:
            continue
        still_looking, value = 1.0, 0.0
        for rank, at in enumerate(np.argsort(-scores[rows]), start=1):
            satisfied = (2.0 ** y[rows][at] - 1.0) / 2.0**largest
            value += still_looking * satisfied / rank
            still_looking *= 1.0 - satisfied
        values.append(value)
    return np.array(values)
