"""Files as people have them: from Excel, R, pandas and LibreOffice in several languages, and folders of files."""

import io
import struct
import zipfile
import zlib

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_files, load_svmlight_file

from similitude import files
from similitude.errors import FileError


@pytest.fixture
def put(tmp_path):
    def written(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


def refuses(pattern, path, **options):
    with pytest.raises(FileError, match=pattern) as caught:
        files.read(path, **options)
    assert str(path) in str(caught.value)


def noted(data, *parts):
    for part in parts:
        assert any(part in note for note in data.notes), (part, data.notes)


# ---------------------------------------------------------------- separators, decimals, encodings

GERMAN = "Länge;Breite;Art\r\n5,1;1.234,5;süß\r\n-4,9;3;herb\r\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-32"])
def test_a_german_spreadsheet_is_read_as_pandas_reads_it_when_told(put, encoding):
    path = put("x.csv", GERMAN.encode(encoding))
    data = files.read(path, label="Art")
    expected = pd.read_csv(path, sep=";", decimal=",", thousands=".", encoding=encoding)
    np.testing.assert_array_equal(data.objects, expected[["Länge", "Breite"]].to_numpy())
    assert data.labels.tolist() == expected["Art"].tolist()
    noted(data, "cells separated by semicolons", "decimal commas in columns 'Länge', 'Breite': '5,1' is 5.1")
    assert any("Windows-1252" in note for note in data.notes) == (encoding in ("latin-1", "cp1252"))
    assert any("byte order mark" in note for note in data.notes) == encoding.startswith(("utf-16", "utf-32"))
    told = files.read(path, label="Art", separator=";", decimal=",", encoding=encoding)
    np.testing.assert_array_equal(told.objects, data.objects)


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_other_separators_are_found_in_csv_files_and_written_between_quotes_too(put, separator):
    text = 'a,b,y\n1,2,"x\nz"\n3,4,"u,;\t|v"\n'
    rows = text.replace(",", separator).replace(f"u{separator};", "u,;")
    data = files.read(put("x.csv", rows), label="y")
    assert data.objects.tolist() == [[1, 2], [3, 4]] and data.labels.tolist() == ["x\nz", "u,;\t|v"]


def test_commas_in_a_tsv_file_and_files_that_commas_divide_stay(put):
    assert files.read(put("x.tsv", "a,b\n1,2\n")).objects.tolist() == [[1, 2]]
    assert files.read(put("x.csv", "a;b,c\n1;2,3\n")).schema.names == ("a;b", "c")
    assert files.read(put("x.csv", "s\na;b\nc\n")).objects == ["a;b", "c"]
    refuses("separated by semicolons or vertical bars: say by which, separator=';'", put("x.csv", "a;b|c\n1;2|3\n"))
    refuses("separator='ab' must be one character", put("x.csv", "a;b|c\n1;2|3\n"), separator="ab")


@pytest.mark.parametrize(
    ("cells", "decimal", "expected"),
    [
        (["1,5", "2"], None, [1.5, 2]),
        (["1.234,5", "-2"], None, [1234.5, -2]),
        (["1 234,5", "2"], None, [1234.5, 2]),
        (["0,123", "1,234"], None, [0.123, 1.234]),
        (["1,234,567", "1,234"], None, [1234567, 1234]),
        (["1,234.5", "1,234"], None, [1234.5, 1234]),
        (["1'234.5", "2"], None, [1234.5, 2]),
        (["1\u00a0234", "2"], None, [1234, 2]),
        (["1,234", "2"], ",", [1.234, 2]),
        (["1,234", "2"], ".", [1234, 2]),
        (["1.234", "2"], ",", [1234, 2]),
        (["1.234", "2"], None, [1.234, 2]),
        (["1,5e3", "-,5"], None, [1500, -0.5]),
    ],
)
def test_numbers_as_people_write_them(put, cells, decimal, expected):
    text = "a;b;y\n" + "".join(f"{cell};{i};u\n" for i, cell in enumerate(cells))
    data = files.read(put("x.csv", text), label="y", decimal=decimal)
    assert data.objects[:, 0].tolist() == expected


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["1,234", "2"], "'1,234': decimal='.' makes it 1234, decimal=',' 1.234"),
        (["1,5", "1,234.5"], "those with a comma are taken as text"),
    ],
)
def test_doubtful_numbers_stay_text_and_say_what_to_say(put, cells, said):
    data = files.read(put("x.csv", "a;b\n" + "".join(f"{cell};1\n" for cell in cells)))
    assert data.objects["a"].tolist() == cells
    noted(data, said)


