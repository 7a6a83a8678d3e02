"""Make notebooks of the examples and run them: ``make notebooks``, or ``python tools/notebooks.py [NAME...]``.

Each page of ``examples/`` becomes a notebook in ``build/notebooks``, with its text, code and what running it shows. The
pages stay the only source: notebooks are made by sphinx-gallery, as those that the documentation offers for download.
"""

from __future__ import annotations

import copy
import json
import os
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from sphinx_gallery.gen_gallery import DEFAULT_GALLERY_CONF
from sphinx_gallery.notebook import jupyter_notebook
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

ROOT = Path(__file__).parents[1]
EXAMPLES, NOTEBOOKS = ROOT / "examples", ROOT / "build" / "notebooks"

LONGEST = 300
"""Seconds that a cell may take."""


def main(names: list[str]) -> int:
    """Make and run the notebooks of some pages, or of all; return 1 if a cell of one of them fails."""
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "SIMILITUDE_SHORT"):
        os.environ.setdefault(variable, "1")
    NOTEBOOKS.mkdir(parents=True, exist_ok=True)
    pages = [EXAMPLES / f"{name}.py" for name in names] or sorted(EXAMPLES.glob("*.py"))
    failed = [page.stem for page in pages if not runs(page)]
    print(f"{len(pages) - len(failed)} of {len(pages)} notebooks run, in {NOTEBOOKS}", flush=True)
    return 1 if failed else 0


def runs(page: Path) -> bool:
    """Make the notebook of a page, run it, and tell whether no cell failed."""
    notebook, start, error = notebook_of(page), time.monotonic(), ""
    where = {"metadata": {"path": str(EXAMPLES)}}
    client = NotebookClient(notebook, timeout=LONGEST, kernel_name="python3", resources=where)
    try:
        client.execute()
    except CellExecutionError as failure:
        error = f": {failure.ename}: {failure.evalue}"
    nbformat.write(notebook, NOTEBOOKS / f"{page.stem}.ipynb")
    print(f"{page.stem:28} {time.monotonic() - start:5.1f} s{error}", flush=True)
    return not error


def notebook_of(page: Path) -> nbformat.NotebookNode:
    """Return the notebook of a page, as sphinx-gallery makes it."""
    _, blocks = split_code_and_text_blocks(str(page))
    made = jupyter_notebook(blocks, copy.deepcopy(DEFAULT_GALLERY_CONF), str(NOTEBOOKS))
    made["metadata"]["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.reads(json.dumps(made), as_version=4)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
