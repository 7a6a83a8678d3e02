"""The documentation without building it: pages, links, names. `make docs` builds it, warnings being errors."""

import importlib
import inspect
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LIVE = sorted((DOCS / "live").glob("*.py"))
WRITTEN = ("gallery", "api/generated", "_templates")  # by Sphinx, or for it
OTHERS = ("CONTRIBUTING.md", "CHANGELOG.md", "README.md")
MODULES = (
    "",
    "kernels",
    "maps",
    "learners",
    "bounds",
    "datasets",
    "report",
    "report.figures",
    "persistence",
    "engines",
    "checks",
    "errors",
    "files",
)
SAID = {"Tile", "Task", "Batch", "KINDS"}  # names of types, which a page tells in words


def written(page):
    return any(page.is_relative_to(DOCS / folder) for folder in WRITTEN)


PAGES = [page for page in sorted(DOCS.rglob("*.md")) + sorted(DOCS.rglob("*.rst")) if not written(page)]
PAGES = [page for page in PAGES if page.name != "sg_execution_times.rst"]
MARKDOWN = [*(page for page in PAGES if page.suffix == ".md"), *(ROOT / name for name in OTHERS)]


def name(path):
    return str(path.relative_to(ROOT))


def document(place):
    """Return the page of this name, without its ending, or None."""
    found = [place.with_name(place.name + ending) for ending in (".md", ".rst")]
    return next((page.resolve() for page in found if page.exists()), None)


def listed(page):
    """Return the entries of the tables of contents of a page."""
    tables = re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), re.DOTALL)
    return [line for table in tables for line in table.splitlines() if line and not line.startswith(":")]


def reachable(page, seen):
    """Add to `seen` all pages that tables of contents lead to."""
    seen.add(page.resolve())
    for entry in listed(page) if page.suffix == ".md" else []:
        target = document(page.parent / entry)
        if target is None:
            assert entry.startswith("gallery/"), f"{name(page)} lists {entry}, and there is no such page"
        elif target not in seen:
            reachable(target, seen)
    return seen


def test_every_page_is_in_a_table_of_contents():
    found = reachable(DOCS / "index.md", set())
    assert [name(page) for page in PAGES if page.resolve() not in found] == []


def outside_code(page):
    """Return the text of a page without its blocks of code."""
    return re.sub(r"^```(?!\{).*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def anchors(page):
    """Return the names by which the headings of a page are linked to."""
    headings = re.findall(r"^#+ (.*)$", outside_code(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", MARKDOWN, ids=name)
def test_links_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", outside_code(page)):
        if re.match(r"https?:|mailto:", target) or (target.endswith(".svg") and "pictures/" in target):
            continue
        place = (page.parent / target).resolve() if target else page
        assert place.exists(), f"{target} is linked to, and not there"
        assert not anchor or anchor in anchors(place), f"{target} has no heading #{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_references_to_pages_lead_somewhere(page):
    text = page.read_text()
    for target in re.findall(r"(?:\{doc\}|:doc:)`(?:[^`<]*<)?([^`>]+)>?`", text):
        place = DOCS / target[1:] if target.startswith("/") else page.parent / target
        assert target.startswith("gallery/") or document(place), f"there is no page {target}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_pictures_have_a_script_and_words(page):
    for words, picture in re.findall(r"!\[(.*?)\]\(([^)]*pictures/[^)]*)\)", page.read_text()):
        assert words, f"{picture} needs words for those who cannot see it"
        assert (page.parent / picture).with_suffix(".py").exists(), picture


def test_every_idea_has_code_that_runs_and_a_picture():
    for page in (DOCS / "theory").glob("*.md"):
        text = page.read_text()
        assert page.stem == "index" or (">>> " in text and "/pictures/" in text), page.name


def test_every_picture_is_shown():
    shown = "".join(page.read_text() for page in MARKDOWN)
    assert [script.stem for script in (DOCS / "pictures").glob("*.py") if f"/{script.stem}.svg" not in shown] == []


@pytest.mark.parametrize("page", MARKDOWN, ids=name)
def test_examples_end_with_an_empty_line(page):
    """Otherwise the end of the block would be taken for output."""
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        assert not re.match(">>>", block) or block.endswith("\n\n"), block


def resolved(dotted):
    """Return the object of this name."""
    parts = dotted.split(".")
    value = importlib.import_module(parts[0])
    for i, part in enumerate(parts[1:], start=2):
        if not hasattr(value, part):
            importlib.import_module(".".join(parts[:i]))
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("page", [*PAGES, *(ROOT / name for name in OTHERS)], ids=name)
def test_names_in_backticks_exist(page):
    for dotted in set(re.findall(r"`~?(similitude(?:\.\w+)+)(?=[`(])", page.read_text())):
        if not dotted.endswith((".sim", ".py")):
            resolved(dotted)


def entries():
    """Return the full names that the pages of the API list."""
    found = set()
    for page in (DOCS / "api").glob("*.rst"):
        module, listing = "", False
        for line in page.read_text().splitlines():
            if line.startswith(".. currentmodule:: "):
                module, listing = line.split(":: ")[1], False
            elif line.strip():
                listing = line == ".. autosummary::" or (listing and line.startswith("   "))
                if listing and re.match(r"   \w+$", line):
                    found.add(f"{module}.{line.strip()}")
    return found


def test_every_public_name_has_an_entry_and_every_entry_a_name():
    found = entries()
    objects = [resolved(entry) for entry in found]
    for module in MODULES:
        place = importlib.import_module(f"similitude.{module}".rstrip("."))
        missing = [one for one in place.__all__ if not any(getattr(place, one) is value for value in objects)]
        assert set(missing) <= SAID, f"no entry for {missing} of {place.__name__}"
    assert [entry for entry in found if entry.rsplit(".", 1)[1].startswith("_")] == []
    assert all(inspect.getdoc(value) for value in objects)


@pytest.mark.parametrize("page", [page for page in PAGES if page.suffix == ".md"], ids=name)
def test_included_files_are_there(page):
    for path in re.findall(r"```\{(?:literalinclude|include)\} (\S+)", page.read_text()):
        assert (page.parent / path).exists(), path


def test_live_source_is_shown():
    shown = "".join(page.read_text() for page in MARKDOWN)
    assert [path.name for path in LIVE if f"live/{path.name}" not in shown] == []


@pytest.mark.parametrize("path", LIVE, ids=lambda path: path.name)
def test_live_source_runs(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
