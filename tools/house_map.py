"""Write the table of rooms into CONTRIBUTING.md; with ``--check`` only compare it.

The table stands between the lines ``<!-- map: begin -->`` and ``<!-- map: end -->``: the rooms (the folders of
``src/similitude``) in the order of the layers in ``pyproject.toml``, each with the first line of its docstring. Nothing
is imported.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "similitude"
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- map: begin -->", "<!-- map: end -->"


def layers() -> list[list[str]]:
    """Return the layers of rooms, highest first; rooms that no layer names come last, in a layer of their own."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    contract = next(one for one in settings["contracts"] if one["type"] == "layers")
    found = [re.findall(r"\w+", layer) for layer in contract["layers"]]
    found = [[room for room in layer if (PACKAGE / room / "__init__.py").exists()] for layer in found]
    rest = {path.parent.name for path in PACKAGE.glob("*/__init__.py")} - {room for layer in found for room in layer}
    return [layer for layer in [*found, sorted(rest)] if layer]


def description(path: Path) -> str:
    """Return the first line of a module's docstring as Markdown."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    if not docstring:
        raise ValueError(f"{path.relative_to(ROOT)} needs a docstring: its first line describes it in CONTRIBUTING.md")
    return as_markdown(docstring.splitlines()[0])


def as_markdown(line: str) -> str:
    """Turn one line of reStructuredText into Markdown: formulas, references and code; a bare ``<`` is escaped."""
    line = re.sub(r":math:`([^`]*)`", r"$\1$", line)
    line = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", line)
    line = line.replace("``", "`")
    parts = re.split(r"(`[^`]*`|\$[^$]*\$)", line)  # every second part is code or a formula
    return "".join(part if i % 2 else part.replace("<", r"\<").replace("*", r"\*") for i, part in enumerate(parts))


def rooms() -> Iterator[str]:
    """Yield the lines of the table of rooms."""
    yield "| layer | room | what it holds |"
    yield "|---|---|---|"
    for number, layer in enumerate(reversed(layers()), start=1):
        for room in sorted(layer):
            said = description(PACKAGE / room / "__init__.py").replace("|", r"\|")
            yield f"| {number} | `{room}/` | {said} |"


def house_map() -> str:
    """Return the table, and the public modules beside the rooms."""
    public = [f"`similitude.{path.stem}`" for path in sorted(PACKAGE.glob("*.py")) if path.name != "__init__.py"]
    return "\n".join(rooms()) + f"\n\nPublic names of rooms whose code stands one folder deeper: {', '.join(public)}."


def main() -> int:
    """Rewrite the table, or compare it; return 1 if it is out of date."""
    page = PAGE.read_text(encoding="utf-8")
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        print(f"{PAGE.name} must hold the lines {BEGIN!r} and {END!r} once each, in this order")
        return 1
    before, after = page[: page.index(BEGIN) + len(BEGIN)], page[page.index(END) :]
    current = f"{before}\n\n{house_map()}\n\n{after}"
    if "--check" in sys.argv:
        print("" if page == current else f"the table of rooms in {PAGE.name} is out of date: run make docs")
        return int(page != current)
    if page != current:
        PAGE.write_text(current, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
