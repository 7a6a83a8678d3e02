"""Saved models: reading files for them, ``similitude info`` and ``similitude export``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import similitude
from similitude.cli.errors import UsageError
from similitude.cli.fit import learned_facts
from similitude.cli.inputs import FormatOptions, check_not_read, imported
from similitude.cli.output import Computation, Output, Terminal
from similitude.support import check_place, complete_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from similitude.data.files import Data
    from similitude.persistence import Information


@dataclass(kw_only=True)
class ModelOptions(FormatOptions):
    """A saved model, and a file to predict."""

    model: str
    file: str
    trust: bool = False

    def load(self, run: Computation) -> tuple[Any, dict[str, Any]]:
        """Load the model and what `fit` stored about it; functions of the user's own are imported if trusted."""
        from similitude.errors import SavedModelError
        from similitude.persistence import information

        found = information(self.model)
        about = checked_about(self.model, found.about)
        if not about:
            raise SavedModelError(f"{self.model}: not written by 'similitude fit', so how to read a file is unknown")
        functions = {}
        if found.functions:
            functions = self._functions(about["similarity"])
        with run.computing(f"loading {self.model}"):
            return similitude.load(self.model, functions=functions), about

    def batches(self, run: Computation, about: dict[str, Any]) -> Iterator[Data]:
        """Read the file as the one that the model was fitted to."""
        from similitude.data.files import Schema, batches

        for data in batches(self.file, schema=Schema.from_dict(about["schema"]), **self.format_arguments()):
            run.note(*data.notes)
            yield data

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


def info(model: str, out: Output) -> None:
    """Show what a saved model is and what it was fitted to, without loading it."""
    from similitude.persistence import information

    found = information(model)
    about = checked_about(model, found.about)
    out.note(*found.notes)
    document = {"command": "info", "model": model, **found.to_dict()}
    out.result(document, lambda terminal: _show_model(terminal, model, found, about))


def _show_model(terminal: Terminal, path: str, found: Information, about: dict[str, Any]) -> None:
    from similitude.compute.engines import format_bytes

    facts: list[tuple[str, object]] = []
    if about:
        facts += [
            ("predicts", f"{about['label']} ({about['task']})"),
            ("learned from", f"{about['schema']['kind']}, {about['rows']:,} rows"),
            ("similarity", about["similarity"]),
            *learned_facts(about),
        ]
    facts += [
        *((f"needs {one.kind}", one.name) for one in found.functions),
        ("parameters", ", ".join(f"{name}={value}" for name, value in found.parameters.items())),
        ("written by", ", ".join(f"{name} {version}" for name, version in found.written_by.items())),
        ("format", found.version),
    ]
    terminal.say(f"{path}: {found.type}, {format_bytes(found.size)}", "bold")
    terminal.facts(facts)


def export(model: str, file: str, out: Output) -> None:
    """Write a saved model as an ONNX file, which ONNX Runtime computes without Python."""
    check_not_read(file, model)
    if not file.endswith(".onnx"):
        raise UsageError(f"{file}: the name of an ONNX file ends with .onnx")
    place = check_place(file)
    with out.working(f"exporting {model}"):
        from similitude.persistence import information

        found = information(model)
        if found.functions:
            raise UsageError(f"{model} calls your own function, {found.functions[0].name}, which ONNX cannot do")
        graph = similitude.to_onnx(similitude.load(model))
        data = graph.SerializeToString()
        with complete_file(place) as written:
            written.write(data)
    document: dict[str, Any] = {
        "command": "export",
        "model": model,
        "file": file,
        "size": len(data),
        "inputs": [_described(one) for one in graph.graph.input],
        "outputs": [_described(one) for one in graph.graph.output],
    }
    schema = checked_about(model, found.about).get("schema", {})
    names = list(map(str, schema.get("names") or ()))
    if document["inputs"][0]["shape"] == [None, len(names)]:
        document["columns"] = names
    out.result(document, lambda terminal: _show_graph(terminal, document))


def _described(value: Any) -> dict[str, Any]:
    """Return the name, the type and the shape of an input or output of a graph."""
    from onnx import TensorProto

    kind = value.type.tensor_type
    sizes = [one.dim_value or None for one in kind.shape.dim]
    return {"name": value.name, "type": TensorProto.DataType.Name(kind.elem_type).lower(), "shape": sizes}


def _show_graph(terminal: Terminal, document: dict[str, Any]) -> None:
    def written(value: dict[str, Any]) -> str:
        return f"{value['name']}: {value['type']}, {' x '.join(str(one or 'rows') for one in value['shape'])}"

    terminal.say(f"Wrote {document['file']}", "bold")
    facts = [("input", written(one)) for one in document["inputs"]]
    if "columns" in document:
        facts.append(("", f"columns {', '.join(document['columns'])}"))
    terminal.facts(facts + [("output", written(one)) for one in document["outputs"]])
