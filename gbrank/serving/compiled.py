r"""A scorer of its own: the same scores as LightGBM's, to the last bit, several times as fast.

Documents are scored in blocks, a tree at a time, by the bit vectors of QuickScorer (Lucchese et
al., 2015): the leaves of a tree are bits, from left to right; a split that sends a document right
clears the bits of all leaves on its left, and when all splits have spoken the lowest bit that is
left is the leaf. No branch depends on a document, so that the loop over documents vectorises.

What is missing is decided before: each pair of a feature and a way to treat missing values becomes
a column, in which missing values are what sends them the right way, 0 or an infinity. Then ``x >
threshold`` is all that a split asks. A tree that splits one column only, as those of a linear
start, is a step function, and a search among its thresholds finds the leaf.

Leaves are added in the order of the trees, in doubles, as LightGBM does it.
"""

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbrank.core import (
    EXACT_MATH,
    FloatArray,
    IntArray,
    check_integer,
    column_names,
    given_names,
    is_table,
    kernel,
    numeric_matrix,
    plain_features,
    select_columns,
)
from gbrank.serving._trees import ZERO, Dump, dump_of, nodes_of

_LANES = 128  # documents of a block
_WORD = 64  # bits of a word
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONE = np.uint64(1)

# What a column holds in place of missing values.
_NAN_IS_ZERO, _NAN_LEFT, _NAN_RIGHT, _ZERO_LEFT, _ZERO_RIGHT, _CATEGORY = range(6)


def compile_model(model: Any, *, num_iteration: int | None = None) -> "CompiledModel":
    """Return a fast scorer of a model.

    Parameters
    ----------
    model : lightgbm.Booster or fitted estimator
        Its trees; a linear start is among them. Linear leaves and starts that are not made of
        trees are refused.
    num_iteration : int, default=None
        Number of trees; ``None`` for as many as ``model.predict`` uses.

    Returns
    -------
    CompiledModel
        What scores.

    Examples
    --------
    >>> from gbrank import Ranker
    >>> from gbrank.data import make_ranking
    >>> from gbrank.serving import compile_model
    >>> data = make_ranking(n_queries=30, random_state=0)
    >>> ranker = Ranker.lightgbm_defaults(n_estimators=5).fit(data.X, data.y, qid=data.qid)
    >>> fast = compile_model(ranker)
    >>> bool((fast.predict(data.X) == ranker.predict(data.X)).all())
    True
    >>> fast.top_k(data.X, 3).shape
    (3,)
    """
    return CompiledModel(dump_of(model, num_iteration))


class CompiledModel:
    """A scorer that :func:`compile_model` makes: :meth:`predict` and :meth:`top_k`.

    It holds arrays and no machine code: pickled, it is small, and compiles again, or finds what was
    compiled on disk, where it is loaded. Its work releases the GIL, so that threads score side by
    side; one call uses one thread.

    Attributes
    ----------
    n_features_in_ : int
        Columns that rows must have.
    n_trees_ : int
        Trees, those of a linear start included.
    """

    def __init__(self, dump: Dump) -> None:
        self.n_features_in_ = len(dump.names)
        self.n_trees_ = len(dump.roots)
        self._categories = dump.categories
        self._names = dump.names
        self._divisor = dump.divisor
        self._tables = _build_tables(dump)

    def __repr__(self) -> str:
        return f"CompiledModel({self.n_trees_} trees, {self.n_features_in_} features)"

    def predict(self, X: Any) -> FloatArray:
        """Return a score for each row, the very numbers of ``Booster.predict(raw_score=True)``.

        Of a random forest those are sums; here it is the mean of the trees, as in ``predict``.

        Parameters
        ----------
        X : array-like, sparse matrix or table of shape (n_rows, n_features)
            The documents; double precision in C order is what costs no copy.
        """
        rows = self._as_rows(X)
        scores = np.zeros(len(rows))
        _score(rows, *self._tables, scores)
        if self._divisor > 1:
            scores /= self._divisor
        return scores

    def top_k(self, X: Any, k: int) -> IntArray:
        """Return the rows with the ``k`` highest scores, the best first; ties go by row order.

        Parameters
        ----------
        X : as in :meth:`predict`
            The documents of one query.
        k : int
            How many; all rows if there are fewer.
        """
        check_integer("k", k, low=1)
        scores = self.predict(X)
        if k < len(scores):
            least = np.partition(scores, len(scores) - k)[len(scores) - k]
            above, equal = np.flatnonzero(scores > least), np.flatnonzero(scores == least)
            candidates = np.sort(np.concatenate([above, equal[: k - len(above)]]))
        else:
            candidates = np.arange(len(scores))
        best: IntArray = candidates[np.argsort(-scores[candidates], kind="stable")]
        return best

    def _as_rows(self, X: Any) -> FloatArray:
        """Return rows as LightGBM would read them, in double precision and C order."""
        X = plain_features(X)
        if is_table(X):
            X = _in_order_of_training(X, self._names)
            X = numeric_matrix(_with_codes(X, self._categories), strict=True)
        elif hasattr(X, "toarray"):
            X = X.toarray()
        values: NDArray[Any] = np.asarray(X)
        if values.ndim != 2 or values.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X must have {self.n_features_in_} columns, as the model, got shape {values.shape}"
            )
        if values.dtype.kind not in "biufO":
            raise ValueError(f"X must be numbers, got an array of dtype {values.dtype}")
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float32)  # as LightGBM does
        # kernels are compiled for arrays that may be written
        return np.require(values, dtype=np.float64, requirements=["C", "W"])


