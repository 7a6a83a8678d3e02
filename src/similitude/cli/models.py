"""A saved model, with what the command line needs to read files for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from similitude.cli.output import Output
    from similitude.files import Data, Schema


@dataclass(frozen=True)
class Saved:
    """A model that ``fit`` wrote, and what it was fitted to."""

    model: Any
    about: dict[str, Any]
    schema: Schema

    def batches(self, source: str) -> Iterator[Data]:
        """Yield a file's rows, some thousand at a time, read as the model's own file was."""
        from similitude import files

        return files.batches(source, schema=self.schema)


def saved(out: Output, path: str, trust: bool) -> Saved:
    """Load a model; code of its user's own that it needs is imported only where that is trusted."""
    from similitude.cli.output import warnings_caught
    from similitude.files import Schema
    from similitude.persistence import SavedModelError, information, load

    found = information(path)
    about = found.about
    if "schema" not in about:
        raise SavedModelError(f"{path}: not written by 'similitude fit', so it does not say how to read a file")
    functions = _functions(path, about["similarity"], trust) if found.functions else None
    with warnings_caught() as said:
        model = load(path, functions=functions)
    out.note_each(said)
    return Saved(model, about, Schema.from_dict(about["schema"]))


def _functions(path: str, similarity: str, trust: bool) -> dict[str, Any]:
    """Import what the similarity of a model names as ``module:function``; return it by the names of `load`."""
    from similitude.cli.inputs import trusted
    from similitude.cli.problems import UsageError
    from similitude.expressions import parse

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
