"""What a command works on: a file, a similarity, labels and the task; everything that is inferred is noted."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from similitude.cli.errors import UsageError
from similitude.cli.output import Output
from similitude.support import FileError, FileTooLargeError

if TYPE_CHECKING:
    import numpy as np

    from similitude.data.files import Data
    from similitude.similarity import Similarity

AUTO_TEXT = "auto"
"""The similarity that is learned."""

Task = Literal["classification", "regression"]
"""What is predicted: a class or a number."""


@dataclass(kw_only=True)
class FormatOptions:
    """How a file is written, where that is not detected."""

    separator: str | None = None
    decimal: Literal[".", ","] | None = None
    encoding: str | None = None
    missing: list[str] | None = None
    sheet: str | None = None

    def format_arguments(self) -> dict[str, Any]:
        """Return the arguments of `read` that say how a file is written."""
        names = ("separator", "decimal", "encoding", "sheet")
        return {**{name: getattr(self, name) for name in names}, "missing": self.missing or ()}


@dataclass(kw_only=True)
class DataOptions(FormatOptions):
    """A file, which of its columns are read as what, and a similarity of its objects."""

    file: str
    label: str | None = None
    object: str | None = None
    kind: Literal["vectors", "strings", "graphs", "series", "sets", "table"] | None = None
    keep: list[str] | None = None
    ignore: list[str] | None = None
    unlabeled: Literal["drop", "use", "refuse"] = "drop"
    drop_unlabeled: bool = False
    image_size: str | None = None
    color: bool = False
    similarity: str | None = None
    trust: bool = False

    def read(self, out: Output, similarities: Sequence[Similarity], may_stream: bool = False, **more: Any) -> Data:
        """Read the file as objects of the kind that was given, or that the similarities take, or that it looks like.

        If it may be streamed and does not fit into memory, the objects are a source, and only the labels are in memory.
        More arguments of `files.read` take the place of those that the options stand for.
        """
        from similitude.data import files

        if self.label is not None and self.label == self.object:
            raise UsageError(f"column {self.label!r} cannot be both the label and the object")
        kinds = {one.objects for one in similarities} - {"any"}
        if self.kind is None and len(kinds) > 1:
            raise UsageError(f"the similarities take different kinds of objects: {', '.join(sorted(kinds))}")
        if self.drop_unlabeled and self.unlabeled != "drop":
            raise UsageError(f"--drop-unlabeled and --unlabeled {self.unlabeled} exclude each other")
        kind: str | None = self.kind or next(iter(kinds), None)
        columns: dict[str, Any] = {"label": self.label, "object": self.object, "kind": kind, "color": self.color}
        columns |= {"keep": self.keep or (), "ignore": self.ignore or (), "unlabeled": self.unlabeled}
        columns |= {"image_size": image_shape_of(self.image_size, "--image-size"), **self.format_arguments(), **more}
        try:
            with out.working(f"reading {self.file}"):
                data = files.read(self.file, **columns)
        except FileTooLargeError:
            if not may_stream:
                raise
            if columns.pop("groups", None) is not None:
                raise UsageError("--groups: the file does not fit into memory; give fewer rows") from None
            return self._streamed(out, columns)
        except FileError as error:
            if self.kind is not None or "does not fit" not in str(error):
                raise
            raise FileError(f"{error}. --similarity takes {kind}: 'similitude kernels' lists others") from error
        out.note(*data.notes)
        return data

    def _streamed(self, out: Output, columns: dict[str, Any]) -> Data:
        import numpy as np

        from similitude.data import files
        from similitude.data.sources import Source

        if self.unlabeled == "use":
            raise UsageError("--unlabeled use: the file does not fit into memory; give 'drop', or a smaller file")
        out.note(f"{self.file} does not fit into memory: it is read in batches, for labels, for a sample and to fit")
        labels = []
        with out.working(f"reading the labels of {self.file}"):
            for data in files.batches(self.file, **columns):
                out.note(*data.notes)
                labels.append(labels_of(data))
        y = np.concatenate(labels)
        schema = data.schema
        again = {**self.format_arguments(), "unlabeled": self.unlabeled}
        source = Source(lambda: (one.objects for one in files.batches(self.file, schema=schema, **again)), labels=y)
        return files.Data(source, y, schema)

    def read_both(
        self, out: Output, may_stream: bool = False, may_learn: bool = False, **more: Any
    ) -> tuple[Data, str, Any]:
        """Return the data, and the similarity that was given or the default for its kind, as text and parsed.

        If it may be learned, ``auto`` is the default, and stands for itself.
        """
        if self.similarity is not None and not (may_learn and self.similarity == AUTO_TEXT):
            given = parsed(self.similarity, self.trust)
            return self.read(out, [given], may_stream, **more), self.similarity, given
        from similitude.kernels import default_similarity
        from similitude.similarity import Auto

        data = self.read(out, [], may_stream, **more)
        kind = kind_of_data(data)
        if may_learn:
            if self.similarity is None:
                out.note("no --similarity was given: it is chosen by the labels")
            return data, AUTO_TEXT, Auto(kind)
        similarity = default_similarity(data.objects, kind)
        out.note(f"no --similarity was given: {similarity!r}, the default for {kind}")
        return data, repr(similarity), similarity


def image_shape_of(text: str | None, option: str = "--image-shape") -> tuple[int, int] | None:
    """Return the rows and columns of images."""
    if text is None:
        return None
    rows, _, columns = text.lower().partition("x")
    if not (rows.isdigit() and columns.isdigit()):
        raise UsageError(f"{option} {text!r} is not two numbers, such as 28x28")
    return int(rows), int(columns)


def kind_of_data(data: Data) -> str:
    """Return the kind of the objects: the rows of a table may be records."""
    from similitude.data.sources import Source
    from similitude.kernels import kind_of_objects

    kind = data.schema.kind
    is_record = kind == "table" and not isinstance(data.objects, Source) and kind_of_objects(data.objects) == "records"
    return "records" if is_record else kind


def parsed(text: str, trust: bool = False) -> Similarity:
    """Parse an expression; functions of the user's own are imported only if they are trusted."""
    from similitude.similarity.expressions import parse

    return parse(text, function=imported if trust else None)


