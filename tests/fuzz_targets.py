"""What is called with any bytes: the readers of files, the expression language, and `load`.

`tools/fuzz.py` looks for bytes that these do not survive, and `tests/test_corpus.py` replays those that are kept in
`tests/corpus`. A target returns, or raises what nobody should see: anything but the error that its module documents.
"""

import atexit
import contextlib
import io
import json
import random
import shutil
import tempfile
import warnings
import zipfile
import zlib
from pathlib import Path

from forged_files import joined, parts_of

from similitude import files, load
from similitude.errors import ExpressionError, FileError, SavedModelError
from similitude.files import KINDS
from similitude.persistence.forms import FORMS
from similitude.persistence.model_files import model_bytes
from similitude.persistence.nodes import READERS
from similitude.persistence.registry import MODULES
from similitude.similarity.expressions import parse

CORPUS = Path(__file__).parent / "corpus"
SECTION = b"\n## "
"""Begins a file inside a folder or an archive: its name follows, up to the end of the line, then its content."""

LONGEST_NAME = 100
"""Letters of the name of such a file; those that a disk refuses are not what is tested."""

MANIFEST = parts_of(model_bytes([]))["manifest"]


def folder():
    """Return the folder of this process for files to be read, in memory where that is possible."""
    if not _folder:
        fast = Path("/dev/shm")
        _folder.append(Path(tempfile.mkdtemp(dir=fast if fast.is_dir() else None)))
        atexit.register(shutil.rmtree, _folder[0], True)
    return _folder[0]


_folder: list[Path] = []


# Readers.


def sections(data):
    """Return the files in a folder or an archive by name."""
    found = {}
    for piece in (b"\n" + data).split(SECTION)[1:]:
        name, _, content = piece.partition(b"\n")
        letters = [letter for letter in name.decode("ascii", "ignore") if letter.isalnum() or letter in "_."]
        found["".join(letters[:LONGEST_NAME])] = content
    return found


def zipped(data):
    """Return an archive of the sections, whose checksums are right; bytes of an archive are left as they are."""
    if data.startswith(b"PK"):
        return data
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, inside in sections(data).items():
            archive.writestr(name or "x", inside)
    return content.getvalue()


def options(data):
    """Return options of `read`, which depend on the bytes, so that a file in the corpus needs no others."""
    draw = random.Random(zlib.crc32(data))
    found = {
        "label": draw.choice([None, None, "y", "label", "header"]),
        "kind": draw.choice([None, None, None, *KINDS]),
    }
    in_batches = draw.random() < 0.3
    found["decimal"] = draw.choice([None, None, None, ".", ","])
    found["separator"] = draw.choice([None, None, None, ";", "tab"])
    found["encoding"] = draw.choice([None, None, None, None, "latin-1", "utf-16"])
    found["unlabeled"] = draw.choice(["refuse", "drop", "use", "keep"])
    found["missing"] = draw.choice([(), ("NA", "-")])
    return found, in_batches


def read(path, data):
    """Read a file, whole or in batches."""
    given, in_batches = options(data)
    try:
        if in_batches:
            for _ in files.batches(path, rows=2, **given):
                pass
        else:
            files.read(path, **given)
    except FileError:
        pass


def reader(ending, build=bytes):
    """Return a target for files with an ending."""

    def target(data):
        path = folder() / f"file{ending}"
        path.write_bytes(build(data))
        read(path, data)

    return target


SHEET = "xl/worksheets/sheet1.xml"
WORKBOOK = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override '
    'PartName="/xl/workbook.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"'
    f'/><Override PartName="/{SHEET}" ContentType='
    '"application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>',
    "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship '
    'Id="a" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="xl/workbook.xml"/></Relationships>',
    "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="b" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" '
    'Target="worksheets/sheet1.xml"/></Relationships>',
    "xl/workbook.xml": '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="Data" '
    'sheetId="1" r:id="b"/></sheets></workbook>',
}
"""A workbook but for its sheet."""


def workbook(data):
    """Return a workbook whose sheet has this XML; bytes of a workbook are left as they are."""
    if data.startswith(b"PK"):
        return data
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, inside in {**WORKBOOK, SHEET: data}.items():
            archive.writestr(name, inside)
    return content.getvalue()


def read_subfolders(data):
    """Read a folder of texts, images or GraphML files in two subfolders."""
    place = folder() / "labeled"
    shutil.rmtree(place, ignore_errors=True)
    for i, (name, content) in enumerate(sections(data).items()):
        inner = place / "ab"[i % 2]
        inner.mkdir(parents=True, exist_ok=True)
        (inner / f"{i}{name}").write_bytes(content)
    if place.exists():
        read(place, data)


def read_folder(data):
    """Read a folder of text files."""
    place = folder() / "graphs"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for name, content in sections(data).items():
        (place / f"DS_{name}.txt").write_bytes(content)
    read(place, data)


# Expressions and saved models.


def read_expression(data):
    """Read an expression, and print what it means."""
    with contextlib.suppress(ExpressionError):
        repr(parse(data.decode("utf-8", "replace")))


def load_model(data):
    """Load a file whose nodes are the first line and whose arrays are the rest; its digests are right."""
    nodes, _, arrays = data.partition(b"\n")
    path = folder() / "model.sim"
    path.write_bytes(joined(MANIFEST, nodes, arrays))
    with contextlib.suppress(SavedModelError):
        load(path)


