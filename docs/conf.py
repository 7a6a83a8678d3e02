"""Sphinx settings: how the pages in this folder become build/docs (``make docs``)."""

import ast
import os
import re
import runpy
from importlib.metadata import version as version_of
from pathlib import Path

from docutils.nodes import SkipNode, Text, image, literal_block
from latex2mathml.converter import convert

HERE = Path(__file__).parent

# Matrices of examples are small: threads of BLAS would wait for each other, and for the other checks that run beside.
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

# If this variable is set, examples run in a short form. `SIMILITUDE_SHORT= make docs` runs them in full.
os.environ.setdefault("SIMILITUDE_SHORT", "1")

project = "similitude"
author = "similitude developers"
copyright = author
version = release = version_of("similitude")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
]
exclude_patterns = ["pictures", "live", "_templates", "**/README.md", "gallery/*.md5", "sg_execution_times.rst"]
templates_path = ["_templates"]
root_doc = "index"
language = "en"

# Pages are Markdown: $...$ is mathematics, headings have anchors, ::: opens an admonition.
myst_enable_extensions = ["attrs_inline", "colon_fence", "dollarmath"]
myst_heading_anchors = 3

# The copy button leaves out prompts and output.
copybutton_exclude = ".linenos, .gp, .go"

# The API: one page per public name, without private members and members inherited from scikit-learn.
default_role = "py:obj"
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
autodoc_inherit_docstrings = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
toc_object_entries_show_parents = "hide"

# Pictures: one small script each, in colors that are legible on light and on dark pages.
GRAY = "#808890"
PICTURES = {
    "figure.figsize": (7, 3),
    "figure.constrained_layout.use": True,
    "savefig.transparent": True,
    "svg.hashsalt": "similitude",
    "text.color": GRAY,
    "axes.edgecolor": GRAY,
    "axes.labelcolor": GRAY,
    "axes.titlecolor": GRAY,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": GRAY,
    "ytick.color": GRAY,
    "legend.frameon": False,
}

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "show_memory": False,
    "show_signature": False,
    "capture_repr": ("_repr_html_",),
    "min_reported_time": 1000,
    "download_all_examples": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "default_thumb_file": str(HERE / "_static" / "printed.svg"),
}

html_theme = "pydata_sphinx_theme"
html_title = "similitude"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_show_sourcelink = False
html_math_renderer = "mathml"
html_theme_options = {
    "show_toc_level": 2,
    "navigation_depth": 2,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
}
html_sidebars = {page.stem: [] for page in HERE.glob("*.md")}  # pages without subpages


def draw_pictures(app):
    """Run every script in pictures/ that is newer than its picture."""
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    for script in sorted((HERE / "pictures").glob("*.py")):
        picture = script.with_suffix(".svg")
        if picture.exists() and picture.stat().st_mtime > script.stat().st_mtime:
            continue
        with plt.rc_context(PICTURES):
            runpy.run_path(str(script))
            plt.savefig(picture, metadata={"Date": None})
            plt.close("all")


def drop_last_lines(app, doctree):
    """Remove the empty line at the end of each code block, which doctest requires in Markdown."""
    for block in doctree.findall(literal_block):
        block.rawsource = block.astext().rstrip()
        block.children = []
        block += Text(block.rawsource)


def describe_thumbnails(app, doctree):
    """Give the thumbnails of the gallery the first sentence of their pages as alternative text."""
    for thumbnail in doctree.findall(image):
        found = re.search(r"sphx_glr_(\w+)_thumb\.", thumbnail["uri"])
        page = found and HERE.parent / "examples" / f"{found[1]}.py"
        if page and page.exists():
            text = ast.get_docstring(ast.parse(page.read_text(encoding="utf-8"))).split("\n\n")[1]
            thumbnail["alt"] = re.split(r"(?<=[.?]) ", " ".join(text.split()))[0].replace("*", "")


def formula(source, display):
    """Return a formula as MathML, which browsers show without JavaScript."""
    bar = '<mo stretchy="false">&#x0007C;</mo>'
    result = convert(source, display=display).replace(bar, bar.replace("<mo", '<mo lspace="0" rspace="0"'))
    return result.replace("<math ", '<math displaystyle="true" ') if r"\frac" in source else result


def inline_formula(writer, node):
    """Write an inline formula."""
    writer.body.append(formula(node.astext(), "inline"))
    raise SkipNode


def displayed_formula(writer, node):
    """Write a displayed formula."""
    writer.body.append(f'<div class="formula">{formula(node.astext(), "block")}</div>')
    raise SkipNode


def from_elsewhere(app, what, name, obj, skip, options):
    """Skip members that a class inherits from another library."""
    home = getattr(getattr(obj, "fget", obj), "__module__", None) or "similitude"
    return True if not home.startswith("similitude") else None


def setup(app):
    """Register the pictures, the formulas, the trimmed code blocks, texts of thumbnails and the members to skip."""
    app.connect("builder-inited", draw_pictures)
    app.connect("doctree-read", drop_last_lines)
    app.connect("doctree-read", describe_thumbnails)
    app.add_html_math_renderer("mathml", (inline_formula, None), (displayed_formula, None))
    app.connect("autodoc-skip-member", from_elsewhere)
