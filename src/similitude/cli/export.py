"""``similitude export``: a saved model as an ONNX file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from similitude.cli.errors import UsageError
from similitude.cli.inputs import check_not_read
from similitude.cli.options import Model
from similitude.cli.output import Output, Terminal
from similitude.cli.saved_models import checked_about
from similitude.support import check_place, complete_file

if TYPE_CHECKING:
    from similitude.persistence import Information

OnnxFile = Annotated[str, typer.Argument(metavar="FILE.onnx", help="The file to write.")]


def export(model: Model, file: OnnxFile, out: Output) -> None:
    """Write a saved model as an ONNX file, which ONNX Runtime computes without Python."""
    check_not_read(file, model)
    if not file.endswith(".onnx"):
        raise UsageError(f"{file}: the name of an ONNX file ends with .onnx")
    place = check_place(file)
    with out.working(f"exporting {model}"):
        import similitude
        from similitude.persistence import information

        found = information(model)
        if found.functions:
            raise UsageError(f"{model} calls your own function, {found.functions[0].name}, which ONNX cannot do")
        graph = similitude.to_onnx(similitude.load(model))
        data = graph.SerializeToString()
        with complete_file(place) as written:
            written.write(data)
    document = {"command": "export", "model": model, "file": file, "size": len(data), **_interface(graph)}
    names = _columns(model, found)
    document |= {"columns": names} if document["inputs"][0]["shape"] == [None, len(names)] else {}
    out.result(document, lambda terminal: _show(terminal, document))


def _interface(graph: Any) -> dict[str, Any]:
    """Return the input and the outputs of a graph: names, types and shapes."""
    from onnx import TensorProto

    def described(value: Any) -> dict[str, Any]:
        kind = value.type.tensor_type
        sizes = [one.dim_value or None for one in kind.shape.dim]
        return {"name": value.name, "type": TensorProto.DataType.Name(kind.elem_type).lower(), "shape": sizes}

    return {
        "inputs": [described(one) for one in graph.graph.input],
        "outputs": [described(one) for one in graph.graph.output],
    }


def _columns(path: str, found: Information) -> list[str]:
    """Return the columns of the file that the model was fitted to, in the order of the input; none if unknown."""
    about = checked_about(path, found.about)
    return [str(name) for name in about["schema"].get("names") or ()] if about else []


def _show(terminal: Terminal, document: dict[str, Any]) -> None:
    def written(value: dict[str, Any]) -> str:
        return f"{value['name']}: {value['type']}, {' x '.join(str(one or 'rows') for one in value['shape'])}"

    terminal.say(f"Wrote {document['file']}", "bold")
    facts = [("input", written(one)) for one in document["inputs"]]
    if "columns" in document:
        facts.append(("", f"columns {', '.join(document['columns'])}"))
    terminal.facts(facts + [("output", written(one)) for one in document["outputs"]])
