"""Models and files of scores, as commands name them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import gbrank
from gbrank.cli.options import UsageError

if TYPE_CHECKING:
    from gbrank.data import RankingData


def load_model(name: str, threads: int | None = None) -> Any:
    """Return a model that predicts: one of ``gbrank train`` or, with a warning, of LightGBM."""
    from gbrank.boosting import is_lightgbm_file

    if is_lightgbm_file(name):
        return _LightGBMModel(name, threads)
    return gbrank.Ranker.load_model(name).set_params(n_jobs=threads)


class _LightGBMModel:
    """A model that LightGBM wrote by itself."""

    def __init__(self, name: str, threads: int | None) -> None:
        import warnings

        from gbrank.boosting import feature_names, read_lightgbm_model

        warnings.warn(
            f"{name} was written by LightGBM, not by gbrank: no checksum guards it", stacklevel=2
        )
        self._threads = threads or 0
        self.booster_ = read_lightgbm_model(name)
        self.n_features_in_ = self.booster_.num_feature()
        names = feature_names(self.booster_)
        if names is not None:
            self.feature_names_in_ = names

    def predict(self, X: Any) -> Any:
        return self.booster_.predict(X, num_threads=self._threads)


def read_scores(name: str) -> Any:
    """Return the scores of a file with one number a line."""
    import numpy as np

    from gbrank.core import check_file

    text = check_file(name).read_bytes().decode("utf-8", errors="backslashreplace")
    lines = text.removesuffix("\n").split("\n")
    try:
        scores = np.array(lines, dtype=np.float64)
    except ValueError:
        for number, line in enumerate(lines, start=1):
            if not _is_number(line):
                raise ValueError(
                    f"{name} is neither a model nor scores: line {number} should be one number, "
                    f"got {line.strip()[:40]!r}"
                ) from None
        scores = np.array([float(line) for line in lines])
    return scores


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def named_files(texts: list[str]) -> dict[str, str]:
    """Return the files by name: FILE goes by its own name without suffix, NAME=FILE by NAME.

    >>> from gbrank.cli.models import named_files
    >>> named_files(["runs/a.txt", "mine=b.txt"])
    {'a': 'runs/a.txt', 'mine': 'b.txt'}
    """
    files: dict[str, str] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals or Path(text).exists():
            name, path = Path(text).stem, text
        if name in files:  # two folders, the same name
            name = path
        if name in files:
            raise UsageError(f"{path} is named twice; give them names: NAME={path}")
        files[name] = path
    return files


def score(model: Any, data: "RankingData", name: str) -> Any:
    """Return the scores of a model; say which file does not fit it."""
    found, expected = data.X.shape[1], model.n_features_in_
    if found != expected:
        raise ValueError(
            f"{name} does not fit the model: it has {found} features, the model was "
            f"trained on {expected}"
        )
    try:
        if getattr(model, "start_kind_", "zero") == "query_linear":
            return model.predict(data.X, qid=data.qid)
        return model.predict(data.X)
    except ValueError as error:
        raise ValueError(f"{name} does not fit the model: {error}") from error
