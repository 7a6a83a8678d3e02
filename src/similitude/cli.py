"""The command line: ``similitude demo``."""

from __future__ import annotations

import sys
from typing import Any

from similitude.errors import missing_extra


def main() -> None:
    """Run the command line, or say in one line what is missing."""
    try:
        app = _app()
    except ImportError:
        sys.exit(f"similitude: {missing_extra('cli', 'the command line')}")
    app()


def _app() -> Any:
    import rich  # noqa: F401 (both belong to the extra: fail here, in one place)
    import typer

    app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
    app.callback()(similitude)
    app.command()(demo)
    return app


def similitude() -> None:
    """Learn from any kernel or similarity function."""


def demo() -> None:
    """Show a few similarities on small real data: which are kernels, and why or why not."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from similitude.demo import examples, indefinite_example
    from similitude.validity import repair

    console = Console()
    with console.status("comparing objects"):
        shown = list(examples())
        changes = getattr(repair(*indefinite_example()), "changes", "")
    colours = {"VALID": "green", "INVALID": "red", "UNKNOWN": "yellow"}
    table = Table(title="Is it a kernel?", title_justify="left")
    for column in ("objects", "similarity", "verdict", "because"):
        table.add_column(column)
    for example in shown:
        validity = example.validity
        verdict = f"[{colours[validity.verdict]}]{validity.verdict}[/]"
        table.add_row(example.objects, escape(example.similarity), verdict, escape(validity.in_short()))
    console.print(table)
    for example in shown:
        if example.told:
            console.print(f"\n[bold]{escape(example.objects)}: {escape(example.similarity)}[/]")
            console.print(example.validity.why(), markup=False, highlight=False, soft_wrap=True)
    console.print("\nA similarity that is no kernel can be used as it is, or be repaired. The papers, repaired by")
    console.print(f"{changes}.", markup=False, highlight=False)
