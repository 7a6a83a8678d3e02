"""Saved models, with what the command line needs to read files for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import similitude
from similitude.cli.errors import UsageError
from similitude.cli.fit import learned_facts
from similitude.cli.inputs import FormatOptions, imported
from similitude.cli.options import File, Model, Trust
from similitude.cli.output import Computation

if TYPE_CHECKING:
    from similitude.data.files import Schema


class SavedModel(NamedTuple):
    """A model saved by ``fit``, and what it was fitted to."""

    model: Any
    about: dict[str, Any]
    schema: Schema


@dataclass
class ModelOptions(FormatOptions):
    """A saved model, and a file to predict."""

    model: Model
    file: File
    trust: Trust = False

    def load(self, run: Computation) -> SavedModel:
        """Load the model; functions of the user's own are imported only if they are trusted."""
        from similitude.data.files import Schema
        from similitude.errors import SavedModelError
        from similitude.persistence import information

        found = information(self.model)
        about = checked_about(self.model, found.about)
        if not about:
            raise SavedModelError(f"{self.model}: not written by 'similitude fit', so how to read a file is unknown")
        functions = self._functions(about["similarity"]) if found.functions else None
        with run.computing(f"loading {self.model}"):
            model = similitude.load(self.model, functions=functions)
        return SavedModel(model, about, Schema.from_dict(about["schema"]))

    def _functions(self, text: str) -> dict[str, Any]:
        """Import what the model's similarity names as ``module:function``; return it by the names that `load` uses."""
        from similitude.similarity.expressions import parse

        if not self.trust:
            raise UsageError(f"{self.model} runs your own code, {text}: allow it with --trust, if you know the model")
        functions: dict[str, Any] = {}

        def collect(module: str, name: str) -> Any:
            k = imported(module, name)
            functions.update({one.__name__: one for one in (type(k), getattr(k, "f", None)) if one is not None})
            return k

        parse(text, function=collect)
        return functions


def checked_about(path: str, about: dict[str, Any]) -> dict[str, Any]:
    """Return what ``fit`` stored about a model, empty if it was not written by ``fit``; refuse what is incomplete."""
    from similitude.data.files import Schema
    from similitude.errors import FileError, SavedModelError

    if "schema" not in about:
        return {}
    try:
        Schema.from_dict(about["schema"])
        learned_facts(about)
        is_complete = all(isinstance(about[name], str) for name in ("similarity", "task", "label"))
        is_complete = is_complete and isinstance(about["rows"], int)
    except (FileError, AttributeError, KeyError, TypeError, ValueError, ArithmeticError):
        is_complete = False
    if not is_complete:
        raise SavedModelError(f"{path}: what it stores about its file and errors is not what 'similitude fit' writes")
    return about
