"""What simulators are given: a RankingData, or labels and query ids."""

from typing import Any

from numpy.typing import ArrayLike

from gbrank.core import FloatArray, QueryLayout, RankingData, check_labels


def labels_and_layout(
    labels: RankingData | ArrayLike, qid: Any, *, signed: bool = False
) -> tuple[FloatArray, QueryLayout]:
    """Return labels, checked, in the order of the rows, and which rows belong to which query."""
    layout: QueryLayout
    if isinstance(labels, RankingData):
        if qid is not None:
            raise ValueError("qid must be left out: the RankingData has its own")
        values, layout = labels.y, labels.layout
    elif qid is None:
        raise ValueError("qid must be given with arrays: the query id of each row")
    else:
        values, layout = labels, QueryLayout.from_qid(qid)
    return check_labels(values, layout, signed=signed), layout
