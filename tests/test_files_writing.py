"""Writing files, and reading them back."""

import gzip
import os
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from similitude import files
from similitude.data.files import check_writable
from similitude.errors import FileError

ENDINGS = ("csv", "tsv", "jsonl", "parquet", "arrow", "csv.gz", "tsv.gz", "jsonl.gz")

# pandas reads the nearest float only when asked to; since 3.1 always, and the argument is deprecated.
EXACT = {} if Version(pd.__version__) >= Version("3.1") else {"float_precision": "round_trip"}

text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
whole = st.integers(-(10**15), 10**15)
number = st.floats(allow_nan=False, allow_infinity=False, width=64)


@st.composite
def tables(draw):
    """Draw columns of equal length: numbers, whole numbers, text that is no number, with gaps or without.

    Names and texts have no blanks around them, and the first column no gaps: CSV and TSV files do not keep blanks and
    rows without any value.
    """
    rows = draw(st.integers(1, 12))
    columns = {}
    names = st.text("abc ü,\"'\t", min_size=1, max_size=5).map(str.strip).filter(bool)
    for name in draw(st.lists(names, min_size=2, max_size=5, unique=True)):
        values = draw(st.sampled_from([whole, number, text.map(lambda one: f"t{one}t"), st.booleans()]))
        gap = draw(st.booleans()) and bool(columns)
        columns[name] = draw(st.lists(st.one_of(values, st.none()) if gap else values, min_size=rows, max_size=rows))
        if columns[name] and all(value is None for value in columns[name]):
            columns[name] = [0] * rows
    return columns


@given(tables(), st.sampled_from(ENDINGS), st.integers(1, 5))
def test_any_table_is_read_back_from_every_format(tmp_path_factory, columns, ending, rows):
    path = tmp_path_factory.mktemp("table") / f"x.{ending}"
    files.write(path, columns)
    data = files.read(path, kind="table")
    assert list(data.objects) == list(columns)
    for name, values in columns.items():
        assert [None if pd.isna(one) else one for one in data.objects[name]] == values
        assert data.objects[name].dtype == pd.Series(values).dtype or None in values
    pieces = pd.concat([piece.objects for piece in files.batches(path, rows=rows, schema=data.schema)])
    pd.testing.assert_frame_equal(pieces.reset_index(drop=True), data.objects, check_dtype=False)


@given(tables())
def test_csv_is_what_pandas_and_polars_read(tmp_path_factory, columns):
    path = tmp_path_factory.mktemp("table") / "x.csv"
    files.write(path, columns)
    ours = files.read(path, kind="table").objects
    theirs = pd.read_csv(path, keep_default_na=False, na_values=[""], **EXACT)
    for name in columns:
        assert ours[name].isna().tolist() == theirs[name].isna().tolist()
        assert ours[name].dropna().tolist() == theirs[name].dropna().tolist()
        assert None in columns[name] or ours[name].dtype == theirs[name].dtype
    theirs = pl.read_csv(path, infer_schema=False)
    for place, values in enumerate(columns.values()):
        if isinstance(values[0], str):
            assert [one or None for one in theirs[:, place].to_list()] == values  # a gap between quotes is ""


@given(st.lists(text, min_size=1, max_size=20), st.sampled_from(ENDINGS))
def test_any_strings_are_read_back(tmp_path_factory, strings, ending):
    path = tmp_path_factory.mktemp("strings") / f"x.{ending}"
    files.write(path, {"y": range(len(strings)), "s": strings})
    data = files.read(path, label="y", object="s", kind="strings")
    assert data.objects == strings and data.labels.tolist() == list(range(len(strings)))


@given(
    st.lists(st.lists(number, min_size=1, max_size=5), min_size=1, max_size=8),
    st.sampled_from(["jsonl", "parquet", "arrow"]),
)
def test_any_series_are_read_back(tmp_path_factory, series, ending):
    path = tmp_path_factory.mktemp("series") / f"x.{ending}"
    files.write(path, {"s": series})
    assert [one.tolist() for one in files.read(path, kind="series").objects] == series


