"""The application: all commands, collected."""

from __future__ import annotations

from typing import Annotated

import typer

from similitude.cli import assess, check, compare, demo, explain, fit, info, kernels, predict, report
from similitude.cli.options import ungrouped

EPILOG = (
    "Exit codes: 0 success, 1 invalid data or model, or failed work, 2 invalid command line, "
    "3 'check' found a counterexample, 130 interrupted."
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"similitude {version('similitude')}")
        raise typer.Exit


def similitude(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error; in any position.")] = False,
) -> None:
    """Learn from any kernel or similarity function."""


app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode="rich", epilog=EPILOG)
app.callback()(similitude)
app.command()(demo.demo)
for command, example in (
    (check.check, check.EXAMPLE),
    (assess.assess, assess.EXAMPLE),
    (compare.compare, compare.EXAMPLE),
    (report.report, report.EXAMPLE),
    (fit.fit, fit.EXAMPLE),
    (predict.predict, predict.EXAMPLE),
    (explain.explain, explain.EXAMPLE),
    (info.info, info.EXAMPLE),
    (kernels.kernels, kernels.EXAMPLE),
):
    app.command(epilog=f"Example: similitude {example}")(ungrouped(command))
