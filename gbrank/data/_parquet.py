"""Parquet files as a stream of rows of numbers."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gbrank.core import FloatArray, check_integer


class ParquetRows:
    """Several parquet files with the same columns, one after the other.

    Attributes
    ----------
    features : names of the columns that are features.
    n_rows : number of rows of all files.
    """

    def __init__(
        self,
        paths: list[Path],
        others: tuple[str | None, ...],
        features: Sequence[str] | None,
        batch_rows: int,
    ) -> None:
        check_integer("batch_rows", batch_rows, low=1)
        self._paths = paths
        self._batch_rows = int(batch_rows)
        self._parquet = import_parquet()
        schema = self._parquet.read_schema(paths[0])
        reserved = [name for name in others if name is not None]
        if features is None:
            features = [name for name in schema.names if name not in reserved]
        self.features = list(features)
        if not self.features:
            raise ValueError(f"{paths[0]} has no columns but {reserved}: there are no features")
        self.n_rows = 0
        for path in paths:
            schema = self._parquet.read_schema(path)
            missing = [name for name in [*reserved, *self.features] if name not in schema.names]
            if missing:
                raise ValueError(f"{path} has no column {missing[0]!r}; it has {schema.names}")
            self._check_no_text(path, schema)
            self.n_rows += self._parquet.read_metadata(path).num_rows
        if self.n_rows == 0:
            raise ValueError(f"{paths[0]} holds no documents")

    def column(self, name: str) -> Any:
        """Return one column of all files, whole."""
        import pyarrow as pa

        tables = [self._parquet.read_table(path, columns=[name]) for path in self._paths]
        column = pa.concat_tables(tables, promote_options="permissive").column(0)
        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy()))
            raise ValueError(
                f"column {name!r} must have a value in each row, but row {row} is null"
            )
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        return column.to_numpy()

    def blocks(self) -> Iterator[FloatArray]:
        """Yield the features, a batch of rows at a time."""
        import pyarrow as pa

        for path in self._paths:
            with self._parquet.ParquetFile(path) as file:
                for batch in file.iter_batches(self._batch_rows, columns=self.features):
                    block = np.empty((batch.num_rows, len(self.features)))
                    for place, name in enumerate(self.features):
                        column = batch.column(name).cast(pa.float64(), safe=False)
                        block[:, place] = column.to_numpy(zero_copy_only=False)
                    yield block

    def _check_no_text(self, path: Path, schema: Any) -> None:
        from pyarrow import types

        for name in self.features:
            kind = schema.field(name).type
            if not (types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)):
                raise ValueError(
                    f"features must be numbers, but column {name!r} of {path} is of type {kind}; "
                    "name the columns to use with features="
                )


def import_parquet() -> Any:
    """Return ``pyarrow.parquet``, or say how to get it."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError('parquet files need pyarrow: pip install "gbrank[arrow]"') from error
    return parquet