@pytest.mark.parametrize("cell", ["1,23,4", "12 34", "1,2,3", "1..5", "a1,5"])
def test_what_is_not_a_number_stays_text(put, cell):
    assert files.read(put("x.csv", f"a;b\n{cell};1\n1,5;2\n")).objects["a"].tolist() == [cell, "1,5"]


def test_items_between_commas_are_not_decimals(put):
    data = files.read(put("x.csv", 'a,b\n"1,5",1\n"2,7",2\n'))
    assert data.objects["a"].tolist() == ["1,5", "2,7"]
    noted(data, "decimal=',' makes it numbers")
    assert files.read(put("x.csv", 's\n"1,5"\n"2,7"\n'), kind="strings").objects == ["1,5", "2,7"]


def test_a_new_file_is_read_by_its_own_marks_and_in_doubt_as_the_first(put):
    schema = files.read(put("x.csv", GERMAN), label="Art").schema
    assert files.Schema.from_dict(schema.to_dict()) == schema and schema.setting("decimal") == ","
    for text, expected in [
        ("Breite,Länge\n2.5,1\n", [1, 2.5]),
        ("Breite;Länge\n1,234;1\n", [1, 1.234]),
        ("Breite;Länge\n1.234,5;1\n", [1, 1234.5]),
    ]:
        assert files.read(put("y.csv", text), schema=schema).objects.tolist() == [expected]
    doubtful = put("y.csv", "Breite,Länge\n1.234,1\n")
    refuses("'1.234', and the file before had decimal commas: decimal=',' makes it 1234", doubtful, schema=schema)
    assert files.read(doubtful, schema=schema, decimal=".").objects.tolist() == [[1, 1.234]]
    pieces = list(files.batches(put("z.csv", "a;y\n1;u\n2;v\n1,5;u\n"), rows=2, label="y"))
    assert [piece.objects.tolist() for piece in pieces] == [[[1], [2]], [[1.5]]]


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("имя,y\nЖук,1\nЖираф,2\n".encode("cp1251"), "cp1251"),  # noqa: RUF001 (Cyrillic letters)
        (b"a,b\n\x81\x8d,1\n", "latin-1"),
        ("a,b\nsüß,1\n".encode() + b"th\xe9,1\n", "latin-1"),
    ],
    ids=["Cyrillic", "controls", "two encodings"],
)
def test_other_alphabets_are_refused_until_their_encoding_is_given(put, content, encoding):
    path = put("x.csv", content)
    refuses("not UTF-8: byte .*encoding=", path)
    assert files.read(path, encoding=encoding).schema.kind == "table"
    refuses("encoding='klingon' is not known", path, encoding="klingon")
    refuses("encoding='rot13' is not known", path, encoding="rot13")
    refuses("not utf-16|look like several|header but no rows|no rows", path, encoding="utf-16")


# ---------------------------------------------------------------- missing values, labels, columns


def test_marks_for_no_value_in_numbers_and_where_they_are_told(put):
    path = put("x.csv", "a,b,y\n1,-,u\n-,x,NA\nn/a,NA,u\n?,x,v\n")
    data = files.read(path, label="y")
    assert data.objects["a"].isna().tolist() == [False, True, True, True]
    assert data.objects["b"].tolist() == ["-", "x", "NA", "x"] and data.labels.tolist() == ["u", "NA", "u", "v"]
    noted(data, "'-', '?' in column 'a' of numbers counts as missing", "missing='NA' changes that")
    told = files.read(path, label="y", missing=("NA", "-"), unlabeled="drop")
    assert told.objects["b"].isna().tolist() == [True, True, False] and told.labels.tolist() == ["u", "u", "v"]
    again = files.read(put("y.csv", "a,b\n2,NA\n"), schema=told.schema)
    assert again.objects["b"].isna().tolist() == [True]


