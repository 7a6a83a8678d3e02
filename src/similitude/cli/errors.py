"""Error messages of one or two lines, and exit codes."""

from __future__ import annotations

import json
import os
import re
import sys
from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended."""

    SUCCESS = 0
    FAILURE = 1  # the data or the model is invalid, or the work failed
    USAGE = 2  # the command line is invalid: an option, an expression
    REFUTED = 3  # 'check' found a counterexample
    INTERRUPTED = 130
    CLOSED_PIPE = 141

    __str__ = int.__repr__  # Python 3.10 writes the name


class UsageError(ValueError):
    """The command line is invalid."""


def message_of(error: Exception, debug: bool) -> tuple[str, int]:
    """Return the message for an error, and the exit code."""
    from similitude.cli.output import in_options
    from similitude.errors import BudgetError, CacheError, ExpressionError, FileError

    if hasattr(error, "format_message"):  # raised by Typer
        context = getattr(error, "ctx", None)
        message = _of_typer(error.format_message())
        if context is not None:
            message += f"\nTry '{context.command_path} --help'."
        return message, ExitCode.USAGE
    if isinstance(error, (UsageError, ExpressionError)):
        return str(error), ExitCode.USAGE
    if isinstance(error, OSError) and error.strerror:
        return ": ".join(filter(None, (error.filename and str(error.filename), error.strerror))), ExitCode.FAILURE
    if isinstance(error, MemoryError):
        return f"not enough memory. {error}".rstrip(" ."), ExitCode.FAILURE
    if isinstance(error, FileError):
        return in_options(str(error)), ExitCode.FAILURE
    if isinstance(error, (ValueError, TypeError, ImportError, OSError, BudgetError, CacheError)) and str(error):
        return str(error), ExitCode.FAILURE
    hint = " (--debug shows where)" * (not debug)
    return f"unexpected {type(error).__name__}: {error}{hint}", ExitCode.FAILURE


def _of_typer(message: str) -> str:
    """Return a message of Typer in the words of the command line."""
    message = re.sub(r"Input should be a valid integer.*", "it must be a whole number", message)
    message = re.sub(r"Input should be a valid number.*", "it must be a number", message)
    message = re.sub(r"Input should be greater than or equal to", "it must be at least", message)
    return message.replace("Value error, ", "")


def report_error(message: str, code: int, as_json: bool) -> None:
    """Write a message to standard error, and to standard output as JSON if that was asked for."""
    from similitude.cli.output import Terminal
    from similitude.support import printable

    message = printable(message)
    try:
        Terminal(sys.stderr).say(f"similitude: {message}")
        sys.stderr.flush()
        if as_json:
            print(json.dumps({"error": message, "exit_code": code}), flush=True)
    except OSError:  # the streams are closed
        discard_output()


def discard_output() -> None:
    """Send what cannot be written (a closed pipe, a full disk) to the null device, so that Python exits quietly."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())
