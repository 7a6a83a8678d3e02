"""Whatever goes wrong, said in one or two lines, and the exit codes."""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback

DONE = 0
FAILED = 1
"""The data or the model is wrong, or the work failed."""

USAGE = 2
"""The command line is wrong: an option, an expression."""

REFUTED = 3
"""``check`` found a counterexample."""

INTERRUPTED = 130
CLOSED_PIPE = 141

COMPLETION = "_SIMILITUDE_COMPLETE"
"""Set by the shell when it asks how a line could go on."""


class UsageError(ValueError):
    """The command line asks for something that makes no sense."""


def exit_code(arguments: list[str]) -> int:
    """Run the command line; whatever goes wrong is written to standard error, without a traceback.

    ``--debug``, anywhere on the line, shows the traceback. With ``--json`` standard output gets one JSON object with
    the message as well.
    """
    _write_anything()
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    try:
        code = _run(arguments or ["--help"])
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        problem, code = "interrupted", INTERRUPTED
    except Exception as error:
        if _closed_pipe(error):
            _write_no_more()
            return CLOSED_PIPE
        if debug:
            traceback.print_exc()
        problem, code = _told(error, debug)
    _report(problem, code, "--json" in arguments)
    return code


def _write_anything() -> None:
    """Escape what the encoding of a stream lacks instead of failing; what goes to a closed stream goes nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (it stays open as long as the process)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _run(arguments: list[str]) -> int:
    import typer

    from similitude.cli.app import app

    command = typer.main.get_command(app())
    if COMPLETION in os.environ:
        command(prog_name="similitude")  # answers the shell and exits
    try:
        with command.make_context("similitude", arguments) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    return DONE


def _told(error: Exception, debug: bool) -> tuple[str, int]:
    """Return what to say of an error, and the exit code."""
    from similitude.cli.output import in_options
    from similitude.support.errors import ExpressionError, FileError

    if hasattr(error, "format_message"):  # the command line did not parse
        context = getattr(error, "ctx", None)
        hint = f"\nTry '{context.command_path} --help'." if context is not None else ""
        return f"{error.format_message()}{hint}", USAGE
    if isinstance(error, (UsageError, ExpressionError)):
        return str(error), USAGE
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror}", FAILED
    if isinstance(error, MemoryError):
        return f"not enough memory. {error}".rstrip(" ."), FAILED
    if isinstance(error, FileError):
        return in_options(str(error)), FAILED
    if isinstance(error, (ValueError, TypeError, ImportError, OSError)) and str(error):
        return str(error), FAILED
    hint = "" if debug else " (--debug shows where)"
    return f"unexpected {type(error).__name__}: {error}{hint}", FAILED


def _report(problem: str, code: int, as_json: bool) -> None:
    from similitude.cli.output import printable

    problem = printable(problem)
    try:
        if as_json:
            print(json.dumps({"error": problem, "exit_code": code}), flush=True)
        print(f"similitude: {problem}", file=sys.stderr, flush=True)
    except OSError:  # nobody listens
        _write_no_more()


def _closed_pipe(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno == errno.EPIPE


def _write_no_more() -> None:
    """Let what is still buffered for a closed pipe go nowhere, so that the interpreter ends quietly."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())