def test_rows_without_a_label(put):
    path = put("x.csv", "a,b,y\n1,2,u\n3,4,\n5,6,v\n7,8,\n")
    refuses(r"missing in row 1 and 1 more.*unlabeled='drop'", path, label="y")
    dropped = files.read(path, label="y", unlabeled="drop")
    assert dropped.objects.tolist() == [[1, 2], [5, 6]] and dropped.labels.tolist() == ["u", "v"]
    noted(dropped, "rows without the label 'y' are left out", "2 of 4, the first is row 1")
    used = files.read(path, label="y", unlabeled="use")
    assert used.unlabeled.tolist() == [[3, 4], [7, 8]] and len(used) == 2
    assert files.read(path, label="y", unlabeled="keep").labels is None
    pieces = list(files.batches(path, rows=2, label="y", unlabeled="drop"))
    assert [piece.objects.tolist() for piece in pieces] == [[[1, 2]], [[5, 6]]]
    refuses("missing in every row", put("y.csv", "a,y\n1,\n"), label="y", unlabeled="drop")


TWELVE = range(12)


def test_columns_that_only_name_rows_are_left_out_with_a_note(put):
    rows = "".join(f"s{i},{i / 4},{'acgt' * (i % 3 + 1)},{i % 2}\n" for i in TWELVE)
    path = put("x.csv", "sample_id,x,gene,y\n" + rows)
    data = files.read(path, label="y")
    assert data.schema.names == ("x", "gene")
    noted(data, "left out: column 'sample_id', which only names the rows", "keep='sample_id' uses it")
    assert files.read(path, label="y", keep="sample_id").schema.names == ("sample_id", "x", "gene")
    assert files.read(path, label="y", ignore=["x"]).objects[1] == "acgtacgt"
    assert files.read(path, label="y", object="sample_id").objects[0] == "s0"
    repeated = put("y.csv", "id,x\n" + "".join(f"{i % 6},{i / 4}\n" for i in TWELVE))
    assert files.read(repeated).schema.names == ("id", "x")
    few = put("z.csv", "id,x\n1,2\n2,3\n")
    assert files.read(few).schema.names == ("id", "x")
    for name in ("acid", "solid", "x"):  # these name no rows
        assert name in files.read(put("w.csv", f"{name},z\n" + "".join(f"{i},{i % 5}\n" for i in TWELVE))).schema.names
    refuses("no column 'x2'", path, ignore="x2")


@pytest.mark.parametrize("names", [range(12), range(1, 13), [f"Mazda {i}" for i in TWELVE]])
def test_the_row_names_of_r_and_the_index_of_pandas_are_left_out(put, names):
    frame = pd.DataFrame({"mpg": np.arange(12) / 2, "cyl": [4, 6] * 6}, index=list(names))
    data = files.read(put("x.csv", frame.to_csv(quoting=2)), label="cyl")
    assert data.objects.tolist() == frame[["mpg"]].to_numpy().tolist()
    noted(data, "left out: column 'Unnamed: 0'")


def test_constants_row_numbers_and_dates_are_noted_and_used(put):
    rows = "".join(f"{i},7,2024-01-{i // 2 + 1:02d},{i % 2}\n" for i in TWELVE)
    data = files.read(put("x.csv", "week,unit,when,y\n" + rows), label="y")
    assert data.schema.names == ("week", "unit", "when")
    noted(data, "same value in every row of column 'unit'", "'week' counts the rows", "'when' holds dates")


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.jsonl", "x.fasta", "x.txt", "x.parquet", "x.xlsx", "x.npz"])
def test_dna_in_both_cases_is_noticed_in_every_format(tmp_path, name):
    strings, path = ["ACGTAC", "acgtac"], tmp_path / name
    if name.endswith((".csv", ".tsv", ".jsonl", ".parquet")):
        files.write(path, {"s": strings})
    elif name.endswith(".fasta"):
        path.write_text("".join(f">{i}\n{one}\n" for i, one in enumerate(strings)))
    elif name.endswith(".npz"):
        np.savez(path, X=np.array(strings))
    elif name.endswith(".xlsx"):
        path.write_bytes(workbook([["s"], *([one] for one in strings)]))
    else:
        path.write_text("s\n" + "\n".join(strings) + "\n")
    data = files.read(path)
    assert data.objects == strings
    noted(data, "capital and small letters occur")


