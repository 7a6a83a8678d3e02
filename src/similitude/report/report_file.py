"""write_report: findings written to a file, as HTML, plain text or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from similitude.compute.engines import Engine
from similitude.report.findings import Findings, investigate
from similitude.support import check_place, complete_file

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
    groups: Any = None,
    command: str | None = None,
    compare: Any = (),
    image_shape: tuple[int, int] | None = None,
    embedding: str = "pca",
    max_calls: int | None = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Findings:
    """Investigate a similarity on labeled objects and write the findings to a file.

    Parameters
    ----------
    similarity, X, y, names, title, task, groups, command, compare, image_shape, embedding, max_calls, random_state
        See :func:`investigate`; so is ``engine``.
    path : str or path
        The file to write; its folder must exist.
    format : {"html", "txt", "json"}, optional
        Default: the suffix of the path.

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
    Predicting 3 classes of 150 vectors by Gaussian(sigma='median')
    """
    asked = {name: given for name, given in locals().items() if name not in ("path", "format")}
    form, place = check_report_place(path, format)
    _renderer(form)  # what it needs is missed before anything is computed
    found = investigate(**asked)
    save_findings(found, place, form)
    return found


def save_findings(found: Findings, path: Any, format: str | None = None) -> None:
    """Write findings to a file."""
    form, place = check_report_place(path, format)
    text = _renderer(form)(found)
    with complete_file(place) as file:
        file.write(text.encode("utf-8", "backslashreplace"))  # lone surrogates cannot be encoded


def check_report_place(path: Any, format: str | None = None) -> tuple[str, Path]:
    """Return the format and the path of a report, checked before any work."""
    form = Path(path).suffix.lower().lstrip(".") if format is None else format
    if form not in FORMATS:
        source = f"the suffix of {Path(path).name!r}" if format is None else f"format={format!r}"
        raise ValueError(f"{source} is not one of {', '.join(FORMATS)}")
    return form, check_place(path)


def _renderer(form: str) -> Callable[[Findings], str]:
    """Return the function that renders findings; what it needs is imported before anything is computed."""
    if form == "html":
        from similitude.report.render import page

        return page.as_html
    if form == "txt":
        return lambda found: f"{found}\n"
    return lambda found: json.dumps(found.to_dict(), allow_nan=False) + "\n"
