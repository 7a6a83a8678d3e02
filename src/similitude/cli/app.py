"""The application: all commands, their help, and running one of them."""

from __future__ import annotations

import dataclasses
import errno
import inspect
import io
import os
import re
import shutil
import sys
import traceback
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from typer.core import TyperCommand, TyperGroup

from similitude.cli import (
    cache,
    compare,
    demo,
    explain,
    fit,
    kernels,
    predict,
    report,
    rows,
    saved_models,
    similarity,
)
from similitude.cli.errors import ExitCode, discard_output, message_of, report_error
from similitude.cli.options import OPTION_OF, PANELS


class _InPanels:
    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(help_text(self, ctx))


class Command(_InPanels, TyperCommand):
    """A command whose help is that of `help_text`."""


class Group(_InPanels, TyperGroup):
    """A group of commands whose help is that of `help_text`."""


def help_text(command: Any, ctx: Any) -> str:
    """Return the help of a command: how it is called, what it does, its panels, and an example."""
    width = min(max(shutil.get_terminal_size().columns, 20), 100)  # longer lines are hard to read
    page = Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False, color_system=None)
    panels: dict[str, list[tuple[str, str]]] = {}
    if isinstance(command, Group):
        for name in command.list_commands(ctx):
            about = _paragraphs(command.get_command(ctx, name))[0]
            panels.setdefault("Commands", []).append((name, about))
    words = ["COMMAND"] if panels else []
    for one in command.get_params(ctx):
        if one.param_type_name == "argument":
            words.append(one.metavar)
            panels.setdefault("Arguments", []).append((one.metavar, one.help))
        elif not one.hidden:
            panel = getattr(one, "rich_help_panel", None) or "Options"
            panels.setdefault(panel, []).append((_spelled(one), _described(one)))
    page.print(" ".join(["Usage:", ctx.command_path, *words, "[OPTIONS]"]))
    for one in _paragraphs(command):
        page.print(f"\n{one}")
    for title in sorted(panels, key=PANELS.index):
        grid = Table.grid(padding=(0, 2, 0, 0))
        longest = max([len(name) for name, _ in panels[title]])
        grid.add_column(width=min(longest, 28, width // 3 + 2), overflow="fold")
        grid.add_column(overflow="fold")
        for entry in panels[title]:
            grid.add_row(*entry)
        page.print(f"\n{title}:", Padding.indent(grid, 2))
    page.print(f"\n{_ending(command.epilog or '', width)}".rstrip())
    return re.sub(r" +$", "", page.file.getvalue(), flags=re.MULTILINE)  # type: ignore[attr-defined]


def _paragraphs(command: Any) -> list[str]:
    """Return what a command does, from its docstring."""
    return [" ".join(one.split()) for one in (command.help or "").split("\n\n")]


def _spelled(option: Any) -> str:
    """Return how an option is written: its names, and what follows them."""
    names = ", ".join(sorted(option.opts, key=len))
    if option.is_flag:
        return "/".join([names, *option.secondary_opts])
    return f"{names} {option.metavar or option.name.upper()}"


def _described(option: Any) -> str:
    """Return the help of an option with its default."""
    if option.required:
        return f"{option.help} Required."
    if option.is_flag or option.default in (None, ""):
        return str(option.help)
    return f"{option.help} Default: {option.default}."


def _ending(epilog: str, width: int) -> str:
    """Return what follows the options; an example may be pasted into a shell, also where it takes several lines."""
    if not epilog.startswith("Example: "):
        return epilog
    lines = ["  "]
    for word in re.findall(r"(?:'[^']*'|\S)+", epilog.removeprefix("Example: ")):
        if len(lines[-1]) + len(word) + 3 > width and lines[-1].strip():
            lines.append("    ")
        lines[-1] += word if lines[-1].isspace() else f" {word}"
    return "Example:\n" + " \\\n".join(lines)


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


def register(app: typer.Typer, command: Callable[..., None], example: str, group: str = "") -> None:
    """Make a function a command, whose options are its parameters and, where these are dataclasses, their fields."""
    groups: dict[str, tuple[Any, list[str]]] = {}
    options: dict[str, inspect.Parameter] = {}
    parameters = inspect.signature(command, eval_str=True).parameters
    for parameter in parameters.values():
        kind: Any = parameter.annotation
        hints = {parameter.name: kind}
        fields = {parameter.name: parameter}
        if dataclasses.is_dataclass(kind):
            hints = get_type_hints(kind)
            fields = dict(inspect.signature(kind).parameters)  # type: ignore[arg-type]
            groups[parameter.name] = kind, list(fields)
        for name, field in fields.items():
            declared = OPTION_OF.get((group + command.__name__, name)) or OPTION_OF["", name]
            hint: Any = hints[name]
            hint = Annotated[hint, declared]
            options[name] = field.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY)

    def run(**given: Any) -> None:
        made = {name: kind(**{field: given[field] for field in fields}) for name, (kind, fields) in groups.items()}
        command(**made, **{name: given[name] for name in parameters if name not in groups})

    run.__name__ = command.__name__
    run.__doc__ = command.__doc__
    run.__annotations__ = {name: option.annotation for name, option in options.items()}
    run.__signature__ = inspect.Signature(list(options.values()))  # type: ignore[attr-defined]
    app.command(cls=Command, epilog=f"Example: similitude {group}{command.__name__} {example}")(run)


app = typer.Typer(cls=Group, pretty_exceptions_enable=False, rich_markup_mode=None, epilog=EPILOG)
app.callback()(similitude)
app.command(cls=Command)(demo.demo)
register(app, similarity.check, "genes.csv --label class --similarity 'spectrum(p=3) + 0.5*edit()'")
register(app, similarity.assess, "genes.csv --label class --similarity 'spectrum(p=4)'")
register(app, compare.compare, "genes.csv --label class")
register(app, report.report, "genes.csv --label class -o report.html")
register(app, fit.fit, "genes.csv --label class -o genes.sim --similarity 'spectrum(p=4)'")
register(app, predict.predict, "genes.sim new.csv -o predictions.csv --probabilities")
register(app, explain.explain, "genes.sim new.csv --row 3")
register(app, rows.duplicates, "names.csv --similarity edit --threshold 0.85")
register(app, rows.drift, "january.csv june.csv --label class")
register(app, saved_models.info, "genes.sim")
register(app, saved_models.export, "flowers.sim flowers.onnx")
register(app, kernels.kernels, "spectrum")

caches = typer.Typer(cls=Group, rich_markup_mode=None, help="Files with remembered similarities of pairs.")
register(caches, cache.info, "pairs.sqlite", "cache ")
register(caches, cache.merge, "all.sqlite monday.sqlite tuesday.sqlite", "cache ")
register(caches, cache.export, "pairs.sqlite -o pairs.csv", "cache ")
register(caches, cache.prune, "pairs.sqlite --older-than 30", "cache ")
app.add_typer(caches, name="cache")


def exit_code(arguments: list[str]) -> int:
    """Run the command line and return its exit code; errors are written to standard error, with --json also as JSON."""
    _prepare_streams()
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    try:
        command = typer.main.get_command(app)
        if "_SIMILITUDE_COMPLETE" in os.environ:  # the shell asks for completions
            command(prog_name="similitude")
        code: int = ExitCode.SUCCESS
        try:
            with command.make_context("similitude", arguments or ["--help"]) as context:
                command.invoke(context)
        except typer.Exit as end:
            code = end.exit_code
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        message = "interrupted"
        code = ExitCode.INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.EPIPE:
            discard_output()
            return ExitCode.CLOSED_PIPE
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
