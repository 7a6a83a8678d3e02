"""``similitude kernels``: the similarities that have names."""

from __future__ import annotations

import difflib
import inspect
import re
import textwrap
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from rich.table import Table

from similitude.cli.errors import UsageError
from similitude.cli.output import Output, Terminal
from similitude.support import in_letters

PROOF_WORDS = {True: "kernel", False: "no proof", None: "by parts"}
CLAIM_WORDS = {"UNIT_DIAGONAL": "unit", "BOUNDED": "bounded"}


def kernels(out: Output, name: str | None = None) -> None:
    """List the similarities that have names, with their parameters, objects and claims."""
    from similitude.similarity.expressions import NAMES

    if name is None:
        found = sorted((_described(*one) for one in NAMES.items()), key=lambda one: (one["objects"], one["name"]))
        out.result({"command": "kernels", "kernels": found}, lambda terminal: _show_all(terminal, found))
        return
    if name not in NAMES:
        hint = "'similitude kernels' lists all"
        for near in difflib.get_close_matches(name, NAMES, n=1):
            hint = f"did you mean {near!r}?"
        raise UsageError(f"there is no similarity called {name!r}; {hint}")
    one = _described(name, NAMES[name])
    out.result({"command": "kernels", "kernels": [one]}, lambda terminal: _show(terminal, one))


def _described(name: str, cls: Any) -> dict[str, Any]:
    """Describe a similarity; the claims are those with its default parameters."""
    parameters = inspect.signature(cls).parameters.values()
    defaults = {one.name: one.default for one in parameters if one.default is not one.empty}
    simple = (bool, int, float, str, type(None))
    found = {
        "name": name,
        "parameters": {key: value if isinstance(value, simple) else repr(value) for key, value in defaults.items()},
        "required": [one.name for one in parameters if one.default is one.empty],
        "description": inspect.cleandoc(cls.__doc__ or ""),
    }
    if found["required"]:
        objects = cls.objects if isinstance(cls.objects, str) else "any"
        return {**found, "objects": objects, "claims": None, "kernel": None, "reason": None}
    k = cls()
    return {**found, "objects": k.objects, "claims": sorted(k.claims), "kernel": k.proven, "reason": k.reason}


def _call(one: dict[str, Any]) -> str:
    given = (f"{name}={value!r}" for name, value in one["parameters"].items())
    return f"{one['name']}({', '.join([*one['required'], *given])})"


def _show_all(terminal: Terminal, found: list[dict[str, Any]]) -> None:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(overflow="fold")
    for _ in range(2):
        grid.add_column(no_wrap=True)
    for place, one in enumerate(found):
        if place == 0 or found[place - 1]["objects"] != one["objects"]:
            grid.add_row(one["objects"], style="bold")
        claims = ", ".join(CLAIM_WORDS[claim] for claim in one["claims"] or () if claim in CLAIM_WORDS)
        grid.add_row(f"  {_call(one)}", PROOF_WORDS[one["kernel"]], claims)
    terminal.print(grid)
    terminal.say("\nbounded: within [-1, 1]; unit: K(x, x) = 1. All are symmetric.")
    terminal.say("'similitude kernels NAME' describes one. Combine: 'edit() + 2*spectrum(p=3)'.")


def _show(terminal: Terminal, one: dict[str, Any]) -> None:
    claims = "depend on its parts"
    if one["claims"] is not None:
        claims = ", ".join(one["claims"]) or "none"
    kernel = {
        True: one["reason"],
        False: "there is no proof: 'similitude check' searches for a counterexample",
        None: "if its parts are",
    }[one["kernel"]]
    terminal.say(_call(one), "bold")
    terminal.facts([("objects", one["objects"]), ("claims", claims), ("a kernel?", kernel)])
    described = one["description"].partition("Examples\n--------")[0].rstrip()
    terminal.print(f"\n{readable(described, terminal.width, not terminal.is_unicode)}")


def readable(description: str, width: int, ascii_only: bool = False) -> str:
    r"""Return a docstring without markup, formulas in letters, and paragraphs wrapped at words.

    >>> print(readable("the product :math:`\\lambda y`,\nsee ``f``\n\nOf note\n-------\nlong, longer", 20))
    the product λ y, see
    f
    <BLANKLINE>
    Of note
    -------
    long, longer
    """
    text = re.sub(r":math:`([^`]*)`", lambda found: in_letters(found[1], ascii_only), description)
    text = re.sub(r"\.\. math:: (.*(?:\n[ ]+.*)*)", lambda found: f"    {in_letters(found[1], ascii_only)}", text)
    text = re.sub(r":\w+:`([^`]*)`", r"\1", text).replace("``", "").replace(r"\|", "|")
    return "\n".join(_wrapped(lines, width) for lines in _paragraphs(text.split("\n")))


def _paragraphs(lines: list[str]) -> Iterator[list[str]]:
    """Yield lines that belong together: as far indented, without an empty line or an underlined title between them."""
    for _, group in groupby(lines, key=lambda line: (len(line) - len(line.lstrip()), bool(line.strip()))):
        found = list(group)
        is_title = len(found) > 1 and set(found[1]) == {"-"}
        yield from ([[one] for one in found[:2]] if is_title else [])
        rest = found[2:] if is_title else found
        if rest:
            yield rest


def _wrapped(lines: list[str], width: int) -> str:
    text = " ".join(line.strip() for line in lines)
    indent = " " * (len(lines[0]) - len(lines[0].lstrip()))
    return textwrap.fill(
        text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
