"""What is known of one trial."""

from dataclasses import dataclass, field
from typing import Any

from gbrank.core import FloatArray

RUNNING, COMPLETE, DROPPED, FAILED = "running", "complete", "dropped", "failed"
FINISHED = (COMPLETE, DROPPED, FAILED)


@dataclass
class Trial:
    """One point of the space, tried on folds of whole queries.

    Attributes
    ----------
    number : from 0.
    point : values by name.
    state : "running", "complete", "dropped" after some folds as a loser, or "failed".
    value, error : mean metric of the held-out queries judged so far, and its standard error.
    n_folds : how many boosters were trained to their end.
    n_trees : trees of each of them.
    seconds : that it took.
    query_values : metric of each held-out query, NaN where it was not judged.
    scores : of the held-out rows, of a complete trial.
    note : why it was dropped or failed, or what the trial is.
    """

    number: int
    point: dict[str, Any]
    state: str = RUNNING
    value: float = float("nan")
    error: float = float("nan")
    n_folds: int = 0
    n_trees: list[int] = field(default_factory=list)
    seconds: float = 0.0
    query_values: FloatArray | None = None
    scores: FloatArray | None = None
    note: str = ""
