"""Parquet files: legal ones are read whatever their pages are, damaged headers are refused before they take memory."""

import io
import resource

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from similitude import files  # noqa: E402
from similitude.data.sources.arrow_files import parquet_batches  # noqa: E402
from similitude.errors import FileError, SourceError  # noqa: E402
from similitude.sources import Source  # noqa: E402

CODECS = ["none", *(one for one in ("snappy", "gzip", "brotli", "lz4", "zstd") if pa.Codec.is_available(one))]

TABLE = pa.table(
    {
        "number": np.arange(300) / 7,
        "text": ["x" * (i % 40) if i % 3 else None for i in range(300)],
        "list": [[i, i + 1] if i % 5 else None for i in range(300)],
        "nested": [{"a.b": i, "c": [{"d": "e"}] * (i % 3)} for i in range(300)],
        "constant": [True] * 300,
        "missing": pa.nulls(300, pa.int32()),
        "bytes": pa.array([b"ab"] * 300, pa.binary(2)),
    }
)


def written(table, **options):
    content = io.BytesIO()
    pq.write_table(table, content, **options)
    return content.getvalue()


def read(content, **options):
    file = io.BytesIO(content)
    return pa.Table.from_batches(list(parquet_batches(file, **options)))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_legal_files_are_read(codec, version, dictionary):
    small = {"data_page_size": 100, "write_batch_size": 16, "row_group_size": 90}
    content = written(TABLE, compression=codec, data_page_version=version, use_dictionary=dictionary, **small)
    assert read(content).equals(TABLE)


def test_no_rows_and_empty_row_groups_are_legal():
    content = io.BytesIO()
    with pq.ParquetWriter(content, TABLE.schema) as out:
        for part in (TABLE[:0], TABLE[:5], TABLE[:0], TABLE[5:]):
            out.write_table(part)
    assert read(content.getvalue()).equals(TABLE)
    assert read(written(TABLE)).equals(TABLE)


def test_headers_may_be_long():
    text = "x" * 1024
    table = pa.table({"text": [text + "a", text + "b"]})
    assert read(written(table, write_statistics=True, use_dictionary=False)).equals(table)


def test_files_of_polars_are_legal():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"x": range(1000), "text": ["a", "b"] * 500, "list": [[1, 2]] * 1000})
    content = io.BytesIO()
    frame.write_parquet(content, row_group_size=300, data_page_size=500)
    assert polars.from_arrow(read(content.getvalue())).equals(frame)


# Damaged files.


def damaged(sizes):
    """Return a file whose first page announces other sizes, uncompressed and compressed."""
    content = written(pa.table({"x": np.zeros(9), "y": np.ones(9)}))
    assert content[4:10] == HEADER
    begin = HEADER[:3] + varint(sizes[0]) + b"\x15" + varint(sizes[1])
    return content[:4] + begin + content[10:]


HEADER = b"\x15\x04\x15\x10\x15\x14"
"""The kind of a page (a dictionary), and its sizes (8 and 10 bytes), as the fields of a structure in Thrift."""


def varint(value):
    value *= 2  # the last bit is the sign
    found = b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


@pytest.mark.parametrize("sizes", [(1_400_000_000, 10), (8, 1_400_000_000), (8, 1 << 40), (2**31 - 1, 2**31 - 1)])
def test_pages_that_announce_too_much_are_refused_and_take_no_memory(tmp_path, sizes):
    path = tmp_path / "small.parquet"
    path.write_bytes(damaged(sizes))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(FileError, match=r"small.parquet: truncated, damaged or of another format"):
        files.read(path)
    with pytest.raises(FileError, match="truncated, damaged"):
        next(files.batches(path))
    with pytest.raises(SourceError, match=r"shard small.parquet cannot be read: it is truncated, damaged"):
        next(iter(Source(path, "y").batches(10)))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss <= before + (1 << 16)  # KiB


def test_a_file_of_many_columns_in_a_row_group_is_refused_before_it_is_read(tmp_path, monkeypatch):
    columns = {f"c{j}": np.random.default_rng(j).random(3000) for j in range(100)}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=3000)
    source = Source(tmp_path / "t.parquet")
    assert source.batch_rows(2**26) == 4096
    monkeypatch.setattr(Source, "batches", lambda *given: pytest.fail("it was read"))
    with pytest.raises(MemoryError, match="fewer rows in a row group"):
        source.batch_rows(2**22)