def imported(module: str, name: str) -> Similarity:
    """Import a user's function as a similarity, with the working directory on the path."""
    from similitude.similarity import as_similarity

    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        with redirect_stdout(sys.stderr):  # standard output is for results
            found = importlib.import_module(module)
    except ImportError as error:
        raise ValueError(f"{module} cannot be imported: {error}") from error
    if not callable(getattr(found, name, None)):
        raise ValueError(f"module {module!r} has no function {name!r}")
    return as_similarity(getattr(found, name))


def task_of(out: Output, data: Data, task: str | None) -> Any:
    """Return the task that was given, or infer it from the labels and note it."""
    import numpy as np

    from similitude.evaluation import CLASSIFICATION, MOST_INTEGER_CLASSES, infer_task

    labels = labels_of(data)
    name = data.schema.label
    distinct = np.unique(labels)
    if len(distinct) < 2:
        raise ValueError(f"label {name!r} has the single value {distinct[0]!s}: there is nothing to learn")
    if task is not None:
        if task == "regression" and labels.dtype.kind not in "fiu":
            raise ValueError(f"label {name!r} holds text such as {distinct[0]!s}: regression needs numbers")
        return task
    task, found = infer_task(labels)
    out.note(f"label {name!r} holds {found}: {task} (choose with --task)")
    if task == CLASSIFICATION and 2 * len(distinct) > len(labels) > MOST_INTEGER_CLASSES:
        out.note(f"most classes of {name!r} have a single row: is this the column to predict?")
    return task


def labels_of(data: Data) -> np.ndarray:
    """Return the labels, which are required."""
    import numpy as np

    if data.labels is None:
        raise UsageError("which column is to be predicted? --label COLUMN")
    return np.asarray(data.labels)


def check_not_read(output: str, *inputs: str) -> None:
    """Refuse to overwrite a file that is read."""
    for source in inputs:
        if source != "-" and os.path.exists(output) and os.path.exists(source) and os.path.samefile(output, source):
            raise UsageError(f"{output} is read by this command: write to another file")
