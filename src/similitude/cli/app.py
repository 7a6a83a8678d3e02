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
    (check.check, "check genes.csv --label class --similarity 'spectrum(p=3) + 0.5*edit()'"),
    (assess.assess, "assess genes.csv --label class --similarity 'spectrum(p=4)'"),
    (compare.compare, "compare genes.csv --label class --similarity 'spectrum(p=4)' --similarity edit"),
    (report.report, "report genes.csv --label class -o report.html"),
    (fit.fit, "fit genes.csv --label class -o genes.sim --similarity 'spectrum(p=4)'"),
    (predict.predict, "predict genes.sim new.csv -o predictions.csv --probabilities"),
    (explain.explain, "explain genes.sim new.csv --row 3"),
    (info.info, "info genes.sim"),
    (kernels.kernels, "kernels spectrum"),
):
    app.command(epilog=f"Example: similitude {example}")(ungrouped(command))
