"""Parquet files: legal ones are read whatever their pages are, damaged headers are refused before they take memory."""

import io
import tracemalloc

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from similitude import files  # noqa: E402
from similitude.data.sources.parquet_pages import HARMLESS_PAGE, HEADER_BYTES, check_pages  # noqa: E402
from similitude.data.sources.record_batches import parquet_batches  # noqa: E402
from similitude.data.sources.thrift_compact import DEEPEST_STRUCT, ThriftReader  # noqa: E402
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


@pytest.mark.parametrize("codec", CODECS)
def test_large_pages_that_compress_as_well_as_their_codec_can_are_read(codec):
    """Each ratio is large enough for zeros, the best that can happen to it."""
    table = pa.table({"zeros": np.zeros(HARMLESS_PAGE // 8 + 1000)})
    content = written(table, compression=codec, use_dictionary=False, data_page_size=1 << 30, write_batch_size=1 << 30)
    check_pages(io.BytesIO(content))


def test_no_rows_and_empty_row_groups_are_legal():
    content = io.BytesIO()
    with pq.ParquetWriter(content, TABLE.schema) as out:
        for part in (TABLE[:0], TABLE[:5], TABLE[:0], TABLE[5:]):
            out.write_table(part)
    assert read(content.getvalue()).equals(TABLE)
    check_pages(io.BytesIO(written(TABLE[:0])))


def test_headers_may_be_long():
    text = "x" * (4 * HEADER_BYTES)
    table = pa.table({"text": [text + "a", text + "b"]})
    assert read(written(table, write_statistics=True, use_dictionary=False)).equals(table)


def test_files_of_polars_are_legal():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"x": range(1000), "text": ["a", "b"] * 500, "list": [[1, 2]] * 1000})
    content = io.BytesIO()
    frame.write_parquet(content, row_group_size=300, data_page_size=500)
    assert polars.from_arrow(read(content.getvalue())).equals(frame)


# Damaged files.


def zigzag(value):
    """Return an integer as Thrift writes it."""
    value, found = 2 * value, b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


def damaged(announced, **options):
    """Return a file whose first page announces other sizes (by the position among the first three fields) or values."""
    content = written(pa.table({"x": np.zeros(9), "y": np.ones(9)}), **options)
    header = ThriftReader(content[4:])
    fields = header.struct()
    values = fields.get(7) or fields[5]
    old = b"".join(b"\x15" + zigzag(fields[one]) for one in (1, 2, 3))
    new = b"".join(b"\x15" + zigzag(announced.get(one, fields[one])) for one in (1, 2, 3))
    begin = content[4 : 4 + header.at].replace(old, new, 1)
    if "values" in announced:
        begin = begin.replace(b"\x4c\x15" + zigzag(values[1]), b"\x4c\x15" + zigzag(announced["values"]), 1)
    return content[:4] + begin + content[4 + header.at :]


@pytest.mark.parametrize(
    ("announced", "problem"),
    [
        ({2: 1_400_000_000}, r"announces 1,400,000,000 bytes and has at most \d+"),
        ({3: 1_400_000_000}, r"announces 1,400,000,000 bytes where the file has [\d,]+"),
        ({3: 1 << 40}, r"announces 1,099,511,627,776 bytes"),
        ({"values": 1 << 30}, r"announces 1,073,741,824 values in 8 bytes"),
    ],
)
def test_pages_that_announce_too_much_are_refused_before_they_take_memory(tmp_path, announced, problem):
    path = tmp_path / "small.parquet"
    path.write_bytes(damaged(announced))
    used = pa.default_memory_pool().max_memory()
    message = rf"column 'x': the page at byte \d+ {problem}.*: copy, download or write the file again"
    with pytest.raises(FileError, match=rf"small.parquet: {message}"):
        files.read(path)
    with pytest.raises(FileError, match=message):
        next(files.batches(path))
    with pytest.raises(SourceError, match=message):
        next(iter(Source(path, "y").batches(10)))
    assert pa.default_memory_pool().max_memory() <= max(used, 1 << 26)


def test_a_column_that_is_not_read_may_be_damaged():
    content = damaged({3: 1 << 40})
    check_pages(io.BytesIO(content), columns=["z"])
    check_pages(io.BytesIO(content), row_groups=[])
    with pytest.raises(FileError, match="column 'x'"):
        check_pages(io.BytesIO(content), columns=["x"])


def test_values_of_thrift():
    assert ThriftReader(b"\x15\x03\x18\x02ab\x19\x25\x02\x04\x11\x00").struct() == {1: -2, 2: b"ab", 3: [1, 2], 4: None}
    assert ThriftReader(b"\x05\x28\x01\x00").struct() == {20: -1}, "a number of a field in full"
    with pytest.raises(IndexError):
        ThriftReader(b"\x18\x05ab\x00").struct()
    with pytest.raises(ValueError, match="type 15"):
        ThriftReader(b"\x1f\x00").struct()
    with pytest.raises(ValueError, match="64 bits"):
        ThriftReader(b"\x15" + b"\xff" * 20).struct()
    with pytest.raises(ValueError, match="nested too deeply"):
        ThriftReader(b"\x1c" * (DEEPEST_STRUCT + 1)).struct()


def test_a_file_of_many_columns_in_a_row_group_is_refused_before_it_is_read(tmp_path, monkeypatch):
    columns = {f"c{j}": np.random.default_rng(j).random(3000) for j in range(100)}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=3000)
    source = Source(tmp_path / "t.parquet")
    assert source.batch_rows(2**26) == 4096
    monkeypatch.setattr(Source, "batches", lambda *given: pytest.fail("it was read"))
    with pytest.raises(MemoryError, match="fewer rows in a row group"):
        source.batch_rows(2**22)


def test_the_pages_of_a_shard_are_checked_once_for_all_passes(tmp_path, monkeypatch):
    pq.write_table(TABLE.select(["number"]), tmp_path / "t.parquet", row_group_size=10)
    found = []

    def counted(*given):
        found.append(given)
        return check_pages(*given)

    monkeypatch.setattr("similitude.data.sources.arrow_reader.check_pages", counted)
    source = Source(tmp_path / "t.parquet")
    source.batch_rows(2**28)
    assert sum(len(X) for X, *_ in source) == sum(len(X) for X, *_ in source) == 300
    assert len(found) == 1


def test_row_groups_are_read_from_the_footer_one_at_a_time():
    table = pa.table({f"c{j}": np.arange(3000.0) for j in range(5)})
    content = io.BytesIO(written(table, row_group_size=10))
    check_pages(content)  # what is allocated only once is there
    tracemalloc.start()
    try:
        check_pages(content)
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()