def test_dna_whose_case_changes_from_file_to_file_is_noticed(put):
    schema = files.read(put("x.csv", "s\nacgtac\nttgaca\n")).schema
    noted(files.read(put("y.csv", "s\nACGTAC\n"), schema=schema), "DNA in capital letters, and in small ones before")
    assert files.read(put("y.csv", "s\nacgtaa\n"), schema=schema).notes == ()
    assert files.read(put("z.csv", "s\nAn apple\nnot\n")).notes == ("column 's' as strings",)
    noted(files.read(put("t.csv", "s,x\nACGTAC,1\nacgtac,b\n")), "capital and small letters")


def test_all_missing_columns_are_named(put):
    schema = files.read(put("x.csv", "a,b,c,d\n1,2,3,4\n")).schema
    refuses("there are no columns 'b', 'd': it has 'a', 'c'", put("y.csv", "a,c\n1,2\n"), schema=schema)


# ---------------------------------------------------------------- Excel


def workbook(rows, formulas=None, merged=None, other=None):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Data"
    for row in rows:
        sheet.append(row)
    for place, formula in (formulas or {}).items():
        sheet[place] = formula
    if merged:
        sheet.merge_cells(merged)
    if other:
        book.create_sheet("Other").append(other)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


ROWS = [["a", "when", "t", "y"], [1, pd.Timestamp("2024-05-01"), "x", "u"], [2.5, None, None, "v"], [None] * 4]


def test_a_workbook_is_read_as_the_csv_file_that_it_would_be(put, tmp_path):
    data = files.read(put("x.xlsx", workbook(ROWS)), label="y")
    text = "a,when,t,y\n1,2024-05-01,x,u\n2.5,,,v\n"
    pd.testing.assert_frame_equal(data.objects, files.read(put("x.csv", text), label="y").objects)
    assert files.read(put("x", workbook([["a"], [1], [2]]))).objects.tolist() == [[1], [2]]
    again = files.read(put("y.csv", "a,when,t\n3,,z\n"), schema=data.schema)
    assert again.objects["a"].tolist() == [3]
    with pytest.raises(FileError, match=r"unknown ending '\.xlsx'"):
        files.write(tmp_path / "w.xlsx", {"a": [1]})


def test_workbooks_that_are_no_table_are_refused_by_cell(put):
    refuses("which sheet.*sheet=: it has 'Data', 'Other'", put("x.xlsx", workbook(ROWS, other=["z"])))
    both = put("x.xlsx", workbook(ROWS, other=["z"]))
    assert len(files.read(both, sheet="Data", label="y")) == 2
    refuses(r"no sheet 'data' \(did you mean 'Data'\?\)", both, sheet="data")
    refuses("cells A2:A3 of sheet 'Data' are merged", put("x.xlsx", workbook(ROWS, merged="A2:A3")))
    refuses("cell A3 of sheet 'Data' is a formula without a value", put("x.xlsx", workbook(ROWS, {"A3": "=A2+1"})))
    refuses("cell A2 of sheet 'Data' is the error #DIV/0!", put("x.xlsx", workbook([["a"], ["#DIV/0!"]])))
    far = put("x.xlsx", workbook([["a"], *[[i] for i in range(120)]], {"XFD90": 1}))
    refuses("cells of sheet 'Data' are spread over 1,[0-9,]+ places or more, nearly all of them empty", far)
    refuses("the workbook is empty", put("x.xlsx", workbook([])))
    refuses("truncated, damaged or not an Excel", put("x.xlsx", workbook(ROWS)[:-40]))
    refuses("save it as .xlsx or CSV", put("x.xls", b"\xd0\xcf"))


