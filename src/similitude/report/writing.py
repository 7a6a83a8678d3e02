"""write_report: findings written to a file, as a page, text or JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from similitude.compute.engines import Engine
from similitude.report.findings import Findings, investigate
from similitude.support.atomic_write import check_place, complete_file

FORMATS = ("html", "txt", "json")


def write_report(
    similarity: Any,
    X: Any,
    y: Any,
    path: Any,
    *,
    names: Sequence[str] | None = None,
    title: str | None = None,
    format: str | None = None,
    task: str | None = None,
    command: str | None = None,
    image_shape: tuple[int, int] | None = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Findings:
    """Investigate a similarity on labeled objects and write what was found to a file.

    Parameters
    ----------
    similarity : Similarity, str or callable
        Anything that says how alike two objects are; ``"precomputed"``: X is the square matrix of all pairs.
    X : sequence of objects
    y : sequence of labels
        Classes, or numbers to predict.
    path : str or path
        Where the report goes; its folder must exist.
    names : sequence of str, optional
        Of the components of vectors; a table has its own.
    title : str, optional
    format : {"html", "txt", "json"}, optional
        Default: what the path ends with.
    task : {"classification", "regression"}, optional
        Default: what the labels look like; see `investigate`.
    command : str, optional
        The command line that asked for this, to be named where the report says how to reproduce it.
    image_shape : (int, int), optional
        Vectors are images of so many rows and columns: a page draws them so.
    random_state : int, optional
    engine : Engine, optional

    Returns
    -------
    Findings

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from similitude.data.datasets import iris
    >>> from similitude.report import write_report
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = write_report("gaussian", *iris(), Path(folder, "report.txt"))
    ...     print(Path(folder, "report.txt").read_text(encoding="utf-8").splitlines()[0])
    Is Gaussian(sigma='median') a good similarity for these labels?
    """
    form, place = check_report_place(path, format)
    _check_image_shape(image_shape, X)
    told = _teller(form, image_shape)
    found = investigate(
        similarity,
        X,
        y,
        names=names,
        title=title,
        task=task,
        command=command,
        random_state=random_state,
        engine=engine,
    )
    with complete_file(place) as file:
        file.write(told(found).encode("utf-8", "backslashreplace"))  # halves of surrogates have no bytes
    return found


def check_report_place(path: Any, format: str | None = None) -> tuple[str, Path]:
    """Return the format and the place of a report; refuse those that cannot be written, before any work."""
    return _format(Path(path), format), check_place(path)


def _format(place: Path, asked: str | None) -> str:
    form = asked if asked is not None else place.suffix.lower().lstrip(".")
    if form not in FORMATS:
        source = f"format={asked!r}" if asked is not None else f"the ending of {place.name!r}"
        raise ValueError(f"{source} is not one of {', '.join(FORMATS)}")
    return form


def _check_image_shape(image_shape: tuple[int, int] | None, X: Any) -> None:
    """Refuse a shape that vectors of this length do not have, before any work."""
    if image_shape is None:
        return
    width = X.shape[1] if len(getattr(X, "shape", ())) == 2 else len(X[0])
    if len(image_shape) != 2 or math.prod(image_shape) != width:
        raise ValueError(f"image_shape={image_shape!r} does not fit: X has vectors of {width} numbers")


def _teller(form: str, image_shape: tuple[int, int] | None) -> Callable[[Findings], str]:
    """Return what tells findings in a format; what it needs is imported before anything is computed."""
    if form == "html":
        from similitude.report import page

        return partial(page.as_html, image_shape=image_shape)
    return {"txt": lambda found: f"{found}\n", "json": _as_json}[form]


def _as_json(found: Findings) -> str:
    return json.dumps(found.to_dict(), allow_nan=False) + "\n"
