"""Diagnose labels: how noisy they are, which to look at again, and which loss suits them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import (
    FloatArray,
    RankingData,
    check_integer,
    check_seed,
    describe_queries,
    write_atomically,
)
from gbrank.metrics import find_metric, text_table
from gbrank.noise.diagnosis_plots import draw_diagnosis
from gbrank.noise.estimation import (
    NoiseEstimate,
    estimate_matrix,
    grade_probabilities,
    noise_of_matrix,
    true_shares,
)
from gbrank.noise.judges import JudgedLabels
from gbrank.noise.render import Block, whole_page
from gbrank.noise.second_look import Suspects, find_suspects
from gbrank.noise.sensitivity import (
    Recommendation,
    Sensitivity,
    measure_sensitivity,
    recommend,
)
from gbrank.noise.sources import own_rows

#: Losses that are tried unless others are named; the first is the default of ``preset="fast"``.
LOSSES = ("xendcg", "lambdamart", "gain_pairwise", "kl", "squared")
LEVELS = (0.0, 0.15, 0.3, 0.45)
NOT_IDENTIFIED = (
    "Not identified: for grades {grades} there are no rows whose grade features make certain, so "
    "that noise cannot be told from what features do not say. The matrix and the noise are upper "
    "bounds; several judgments of some documents would identify them."
)


@dataclass(frozen=True)
class Diagnosis:
    """What :func:`diagnose` found; it prints as text.

    Attributes
    ----------
    estimate : NoiseEstimate
        The confusion matrix, document noise and pair noise, with intervals.
    suspects : list of dict
        Labels most worth a second look: "row", "query", "label", "better" (the most probable grade
        instead), "chance" that the label is wrong and "change", the expected change of the metric
        of the query.
    sensitivity : list of Sensitivity
        What noise costs each loss.
    recommendation : Recommendation or None
        Which loss to take.
    metric : str
        Name of the metric.
    about : str
        The data in one line.
    """

    estimate: NoiseEstimate
    suspects: list[dict[str, Any]]
    sensitivity: list[Sensitivity]
    recommendation: Recommendation | None
    metric: str
    about: str
    chances: FloatArray = field(repr=False)

    @property
    def is_identified(self) -> bool:
        """Whether the matrix is one of noise alone, and not an upper bound."""
        return bool(np.all(self.estimate.is_certain))

    def to_frame(self) -> Any:
        """Return the labels to look at again as a pandas DataFrame, for annotators."""
        import pandas

        return pandas.DataFrame(self.suspects)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, as ``--json`` prints it."""
        estimate = {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in asdict(self.estimate).items()
        }
        curves = [
            {name: value for name, value in asdict(each).items() if name != "values"}
            for each in self.sensitivity
        ]
        return {
            "data": self.about,
            "metric": self.metric,
            "noise": {**estimate, "is_identified": self.is_identified},
            "second_look": self.suspects,
            "sensitivity": curves,
            "recommendation": None if self.recommendation is None else asdict(self.recommendation),
        }

    def __str__(self) -> str:
        lines = []
        for kind, *parts in self.blocks():
            if kind == "section":
                lines += [parts[1], "=" * len(parts[1]), ""]
            elif kind in ("text", "small"):
                lines += [parts[0], ""]
            elif kind in ("table", "folded"):
                lines += [parts[0], "", text_table(parts[1], parts[2]), ""]
        return "\n".join(lines).rstrip("\n")

    def blocks(self) -> list[Block]:
        """Return what is said, as blocks of a report."""
        return [*_noise_blocks(self), *_look_blocks(self), *_loss_blocks(self)]

    def write_html(self, path: str | Path, title: str = "Labels") -> None:
        """Write one page of HTML without outside links; with plots where matplotlib is installed.

        Parameters
        ----------
        path : str or path
            The file.
        title : str, default="Labels"
            What the data are called.
        """
        with tempfile.TemporaryDirectory() as folder:
            blocks = self.blocks()
            for after, name, caption in draw_diagnosis(self, Path(folder)):
                at = next(i for i, b in enumerate(blocks) if b[0] == "section" and b[1] == after)
                blocks.insert(at + 1, ("figure", name, caption))
            page = whole_page(f"{title}: label noise", self.about, blocks, Path(folder))
        write_atomically(path, page.encode())