def test_workbooks_that_would_grow_are_refused(put, monkeypatch):
    import psutil

    content = io.BytesIO(workbook(ROWS))
    with zipfile.ZipFile(content, "a", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("xl/more.xml", b"<x>" + b" " * 10**6 + b"</x>")
    path = put("x.xlsx", content.getvalue())
    free = psutil.virtual_memory()._replace(available=10**7)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    refuses("reading it takes about .* of memory", path, label="y")
    monkeypatch.undo()
    with zipfile.ZipFile(content, "a") as parts:
        parts.writestr("xl/last.xml", '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>')
    refuses("xl/last.xml in it declares a document type", put("x.xlsx", content.getvalue()))


# ---------------------------------------------------------------- svmlight, GraphML


def test_svmlight_files_are_those_of_scikit_learn(put):
    path = put("x.svmlight", "# made by hand\n1 1:0.5 3:2\n-1 qid:3 2:1e3 # second\n\n1 3:-1\n")
    X, y = load_svmlight_file(str(path))
    data = files.read(path)
    assert (data.objects != X).nnz == 0 and data.labels.tolist() == y.tolist() and data.labels.dtype.kind == "i"
    noted(data, "sparse vectors of 3 numbers, whose indices begin at 1", "ignored: qid")
    narrow = files.read(put("y.svmlight", "1 1:4\n"), schema=data.schema)
    assert narrow.objects.toarray().tolist() == [[4, 0, 0]]
    refuses("vectors have 4 numbers here, and had 3 before", put("y.svmlight", "1 4:4\n"), schema=data.schema)
    refuses("an index is 0, and in the file before", put("y.svmlight", "1 0:4\n"), schema=data.schema)
    zero = files.read(put("z.svmlight", "1.5 0:1 2:1\n2 1:1\n"))
    assert zero.objects.toarray().tolist() == [[1, 0, 1], [0, 1, 0]] and zero.labels.tolist() == [1.5, 2]
    one = files.read(put("z.svmlight", "1 1:1\n"), schema=zero.schema)
    assert one.objects.toarray().tolist() == [[0, 1, 0]]
    noted(files.read(put("data", "1 1:0.5\n-1 2:1\n")), "read as svmlight, by its content")


@pytest.mark.parametrize(
    "line",
    ["1 1:0.5 3;2", "1 1:x", "1 1:nan", "a 1:1", "1,2 1:1", "1 2:1 1:1", "1 -1:1", "1 99999999999:1"],
)
def test_wrong_lines_of_svmlight_are_named(put, line):
    refuses(f"line 2 is '{line}': svmlight has a label and", put("x.svmlight", f"1 1:1\n{line}\n"))


GRAPH = """<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="n" for="node" attr.name="label" attr.type="string"><default>C</default></key>
<key id="z" for="node" attr.name="charge" attr.type="double"/>
<key id="w" for="edge" attr.name="bond" attr.type="int"/>
<key id="g" for="graph" attr.name="active" attr.type="int"/>
{}</graphml>
"""
ONE = """<graph edgedefault="undirected"><data key="g">{}</data>
<node id="a"><data key="z">0.5</data></node><node id="b"><data key="n">O</data><data key="z">1</data></node>
<edge source="a" target="b"><data key="w">2</data></edge></graph>
"""


def test_graphml_with_labels_and_attributes(put):
    path = put("x.graphml", GRAPH.format(ONE.format(1) + ONE.format(0)))
    data = files.read(path, label="active")
    edges, nodes, bonds, charges = data.objects[0]
    assert (edges.tolist(), nodes, bonds, charges.tolist()) == ([[0, 1]], ["C", "O"], [2], [[0.5], [1]])
    assert data.labels.tolist() == [1, 0] and files.read(path).labels is None
    refuses("no attribute 'kind' of graphs: graphs have 'active'", path, label="kind")
    directed = files.read(put("y.graphml", GRAPH.format(ONE.format(1).replace("undirected", "directed"))))
    noted(directed, "directed edges are taken as undirected")


def test_graphml_of_networkx(tmp_path):
    nx = pytest.importorskip("networkx")
    for label, size in (("ring", 4), ("ring", 5), ("path", 4)):
        graph = (nx.cycle_graph if label == "ring" else nx.path_graph)(size)
        folder = tmp_path / "graphs" / label
        folder.mkdir(parents=True, exist_ok=True)
        nx.write_graphml(graph, folder / f"{size}.graphml")
    data = files.read(tmp_path / "graphs")
    assert [len(edges) for edges, _ in data.objects] == [3, 4, 5]
    assert data.labels.tolist() == ["path", "ring", "ring"] and data.ids[0] == "path/4.graphml"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('<!DOCTYPE g [<!ENTITY a "ha">]><graphml>&a;</graphml>', "line 1 declares a document type"),
        ("<graphml><graph>", "line 1 is not XML: no element found"),
        (GRAPH.format(""), "there are no graphs"),
        (GRAPH.format(ONE.format("x")), "line 7 has 'x' as 'active', which is not int"),
        (
            GRAPH.format(ONE.format(1).replace('target="b"', 'target="c"')),
            "line 9 has an edge of 'c', which is not a node",
        ),
        (GRAPH.format(ONE.format(1).replace('id="b"', 'id="a"')), "line 8 has node 'a' again"),
        (GRAPH.format(ONE.format(1).replace('key="w"', 'key="v"')), "line 9 has data of 'v', an unknown key"),
        ("<graphml><node id='a'/></graphml>", "line 1 has a node outside a graph"),
        ("<graphml><graph><graph/></graph></graphml>", "a graph inside a graph"),
    ],
)
def test_wrong_graphml_is_named_by_line(put, text, said):
    refuses(said, put("x.graphml", text))


