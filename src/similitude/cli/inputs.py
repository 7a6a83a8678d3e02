"""What a command works on: the file, the similarity, the labels; what is inferred is said."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import numpy as np

from similitude.cli.problems import UsageError

if TYPE_CHECKING:
    from similitude.cli.options import Kind, Task
    from similitude.cli.output import Output
    from similitude.data.files import Data
    from similitude.similarity import Similarity

CLASSIFICATION, REGRESSION = "classification", "regression"

FEW = 20
"""Different whole numbers up to which they are taken for classes."""


def read(
    out: Output,
    source: str,
    similarities: Sequence[Similarity],
    *,
    label: str | None,
    object: str | None,
    kind: Kind | None,
) -> Data:
    """Read a file as objects of the kind that was asked for, or that the similarities take, or that it looks like."""
    from similitude.data import files

    taken = taken_kind(similarities, label, object, kind)
    with out.working(f"reading {source}"):
        data = files.read(source, label=label, object=object, kind=taken)
    for sentence in data.notes:
        out.note(sentence)
    return data


def taken_kind(
    similarities: Sequence[Similarity], label: str | None, object: str | None, kind: Kind | None
) -> str | None:
    """Return the kind of objects that was asked for, or that the similarities take; None where neither tells."""
    if label is not None and label == object:
        raise UsageError(f"column {label!r} cannot be both the label and the object")
    kinds = {one.objects for one in similarities} - {"any"}
    if kind is None and len(kinds) > 1:
        raise UsageError(f"the similarities take different kinds of objects: {', '.join(sorted(kinds))}")
    return kind.value if kind is not None else next(iter(kinds), None)


def parsed(text: str, trust: bool) -> Similarity:
    """Return the similarity that an expression tells."""
    from similitude.similarity.expressions import parse

    return parse(text, function=trusted if trust else None)


def default_similarity(out: Output, kind: str) -> tuple[str, Similarity]:
    """Return the similarity for a kind of object where none was asked for, as text and as it is."""
    from similitude.similarity.expressions import DEFAULTS

    text = DEFAULTS[kind]
    out.note(f"no --similarity was given: {text}, the default for {kind}")
    return text, parsed(text, trust=False)


def chosen_similarity(
    out: Output, source: str, text: str | None, trust: bool, **columns: Any
) -> tuple[Data, str, Similarity]:
    """Read a file; return it with the similarity that was asked for or that its kind picks, as text and as it is."""
    asked = None if text is None else parsed(text, trust)
    data = read(out, source, [] if asked is None else [asked], **columns)
    if text is None or asked is None:
        text, asked = default_similarity(out, data.schema.kind)
    return data, text, asked


def trusted(module: str, name: str) -> Similarity:
    """Import a user's function, with the working directory on the path; what its module does is up to its author."""
    from similitude.similarity import as_similarity

    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        with redirect_stdout(sys.stderr):  # what it prints is no result
            found = importlib.import_module(module)
    except ImportError as error:
        raise ValueError(f"{module} cannot be imported: {error}") from error
    if not callable(getattr(found, name, None)):
        raise ValueError(f"module {module!r} has no function {name!r}")
    return as_similarity(getattr(found, name))


def task_of(out: Output, data: Data, asked: Task | None) -> str:
    """Return whether classes or numbers are to be predicted, and say so where it was inferred."""
    labels, name = labels_of(data), data.schema.label
    different = np.unique(labels)
    if len(different) < 2:
        raise ValueError(f"label {name!r} has the one value {different[0]!s}: there is nothing to learn")
    if asked is not None:
        if asked.value == REGRESSION and labels.dtype.kind not in "fiu":
            raise ValueError(f"label {name!r} holds text such as {different[0]!s}: regression needs numbers")
        return asked.value
    if labels.dtype.kind not in "fiu":
        task, why = CLASSIFICATION, f"{len(different):,} different values"
    elif (different == np.floor(different)).all() and len(different) <= FEW:
        task, why = CLASSIFICATION, f"{len(different):,} different whole numbers"
    else:
        task, why = REGRESSION, f"numbers, {len(different):,} different ones"
    out.note(f"label {name!r} holds {why}: {task} (--task decides otherwise)")
    return task


def labels_of(data: Data) -> np.ndarray:
    """Return the labels, which must be there."""
    if data.labels is None:
        raise UsageError("which column is to be predicted? --label COLUMN")
    return np.asarray(data.labels)


def check_not_read(output: str, *inputs: str) -> None:
    """Refuse to write over a file that is read."""
    for source in inputs:
        if source != "-" and os.path.exists(output) and os.path.exists(source) and os.path.samefile(output, source):
            raise UsageError(f"{output} is read by this command: write to another file")


def check_model_place(path: str) -> None:
    """Refuse a place where no model can be written, before any work."""
    from similitude.support.atomic_write import check_place

    if path == "-":
        raise UsageError("a model goes into a file: -o model.sim")
    check_place(path)