def _in_order_of_training(X: Any, known: list[str]) -> Any:
    """Return a table with its columns as in training; refuse columns of other names."""
    if given_names(known) is None:
        return X  # trained on an array
    by_text = {str(name).replace(" ", "_"): name for name in column_names(X)}  # as LightGBM does
    if list(by_text) == known:
        return X
    if set(by_text) != set(known) or len(by_text) != len(column_names(X)):
        raise ValueError(f"X must have the columns of training, {known}, got {column_names(X)}")
    return select_columns(X, [by_text[name] for name in known])


def _with_codes(X: Any, categories: list[list[Any]]) -> Any:
    """Return a table of pandas whose categories are numbered as they were in training."""
    named = [name for name in column_names(X) if str(getattr(X[name], "dtype", "")) == "category"]
    if len(named) != len(categories):
        raise ValueError(
            f"X must have {len(categories)} columns of categories, as in training, got {len(named)}"
        )
    if not named:
        return X
    X = X.copy(deep=False)
    for name, known in zip(named, categories, strict=True):
        codes = X[name].cat.set_categories(known).cat.codes.to_numpy().astype(np.float64)
        X[name] = np.where(codes < 0, np.nan, codes)
    return X


# --- tables --------------------------------------------------------------------------------------


def _build_tables(dump: Dump) -> tuple[NDArray[Any], ...]:
    """Return what the kernel reads: columns, entries (a split, a word of bits), leaves, trees."""
    columns: dict[tuple[int, int], int] = {}
    entries: list[tuple[int, float, int, int, int]] = []
    words_of_categories: list[int] = []
    values: list[float] = []
    trees: list[tuple[int, int, int, int]] = []
    for root in dump.roots:
        nodes = list(nodes_of(root))
        n_leaves = _count_leaves(nodes)
        first_entry, first_value, seen = len(entries), len(values), 0
        splits = []
        for node in nodes:
            if "left_child" not in node:
                values.append(float(node["leaf_value"]))
                seen += 1
                continue
            key = (int(node["split_feature"]), _way_of_missing(node))
            column = columns.setdefault(key, len(columns))
            categories = -1
            threshold = 0.0
            if key[1] == _CATEGORY:
                categories = len(words_of_categories)
                words_of_categories += _category_words(node["threshold"])
            else:
                threshold = float(node["threshold"])
            end = seen + n_leaves[id(node["left_child"])]
            splits.append((end, seen, column, threshold, categories))
        splits.sort()
        is_steps = _is_steps(splits)
        for end, start, column, threshold, categories in splits:
            if is_steps:
                entries.append((column, threshold, 0, 0, -1))
                continue
            for word in range(start // _WORD, (end - 1) // _WORD + 1):
                low, high = max(start - word * _WORD, 0), min(end - word * _WORD, _WORD)
                cleared = ((1 << high) - 1) ^ ((1 << low) - 1)
                entries.append((column, threshold, word, int(_ALL) ^ cleared, categories))
        n_words = 0 if is_steps else -(-(len(values) - first_value) // _WORD)
        trees.append((first_entry, first_value, n_words, len(entries)))
    pairs = list(columns) or [(0, _NAN_IS_ZERO)]
    return (
        np.array([feature for feature, _ in pairs], dtype=np.int64),
        np.array([way for _, way in pairs], dtype=np.int64),
        np.array([entry[0] for entry in entries], dtype=np.int64),
        np.array([entry[1] for entry in entries], dtype=np.float64),
        np.array([entry[2] for entry in entries], dtype=np.int64),
        np.array([entry[3] for entry in entries], dtype=np.uint64),
        np.array([entry[4] for entry in entries], dtype=np.int64),
        np.array(words_of_categories, dtype=np.int64),
        np.array(values, dtype=np.float64),
        np.array(trees, dtype=np.int64),
    )


def _count_leaves(nodes: list[dict[str, Any]]) -> dict[int, int]:
    """Return how many leaves are below each node, given all nodes, parents first."""
    counts: dict[int, int] = {}
    for node in reversed(nodes):
        if "left_child" in node:
            counts[id(node)] = counts[id(node["left_child"])] + counts[id(node["right_child"])]
        else:
            counts[id(node)] = 1
    return counts


def _way_of_missing(node: dict[str, Any]) -> int:
    if node["decision_type"] == "==":
        return _CATEGORY
    if node["missing_type"] == "None":
        return _NAN_IS_ZERO
    if node["missing_type"] == "NaN":
        return _NAN_LEFT if node["default_left"] else _NAN_RIGHT
    return _ZERO_LEFT if node["default_left"] else _ZERO_RIGHT


def _category_words(text: Any) -> list[int]:
    """Return the categories that go left as a number of words and their bits, 32 in each."""
    categories = [int(each) for each in str(text).split("||")]
    words = [0] * (max(categories) // 32 + 1)
    for category in categories:
        words[category // 32] |= 1 << (category % 32)
    return [len(words), *words]


def _is_steps(splits: list[tuple[int, int, int, float, int]]) -> bool:
    """Return whether splits, from left to right, are increasing thresholds of one column."""
    thresholds = [split[3] for split in splits]
    one_column = len({split[2] for split in splits}) == 1
    numeric = all(split[4] < 0 for split in splits)
    increasing = all(low < high for low, high in itertools.pairwise(thresholds))
    return one_column and numeric and increasing


# --- kernels -------------------------------------------------------------------------------------


@kernel(EXACT_MATH, part=True)
def _lowest_bit(word):
    """Return the place of the lowest bit that is set: the number of bits below it."""
    below = (word & (~word + _ONE)) - _ONE
    below = below - ((below >> np.uint64(1)) & np.uint64(0x5555555555555555))
    pairs = np.uint64(0x3333333333333333)
    below = (below & pairs) + ((below >> np.uint64(2)) & pairs)
    below = (below + (below >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((below * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel(EXACT_MATH, part=True)
def _is_in(value, words, first):
    """Return whether a category, as LightGBM reads one from a number, is in a set."""
    if not (-1.0 < value < 2147483648.0):
        return False
    category = np.int64(value)
    if category >= 32 * words[first]:
        return False
    return (words[first + 1 + category // 32] >> (category % 32)) & 1 == 1


@kernel(EXACT_MATH, part=True)
def _fill_columns(X, first, n_rows, features, ways, block):
    """Copy rows into columns, with missing values replaced by what sends them their way."""
    for column in range(len(features)):
        feature, way = features[column], ways[column]
        filled = block[column]
        for j in range(n_rows):
            x = X[first + j, feature]
            filled[j] = 0.0 if -ZERO <= x <= ZERO else x
        if way == _NAN_IS_ZERO:
            for j in range(n_rows):
                filled[j] = 0.0 if filled[j] != filled[j] else filled[j]
        elif way in (_NAN_LEFT, _NAN_RIGHT):
            missing = -np.inf if way == _NAN_LEFT else np.inf
            for j in range(n_rows):
                filled[j] = missing if filled[j] != filled[j] else filled[j]
        elif way != _CATEGORY:
            missing = -np.inf if way == _ZERO_LEFT else np.inf
            for j in range(n_rows):
                filled[j] = missing if filled[j] != filled[j] or filled[j] == 0.0 else filled[j]


@kernel(EXACT_MATH)
def _score(
    X,
    features,
    ways,
    entry_column,
    entry_threshold,
    entry_word,
    entry_bits,
    entry_categories,
    category_words,
    values,
    trees,
    scores,
):
    """Add the leaf of every tree to the score of every row."""
    most_words = max(trees[:, 2].max(), 1)
    block = np.empty((len(features), _LANES))
    alive = np.empty((most_words, _LANES), dtype=np.uint64)
    found = np.empty(_LANES, dtype=np.int64)
    for first in range(0, len(X), _LANES):
        n_rows = min(_LANES, len(X) - first)
        _fill_columns(X, first, n_rows, features, ways, block)
        for tree in range(len(trees)):
            begin, leaf, n_words, end = trees[tree]
            if n_words == 0:
                # a search in steps that are the same for all documents
                column, left = block[entry_column[begin]], end - begin
                for j in range(n_rows):
                    found[j] = begin
                while left > 1:
                    half = left // 2
                    for j in range(n_rows):
                        last = entry_threshold[found[j] + half - 1]
                        found[j] += half if last < column[j] else 0
                    left -= half
                for j in range(n_rows):
                    found[j] += 1 if entry_threshold[found[j]] < column[j] else 0
                for j in range(n_rows):
                    scores[first + j] += values[leaf + found[j] - begin]
                continue
            for word in range(n_words):
                for j in range(n_rows):
                    alive[word, j] = _ALL
            for entry in range(begin, end):
                column, bits = block[entry_column[entry]], entry_bits[entry]
                bitset = alive[entry_word[entry]]
                if entry_categories[entry] >= 0:
                    for j in range(n_rows):
                        if not _is_in(column[j], category_words, entry_categories[entry]):
                            bitset[j] &= bits
                    continue
                threshold = entry_threshold[entry]
                for j in range(n_rows):
                    bitset[j] &= bits if column[j] > threshold else _ALL
            for j in range(n_rows):
                word = 0
                while alive[word, j] == 0:
                    word += 1
                scores[first + j] += values[leaf + _WORD * word + _lowest_bit(alive[word, j])]