# ---------------------------------------------------------------- folders


def test_folders_of_texts_are_those_of_scikit_learn(put, tmp_path):
    for name, text in (("b/1.txt", "one"), ("a/2.txt", "café"), ("b/0.txt", ""), ("b/.hidden", "no")):
        put(f"x/{name}", text)
    put("x/a/old.txt", "with a déjà vu".encode("latin-1"))
    data = files.read(tmp_path / "x")
    (tmp_path / "x/b/.hidden").unlink()
    expected = load_files(tmp_path / "x", encoding="utf-8", decode_error="replace", shuffle=False)
    names = [
        f"{expected.target_names[i]}/{path.split('/')[-1]}"
        for i, path in zip(expected.target, expected.filenames, strict=True)
    ]
    assert dict(zip(data.ids, data.labels.tolist(), strict=True)) == {one: one[0] for one in names}
    assert data.objects == ["café", "with a déjà vu", "", "one"]
    noted(data, "texts as strings", "labels are the names of 2 subfolders")
    assert files.read(tmp_path / "x" / "b").labels is None
    put("x/a/bad.txt", b"\x81\x8d")
    refuses("a/bad.txt: not UTF-8", tmp_path / "x")


def png(rows, columns, level, channels=1):
    """Return a PNG file of one gray level or color."""

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    lines = (b"\0" + bytes([level] * (columns * channels))) * rows
    head = struct.pack(">IIBBBBB", columns, rows, 8, {1: 0, 3: 2}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def test_folders_of_images_are_vectors_of_one_size(put, tmp_path):
    pytest.importorskip("PIL")
    put("x/dark/1.png", png(4, 6, 51))
    put("x/light/2.png", png(4, 6, 204, 3))
    same = files.read(tmp_path / "x")
    assert same.objects.shape == (2, 24) and same.labels.tolist() == ["dark", "light"]
    np.testing.assert_allclose(same.objects[0], 0.2)
    noted(same, "images of 4 x 6 pixels", "as vectors of 24 numbers: gray")
    assert files.read(tmp_path / "x", color=True).objects.shape == (2, 72)
    put("x/light/3.png", png(90, 70, 255))
    mixed = files.read(tmp_path / "x")
    assert mixed.objects.shape == (3, 1024) and (mixed.objects[2] == 1).all()
    noted(mixed, "images resized to 32 x 32 pixels from 2 sizes")
    assert files.read(tmp_path / "x", image_size=(2, 3)).objects.shape == (3, 6)
    assert files.read(tmp_path / "x", schema=same.schema).objects.shape == (3, 24)
    put("x/light/4.png", png(9, 9, 255)[:-30])
    refuses("light/4.png: (truncated or damaged|not an image)", tmp_path / "x")
    put("x/light/4.png", png(9, 9, 255).replace(struct.pack(">II", 9, 9), struct.pack(">II", 2**30, 2**30)))
    refuses("light/4.png: ", tmp_path / "x")


def test_folders_of_nothing_or_of_several_things_are_refused(put, tmp_path):
    (tmp_path / "empty").mkdir()
    refuses("not a folder of TU graphs.*not one of texts", tmp_path / "empty")
    put("both/a/1.txt", "text")
    put("both/a/2.png", b"image")
    refuses("a folder of several things, 1 images, 1 texts", tmp_path / "both")
    put("texts/a/1.txt", "text")
    refuses("there is no column 'topic': labels come from the names of subfolders", tmp_path / "texts", label="topic")
