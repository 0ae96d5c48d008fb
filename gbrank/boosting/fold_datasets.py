"""LightGBM Datasets of the parts of a cross-fit: features binned once, for all boosters of a part.

A Dataset keeps no trees, and a booster copies the scores that it starts from when it is made. So
one Dataset serves every booster that is grown on its rows, one after the other or at once, if the
scores are set before each is made.
"""

from collections.abc import Sequence
from typing import Any

import lightgbm as lgb
import numpy as np

from gbrank.boosting.datasets import check_splittable, make_dataset
from gbrank.boosting.held_out import rows_of
from gbrank.core import FloatArray, IntArray, RankingData

#: The numbers of the queries that a booster is grown on, and of those that judge it.
Part = tuple[IntArray, IntArray]


class FoldDatasets:
    """The Datasets of all parts, each made when it is first asked for.

    Parameters
    ----------
    data : rows in query order.
    params : parameters of LightGBM; those that make bins must not change between boosters.
    parts : what each booster sees, and what judges it.
    min_child_samples : rows that a leaf needs, for error messages.
    by_order : as in :func:`make_dataset`.

    Attributes
    ----------
    n_made : how many Datasets of parts were made so far.
    """

    def __init__(
        self,
        data: RankingData,
        params: dict[str, Any],
        parts: Sequence[Part],
        min_child_samples: int,
        *,
        by_order: bool = False,
    ) -> None:
        self.parts, self.n_made = parts, 0
        self._data = data
        self._whole = make_dataset(data.with_init_score(None), params, by_order=by_order)
        check_splittable(self._whole, min_child_samples)
        self._sets: dict[int, tuple[lgb.Dataset, lgb.Dataset | None]] = {}
        self._scored: set[int] = set()

    def rows(self, place: int) -> tuple[IntArray, IntArray]:
        """Return the rows that a part is grown on, and those that judge it.

        Parameters
        ----------
        place : number of the part.
        """
        inside, outside = self.parts[place]
        return rows_of(self._data, inside), rows_of(self._data, outside)

    def of(self, place: int, scores: FloatArray | None) -> tuple[lgb.Dataset, lgb.Dataset | None]:
        """Return what a part is grown on and what judges it; ``None`` if nothing does.

        Parameters
        ----------
        place : number of the part.
        scores : of all rows, where the next booster starts; ``None`` for 0.
        """
        inside, outside = self.rows(place)
        if place not in self._sets:
            judging = self._whole.subset(outside).construct() if len(outside) else None
            self._sets[place] = (self._whole.subset(inside).construct(), judging)
            self.n_made += 1
        training, judging = self._sets[place]
        if scores is not None or place in self._scored:  # LightGBM forgets scores only for others
            for rows, dataset in ((inside, training), (outside, judging)):
                if dataset is not None:
                    dataset.set_init_score(np.zeros(len(rows)) if scores is None else scores[rows])
            self._scored.add(place)
        return training, judging