def diagnose(
    X: Any,
    y: ArrayLike,
    qid: Any,
    *,
    judges: JudgedLabels | None = None,
    objectives: Sequence[str] | None = None,
    metric: str = "ndcg@10",
    n_labels: int = 100,
    n_folds: int = 5,
    levels: Sequence[float] = LEVELS,
    n_estimators: int = 100,
    random_state: int = 0,
) -> Diagnosis:
    """Estimate the noise in labels, find those worth a second look, and recommend a loss.

    Everything comes from models that did not see the queries they are asked about. Nothing is
    random but for ``random_state``; threads are one.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_rows, n_features)
        Features; columns of a frame that are not numbers count as 0.
    y : array of shape (n_rows,)
        Labels, grades 0, 1, ...
    qid : array of shape (n_rows,)
        Query id of each row.
    judges : JudgedLabels, default=None
        What :func:`aggregate_judges` made of several judgments: the confusion matrix is then
        theirs, by Dawid and Skene's model, and needs no anchors.
    objectives : list of str, default=None
        Losses to try, the default first; an empty list tries none. ``None`` for xendcg, lambdamart,
        gain_pairwise, kl and squared.
    metric : str, default="ndcg@10"
        What losses are judged by, and what a wrong label changes.
    n_labels : int, default=100
        How many labels to look at again.
    n_folds : int, default=5
        Folds of whole queries.
    levels : list of float, default=(0.0, 0.15, 0.3, 0.45)
        Extra noise for the sensitivity of losses, shares of labels replaced; begins with 0.
    n_estimators : int, default=100
        Trees of each booster.
    random_state : int, default=0
        Seed.

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> from gbrank.data import make_ranking
    >>> from gbrank.noise import diagnose
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> found = diagnose(data.X, data.y, data.qid, objectives=[], n_labels=3)
    >>> found.estimate.matrix.shape, len(found.suspects)
    ((5, 5), 3)
    """
    check_integer("n_labels", n_labels, low=1)
    check_integer("n_folds", n_folds, low=2)
    check_integer("n_estimators", n_estimators, low=1)
    check_seed(random_state)
    judged_by = find_metric(metric, n_jobs=1)
    names = list(LOSSES if objectives is None else objectives)
    if names and (len(levels) < 2 or levels[0] != 0 or not all(0 <= e < 1 for e in levels)):
        raise ValueError(f"levels must begin with 0 and lie below 1, got {tuple(levels)}")
    data, order = own_rows(RankingData.checked(X, y, qid), "the data")
    labels = data.y.astype(np.int64)
    n_grades = int(labels.max()) + 1
    if n_grades < 2:
        raise ValueError("all labels are 0: there is no noise to find, and nothing to rank")
    probabilities, fold_of = grade_probabilities(data, n_grades, n_folds, random_state)
    estimate = (
        estimate_matrix(labels, probabilities, fold_of, data.layout, random_state=random_state)
        if judges is None
        else _estimate_of(judges, labels, n_grades)
    )
    suspects = find_suspects(labels, probabilities, data.layout, judged_by, estimate)
    found = measure_sensitivity(
        data,
        names,
        judged_by,
        levels=levels,
        noise=estimate.document_noise[0] if np.all(estimate.is_certain) else 0.0,
        n_folds=min(n_folds, 3),
        random_state=random_state,
        n_estimators=n_estimators,
    )
    chances = np.empty(len(order))
    chances[order] = suspects.change
    return Diagnosis(
        estimate,
        _rows(suspects, data, order, n_labels),
        found,
        recommend(found, names[0], random_state=random_state) if len(names) > 1 else None,
        metric,
        describe_queries(data.y, data.layout),
        chances,
    )


def _rows(suspects: Suspects, data: RankingData, order: Any, n_labels: int) -> list[dict[str, Any]]:
    return [
        {
            "row": int(order[row]),
            "query": data.qid[row].item() if hasattr(data.qid[row], "item") else data.qid[row],
            "label": int(data.y[row]),
            "better": int(suspects.better[row]),
            "chance": round(float(suspects.chance[row]), 4),
            "change": round(float(suspects.change[row]), 6),
        }
        for row in suspects.rows[:n_labels]
    ]


