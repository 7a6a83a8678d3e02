"""A saved model, with what the command line needs to read files for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from similitude.cli.output import Output
    from similitude.data.files import Data, Schema


@dataclass(frozen=True)
class Saved:
    """A model that ``fit`` wrote, and what it was fitted to."""

    model: Any
    about: dict[str, Any]
    schema: Schema

    def batches(self, source: str) -> Iterator[Data]:
        """Yield a file's rows, some thousand at a time, read as the model's own file was."""
        from similitude.data import files

        return files.batches(source, schema=self.schema)


def saved(out: Output, path: str, trust: bool) -> Saved:
    """Load a model; code of its user's own that it needs is imported only where that is trusted."""
    from similitude.cli.output import warnings_caught
    from similitude.data.files import Schema
    from similitude.persistence import information, load
    from similitude.support.errors import SavedModelError

    found = information(path)
    about = checked_about(path, found.about)
    if not about:
        raise SavedModelError(f"{path}: not written by 'similitude fit', so it does not say how to read a file")
    functions = _functions(path, about["similarity"], trust) if found.functions else None
    with warnings_caught() as said:
        model = load(path, functions=functions)
    out.note_each(said)
    return Saved(model, about, Schema.from_dict(about["schema"]))


TOLD: dict[str, Any] = {
    "similarity": str, "task": str, "label": str, "rows": int, "landmarks": int, "why_not_more": str, "representation": str,
    "constant_error": (int, float), "held_out_error": dict, "guarantee": dict,
}  # fmt: skip
"""What ``fit`` tells of a model beside how its file was read."""


def checked_about(path: str, about: dict[str, Any]) -> dict[str, Any]:
    """Return what ``fit`` told of a model, or nothing where it was not ``fit`` that wrote it; refuse half of it."""
    from similitude.data.files import Schema
    from similitude.support.errors import FileError, SavedModelError
    from similitude.support.results import Estimate, Guarantee

    if "schema" not in about:
        return {}
    try:
        Schema.from_dict(about["schema"])
        Estimate(**about["held_out_error"])
        Guarantee(**about["guarantee"])
        wrong = [name for name, kind in TOLD.items() if not isinstance(about[name], kind)]
    except (FileError, KeyError, TypeError, ValueError):
        wrong = ["schema"]
    if wrong:
        raise SavedModelError(f"{path}: what it tells of its file and its errors is not what 'similitude fit' writes")
    return about


def _functions(path: str, similarity: str, trust: bool) -> dict[str, Any]:
    """Import what the similarity of a model names as ``module:function``; return it by the names of `load`."""
    from similitude.cli.inputs import trusted
    from similitude.cli.problems import UsageError
    from similitude.similarity.expressions import parse

    if not trust:
        raise UsageError(f"{path} runs code of your own, {similarity}: allow it with --trust, if you know the model")
    given: dict[str, Any] = {}

    def collected(module: str, name: str) -> Any:
        k = trusted(module, name)
        function = getattr(k, "f", None)
        for one in (type(k), function):
            if one is not None:
                given[one.__name__] = one
        return k

    parse(similarity, function=collected)
    return given
