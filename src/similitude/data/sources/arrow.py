"""Reading Parquet files and Arrow datasets: the label is a column, the others make up an object."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from similitude.data.sources.batch import Batch
from similitude.support.errors import SourceError, missing_extra


def arrow_dataset(path: Path) -> Any:
    """Open a Parquet file or a folder of them."""
    dataset = _module("pyarrow.dataset")
    try:
        return dataset.dataset(path, format="parquet")
    except (OSError, ValueError) as error:
        raise _unreadable(str(path), error) from None


class Arrow:
    """The rows of an Arrow dataset."""

    def __init__(self, dataset: Any, label: str | None, weight: str | None) -> None:
        self.dataset, self.label, self.weight = dataset, label, weight
        names = dataset.schema.names
        for name in (label, weight):
            if name is not None and name not in names:
                raise SourceError(f"there is no column {name!r}: there are {', '.join(map(repr, names))}")
        self.fragments = list(dataset.get_fragments())
        self.n: int | None = 0
        for one in self.fragments:
            name = _name(one)
            self._check_schema(one, name)
            with_rows = _counted(one, name)
            if with_rows == 0:
                raise SourceError(f"{name} is empty: leave it out")
            self.n += with_rows

    def _check_schema(self, fragment: Any, name: str) -> None:
        """Refuse a shard with other columns than the dataset."""
        try:
            found = fragment.physical_schema
        except (OSError, ValueError) as error:
            raise _unreadable(name, error) from None
        for field in self.dataset.schema:
            if field.name not in found.names:
                what = "has no labels: there" if field.name == self.label else "does not fit: there"
                raise SourceError(f"{name} {what} is no column {field.name!r}")
            if found.field(field.name).type != field.type:
                other = found.field(field.name).type
                raise SourceError(f"{name}: column {field.name!r} is {other}, in the first shard it is {field.type}")

    def pieces(self, rows: int, start: int) -> Iterator[Batch]:
        """Yield batches from a row on."""
        at = 0
        for fragment in self.fragments:
            name = _name(fragment)
            size = _counted(fragment, name)
            if at + size <= start:
                at += size
                continue
            try:
                for batch in fragment.to_batches(schema=self.dataset.schema, batch_size=rows):
                    if batch.num_rows and at + batch.num_rows > start:
                        found = from_arrow(batch, self.label, self.weight, name)
                        skipped = max(0, start - at)
                        whole = Batch(*found, name, at)
                        yield whole.part(skipped, len(whole)) if skipped else whole
                    at += batch.num_rows
            except SourceError:
                raise
            except (OSError, ValueError) as error:
                raise _unreadable(name, error) from None


def from_arrow(batch: Any, label: str | None, weight: str | None, name: str) -> tuple[Any, Any, Any]:
    """Return the objects, labels and weights of a record batch."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    labels = None if label is None else columns.pop(label)
    weights = None if weight is None else columns.pop(weight)
    for what, values in (("label", labels), ("weight", weights)):
        if values is not None and values.null_count:
            raise SourceError(f"{name}: {values.null_count:,} rows have no {what}: fill them in, or leave them out")
    objects = _objects(columns, name, batch)
    return objects, *(None if one is None else one.to_numpy(zero_copy_only=False) for one in (labels, weights))


def _objects(columns: dict[str, Any], name: str, batch: Any) -> Any:
    """Return vectors where all columns are numbers, a list of objects where there is one column, else a table."""
    types = _module("pyarrow").types
    if not columns:
        raise SourceError(f"{name}: there is no column besides the label")
    kinds = [one.type for one in columns.values()]
    if all(types.is_floating(one) or types.is_integer(one) or types.is_boolean(one) for one in kinds):
        single = all(types.is_float32(one) or types.is_float16(one) for one in kinds)
        X = np.empty((batch.num_rows, len(columns)), np.float32 if single else np.float64)
        for j, (column, values) in enumerate(columns.items()):
            if values.null_count:
                raise SourceError(f"{name}: column {column!r} has {values.null_count:,} missing values")
            X[:, j] = values.to_numpy(zero_copy_only=False)
        return X
    if len(columns) == 1:
        (values,) = columns.values()
        if types.is_fixed_size_list(values.type) and types.is_floating(values.type.value_type):
            return values.flatten().to_numpy(zero_copy_only=False).reshape(batch.num_rows, values.type.list_size)
        return values.to_pylist()
    return batch.select(list(columns)).to_pandas()


def _counted(fragment: Any, name: str) -> int:
    try:
        return int(fragment.count_rows())
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from None


def _name(fragment: Any) -> str:
    path = getattr(fragment, "path", "")
    return f"shard {Path(path).name}" if path else "the dataset"


def _unreadable(name: str, error: Exception) -> SourceError:
    said = (str(error).strip().splitlines() or ["no reason given"])[0].rstrip(".")
    return SourceError(f"{name} cannot be read, cut off, damaged or of another format: {said}")


def _module(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise missing_extra("cli", "a Parquet file or Arrow dataset") from None