@given(st.lists(st.lists(text, max_size=5), min_size=1, max_size=8), st.sampled_from(["jsonl", "parquet", "arrow"]))
def test_any_sets_are_read_back(tmp_path_factory, sets, ending):
    path = tmp_path_factory.mktemp("sets") / f"x.{ending}"
    files.write(path, {"s": sets})
    assert files.read(path, kind="sets").objects == [frozenset(one) for one in sets]


@pytest.mark.parametrize("ending", ENDINGS)
def test_rows_are_added_a_few_at_a_time(tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    with files.writer(path) as add:
        for start in range(0, 30, 10):
            add({"row": np.arange(start, start + 10), "label": ["u"] * 10})
        assert not path.exists()
    data = files.read(path, label="label")
    assert data.objects[:, 0].tolist() == list(range(30))
    assert os.listdir(tmp_path) == [path.name]


def test_arrays_columns_and_gaps_are_written(tmp_path):
    path = tmp_path / "x.csv"
    files.write(
        path, {"a": np.array([0.1, 1e-300]), "b": ["u", None], "c": pl.Series([1, 2]), "d": pd.Series(["v", None])}
    )
    assert path.read_bytes() == b"a,b,c,d\n0.1,u,1,v\n1e-300,,2,\n"
    files.write(tmp_path / "x.tsv.gz", {"a": ["tab\there"]})
    assert gzip.decompress((tmp_path / "x.tsv.gz").read_bytes()) == b'a\n"tab\there"\n'


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "x.parquet"
    files.write(path, {"a": [1]})
    before = path.read_bytes()
    with pytest.raises(TypeError, match="len"), files.writer(path) as add:
        _ = add({"a": [2]}), add({"a": None})
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["x.parquet"]


def test_columns_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(ValueError, match="equal lengths"):
        files.write(tmp_path / "x.csv", {"a": [1], "b": [1, 2]})
    with pytest.raises(ValueError, match="those of the rows before"), files.writer(tmp_path / "x.csv") as add:
        _ = add({"a": [1]}), add({"b": [1]})
    with pytest.raises(ValueError, match="nothing to write"), files.writer(tmp_path / "x.csv"):
        pass
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written_are_refused_beforehand(tmp_path, monkeypatch):
    for check in (check_writable, lambda path: files.write(path, {"a": [1]})):
        with pytest.raises(FileError, match="there is no folder"):
            check(tmp_path / "nowhere" / "x.csv")
        with pytest.raises(FileError, match=r"unknown ending '.xls': write '.csv'"):
            check(tmp_path / "x.xls")
        with pytest.raises(FileError, match="it is a folder"):
            check(_folder(tmp_path / "x.csv"))
        with pytest.raises(FileError, match="only text files are gzipped"):
            check(tmp_path / "x.parquet.gz")
        with pytest.raises(FileError, match="cannot be written"):
            check("/proc/x.csv")
    check_writable("-")
    check_writable(tmp_path / "new.csv")
    assert not (tmp_path / "new.csv").exists()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(FileError, match="needs pyarrow"):
        check_writable(tmp_path / "x.parquet")


def _folder(path):
    path.mkdir(exist_ok=True)
    return path


def test_devices_and_links_are_written_through(tmp_path):
    check_writable("/dev/null")
    files.write("/dev/null", {"a": [1]})
    assert not os.path.isfile("/dev/null")
    (tmp_path / "x.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "x.csv")
    files.write(tmp_path / "link.csv", {"a": [1]})
    assert (tmp_path / "link.csv").is_symlink() and (tmp_path / "x.csv").read_text() == "a\n1\n"


def test_standard_output_is_csv(capfd):
    with files.writer("-") as add:
        add({"a": [1], "b": ["ü"]})
        add({"a": [2], "b": ["x,y"]})
    assert capfd.readouterr().out == 'a,b\n1,ü\n2,"x,y"\n'
