"""``similitude kernels``: what there is."""

from __future__ import annotations

import difflib
import inspect
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from similitude.cli.options import AsJson

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLE = "Example: similitude kernels spectrum"

Name = Annotated[str | None, typer.Argument(metavar="[NAME]", help="Tell one in full.", show_default=False)]


def kernels(name: Name = None, as_json: AsJson = False) -> None:
    """Show the similarities that can be called by name: what each takes, what it claims, its parameters."""
    from similitude.cli.output import Output
    from similitude.cli.problems import UsageError
    from similitude.similarity.expressions import NAMES

    out = Output(as_json)
    if name is None:
        found = sorted((_described(*one) for one in NAMES.items()), key=lambda one: (one["objects"], one["name"]))
        out.result({"command": "kernels", "kernels": found}, lambda console: _show_all(console, found))
        return
    if name not in NAMES:
        near = difflib.get_close_matches(name, NAMES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "'similitude kernels' shows all"
        raise UsageError(f"there is no similarity called {name!r}; {hint}")
    one = _described(name, NAMES[name])
    out.result({"command": "kernels", "kernels": [one]}, lambda console: _show(console, one))


def _described(name: str, cls: Any) -> dict[str, Any]:
    """Return what there is to know of a similarity; claims are those with its default parameters."""
    parameters = inspect.signature(cls).parameters.values()
    found = {
        "name": name,
        "parameters": {one.name: _written(one.default) for one in parameters if one.default is not one.empty},
        "required": [one.name for one in parameters if one.default is one.empty],
        "description": inspect.cleandoc(cls.__doc__ or ""),
    }
    if found["required"]:
        objects = cls.objects if isinstance(cls.objects, str) else "any"
        return {**found, "objects": objects, "claims": None, "kernel": None, "reason": None}
    k = cls()
    return {
        **found,
        "objects": k.objects,
        "claims": sorted(k.claims),
        "kernel": k.proof().holds,
        "reason": k.reason,
    }


def _written(value: Any) -> Any:
    """Return a default as JSON can hold it."""
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def _call(one: dict[str, Any]) -> str:
    given = (f"{name}={value!r}" for name, value in one["parameters"].items())
    return f"{one['name']}({', '.join([*one['required'], *given])})"


def _show_all(console: Console, found: list[dict[str, Any]]) -> None:
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(overflow="fold")
    for _ in range(2):
        grid.add_column(no_wrap=True)
    for place, one in enumerate(found):
        if place == 0 or found[place - 1]["objects"] != one["objects"]:
            grid.add_row(one["objects"], style="bold")
        grid.add_row(f"  {_call(one)}", _KERNEL[one["kernel"]], _claimed(one))
    console.print(grid)
    console.print("\nbounded: within [-1, 1]; unit: K(x, x) = 1. All are symmetric.")
    console.print("'similitude kernels NAME' tells one in full. They combine: 'edit() + 2*spectrum(p=3)'.")


_KERNEL = {True: "kernel", False: "no proof", None: "by parts"}


_UNPROVEN = {False: "there is no proof: 'similitude check' looks for a counterexample", None: "if its parts are"}


def _claimed(one: dict[str, Any]) -> str:
    words = {"UNIT_DIAGONAL": "unit", "BOUNDED": "bounded"}
    return ", ".join(words[claim] for claim in one["claims"] or () if claim in words)


def _show(console: Console, one: dict[str, Any]) -> None:
    from similitude.cli.output import show_facts

    described = _readable(one["description"].partition("Examples\n--------")[0].rstrip())
    console.print(_call(one), style="bold")
    show_facts(
        console,
        [
            ("takes", one["objects"]),
            ("claims", "what its parts allow" if one["claims"] is None else ", ".join(one["claims"]) or "nothing"),
            ("a kernel?", one["reason"] if one["kernel"] else _UNPROVEN[one["kernel"]]),
        ],
    )
    console.print(f"\n{described}", soft_wrap=True)


def _readable(description: str) -> str:
    """Return a docstring without the marks that are meant for other programs.

    >>> _readable("the product :math:`x y`, see ``f``")
    'the product x y, see f'
    """
    return re.sub(r":\w+:`([^`]*)`", r"\1", description).replace("``", "").replace(".. math:: ", "  ")
