"""Put live source into Markdown: after ``<!-- include: PATH [NAME] -->`` comes the file, or (in Python) one part of it.

Without arguments the pages are rewritten; ``--check`` only tells whether they are up to date.
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ("CONTRIBUTING.md", "docs/engines.md")
BLOCK = re.compile(r"(<!-- include: (\S+)(?: (\S+))? -->\n```(?:python|cpp)\n).*?```\n", re.DOTALL)


def source(path: str, name: str | None) -> str:
    """Return the text of a file, or of one class or function in it."""
    text = (ROOT / path).read_text()
    if name is None:
        return text
    (node,) = (node for node in ast.parse(text).body if getattr(node, "name", None) == name)
    return ast.get_source_segment(text, node) + "\n"


def filled(page: str) -> str:
    """Return a page with its included source as it is now."""
    return BLOCK.sub(lambda match: f"{match[1]}{source(match[2], match[3])}```\n", page)


def main() -> int:
    """Rewrite the pages, or check them."""
    stale = [name for name in PAGES if filled((ROOT / name).read_text()) != (ROOT / name).read_text()]
    if "--check" in sys.argv:
        print("\n".join(f"{name} shows old source: run make docs" for name in stale))
        return len(stale)
    for name in stale:
        (ROOT / name).write_text(filled((ROOT / name).read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
