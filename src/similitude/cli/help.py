"""The text of ``--help``, wrapped at words to the width of the terminal."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from typer.core import TyperCommand, TyperGroup

COLUMN = 22
"""Where descriptions start, beside what they describe."""

NARROW_TERMINAL = 70
"""On narrower terminals, descriptions start below what they describe."""

WIDEST_HELP = 100
"""Longer lines are hard to read."""

_WORD = re.compile(r"(?:'[^']*'|\S)+")


class Command(TyperCommand):
    """A command whose help is that of `help_text`."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write(help_text(self, ctx, _width()))


class Group(TyperGroup):
    """A group of commands whose help is that of `help_text`."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write(help_text(self, ctx, _width()))


def help_text(command: Any, ctx: Any, width: int) -> str:
    """Return the help of a command: how it is called, what it does, arguments, options or commands, and an example."""
    parameters = [one for one in command.get_params(ctx) if not getattr(one, "hidden", False)]
    arguments = [one for one in parameters if one.param_type_name == "argument"]
    options = [one for one in parameters if one.param_type_name == "option"]
    commands = [command.get_command(ctx, name) for name in command.list_commands(ctx)] if _is_group(command) else []
    words = ["COMMAND [OPTIONS]"] if commands else [*(one.metavar for one in arguments), "[OPTIONS]"]
    parts = [
        _wrapped(f"Usage: {ctx.command_path} {' '.join(words)}", width),
        *(_wrapped(one, width) for one in _paragraphs(command)),
        _section("Commands", [(one.name, _paragraphs(one)[0]) for one in commands], width),
        _section("Arguments", [(one.metavar, one.help) for one in arguments], width),
        _section("Options", [(_spelled(one), _described(one)) for one in options], width),
        _ending(command.epilog or "", width),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _paragraphs(command: Any) -> list[str]:
    """Return what a command does, from its docstring."""
    return [" ".join(one.split()) for one in (command.help or "").split("\n\n")]


def _is_group(command: Any) -> bool:
    return hasattr(command, "list_commands")


def _width() -> int:
    return min(max(shutil.get_terminal_size().columns, 20), WIDEST_HELP)


def _section(title: str, entries: Sequence[tuple[str, str]], width: int) -> str:
    """Return a title and entries, each with its description beside it, or below where there is no room."""
    if not entries:
        return ""
    column = 6 if width < NARROW_TERMINAL else COLUMN
    return "\n".join([f"{title}:", *(line for entry in entries for line in _entry(*entry, column, width))])


def _entry(name: str, description: str, column: int, width: int) -> Iterable[str]:
    lines = _wrapped(description, width, " " * column).split("\n")
    if len(name) + 4 > column:
        return [f"  {name}", *lines]
    return [f"  {name}".ljust(column) + lines[0].lstrip(), *lines[1:]]


def _spelled(option: Any) -> str:
    """Return how an option is written: its names, and what follows them."""
    names = ", ".join(sorted(option.opts, key=len))
    if option.is_flag:
        return "/".join([names, *option.secondary_opts])
    return f"{names} {option.metavar or option.name.upper()}"


def _described(option: Any) -> str:
    """Return the help of an option with its default."""
    text = option.help or ""
    if option.required:
        return f"{text} Required."
    if option.is_flag or not option.show_default or option.default in (None, ""):
        return text
    return f"{text} Default: {option.default}."


def _ending(epilog: str, width: int) -> str:
    r"""Return what follows the options; an example may be pasted into a shell, also where it takes several lines.

    >>> print(_ending("Example: similitude check -s 'edit() + linear()' genes.csv", 40))
    Example:
      similitude check -s \
        'edit() + linear()' genes.csv
    """
    if not epilog.startswith("Example: "):
        return _wrapped(epilog, width)
    lines = ["  "]
    for word in _WORD.findall(epilog.removeprefix("Example: ")):
        if len(lines[-1]) + len(word) + 3 > width and lines[-1].strip():
            lines.append("    ")
        lines[-1] += word if lines[-1].isspace() else f" {word}"
    return "Example:\n" + " \\\n".join(lines)


def _wrapped(text: str, width: int, indent: str = "") -> str:
    return textwrap.fill(
        text, width - 1, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
