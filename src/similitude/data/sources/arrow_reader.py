"""Reader of Parquet files and Arrow datasets: one column holds the labels, the others make up an object."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from similitude.compute import warn_if_rounded
from similitude.data.arrow_text import text_problem
from similitude.data.sources.batch import Batch
from similitude.data.sources.batch_size import MAX_BATCH_ROWS
from similitude.data.sources.parquet_pages import Needs, check_pages
from similitude.data.sources.record_batches import arrow_batches, parquet_batches, pyarrow
from similitude.support import SourceError

NOT_AHEAD = {"batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}
"""Options of a scan that reads one record batch ahead; with none, pyarrow waits forever."""


def arrow_dataset(path: Path) -> Any:
    """Open a Parquet file, or a folder of them, as a dataset."""
    with _errors_in(str(path)):
        return pyarrow("dataset").dataset(path, format="parquet")


class ArrowReader:
    """The rows of an Arrow dataset, whose shards are its fragments."""

    def __init__(self, dataset: Any, label: str | None, weight: str | None) -> None:
        self.schema, self.label, self.weight = dataset.schema, label, weight
        for name in (label, weight):
            if name is not None and name not in self.schema.names:
                raise SourceError(f"there is no column {name!r}: there are {', '.join(map(repr, self.schema.names))}")
        self.shards: list[tuple[Any, str, int]] = []
        self._needs: dict[str, Needs] = {}
        for fragment in dataset.get_fragments():
            path = getattr(fragment, "path", "")
            name = f"shard {Path(path).name}" if path else "the dataset"
            with _errors_in(name):
                self._check_schema(fragment.physical_schema, name)
                size = self._count_rows(fragment)
            if size == 0:
                raise SourceError(f"{name} is empty: leave it out")
            self.shards.append((fragment, name, size))
        self.n = sum(size for *_, size in self.shards)

    def _check_schema(self, found: Any, name: str) -> None:
        """Raise if a shard has other columns than the dataset."""
        for field in self.schema:
            if field.name not in found.names:
                problem = "has no labels" if field.name == self.label else "does not fit"
                raise SourceError(f"{name} {problem}: there is no column {field.name!r}")
            if found.field(field.name).type != field.type:
                other = found.field(field.name).type
                raise SourceError(f"{name}: column {field.name!r} is {other}, in the first shard it is {field.type}")

    def pieces(self, rows: int, start: int) -> Iterator[Batch]:
        """Yield batches from a row on."""
        at = 0
        for fragment, name, size in self.shards:
            if at + size <= start:
                at += size
                continue
            with _errors_in(name):
                for batch in self._record_batches(fragment, rows):
                    if batch.num_rows and at + batch.num_rows > start:
                        piece = Batch(*from_arrow(batch, self.label, self.weight, name), name, at)
                        yield piece.part(max(0, start - at), len(piece))
                    at += batch.num_rows

    def needs(self) -> Needs:
        """Return about how much memory reading Parquet files takes; 0 for other formats."""
        found = [Needs(0, 0.0)]
        for fragment, name, _ in self.shards:
            if _format(fragment) == "parquet":
                with _errors_in(name), fragment.open() as file:
                    found.append(self._checked(fragment, file))
        held, row = map(max, zip(*found, strict=True))
        return Needs(int(held), row)

    def _checked(self, fragment: Any, file: Any) -> Needs:
        """Check the pages of a Parquet file once, for several passes; return what reading it takes."""
        if fragment.path not in self._needs:
            self._needs[fragment.path] = check_pages(file, _row_groups(fragment), self.schema.names)
        return self._needs[fragment.path]

    def _count_rows(self, fragment: Any) -> int:
        """Return the number of rows of a fragment; of formats that store it, without reading them."""
        if _format(fragment) == "arrow":
            return sum(batch.num_rows for batch in self._record_batches(fragment, MAX_BATCH_ROWS))
        return int(fragment.count_rows(**NOT_AHEAD))

    def _record_batches(self, fragment: Any, rows: int) -> Iterator[Any]:
        """Yield the record batches of a fragment, of at most `rows` rows."""
        names, kind = self.schema.names, _format(fragment)
        if kind == "parquet":
            with fragment.open() as file:
                self._checked(fragment, file)
                for batch in parquet_batches(file, rows, _row_groups(fragment), names, fragment.metadata):
                    yield batch.select(names)
        elif kind == "arrow":
            with open(fragment.path, "rb") as file:
                for batch in arrow_batches(file, rows):
                    yield batch.select(names)
        else:
            yield from fragment.to_batches(schema=self.schema, batch_size=rows, **NOT_AHEAD)


def _row_groups(fragment: Any) -> list[int]:
    return [group.id for group in fragment.row_groups]


def _format(fragment: Any) -> str:
    """Return the format of a fragment if its file is read without a scan: "parquet", or "arrow" on this disk."""
    kind = getattr(getattr(fragment, "format", None), "default_extname", "")
    return kind if kind == "parquet" or (kind == "arrow" and Path(fragment.path).is_file()) else ""


def from_arrow(batch: Any, label: str | None, weight: str | None, name: str) -> tuple[Any, Any, Any]:
    """Return the objects, labels and weights of a record batch."""
    if problem := text_problem(batch):
        raise SourceError(f"{name}: {problem}")
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    labels = None if label is None else columns.pop(label)
    weights = None if weight is None else columns.pop(weight)
    for what, values in (("label", labels), ("weight", weights)):
        if values is not None and values.null_count:
            raise SourceError(f"{name}: {values.null_count:,} rows have no {what}: fill them in, or leave them out")
    objects = _objects(columns, name, batch)
    return objects, *(None if one is None else one.to_numpy(zero_copy_only=False) for one in (labels, weights))


def _objects(columns: dict[str, Any], name: str, batch: Any) -> Any:
    """Return vectors if all columns are numeric, a list of objects if there is one column, else a table."""
    types = pyarrow("types")
    if not columns:
        raise SourceError(f"{name}: there is no column besides the label")
    kinds = [one.type for one in columns.values()]
    if all(types.is_floating(one) or types.is_integer(one) or types.is_boolean(one) for one in kinds):
        single = all(types.is_float32(one) or types.is_float16(one) for one in kinds)
        X = np.empty((batch.num_rows, len(columns)), np.float32 if single else np.float64)
        for j, (column, values) in enumerate(columns.items()):
            if values.null_count:
                raise SourceError(f"{name}: column {column!r} has {values.null_count:,} missing values")
            numbers = values.to_numpy(zero_copy_only=False)
            warn_if_rounded(numbers, f"{name}: column {column!r}")
            X[:, j] = numbers
        return X
    if len(columns) == 1:
        (values,) = columns.values()
        if types.is_fixed_size_list(values.type) and types.is_floating(values.type.value_type):
            return values.flatten().to_numpy(zero_copy_only=False).reshape(batch.num_rows, values.type.list_size)
        return values.to_pylist()
    kept = [_distinct_categories(one) for one in columns.values()]
    return type(batch).from_arrays(kept, names=list(columns)).to_pandas()


def _distinct_categories(values: Any) -> Any:
    """Return a column; if it has categories that are listed twice, which pandas refuses, with each listed once."""
    if not pyarrow("types").is_dictionary(values.type) or len(values.dictionary.unique()) == len(values.dictionary):
        return values
    return values.dictionary_decode().dictionary_encode()


@contextmanager
def _errors_in(name: str) -> Iterator[None]:
    """Name the shard that cannot be read."""
    try:
        yield
    except SourceError:
        raise
    except (OSError, ValueError) as error:
        reason = (str(error).strip().splitlines() or ["no reason given"])[0].rstrip(".")
        raise SourceError(f"{name} cannot be read: it is truncated, damaged or of another format ({reason})") from None