TARGETS = {
    "csv": reader(".csv"),
    "tsv": reader(".tsv"),
    "jsonl": reader(".jsonl"),
    "parquet": reader(".parquet"),
    "arrow": reader(".arrow"),
    "fasta": reader(".fasta"),
    "npz": reader(".npz", zipped),
    "ts": reader(".ts"),
    "tu": read_folder,
    "zip": reader(".zip", zipped),
    "xlsx": reader(".xlsx", workbook),
    "svmlight": reader(".svmlight"),
    "graphml": reader(".graphml"),
    "folder": read_subfolders,
    "content": reader(""),
    "expression": read_expression,
    "load": load_model,
}


def run(name, data):
    """Call a target; only what it should not raise is raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        TARGETS[name](data)


# Changes of a saved model that leave it one.

NUMBERS = [
    0,
    1,
    -1,
    2,
    3,
    7,
    64,
    255,
    10**4,
    10**6,
    10**9,
    2**31,
    2**53,
    2**62,
    -(2**63),
    0.0,
    -0.0,
    0.5,
    1e-300,
    1e300,
]
TEXTS = [
    "",
    "a",
    "1e999999999",
    "nan",
    "inf",
    "-1",
    "0" * 50,
    "median",
    "precomputed",
    "auto",
    "linear",
    "\0",
    "\ud800",
]
TEXTS += ["<f8", "|b1", "<U5", "|V9", "<M8[ns]", "|S3", "<c16", "Int64", "string[pyarrow]", "us", "UTC", "D", "PCG64"]


def mutated(data, draw, most):
    """Return other nodes, or None if these bytes are no list of nodes."""
    line, _, arrays = data.partition(b"\n")
    try:
        nodes = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(nodes, list) or not all(isinstance(node, dict) for node in nodes) or not nodes:
        return None
    for _ in range(draw.choice([1, 1, 2, 3, 6])):
        draw.choice(CHANGES)(nodes, draw)
    if draw.random() < 0.2:
        arrays = draw.choice([arrays + bytes(draw.randrange(100)), arrays[: draw.randrange(len(arrays) + 1)]])
    made = json.dumps(nodes, separators=(",", ":")).encode() + b"\n" + arrays
    return made if len(made) <= most else None


def atom(nodes, draw):
    """Return a simple value or a reference."""
    return draw.choice(
        [
            draw.choice(NUMBERS),
            draw.choice(TEXTS),
            None,
            True,
            [draw.randrange(len(nodes) + 1)],
            [draw.randrange(len(nodes))],
        ]
    )


def change_part(nodes, draw):
    """Put another value into the place of a part, or change the number of parts."""
    parts = draw.choice(nodes).setdefault("parts", [])
    if not isinstance(parts, list):
        return
    how, place = draw.random(), draw.randrange(len(parts) + 1)
    if how < 0.7 and parts:
        parts[place % len(parts)] = atom(nodes, draw)
    elif how < 0.85:
        parts.insert(place, atom(nodes, draw))
    elif parts:
        del parts[place % len(parts)]


def change_kind(nodes, draw):
    """Make a node one of another kind or type."""
    node = draw.choice(nodes)
    if "type" in node and draw.random() < 0.7:
        node["type"] = draw.choice(list(MODULES))
    else:
        node["is"] = draw.choice([*READERS, *FORMS])


def change_field(nodes, draw):
    """Change the dtype, the shape or another field of a node."""
    node = draw.choice(nodes)
    name = draw.choice([*node, "dtype", "shape", "order", "names"])
    old = node.get(name)
    if name == "shape":
        node[name] = [draw.choice([0, 1, 2, 3, 5, 2**40]) for _ in range(draw.randrange(4))]
    elif isinstance(old, list) and old:
        old[draw.randrange(len(old))] = atom(nodes, draw)
    elif isinstance(old, dict):
        old[draw.choice(["dtype", "shape"])] = atom(nodes, draw)
    elif name != "is":
        node[name] = atom(nodes, draw)


def add_node(nodes, draw):
    """Append a container, or the same node again, that refers to others."""
    last, some = [len(nodes) - 1], [draw.randrange(len(nodes))]
    kind = draw.choice(["list", "tuple", "set", "frozenset", "dict", "objects", "texts", "packed"])
    of = draw.choice(["float", "int", "bytes"])
    nodes.append(
        draw.choice(
            [
                {
                    "is": kind,
                    "parts": draw.choice([[last, last], [last, some], [some]]),
                    "shape": [2],
                    "as": "list",
                    "of": of,
                },
                dict(nodes[some[0]]),
            ]
        )
    )


def add_form(nodes, draw):
    """Append an object of another library, made of anything."""
    kind = draw.choice(list(FORMS))
    names = list(FORM_PARTS.get(kind, ("text",)))
    nodes.append({"is": kind, "names": names, "parts": [atom(nodes, draw) for _ in names]})


def remove_node(nodes, draw):
    """Remove a node; references to later ones then mean others."""
    if len(nodes) > 1:
        del nodes[draw.randrange(len(nodes))]


CHANGES = [change_part, change_part, change_part, change_kind, change_field, add_node, add_form, remove_node]


def _form_parts():
    """Return the names of the parts of plain forms, from the files of the corpus."""
    found = {}
    for path in sorted((CORPUS / "load").glob("*")):
        for node in json.loads(path.read_bytes().partition(b"\n")[0]):
            if node.get("is") in FORMS and isinstance(node.get("names"), list):
                found[node["is"]] = node["names"]
    return found


FORM_PARTS = _form_parts() if CORPUS.is_dir() else {}
