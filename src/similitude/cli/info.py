"""``similitude info``: what a saved model is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from similitude.cli.fit import learned_facts
from similitude.cli.options import Model
from similitude.cli.output import Output, Terminal
from similitude.cli.saved_models import checked_about

if TYPE_CHECKING:
    from similitude.persistence import Information


def info(model: Model, out: Output) -> None:
    """Show what a saved model is and what it was fitted to, without loading it."""
    from similitude.persistence import information

    found = information(model)
    about = checked_about(model, found.about)
    out.note(*found.notes)
    document = {"command": "info", "model": model, **found.to_dict()}
    out.result(document, lambda terminal: _show(terminal, model, found, about))


def _show(terminal: Terminal, path: str, found: Information, about: dict[str, Any]) -> None:
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