def _estimate_of(judges: JudgedLabels, labels: Any, n_grades: int) -> NoiseEstimate:
    """Return the matrix of judges, with intervals over items."""
    matrix = judges.matrix
    if len(matrix) != n_grades:
        raise ValueError(f"judges used {len(matrix)} grades, but labels are 0 to {n_grades - 1}")
    shares = true_shares(matrix, np.bincount(labels, minlength=n_grades) / len(labels))
    counts = np.maximum(judges.probabilities.T @ judges.n_judgments, 1.0)
    reach = 1.96 * np.sqrt(matrix * (1 - matrix) / counts + 1.0 / counts**2)
    documents, pairs = noise_of_matrix(matrix, shares)
    width = 1.96 * np.sqrt(documents * (1 - documents) / counts.sum())
    return NoiseEstimate(
        matrix,
        (matrix - reach).clip(0.0),
        (matrix + reach).clip(None, 1.0),
        (documents, max(documents - width, 0.0), documents + width),
        (pairs, max(pairs - width, 0.0), pairs + width),
        shares,
        counts.astype(np.int64),
        np.ones(n_grades, dtype=bool),
        "judges",
    )


def _noise_blocks(found: Diagnosis) -> list[Block]:
    estimate = found.estimate
    n = len(estimate.matrix)
    body = [
        [
            f"label {label}",
            *(
                f"{estimate.matrix[label, u]:.2f} [{estimate.low[label, u]:.2f}, "
                f"{estimate.high[label, u]:.2f}]"
                for u in range(n)
            ),
        ]
        for label in range(n)
    ]
    (d, d_low, d_high), (p, p_low, p_high) = estimate.document_noise, estimate.pair_noise
    how = "at most " if not found.is_identified else ""
    blocks: list[Block] = [
        ("section", "noise", "How noisy are the labels?"),
        ("text", found.about),
        (
            "text",
            f"Labels that differ from the truth: {how}{d:.1%} [{d_low:.1%}, {d_high:.1%}]. Pairs "
            f"in the wrong order: {how}{p:.1%} [{p_low:.1%}, {p_high:.1%}]. Intervals of 95% over "
            f"{'queries' if estimate.method == 'anchors' else 'judgments'}.",
        ),
    ]
    if not found.is_identified:
        which = ", ".join(str(g) for g in np.flatnonzero(~np.asarray(estimate.is_certain)))
        blocks.append(("text", NOT_IDENTIFIED.format(grades=which)))
    caption = "Probability of each label, given the true grade"
    blocks.append(("table", caption, ["", *(f"grade {u}" for u in range(n))], body))
    return blocks


def _look_blocks(found: Diagnosis) -> list[Block]:
    heads = ["row", "query", "label", "perhaps", "chance", f"change of {found.metric}"]
    body = [
        [
            str(each["row"]), str(each["query"]), str(each["label"]), str(each["better"]),
            f"{each['chance']:.0%}", f"{each['change']:.4f}",
        ]
        for each in found.suspects[:20]
    ]  # fmt: skip
    return [
        ("section", "look", "Labels worth a second look"),
        (
            "table",
            "The likeliest to be wrong, with the change of their query's metric; the first 20",
            heads,
            body,
        ),
    ]


def _loss_blocks(found: Diagnosis) -> list[Block]:
    if not found.sensitivity:
        return []
    levels = found.sensitivity[0].levels
    heads = ["loss", *(f"{e:.0%} more noise" for e in levels), "lost", "without noise"]
    body = [
        [
            each.objective,
            *(
                f"{mean:.4f} [{low:.4f}, {high:.4f}]"
                for mean, (low, high) in zip(each.means, each.intervals, strict=True)
            ),
            "{:+.4f} [{:+.4f}, {:+.4f}]".format(*each.lost),
            "{:.4f} [{:.4f}, {:.4f}]".format(*each.clean),
        ]
        for each in found.sensitivity
    ]  # fmt: skip
    known = found.is_identified
    said = (
        "The last column follows each line back to training labels without noise (SIMEX)"
        if known
        else "As the noise is not identified, the last column is the line at labels as they are"
    )
    blocks: list[Block] = [
        ("section", "losses", "Which loss?"),
        (
            "table",
            f"{found.metric} of held-out queries, as training labels get noisier",
            heads,
            body,
        ),
        ("small", f"{said}. Held-out labels are as they are, noise included."),
    ]
    if found.recommendation is not None:
        blocks.insert(1, ("text", f"Recommendation: {found.recommendation.text}."))
    return blocks
