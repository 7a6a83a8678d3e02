"""The application: all commands, and running one of them."""

from __future__ import annotations

import dataclasses
import errno
import inspect
import os
import sys
import traceback
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

from similitude.cli import (
    assess,
    cache,
    check,
    compare,
    demo,
    drift,
    duplicates,
    explain,
    export,
    fit,
    info,
    kernels,
    predict,
    report,
)
from similitude.cli.errors import CLOSED_PIPE, INTERRUPTED, SUCCESS, discard_output, message_of, report_error
from similitude.cli.help import Command, Group

COMPLETION = "_SIMILITUDE_COMPLETE"
"""Set by the shell when it asks for completions."""

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


def _ungrouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose signature, which Typer reads, has single options instead of groups.

    A group is a dataclass whose fields are options and whose methods use them.
    """
    groups: dict[str, tuple[Any, list[str]]] = {}
    options: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        group: Any = parameter.annotation
        if dataclasses.is_dataclass(group):
            hints = get_type_hints(group, include_extras=True)
            fields = inspect.signature(parameter.annotation).parameters
            groups[parameter.name] = group, list(fields)
            options += [field.replace(annotation=hints[name]) for name, field in fields.items()]
        else:
            options.append(parameter)

    def run(**given: Any) -> None:
        for name, (group, fields) in groups.items():
            given[name] = group(**{field: given.pop(field) for field in fields})
        command(**given)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {option.name: option.annotation for option in options}
    by_name = inspect.Parameter.KEYWORD_ONLY
    run.__signature__ = inspect.Signature([option.replace(kind=by_name) for option in options])  # type: ignore[attr-defined]
    return run


app = typer.Typer(cls=Group, pretty_exceptions_enable=False, rich_markup_mode=None, epilog=EPILOG)
app.callback()(similitude)
app.command(cls=Command)(demo.demo)
for command, example in (
    (check.check, "check genes.csv --label class --similarity 'spectrum(p=3) + 0.5*edit()'"),
    (assess.assess, "assess genes.csv --label class --similarity 'spectrum(p=4)'"),
    (compare.compare, "compare genes.csv --label class"),
    (report.report, "report genes.csv --label class -o report.html"),
    (fit.fit, "fit genes.csv --label class -o genes.sim --similarity 'spectrum(p=4)'"),
    (predict.predict, "predict genes.sim new.csv -o predictions.csv --probabilities"),
    (explain.explain, "explain genes.sim new.csv --row 3"),
    (duplicates.duplicates, "duplicates names.csv --similarity edit --threshold 0.85"),
    (drift.drift, "drift january.csv june.csv --label class"),
    (info.info, "info genes.sim"),
    (export.export, "export flowers.sim flowers.onnx"),
    (kernels.kernels, "kernels spectrum"),
):
    app.command(cls=Command, epilog=f"Example: similitude {example}")(_ungrouped(command))


caches = typer.Typer(cls=Group, rich_markup_mode=None, help="Files with remembered similarities of pairs.")
maintenance: tuple[tuple[Callable[..., None], str], ...] = (
    (cache.info, "info pairs.sqlite"),
    (cache.merge, "merge all.sqlite monday.sqlite tuesday.sqlite"),
    (cache.export, "export pairs.sqlite -o pairs.csv"),
    (cache.prune, "prune pairs.sqlite --older-than 30"),
)
for work, example in maintenance:
    caches.command(cls=Command, epilog=f"Example: similitude cache {example}")(_ungrouped(work))
app.add_typer(caches, name="cache")


def exit_code(arguments: list[str]) -> int:
    """Run the command line and return its exit code; errors are written to standard error, without a traceback.

    ``--debug``, in any position, shows the traceback. With ``--json``, standard output gets a JSON object with the
    message as well.
    """
    _prepare_streams()
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    try:
        code = _run(arguments or ["--help"])
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        message, code = "interrupted", INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.EPIPE:
            discard_output()
            return CLOSED_PIPE
        if debug:
            traceback.print_exc()
        message, code = message_of(error, debug)
    report_error(message, code, "--json" in arguments)
    discard_output()  # on a full disk the interpreter would fail once more to write what is buffered
    return code


def _prepare_streams() -> None:
    """Escape characters that a stream cannot encode, and replace closed streams by the null device."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (open as long as the process)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _run(arguments: list[str]) -> int:
    command = typer.main.get_command(app)
    if COMPLETION in os.environ:
        command(prog_name="similitude")  # answers the shell and exits
    try:
        with command.make_context("similitude", arguments) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    return SUCCESS
