"""The commands, gathered."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from similitude.cli import assess, check, compare, demo, explain, fit, info, kernels, predict, report

EPILOG = (
    "Exit codes: 0 done, 1 the data or the model is wrong, 2 the command line is wrong, "
    "3 'check' found a counterexample, 130 interrupted."
)


def app() -> Any:
    """Return the command line as Typer runs it."""
    made = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode="rich", epilog=EPILOG)
    made.callback()(similitude)
    made.command()(demo.demo)
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
        made.command(epilog=example)(command)
    return made


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"similitude {version('similitude')}")
        raise typer.Exit


def similitude(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error arose; anywhere on the line.")] = False,
) -> None:
    """Learn from any kernel or similarity function."""
