"""Error messages of one or two lines, and exit codes."""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback

SUCCESS = 0
FAILURE = 1
"""The data or the model is invalid, or the work failed."""

USAGE = 2
"""The command line is invalid: an option, an expression."""

REFUTED = 3
"""``check`` found a counterexample."""

INTERRUPTED = 130
CLOSED_PIPE = 141

COMPLETION = "_SIMILITUDE_COMPLETE"
"""Set by the shell when it asks for completions."""


class UsageError(ValueError):
    """The command line is invalid."""


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
            _discard_output()
            return CLOSED_PIPE
        if debug:
            traceback.print_exc()
        message, code = _message(error, debug)
    _report(message, code, "--json" in arguments)
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
    import typer

    from similitude.cli.app import app

    command = typer.main.get_command(app)
    if COMPLETION in os.environ:
        command(prog_name="similitude")  # answers the shell and exits
    try:
        with command.make_context("similitude", arguments) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    return SUCCESS


def _message(error: Exception, debug: bool) -> tuple[str, int]:
    """Return the message for an error, and the exit code."""
    from similitude.cli.output import in_options
    from similitude.errors import ExpressionError, FileError

    if hasattr(error, "format_message"):  # raised by Typer
        context = getattr(error, "ctx", None)
        hint = f"\nTry '{context.command_path} --help'." if context is not None else ""
        return f"{error.format_message()}{hint}", USAGE
    if isinstance(error, (UsageError, ExpressionError)):
        return str(error), USAGE
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror}", FAILURE
    if isinstance(error, MemoryError):
        return f"not enough memory. {error}".rstrip(" ."), FAILURE
    if isinstance(error, FileError):
        return in_options(str(error)), FAILURE
    if isinstance(error, (ValueError, TypeError, ImportError, OSError)) and str(error):
        return str(error), FAILURE
    hint = "" if debug else " (--debug shows where)"
    return f"unexpected {type(error).__name__}: {error}{hint}", FAILURE


def _report(message: str, code: int, as_json: bool) -> None:
    from similitude.cli.output import printable

    message = printable(message)
    try:
        if as_json:
            print(json.dumps({"error": message, "exit_code": code}), flush=True)
        print(f"similitude: {message}", file=sys.stderr, flush=True)
    except OSError:  # the streams are closed
        _discard_output()


def _discard_output() -> None:
    """Redirect what is buffered for a closed pipe to the null device, so that the interpreter exits quietly."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())
