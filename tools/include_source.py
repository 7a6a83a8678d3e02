"""Put live source into Markdown pages; with ``--check`` only compare them.

The code block after a line ``<!-- include: WHAT -->`` is replaced by the source of WHAT:

- a file, by its path: ``<!-- include: examples/own_similarity.py -->``;
- a class or function of a Python file: ``<!-- include: path/to/module.py Name -->``;
- a class or function, by the path from which it is imported: ``<!-- include: similitude.kernels.Linear -->``.
  It is found wherever the package defines it.
"""

import ast
import importlib
import inspect
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = ("CONTRIBUTING.md", "docs/engines.md")
BLOCK = re.compile(r"(<!-- include: (\S+)(?: (\S+))? -->\n```(?:python|cpp)\n).*?```\n", re.DOTALL)

sys.path.append(str(ROOT / "src"))  # for a checkout that is not installed


def source(what: str, name: str | None = None) -> str:
    """Return the source of a file, of one class or function in a file, or of a name that can be imported."""
    if not (ROOT / what).exists():
        return inspect.getsource(imported(what))
    text = (ROOT / what).read_text(encoding="utf-8")
    if name is None:
        return text
    (node,) = (node for node in ast.parse(text).body if getattr(node, "name", None) == name)
    return str(ast.get_source_segment(text, node)) + "\n"


def imported(dotted: str) -> Any:
    """Return the class or function of this full name, such as ``similitude.kernels.Linear``."""
    module, _, name = dotted.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"{dotted!r} is neither a file of this repository nor a name to import: {error}") from error


def filled(page: str) -> str:
    """Return a page with its included source up to date."""
    return BLOCK.sub(lambda match: f"{match[1]}{source(match[2], match[3])}```\n", page)


def main() -> int:
    """Rewrite the pages, or compare them; return the number of pages that are out of date."""
    pages = {name: (ROOT / name).read_text(encoding="utf-8") for name in PAGES}
    stale = {name: filled(text) for name, text in pages.items() if filled(text) != text}
    if "--check" in sys.argv:
        print("\n".join(f"{name} shows old source: run make docs" for name in stale))
        return len(stale)
    for name, text in stale.items():
        (ROOT / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
