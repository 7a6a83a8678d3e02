"""``similitude info``: what is in a saved model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from similitude.cli.options import AsJson, Model

if TYPE_CHECKING:
    from rich.console import Console

    from similitude.persistence import Information

EXAMPLE = "Example: similitude info genes.sim"


def info(model: Model, as_json: AsJson = False) -> None:
    """Show what a saved model is, what it learned and from what, without loading it."""
    from similitude.cli.models import checked_about
    from similitude.cli.output import Output
    from similitude.persistence import information

    out, found = Output(as_json), information(model)
    about = checked_about(model, found.about)
    out.note_each(found.notes)
    out.result(
        {"command": "info", "model": model, **found.to_dict()}, lambda console: _show(console, model, found, about)
    )


def _show(console: Console, path: str, found: Information, about: dict[str, Any]) -> None:
    from similitude.cli.fit import learned_facts
    from similitude.cli.output import printable, show_facts
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
    console.print(printable(f"{path}: {found.type}, {format_bytes(found.size)}"), style="bold")
    show_facts(console, facts)
