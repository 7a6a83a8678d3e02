"""Damaged files: read as pandas reads them, or refused with a message of one line."""

import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, reject
from hypothesis import strategies as st

from similitude import files
from similitude.data.files.schema import OpenFile
from similitude.data.files.tables import csv_batches
from similitude.data.files.text_files import with_head
from similitude.errors import FileError

PIECES = ["a", "b", "1", "2.5", ",", ",", '"', '"', "\n", "\n", "\r\n", " ", "NA"]
CELLS = st.one_of(
    st.text("ab 1.NA", max_size=3),
    st.text('ab,"\r\n 1', max_size=4).map(lambda text: '"' + text.replace('"', '""') + '"'),
)
ROWS = st.lists(st.tuples(CELLS, CELLS).map(",".join), max_size=6).flatmap(
    lambda rows: st.sampled_from(["\n", "\r\n"]).map(lambda end: end.join(rows))
)


@given(st.one_of(ROWS, st.lists(st.sampled_from(PIECES), max_size=25).map("".join)))
def test_cells_are_those_that_pandas_reads_where_both_read_them(body):
    text = f"x,y\n{body}"
    try:
        file = OpenFile("csv", io.BytesIO(text.encode()), len(text), Path("rows.csv"))
        batches = list(csv_batches(with_head(file, ",")))
    except FileError:
        reject()  # if all texts were refused, hypothesis would say so
    ours = [list(row) for batch in batches for row in zip(*(cells.to_pylist() for cells in batch.columns), strict=True)]
    try:
        theirs = pd.read_csv(io.StringIO(text), dtype=str, na_filter=False, index_col=False)
    except pd.errors.ParserError:
        reject()
    assert ours == theirs.to_numpy().tolist()


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Return the bytes of a file of each format."""
    folder = tmp_path_factory.mktemp("sound")
    np.savez(folder / "x.npz", X=np.eye(3), y=np.arange(3))
    sp.save_npz(folder / "sparse.npz", sp.csr_matrix(np.eye(3)))
    frame = pd.DataFrame({"a": [1, 2], "t": ["x", None], "l": [[1, 2], [3]], "y": [1, 2]})
    frame.to_parquet(folder / "x.parquet")
    frame.to_feather(folder / "x.arrow")
    texts = {
        "csv": b'a,b,y\n1,"x, y",u\n2,,v\n3.5,"z\nq",u\n',
        "tsv": b"a\tb\ty\n1\t2\tu\n2\t3\tv\n",
        "jsonl": b'{"x": [1, 2], "y": 1}\n{"x": [3, 4], "y": null}\n',
        "ndjson": b'{"edges": [[0, 1], [1, 2]], "labels": [1, 2, 3], "y": 1}\n{"edges": [], "nodes": 2, "y": 0}\n',
        "fasta": b">a 1\nacgt\n>b 2\nggt\n",
        "ts": b"@problemName x\n@classLabel true a b\n@data\n1,2,3:4,5,6:a\n1,2:3,4:b\n",
        "unknown": b"a;b\n1;2\n",
        "csv.gz": gzip.compress(b"a,b,y\n1,2,u\n2,3,v\n"),
    }
    return {
        **texts,
        "npz": (folder / "x.npz").read_bytes(),
        "sparse.npz": (folder / "sparse.npz").read_bytes(),
        "parquet": (folder / "x.parquet").read_bytes(),
        "arrow": (folder / "x.arrow").read_bytes(),
    }


WORDS = [b",", b'"', b"\n", b"null", b"1e999", b"[", b"{", b"]", b"}", b"\xff", b"\0", b"-1", b":", b"?", b"9" * 25]


def damaged(content, seed):
    rng = np.random.default_rng(seed)
    content = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        place, length = int(rng.integers(len(content))), int(rng.integers(1, 9))
        how = rng.integers(4)
        if how == 0:
            content[place] = int(rng.integers(256))
        elif how == 1:
            content[place:place] = WORDS[int(rng.integers(len(WORDS)))]
        elif how == 2:
            del content[place : place + length]
        else:
            content[place:] = content[place : place + 3 * length]
        content = content or bytearray(b"x")
    return bytes(content)


@pytest.mark.parametrize(
    "ending",
    ["csv", "tsv", "jsonl", "ndjson", "fasta", "ts", "unknown", "csv.gz", "npz", "sparse.npz", "parquet", "arrow"],
)
def test_damaged_files_are_read_or_refused_in_one_line(sound, tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    path.write_bytes(sound[ending])
    schema = files.read(path).schema
    refused = []
    for seed in range(80):
        path.write_bytes(damaged(sound[ending], seed))
        options = [{}, {"label": "y"}, {"schema": schema}, {"kind": files.KINDS[seed % 6]}, {"object": "a"}][seed % 5]
        try:
            for data in files.batches(path, rows=1, **options) if seed % 2 else [files.read(path, **options)]:
                assert data.labels is None or len(data.labels) == len(data)
        except FileError as error:
            refused.append(str(error))
    assert len(refused) > 10 and not any("\n" in one or len(one) > 500 for one in refused)


def arrow_file(table):
    content = io.BytesIO()
    with pa.ipc.new_file(content, table.schema) as file:
        file.write_table(table)
    return content.getvalue()


MANY = 10**8


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("x.arrow", lambda: arrow_file(pa.table({"a": pa.nulls(MANY)})), "at least 100,000,000 rows in"),
        (
            "x.arrow",
            lambda: arrow_file(pa.table({"a": pa.RunEndEncodedArray.from_arrays([MANY], [1.5])})),
            "at least 100,000,000 rows in",
        ),
        (
            "DS/DS_graph_indicator.txt",
            lambda: b"1\n1\n100000000\n",
            "there are 3 nodes, and one belongs to graph 100000000",
        ),
    ],
    ids=["missing values", "equal values", "graphs"],
)
def test_a_small_file_of_many_rows_is_refused(name, content, match, tmp_path):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(content())
    if name.startswith("DS"):
        (tmp_path / "DS" / "DS_A.txt").write_text("1, 2\n")
    for read in (files.read, lambda path: list(files.batches(path, rows=10))):
        with pytest.raises(FileError, match=match):
            read(tmp_path / name.partition("/")[0])


def test_a_sparse_matrix_of_empty_rows_is_refused(tmp_path):
    parts = {"data": [1.0], "indices": [0], "indptr": [0, 1], "shape": [MANY, 1], "format": b"csc"}
    np.savez(tmp_path / "x.npz", **parts)
    with pytest.raises(FileError, match="of 100,000,000 rows has 1 values: leave out empty rows"):
        files.read(tmp_path / "x.npz")


def test_numbers_of_half_precision_are_read(tmp_path):
    half = pa.array(np.array([1.5, 2.0], np.float16))
    (tmp_path / "x.arrow").write_bytes(arrow_file(pa.table({"a": half, "b": half})))
    assert files.read(tmp_path / "x.arrow").objects.tolist() == [[1.5, 1.5], [2.0, 2.0]]


def test_letters_that_do_not_exist_are_refused(tmp_path):
    np.savez(tmp_path / "x.npz", X=np.array([[0x110000]], np.uint32).view("U1")[:, 0], y=np.arange(1))
    with pytest.raises(FileError, match="'X' has letters that do not exist"):
        files.read(tmp_path / "x.npz")


def test_archives_with_other_files_and_headers_that_python_cannot_read(tmp_path):
    for content, match in ((b"no array", "is not an array"), (b"\x93NUMPY\1\0\6\0{'a': ", "truncated, damaged")):
        with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
            archive.writestr("X", content)
        with pytest.raises(FileError, match=match):
            files.read(tmp_path / "x.npz")
