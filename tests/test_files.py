"""Reading files: formats with columns, how columns become objects, and errors."""

import gzip
import io
import os
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from similitude import SimilarityClassifier, datasets, files
from similitude.data.files.columns import parsed
from similitude.errors import FileError, SourceError
from similitude.files import Schema
from similitude.kernels import Gower, Jaccard, ShortestPath
from similitude.sources import Source


@pytest.fixture
def put(tmp_path):
    """Write text or bytes to a file and return its path."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def refuses(pattern, path, **options):
    with pytest.raises(FileError, match=pattern) as caught:
        files.read(path, **options)
    assert str(caught.value).count("\n") <= 1
    assert str(path) in str(caught.value) or path == "-"


# ---------------------------------------------------------------- columns


def test_columns_of_numbers_are_vectors(put):
    data = files.read(put("x.csv", "a,b c,y\n1,2.5,u\n3,-4e1,v\n"), label="y")
    assert data.objects.tolist() == [[1, 2.5], [3, -40]] and data.objects.dtype == float
    assert data.labels.tolist() == ["u", "v"] and len(data) == 2
    assert data.notes == ("columns 'a', 'b c' as vectors",)
    assert data.schema == Schema("vectors", "y", "text", None, ("a", "b c"), ("integer", "number"), 2)


def test_one_column_of_text_is_strings_as_they_stand_there(put):
    data = files.read(put("x.csv", 'y,s\n1,acgt\n2,NA\n1,nan\n2,\n1," a, ""b"" \nc"\n'), label="y")
    assert data.objects == ["acgt", "NA", "nan", "", ' a, "b" \nc']
    assert data.labels.tolist() == [1, 2, 1, 2, 1] and data.labels.dtype.kind == "i"
    assert data.notes == ("column 's' as strings",)


def test_digits_with_leading_zeros_are_strings_and_numbers_say_how_to_be(put):
    assert files.read(put("x.csv", "s\n0110\n1010\n")).objects == ["0110", "1010"]
    data = files.read(put("z.csv", "s\n1\n2\n"))
    assert data.objects.tolist() == [[1], [2]] and "kind='strings'" in data.notes[0]
    assert files.read(put("z.csv", "s\n1\n2.50\n"), kind="strings").objects == ["1", "2.50"]


def test_other_columns_are_a_table_whose_empty_cells_are_missing(put):
    path = put("x.csv", "age,job,adult,free,y\n20,cook,True,,a\n,pilot,False,,b\nNA,,True,,a\n60,NA,False,,b\n")
    data = files.read(path, label="y")
    table = data.objects
    assert table["age"].tolist()[0] == 20.0 and table["age"].isna().tolist() == [False, True, True, False]
    assert table["job"].isna().tolist() == [False, False, True, False] and table["job"][3] == "NA"
    assert table["adult"].dtype == bool
    assert data.schema.types == ("integer", "text", "boolean")
    assert data.notes == (
        "columns 'age', 'job', 'adult' as rows of a table: 1 of numbers, 1 of text, 1 of true and false",
        "ignored: no value at all in 'free'",
        "'NA' in column 'job' is text like any other: only empty cells are missing; missing='NA' changes that",
    )
    Gower().gram(table)


def test_tables_are_those_of_pandas(put):
    path = put("x.csv", "i,f,t,b\n1,1.5,x,TRUE\n-2,+2e3, y ,false\n +3 ,inf,z,true\n")
    expected = pd.read_csv(path)
    data = files.read(path)
    pd.testing.assert_frame_equal(data.objects, expected.assign(t=expected["t"].str.strip()))
    assert "blanks around the texts of column 't' are left out: ' y ' is 'y'" in data.notes


def test_object_chooses_a_column_and_says_what_is_ignored(put):
    data = files.read(put("x.tsv", "id\ttext\ty\n1\tab\t0\n2\tcd\t1\n"), label="y", object="text")
    assert data.objects == ["ab", "cd"]
    assert data.notes == ("column 'text' as strings", "ignored: columns 'id'")
    assert data.schema.object == "text"


def test_byte_order_mark_windows_lines_and_empty_lines_are_read_as_by_pandas(put):
    text = '\n\na,b\r\n1,"x\r\ny"\r\n\r\n2,z\r\n\r\n'
    path = put("x.csv", b"\xef\xbb\xbf" + text.encode())
    pd.testing.assert_frame_equal(files.read(path).objects, pd.read_csv(path))
    assert files.read(put("z.csv", "s\nab")).objects == ["ab"]


def test_thousands_of_columns(put):
    names = [f"c{i}" for i in range(3000)]
    path = put("x.csv", ",".join(names) + "\n" + ",".join(map(str, range(3000))) + "\n")
    assert files.read(path).objects.shape == (1, 3000)


def test_columns_without_a_name_are_called_as_by_pandas(put):
    path = put("x.csv", ",a,\n1,2,u\n2,3,v\n")
    data = files.read(path)
    assert list(data.objects) == list(pd.read_csv(path)) == ["Unnamed: 0", "a", "Unnamed: 2"]
    assert "columns without a name" in data.notes[1]


def test_a_header_of_numbers_is_remarked(put):
    assert "is the header missing?" in files.read(put("x.csv", "5.1,3\n4.9,2\n")).notes[1]


def test_kind_overrides_what_is_inferred(put):
    path = put("x.csv", "a,b\n1,2\n3,4\n")
    assert isinstance(files.read(path, kind="table").objects, pd.DataFrame)
    assert [one.tolist() for one in files.read(path, kind="series").objects] == [[1, 2], [3, 4]]
    refuses("strings come from one column: choose it with object=, one of 'a', 'b'", path, kind="strings")
    refuses("no kind 'vector'.*did you mean 'vectors'", path, kind="vector")
    refuses("column 's' holds text.*kind='sets' does not fit", put("z.csv", "s\na b\n"), kind="sets")
    refuses("strings come from one column", put("w.csv", "s,t\na,b\n"), kind="strings")
    refuses("column 'b' has no value in row 1: vectors", put("v.csv", "a,b\n1,2\n3,\n"), kind="vectors")


def test_long_offsets_are_recognized_too():
    assert parsed(pa.array(["1", "", "3"], pa.large_string())).cells.to_pylist() == [1, None, 3]
    assert parsed(pa.array(["True", "", "False"], pa.large_string())).cells.to_pylist() == [True, None, False]
    assert parsed(pa.array(["a", "", "b"], pa.large_string())).cells.to_pylist() == ["a", None, "b"]


@pytest.mark.parametrize("text", ["0x10", "1_000", "1,5", "\u0661", "1d5", "--1", "1 2"])
def test_what_is_no_number_stays_text(text):
    assert parsed(pa.array(["1", text])).type == "text"


@pytest.mark.parametrize("text", ["007", "+5", " 5 ", "1.", "-.5", "1e400", "-inf", "123456789012345678901"])
def test_numbers_are_those_of_pandas(text):
    column = parsed(pa.array([text]))
    assert column.cells[0].as_py() == pd.read_csv(io.StringIO(f"a\n{text}\n"))["a"].astype(float)[0]


# ---------------------------------------------------------------- labels


def test_labels_stay_as_they_are_but_for_blanks_around(put):
    def labels(*values):
        return files.read(put("x.csv", "a,y\n" + "".join(f"1,{value}\n" for value in values)), label="y").labels

    assert labels("1", "-1").tolist() == [1, -1]
    assert labels("1.0", "2.5").tolist() == [1.0, 2.5]
    assert labels("True", "False").tolist() == ["True", "False"]
    assert labels("NA", "b").tolist() == ["NA", "b"]
    assert labels("<=50K", " >50K").tolist() == ["<=50K", ">50K"]


def test_missing_labels_are_refused(put):
    refuses("label 'y' is missing in row 1 and 1 more", put("x.csv", "a,y\n1,u\n2,\n3,\n"), label="y")
    refuses("label 'y' is missing in row 0: ", put("x.csv", "a,y\n1,NA\n2,1\n3,2\n"), label="y")
    refuses("label 'y' is missing in row 1: ", put("x.jsonl", '{"a": 1, "y": 1}\n{"a": 2}\n'), label="y")
    refuses("label 'y' holds lists", put("x.jsonl", '{"a": 1, "y": ["b"]}\n'), label="y")


# ---------------------------------------------------------------- what is refused


def test_missing_files_name_those_near(put, tmp_path):
    put("promoters.csv", "a\n1\n")
    refuses(r"there is no such file \(did you mean 'promoters.csv'\?\)", tmp_path / "promoter.csv")
    refuses("no folder", tmp_path / "nowhere" / "x.csv")
    refuses("not a folder of TU graphs", tmp_path)


def test_unknown_columns_name_those_near_and_all(put):
    path = put("x.csv", "age,income\n1,2\n")
    refuses(r"no column 'Incme' \(did you mean 'income'\?\): it has 'age', 'income'", path, label="Incme")
    refuses("no column 'z': it has 'age', 'income'", path, object="z")
    refuses("'age' cannot be both", path, label="age", object="age")
    refuses("look like several columns: separator=", put("z.csv", "a;b\n1;2\n3\n"), label="b")
    refuses("nothing to learn from", put("w.csv", "y\n1\n"), label="y")


def test_two_columns_of_one_name_are_refused(put, tmp_path):
    refuses("two columns are named 'a': columns 1 and 3", put("x.csv", "a,b,a\n1,2,3\n"))
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pa.parquet.write_table(table, tmp_path / "x.parquet")
    refuses("two columns are named 'a'", tmp_path / "x.parquet")


def test_bytes_that_are_not_utf8_are_named_by_place(put):
    refuses(r"not UTF-8: byte 0x81 at offset 9, line 3: .*encoding=.*iconv", put("x.csv", b"a,b\n1,2\n" + b"3\x81,4\n"))
    refuses("not UTF-8: byte 0x81 at offset 1, line 1", put("x.csv", b"a\x81,b\n1,2\n"))
    refuses("not UTF-8: byte 0x81 at offset 4, line 2", put("x.fasta", b">a\na\x81\n"))
    refuses("not UTF-8: byte 0x81 at offset 7, line 1", put("x.jsonl", b'{"a": "\x81"}\n'))
    far = b"a,b\n" + b"1,2\n" * 600_000
    refuses(f"byte 0xff at offset {len(far)}, line 600002", put("x.csv", far + b"\xff,1\n"))


def test_ragged_rows_are_named_by_line(put):
    refuses("line 5 has 3 cells, the header has 2, 'a', 'b'", put("x.csv", 'a,b\n1,"x\ny"\n\n1,2,3\n'))
    refuses("line 3 has 1 cell,", put("x.csv", "a,b\n1,2\n3\n"))
    refuses("line 2 has 3 cells", put("x.tsv", "a\tb\n1\t2\t3\n"))


def test_a_quotation_mark_that_is_never_closed_is_refused(put):
    refuses("quotation mark after line 2 is never closed", put("x.csv", 'a,b\n1,2\n1,"2\n3,4\n'))
    assert files.read(put("x.csv", 'a,b\n1,5" pipe\n')).objects["b"].tolist() == ['5" pipe']


def test_rows_longer_than_a_block_are_refused(put, monkeypatch):
    monkeypatch.setattr("similitude.data.files.tables.BLOCK", 32)
    monkeypatch.setattr("similitude.data.files.tables.LONGEST_ROW", 64)
    refuses("a row is longer than", put("x.csv", "a,b\n" + "x" * 200 + ",1\n"))


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.jsonl", "x.fasta", "x.npz", "x.ts", "x.parquet", "x.what"])
def test_empty_files_are_refused(put, name):
    refuses("the file is empty", put(name, ""))


def test_files_without_rows_are_refused(put, tmp_path):
    refuses("no rows", put("x.csv", "a,b\n"))
    refuses("header but no rows", put("x.csv", "a,b"))
    refuses("the file is empty", put("x.csv", "\n\n"))
    refuses("no rows", put("x.jsonl", "\n"))
    refuses("no objects", put("x.fasta", "\n"))
    pd.DataFrame({"a": []}).to_parquet(tmp_path / "x.parquet")
    refuses("no rows", tmp_path / "x.parquet")


def test_wrong_json_is_named_by_line(put):
    refuses("line 2 is not JSON: .* at character 7", put("x.jsonl", '{"a": 1}\n{"a": }\n'))
    refuses(r"line 1 is \[1, 2\], not an object", put("x.jsonl", "[1, 2]\n"))
    refuses("a JSON list: write one object per line", put("x.json", '[{"a": 1}]'))
    refuses("nested too deeply", put("x.jsonl", '{"a": ' + "[" * 200_000 + "\n"))


def test_damaged_files_are_refused(put, tmp_path):
    pd.DataFrame({"a": np.arange(1000.0)}).to_parquet(tmp_path / "x.parquet")
    whole = (tmp_path / "x.parquet").read_bytes()
    refuses("truncated, damaged", put("y.parquet", whole[: len(whole) // 2]))
    refuses("truncated, damaged", put("y.arrow", b"ARROW1\0\0 and no more"))


@pytest.mark.parametrize("nested", [False, True])
def test_text_in_arrow_that_is_not_utf8_is_named(tmp_path, nested):
    starts = pa.py_buffer(np.arange(5, dtype=np.int32).tobytes())
    text = pa.Array.from_buffers(pa.string(), 4, [None, starts, pa.py_buffer(b"ab\xffd")])
    text = pa.StructArray.from_arrays([text], ["inner"]) if nested else text
    table = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "text": text, "label": ["a", "b", "a", "b"]})
    pa.parquet.write_table(table, tmp_path / "x.parquet", row_group_size=2)
    with pa.ipc.new_file(str(tmp_path / "x.arrow"), table.schema) as out:
        out.write_table(table)
    row = "" if nested else " in row 2"
    for name in ("x.parquet", "x.arrow"):
        refuses(f"column 'text' holds text that is not UTF-8{row}: write it again", tmp_path / name)
    with pytest.raises(SourceError, match=r"x\.parquet: column 'text' holds text that is not UTF-8"):
        SimilarityClassifier("gower").fit(Source(tmp_path / "x.parquet", labels="label"))


def test_files_that_end_early_are_refused(put):
    packed = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
    refuses("gzip data is truncated or damaged", put("x.csv.gz", packed[:-20]))
    refuses("gzip data is truncated or damaged", put("x.jsonl.gz", gzip.compress(b'{"a": 1}\n' * 99)[:-9]))
    refuses("not gzipped", put("x.csv.gz", "a\n1\n"))
    refuses("neither its ending nor its content", put("x.bin", b"\1\2\0\3"))


def test_a_file_larger_than_memory_is_refused_before_it_is_read(put, monkeypatch, tmp_path):
    import psutil

    class Memory:
        available = 100

    monkeypatch.setattr(psutil, "virtual_memory", Memory)
    path = put("x.csv", "a\n" + "1\n" * 100)
    refuses("takes about 0.0 GiB of memory.*take a sample of its rows", path)
    assert sum(len(batch) for batch in files.batches(path, rows=30)) == 100
    np.savez_compressed(tmp_path / "x.npz", X=np.zeros((1000, 10)))
    refuses("takes about", tmp_path / "x.npz")
    with pytest.raises(FileError, match="takes about"):
        next(files.batches(tmp_path / "x.npz"))
    pd.DataFrame({"a": np.zeros(10_000)}).to_parquet(tmp_path / "x.parquet")
    refuses("takes about", tmp_path / "x.parquet")


def test_the_size_of_packed_files_is_that_of_all_they_hold(put, monkeypatch, tmp_path):
    import psutil

    class Memory:
        available = 70_000

    monkeypatch.setattr(psutil, "virtual_memory", Memory)
    members = gzip.compress(b"a\n" + b"1\n" * 10_000) + gzip.compress(b"1\n")  # the last member alone tells its size
    path = put("x.csv.gz", members)
    refuses("takes more than 0.0 GiB of memory", path)
    assert sum(len(batch) for batch in files.batches(path)) == 10_001
    assert len(files.read(put("y.csv.gz", gzip.compress(b"a\n" + b"1\n" * 1_000) + gzip.compress(b"1\n")))) == 1_001
    with zipfile.ZipFile(tmp_path / "g.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("g/g_A.txt", "1, 2\n" * 10_000)
    refuses("takes about", tmp_path / "g.zip")


def test_integers_beyond_2_to_the_53_are_read_and_noted(put, tmp_path):
    for name, text in (("id", f"{2**62}\n{2**62 + 1}\n"), ("long", f"{10**20}\n{10**20 + 1}\n")):
        rounded = f"column {name!r} holds integers beyond 2^53: they are rounded"
        path = put("x.csv", f"{name},y\n" + text.replace("\n", ",1\n"))
        data = files.read(path, label="y")
        assert data.objects[0, 0] == data.objects[1, 0] == float(text.split()[0])
        assert any(rounded in note for note in data.notes)
        assert any(rounded in note for note in files.read(path, label="y", schema=data.schema).notes)
    table = files.read(put("t.csv", f"id,b\n{2**62},u\n{2**62 + 1},v\n"))
    assert table.objects["id"].tolist() == [2**62, 2**62 + 1] and not any("2^53" in note for note in table.notes)
    assert not any("2^53" in note for note in files.read(put("n.csv", f"a,b\n1e300,{2**53}\n2,3\n")).notes)
    mixed = put("m.csv", "a,b\n0.5,1\n")
    schema = files.read(mixed).schema
    assert files.read(put("m.csv", f"a,b\n{2**60 + 1},1\n"), schema=schema).objects[0, 0] == 2.0**60
    labels = files.read(put("y.csv", f"a,y\n1,{10**20}\n2,{10**20 + 1}\n"), label="y")
    assert any("label 'y' holds integers that are rounded" in note for note in labels.notes)
    labels = files.read(put("y.csv", f"a,y\n1,{2**62}\n2,{2**62 + 1}\n"), label="y")
    assert labels.labels.tolist() == [2**62, 2**62 + 1] and not any("rounded" in note for note in labels.notes)
    lists = put("l.jsonl", f'{{"v": [{2**62}, 1]}}\n{{"v": [2, 3]}}\n')
    assert any("'v' holds integers beyond 2^53" in note for note in files.read(lists).notes)


def test_optional_packages_are_named(put, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    refuses("a table needs pandas: pip install 'similitude\\[cli\\]'", put("x.csv", "a,b\nu,v\n"))
    assert files.read(put("x.csv", "a,b\n1,2\n")).objects.tolist() == [[1, 2]]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    refuses("a CSV file needs pyarrow: pip install", put("x.csv", "a,b\nu,v\n"))
    assert files.read(put("x.fasta", ">a\nac\n")).objects == ["ac"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(put):
    path = put("x.csv", "a\n1\n")
    path.chmod(0)
    refuses("cannot be read: Permission denied", path)


def test_importing_files_loads_nothing_heavy():
    heavy = "{'pandas', 'pyarrow', 'scipy', 'sklearn'}"
    code = f"import sys, similitude.files; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


# ---------------------------------------------------------------- endings, gzip, standard input


def test_unknown_endings_are_read_by_their_content(put):
    for content, kind in [("a,b\n1,2\n", "CSV"), ("a\tb\n1\t2\n", "TSV"), ('{"a": 1, "b": 2}\n', "JSON Lines")]:
        data = files.read(put("x.txt", content))
        assert data.objects.tolist() == [[1, 2]] and data.notes[0].endswith(f"x.txt read as {kind}, by its content")
    assert files.read(put("x.txt", ">a\nac\n")).objects == ["ac"]
    assert files.read(put("x.txt", "@data\n1,2\n")).schema.kind == "series"


def test_standard_input_is_read_by_its_content(monkeypatch):
    def pipe(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return files.read("-")

    assert pipe(b"a,b\n1,2\n").objects.tolist() == [[1, 2]]
    assert pipe(gzip.compress(b">a\nac\n")).objects == ["ac"]
    assert pipe(b'{"s": "x"}\n').notes[0] == "standard input read as JSON Lines, by its content"
    with pytest.raises(FileError, match=r"^standard input: the file is empty"):
        pipe(b"")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(FileError, match=r"^standard input: it is closed"):
        files.read("-")


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="no devices here")
def test_a_device_is_no_file():
    refuses("it is a device, which may never end", "/dev/null")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_named_pipes_are_read(tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    feeder = subprocess.Popen([sys.executable, "-c", f"open({str(path)!r}, 'w').write('a,b\\n1,2\\n')"])
    assert files.read(path).objects.tolist() == [[1, 2]]
    assert feeder.wait() == 0


def test_gzip_is_undone(put):
    assert files.read(put("x.csv.gz", gzip.compress(b"a,b\n1,2\n"))).objects.tolist() == [[1, 2]]
    assert files.read(put("x.fa.gz", gzip.compress(b">a\nac\n"))).objects == ["ac"]
    assert files.read(put("x.csv", gzip.compress(b"a,b\n1,2\n"))).objects.tolist() == [[1, 2]]


# ---------------------------------------------------------------- JSON Lines, Parquet, Arrow


def test_lists_of_numbers_are_vectors_or_series(put):
    equal = put("x.jsonl", '{"x": [1, 2], "y": "a"}\n{"x": [3, 4.5], "y": "b"}\n')
    data = files.read(equal, label="y")
    assert data.objects.tolist() == [[1, 2], [3, 4.5]] and data.schema.width == 2
    assert data.notes == ("column 'x' as vectors of 2 numbers; kind='series' takes them as series",)
    assert [one.tolist() for one in files.read(equal, label="y", kind="series").objects] == [[1, 2], [3, 4.5]]
    unequal = put("z.jsonl", '{"x": [1, 2]}\n{"x": [3]}\n')
    data = files.read(unequal)
    assert [one.tolist() for one in data.objects] == [[1, 2], [3]] and data.schema.kind == "series"
    refuses("column 'x' has 1 numbers in row 1 and 2 in row 0", unequal, kind="vectors")
    refuses(r"column 'x' is \[1, None\] in row 0: a value is missing", put("w.jsonl", '{"x": [1, null]}\n'))


def test_lists_of_lists_are_series_with_channels(put):
    data = files.read(put("x.jsonl", '{"x": [[1, 2], [3, 4], [5, 6]]}\n{"x": [[1, 2]]}\n'))
    assert data.schema.kind == "series" and [one.shape for one in data.objects] == [(3, 2), (1, 2)]
    refuses("row 0: every time needs the same channels", put("z.jsonl", '{"x": [[1, 2], [3]]}\n'))


def test_lists_of_texts_are_sets(put):
    data = files.read(put("x.jsonl", '{"tags": ["a", "b", "a"]}\n{"tags": []}\n'))
    assert data.objects == [frozenset("ab"), frozenset()] and data.schema.kind == "sets"
    assert files.read(put("z.jsonl", '{"tags": ["a", 1]}\n')).objects == [frozenset({"a", 1})]
    assert files.read(put("w.jsonl", '{"x": [1, 2]}\n'), kind="sets").objects == [frozenset({1, 2})]
    assert Jaccard().gram(data.objects)[0, 0] == 1


def test_objects_with_edges_are_graphs(put):
    inside = put("x.jsonl", '{"g": {"edges": [[0, 1]], "labels": ["C", "O"], "edge_labels": [2]}, "y": 1}\n')
    data = files.read(inside, label="y")
    ((edges, nodes, labels),) = data.objects
    assert (edges.tolist(), nodes, labels) == ([[0, 1]], ["C", "O"], [2]) and data.labels.tolist() == [1]
    itself = put("z.jsonl", '{"edges": [[0, 1]], "y": 1}\n{"edges": [], "nodes": 3, "y": 0}\n')
    data = files.read(itself, label="y")
    assert [(edges.tolist(), nodes) for edges, nodes in data.objects] == [([[0, 1]], 2), ([], 3)]
    assert data.notes == ("column 'graph' as graphs",) and data.schema.kind == "graphs"
    ShortestPath().gram(data.objects)
    refuses(
        "graph 0 has an edge from 0 to 5, but its 2 nodes", put("w.jsonl", '{"edges": [[0, 5]], "labels": [1, 2]}\n')
    )
    refuses("graph 0: edges must be pairs", put("w.jsonl", '{"edges": [[0, 1, 2]]}\n'))
    refuses("graph 0: edges must be pairs", put("w.jsonl", '{"edges": [[0, 1.5]]}\n'))
    refuses("graph 0 has 1 edges and 2 edge labels", put("w.jsonl", '{"edges": [[0, 1]], "edge_labels": [1, 2]}\n'))


def test_graphs_of_json_lines_with_attributes(put):
    rows = '{"edges": [[0, 1]], "node_attributes": [[1, 2], [3, 4.5]]}', '{"edges": [], "node_attributes": [0.5]}'
    first, second = files.read(put("x.jsonl", "\n".join(rows))).objects
    assert first[1:3] == (2, None) and first[3].tolist() == [[1, 2], [3, 4.5]]
    assert second[1:3] == (1, None) and second[3].tolist() == [[0.5]]
    for wrong in ("[[1], [2, 3]]", '["a", "b"]', "3", "[[], []]"):
        refuses(
            "graph 0: node_attributes must be a list with as many numbers for each node",
            put("w.jsonl", f'{{"edges": [[0, 1]], "node_attributes": {wrong}}}\n'),
        )
    refuses(
        "graph 0 has 2 nodes and 1 rows of node attributes",
        put("w.jsonl", '{"edges": [[0, 1]], "labels": [1, 2], "node_attributes": [1]}\n'),
    )


def test_keys_that_a_line_lacks_are_missing(put):
    table = files.read(put("x.jsonl", '{"a": 1, "b": "u"}\n{"b": "v"}\n{"a": 2.5, "c": true}\n')).objects
    assert table["a"].isna().tolist() == [False, True, False] and list(table) == ["a", "b", "c"]


def test_parquet_and_arrow_of_pandas_and_polars(tmp_path):
    frame = pd.DataFrame(
        {
            "i": [1, 2],
            "f": [1.5, np.nan],
            "t": ["x", None],
            "b": [True, False],
            "c": pd.Categorical(["S", "L"], ["S", "M", "L"], ordered=True),
            "y": ["u", "v"],
        }
    )
    frame.to_parquet(tmp_path / "x.parquet")
    frame.to_feather(tmp_path / "x.feather")
    expected = frame.drop(columns="y")
    for name in ("x.parquet", "x.feather"):
        data = files.read(tmp_path / name, label="y")
        pd.testing.assert_frame_equal(data.objects, expected)
        assert data.schema.types == ("integer", "number", "text", "boolean", "text")
    other = pl.DataFrame({"i": [1, 2], "t": ["x", None], "y": ["u", "v"]})
    other.write_parquet(tmp_path / "p.parquet")
    other.write_ipc(tmp_path / "p.arrow")
    other.write_ipc_stream(tmp_path / "s.arrow")
    for name in ("p.parquet", "p.arrow", "s.arrow"):
        data = files.read(tmp_path / name, label="y")
        assert data.objects["t"].isna().tolist() == [False, True] and data.labels.tolist() == ["u", "v"]


def test_list_columns_of_parquet(tmp_path):
    table = pa.table({"x": [[1.0, 2.0], [3.0]], "tags": [["a"], ["a", "b"]], "s": ["p", None]})
    pa.parquet.write_table(table, tmp_path / "x.parquet")
    assert [one.tolist() for one in files.read(tmp_path / "x.parquet", object="x").objects] == [[1, 2], [3]]
    assert files.read(tmp_path / "x.parquet", object="tags").objects == [{"a"}, {"a", "b"}]
    refuses("column 's' has no value in row 1", tmp_path / "x.parquet", object="s")
    whole = files.read(tmp_path / "x.parquet").objects
    assert whole["tags"].tolist() == [["a"], ["a", "b"]]


# ---------------------------------------------------------------- the same again, with a schema


def test_a_schema_takes_the_same_columns_in_the_same_order(put):
    schema = files.read(put("x.csv", "a,b,y\n1,2.5,u\n3,4,v\n"), label="y").schema
    schema = Schema.from_dict(schema.to_dict())
    data = files.read(put("z.csv", "more,b,a\nx,7,8\n"), schema=schema)
    assert data.objects.tolist() == [[8, 7]] and data.labels is None and data.notes == ("ignored: columns 'more'",)
    assert files.read(put("z.jsonl", '{"y": "u", "b": 7, "a": 8}\n'), schema=schema).labels.tolist() == ["u"]
    refuses(r"no column 'b' \(did you mean 'B'\?\): it has 'a', 'B'", put("w.csv", "a,B\n1,2\n"), schema=schema)
    refuses("column 'b' is 'x' in row 1: it is not a number", put("w.csv", "a,b\n1,2\n1,x\n"), schema=schema)
    refuses("column 'b' has no value in row 0: vectors", put("w.csv", "a,b\n1,\n"), schema=schema)
    refuses(
        "column 'b' is 'x' in row 1: it holds", put("w.jsonl", '{"a": 1, "b": 2}\n{"a": 1, "b": "x"}'), schema=schema
    )


def test_a_schema_keeps_types(put):
    fit = files.read(put("x.csv", "age,job,own,y\n1.5,cook,true,1\n2,7,false,0\n"), label="y")
    data = files.read(put("z.csv", "age,job,own,y\n3,8,True,1\n4,new,,0\n"), schema=fit.schema)
    assert data.objects["age"].dtype == float and data.objects["job"].tolist() == ["8", "new"]
    assert data.objects["own"].tolist() == [True, None] and data.labels.tolist() == [1, 0]
    gone = files.read(put("w.csv", "age,job,own\n,,\n"), schema=fit.schema).objects
    assert gone.isna().all(axis=None) and gone["age"].dtype == float
    wrong = put("v.csv", "age,job,own\n1,a,x\n")
    refuses("column 'own' is 'x' in row 0: it holds text, and held true and false", wrong, schema=fit.schema)


def test_labels_that_cannot_be_used_are_said(put):
    schema = files.read(put("x.csv", "a,y\n1,1\n2,0\n"), label="y").schema
    data = files.read(put("z.csv", "a,y\n1,\n2,0\n"), schema=schema)
    assert data.labels is None and data.notes == ("labels are not used: the label 'y' is missing in row 0",)
    assert files.read(put("z.csv", "a,y\n1,u\n"), schema=schema).labels is None
    assert files.read(put("z.csv", "a,class\n1,1\n"), schema=schema, label="class").labels.tolist() == [1]
    refuses("no column 'class'", put("z.csv", "a,y\n1,1\n"), schema=schema, label="class")


def test_a_schema_goes_with_another_format_or_name(put, tmp_path):
    strings = files.read(put("x.csv", "s\nac\ngt\n")).schema
    assert files.read(put("x.fasta", ">a\nac\n"), schema=strings).objects == ["ac"]
    assert files.read(put("z.csv", "t\nNA\n"), schema=strings, object="t").objects == ["NA"]
    fasta = files.read(put("x.fasta", ">a\nac\n")).schema
    assert files.read(put("z.csv", "t\nNA\n"), schema=fasta).objects == ["NA"]
    vectors = files.read(put("v.csv", "a,b\n1,2\n")).schema
    np.savez(tmp_path / "x.npz", X=np.eye(2))
    assert files.read(tmp_path / "x.npz", schema=vectors).objects.tolist() == [[1, 0], [0, 1]]
    np.savez(tmp_path / "x.npz", X=np.eye(3))
    refuses("vectors have 3 numbers here, and had 2 before", tmp_path / "x.npz", schema=vectors)
    refuses("kind='vectors' does not fit: the file holds strings", put("x.fasta", ">a\nac\n"), schema=vectors)
    refuses("kind='table' does not fit: a schema of vectors", put("v.csv", "a,b\n1,2\n"), schema=vectors, kind="table")
    refuses("schema has 2 columns", put("v.csv", "a,b\n1,2\n"), schema=vectors, object="a")
    lists = files.read(put("l.jsonl", '{"x": [1, 2]}\n')).schema
    refuses("vectors have 3 numbers here", put("m.jsonl", '{"x": [1, 2, 3]}\n'), schema=lists)


@pytest.mark.parametrize("wrong", [{}, {"kind": "bag"}, {"kind": "table", "names": ["a"]}, {"kind": "table", "x": 1}])
def test_what_is_no_schema_is_refused(wrong):
    with pytest.raises(FileError, match="not the schema"):
        Schema.from_dict(wrong)


# ---------------------------------------------------------------- batches


def test_batches_are_the_file_in_pieces(put):
    path = put("x.csv", "a,b,y\n" + "".join(f"{i},{i / 2},{i % 3}\n" for i in range(25)))
    whole, pieces = files.read(path, label="y"), list(files.batches(path, rows=10, label="y"))
    assert [len(piece) for piece in pieces] == [10, 10, 5]
    np.testing.assert_array_equal(np.concatenate([piece.objects for piece in pieces]), whole.objects)
    np.testing.assert_array_equal(np.concatenate([piece.labels for piece in pieces]), whole.labels)
    assert [piece.notes for piece in pieces] == [whole.notes, (), ()]
    assert len({piece.schema for piece in pieces}) == 1


def test_later_batches_are_read_as_the_first(put):
    text = put("x.csv", "a,y\n1,0\n2,1\nx,0\n")
    with pytest.raises(FileError, match="column 'a' is 'x' in row 2: it is not a number"):
        list(files.batches(text, rows=2, label="y"))
    gone = put("z.csv", "a,y\n1,0\n2,1\n3,\n")
    with pytest.raises(FileError, match="label 'y' is missing in row 2"):
        list(files.batches(gone, rows=2, label="y"))
    late = put("w.csv", "a,b\n1,2\n3,4\n5\n")
    with pytest.raises(FileError, match="line 4 has 1 cell,"):
        list(files.batches(late, rows=1))


def test_batches_of_small_blocks(put, monkeypatch):
    monkeypatch.setattr("similitude.data.files.tables.BLOCK", 64)
    long = {50: "y" * 100, 120: "z" * 300}
    path = put("x.csv", "a,b\n" + "".join(f'{i},"x{long.get(i, i)}\n"\n' for i in range(200)))
    pieces = list(files.batches(path, rows=7))
    assert [len(piece) for piece in pieces] == [7] * 28 + [4]
    assert [value for piece in pieces for value in piece.objects["a"]] == list(range(200))
    assert [value for piece in pieces for value in piece.objects["b"]] == [f"x{long.get(i, i)}" for i in range(200)]


def test_batches_of_every_format(put, tmp_path):
    np.savez(tmp_path / "x.npz", X=np.arange(10.0).reshape(5, 2), y=np.arange(5))
    pd.DataFrame({"a": range(5), "b": range(5), "y": range(5)}).to_parquet(tmp_path / "x.parquet", row_group_size=3)
    put("x.fasta", "".join(f">s{i} {i}\nac\n" for i in range(5)))
    put("x.jsonl", "".join(f'{{"a": {i}, "y": {i}}}\n' for i in range(5)))
    put("x.ts", "@classLabel true 0 1 2 3 4\n@data\n" + "".join(f"1,2:{i}\n" for i in range(5)))
    for name, label in (("npz", "y"), ("parquet", "y"), ("fasta", "header"), ("jsonl", "y"), ("ts", None)):
        pieces = list(files.batches(tmp_path / f"x.{name}", rows=2, label=label))
        assert [len(piece) for piece in pieces] == [2, 2, 1], name
        assert np.concatenate([piece.labels for piece in pieces]).tolist() == [0, 1, 2, 3, 4], name


@pytest.mark.parametrize("rows", [0, -1, 2.5, True, "3"])
def test_batches_need_a_number_of_rows(put, rows):
    with pytest.raises(ValueError, match="rows must be an integer >= 1"):
        next(files.batches(put("x.csv", "a\n1\n"), rows=rows))


def test_batches_of_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileError, match="no such file"):
        next(files.batches(tmp_path / "x.csv"))


def test_the_data_sets_of_the_package_are_read():
    data = files.read(datasets.path("iris"), label="species")
    X, y = datasets.iris()
    np.testing.assert_array_equal(data.objects, X)
    assert data.labels.tolist() == y.tolist()
