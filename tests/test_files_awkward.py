"""Awkward files with a known truth: what programs write around a table, how people write numbers, labels and images."""

import gzip
import io
import os

import numpy as np
import pandas as pd
import pytest

from similitude import files
from similitude.errors import FileError

X = [[1007.25, 3], [2500.5, 1], [12.75, 2], [930.0, 5]]
Y = ["a", "b", "a", "b"]


@pytest.fixture
def put(tmp_path):
    def written(name, content, encoding="utf-8"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return written


def table(separator=",", number=str, header="x,n,y", end=""):
    """Return X and Y as a text, with the first numbers written in some way."""
    rows = [f"{number(x)},{n},{y}{end}" if separator == "," else f"{number(x)}{separator}{n}{separator}{y}{end}"
            for (x, n), y in zip(X, Y, strict=True)]  # fmt: skip
    return "\n".join([header.replace(",", separator), *rows, ""])


def grouped(group, decimal):
    return lambda x: f"{x:,.2f}".translate({ord(","): group, ord("."): decimal})


def is_read(path, **options):
    data = files.read(path, label="y", **options)
    assert np.asarray(data.objects).tolist() == X and data.labels.tolist() == Y, (path.name, data)
    return "; ".join(data.notes)


def refuses(pattern, path, **options):
    with pytest.raises(FileError, match=pattern):
        files.read(path, **options)


# ---------------------------------------------------------------- around the table


@pytest.mark.parametrize(
    ("above", "said"),
    [
        ("sep=;\n", "cells separated by ';', as its first line says"),
        ('\ufeff"SEP=;"\r\n', "cells separated by ';', as its first line says"),
        ("# exported by hand\n#\n", "ignored: 2 lines above the header"),
        ("\n\n", "cells separated by semicolons"),
    ],
)
def test_lines_above_the_header(put, above, said):
    text = above + table(";", grouped(".", ","))
    assert said in is_read(put("x.csv", text))
    assert said in is_read(put("x.csv.gz", gzip.compress(text.encode())))
    ragged = put("y.csv", f"{text}1;2\n")
    refuses(f"line {text.count(chr(10)) + 1} has 2 cells", ragged, label="y", separator=";")


def test_a_header_may_begin_with_a_hash_below_comments(put):
    data = files.read(put("x.tsv", "##version 4\n##by hand\n#a\tb\n1\t2\n3\t4\n"))
    assert data.schema.names == ("#a", "b") and "ignored: 2 lines above the header" in data.notes


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_headers_with_one_cell_too_few_or_too_many(put, separator):
    text = table(separator)
    head, *rows = text.splitlines()
    ends = [row + separator for row in rows]
    assert "rows end in a separator" in is_read(put("a.csv", "\n".join([head, *ends])))
    assert "the header ends in a separator" in is_read(put("b.csv", "\n".join([head + separator, *rows])))
    named = [f"{name}{separator}{row}" for name, row in zip("pqrs", rows, strict=True)]
    data = files.read(put("c.csv", "\n".join([head, *named])), label="y")
    assert data.schema.names[0] == "Unnamed: 0" and data.objects["Unnamed: 0"].tolist() == list("pqrs")
    assert any("taken as names of the rows" in note for note in data.notes)


def test_decimal_commas_between_commas_are_not_names_of_rows(put):
    refuses("line 2 has 3 cells, the header has 2", put("x.csv", "x,y\n1,5,0\n2,5,1\n3,5,0\n"))
    refuses("separator=';' if these are decimal commas", put("x.csv", "x\n1,5\n2,5\n"))
    assert files.read(put("x.csv", "x\n1,5\n2,5\n"), separator=";").objects.tolist() == [[1.5], [2.5]]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["x.csv", "x.txt"])
def test_utf16_without_a_byte_order_mark(put, encoding, name):
    assert "without a byte order mark" in is_read(put(name, table(";"), encoding))


def test_hard_blanks_of_windows_and_the_word_by_which_an_encoding_shows(put):
    notes = is_read(put("x.csv", table(";", grouped("\u00a0", ","), header="prix €,âge,y"), "cp1252"))
    assert "such as '€'" in notes


def test_names_and_texts_without_the_blanks_around_them(put):
    path = put("x.csv", "a, t, y\n1, red, u\n2, red , v\n3, , u \n4,blue,v\n")
    data = files.read(path, label="y")
    assert data.schema.names == ("a", "t") and data.labels.tolist() == ["u", "v", "u", "v"]
    assert data.objects["t"].isna().tolist() == [False, False, True, False]
    assert set(data.objects["t"].dropna()) == {"red", "blue"}
    assert "blanks around the texts of column 't' are left out: ' red' is 'red'" in data.notes
    again = files.read(put("y.csv", "t,a\nred ,1\n"), schema=data.schema)
    assert again.objects["t"].tolist() == ["red"]


def test_rows_without_any_value_are_left_out(put):
    assert "rows without any value are left out" in is_read(put("x.csv", table() + ",,\n,,\n"))
    assert files.read(put("y.csv", 's\n"a"\n""\n')).objects == ["a", ""]


def test_what_is_no_table_is_named(put):
    refuses("a web page", put("x.csv", "<!DOCTYPE html>\n<html></html>\n"))
    refuses("rename it to .xlsx", put("x.csv", b"PK\x03\x04rest"))
    refuses("decompress it, or use gzip", put("x.csv.bz2", b"BZh9"))
    refuses("convert it to FASTA", put("x.fastq", "@r\nAC\n+\nII\n"))
    refuses("Is the header missing", put("x.csv", "0.5,0,0\n1.5,1,0\n"))
    refuses("look like values: is the header missing", put("x.csv", "0.5,3,red\n1.5,1,blue\n"), label="y")
    refuses("if the header is further down", put("x.csv", "Report,,\n,,\na,b,y\n"), label="y")
    refuses("with sheet='A'", put("x.xlsx", b"").with_name("x.xlsx#A"))


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    "number",
    [
        grouped(".", ","), grouped("'", "."), grouped("’", "."), grouped("\u2009", ","), grouped("\u202f", ","),  # noqa: RUF001
        lambda x: f"{x} €", lambda x: f"$ {x}", lambda x: f"{x}%".replace(".", ","), lambda x: f"CHF {x}",
    ],
    ids=["de", "ch", "curly", "thin", "narrow", "euro", "dollar", "percent", "francs"],
)  # fmt: skip
def test_numbers_of_several_countries_and_their_units(put, number):
    is_read(put("x.csv", table(";", number)))
    data = files.read(put("y.csv", table(";", number)), label="x")
    assert data.labels.tolist() == [x for x, _ in X]
    again = files.read(put("z.csv", table(";", number)), schema=files.read(put("x.csv", table()), label="y").schema)
    assert again.objects.tolist() == X


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1.000.000", "2.500.000"], [1e6, 2.5e6]),
        (["12,34,567", "1,00,000"], [1234567, 100000]),
        (["\u22125.5", "2"], [-5.5, 2]),
        (["5 kg", "NA"], [5, None]),
    ],
)
def test_further_spellings_of_numbers(put, cells, expected):
    data = files.read(put("x.csv", "a\tb\n" + "".join(f"{one}\t{i}\n" for i, one in enumerate(cells))))
    found = np.asarray(data.objects)[:, 0]
    np.testing.assert_array_equal(found, np.array(expected, dtype=float))


def test_points_in_other_columns_tell_what_a_comma_means(put):
    assert files.read(put("x.tsv", "a\tb\n1,234\t0.5\n")).objects.tolist() == [[1234, 0.5]]
    notes = files.read(put("x.csv", "a;b\n1.234;1\n")).notes
    assert "column 'a' has '1.234', taken as 1.234: decimal=',' makes it 1234" in notes


def test_units_that_differ_stay_texts(put):
    assert files.read(put("x.csv", "a,b\n5 kg,1\n7 g,2\n")).objects["a"].tolist() == ["5 kg", "7 g"]


def test_numbers_with_other_texts_among_them_are_said(put):
    rows = "".join(f"{'oops' if i == 7 else i / 2},{i % 3},{i % 2 if i else 'class'}\n" for i in range(40))
    data = files.read(put("x.csv", "a,b,y\n" + rows), label="y")
    said = "is text, though most cells are numbers: 1 of 40 are not, the first is 'oops' in row 7; missing='oops'"
    assert any(f"column 'a' {said}" in note for note in data.notes)
    assert any("label 'y' is text, though most cells are numbers" in note for note in data.notes)
    mended = files.read(put("x.csv", "a,b,y\n" + rows), label="y", missing=("oops", "class"), unlabeled="drop")
    assert mended.objects["a"].isna().sum() == 1 and mended.labels.dtype.kind == "i"


def test_plain_numbers_are_those_of_pandas_whatever_comes_late(put, monkeypatch):
    monkeypatch.setattr("similitude.data.files.tables.SAMPLED_BYTES", 512)
    for late in ("1.5", "-", "+7", "1e400", "99999999999999999999", "0x10", "oops", "NA", '"3"', " 4 "):
        rows = [f"{i},{i / 4},{i % 2}" for i in range(400)]
        rows[300] = f"{late},0.5,1"
        path = put("x.csv", "\n".join(["a,b,y", *rows]))
        monkeypatch.setattr("similitude.data.files.read_file._may_be_numbers", lambda names, *given: names)
        quick = _said(path)
        monkeypatch.setattr("similitude.data.files.read_file._may_be_numbers", lambda *given: ())
        assert quick == _said(path), late


def _said(path):
    """Return what is read, as a text."""
    try:
        data = files.read(path, label="y")
    except FileError as error:
        return str(error)
    return repr((np.asarray(data.objects).tolist(), data.labels.tolist(), data.schema, data.notes))


# ---------------------------------------------------------------- labels and columns


def test_labels_that_are_blank_or_words_for_none(put):
    numbers = put("x.csv", "a,y\n" + "".join(f"{i},{y}\n" for i, y in enumerate(["0", "1", "", " ", "?", "NA", "-"])))
    data = files.read(numbers, label="y", unlabeled="drop")
    assert data.labels.tolist() == [0, 1] and data.objects.tolist() == [[0], [1]]
    assert "'-', '?' is no label in column 'y' of numbers" in data.notes
    texts = files.read(put("x.csv", "a,y\n1,u\n2, \n3,?\n4,U\n"), label="y", unlabeled="drop")
    assert texts.labels.tolist() == ["u", "?", "U"]
    assert "'?' is a class of label 'y' like any other; missing='?' changes that" in texts.notes
    assert "labels 'u' and 'U' of 'y' differ in case alone, and are two classes" in texts.notes


@pytest.mark.parametrize(
    "date",
    ["03-Jan-23", "3. März 2024", "January 3, 2023", "01/03/2023 04:05 AM", "14:30", "2023-01", "2023-01-03T04:05:06Z"],
)
def test_dates_and_times_are_noticed(put, date):
    notes = files.read(put("x.csv", f'd;k\n"{date}";1\n;2\n')).notes
    assert any("holds dates" in note for note in notes)
    assert any("holds dates" in note for note in files.read(put("x.csv", f'd;y\n"{date}";1\n'), label="y").notes)


def test_compact_dates_and_codes_are_noticed(put):
    notes = files.read(put("x.csv", "d,z\n20240131,01234\n20240201,99999\n")).notes
    assert any("holds dates such as 20240131" in note for note in notes)
    assert any("column 'z' has leading zeros, such as '01234'" in note for note in notes)
    assert files.read(put("x.csv", "d,z\n20240131,1\n20249901,2\n")).notes == ("columns 'd', 'z' as vectors",)


def test_the_index_of_shuffled_rows_and_columns_of_na_are_left_out(put):
    rows = "".join(f"{7 * i % 12},{i},NA,{i % 2}\n" for i in range(12))
    data = files.read(put("x.csv", ",a,b,y\n" + rows), label="y")
    assert data.objects.tolist() == [[i] for i in range(12)]
    assert "ignored: no value at all in 'b'" in data.notes


# ---------------------------------------------------------------- workbooks


def workbook(rows, change=lambda book, sheet: None):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    change(book, book.active)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def test_numbers_of_a_workbook_are_not_spelled(put):
    path = put("x.xlsx", workbook([["a", "b"], ["1,5", 1.125], ["1.000,5", 2]]))
    for decimal in (None, ","):
        assert files.read(path, decimal=decimal).objects.tolist() == [[1.5, 1.125], [1000.5, 2]]
    gaps = files.read(put("y.xlsx", workbook([["a", "b"], [-999, 1], [2, 3]])), missing="-999").objects
    assert gaps["a"].isna().tolist() == [True, False]
    assert files.read(put("z.xlsx", workbook([["a"], [1], [2.5]])), kind="strings").objects == ["1", "2.5"]


def test_hidden_parts_of_a_workbook_are_said(put):
    def hide(book, sheet):
        sheet.row_dimensions[2].hidden = True
        book.create_sheet("Notes").append(["x"])
        book["Notes"].sheet_state = "hidden"

    data = files.read(put("x.xlsx", workbook([["a", "b"], [1, 2], [3, 4]], hide)))
    assert data.objects.tolist() == [[1, 2], [3, 4]]
    assert "hidden or filtered rows of sheet 'Sheet' are used too" in data.notes
    assert "ignored: hidden sheets 'Notes' (sheet= chooses)" in data.notes
    refuses("cell B2 of sheet 'Sheet' is the error #SPILL!", put("y.xlsx", workbook([["a", "b"], [1, "#SPILL!"]])))


# ---------------------------------------------------------------- folders


def test_what_a_folder_of_texts_leaves_out_is_said(put, tmp_path):
    put("t/pos/1.txt", "ACGTAC\n")
    put("t/pos/2.txt", "déjà vu", "latin-1")
    put("t/pos/3.txt", "")
    put("t/pos/more/4.txt", "deep")
    put("t/neg/1.md", "other")
    put("t/__MACOSX/1.txt", "no")
    notes = "; ".join(files.read(tmp_path / "t").notes)
    for said in (
        "1 of 3 files, the first is pos/2.txt: not UTF-8: read as Windows-1252",
        "1 texts are empty, the first is pos/3.txt",
        "no texts in subfolders 'neg'",
        "ignored: folders inside of subfolders, 'pos/more'",
    ):
        assert said in notes
    put("split/train/pos/1.txt", "a")
    refuses("its subfolders hold folders, such as train/pos: name one of them", tmp_path / "split")
    for name, text in (("a/1.txt", "acgtacgt\n"), ("b/2.txt", "ACGT\nTTGA\n")):
        put(f"dna/{name}", text)
    assert any("capital and small letters" in note for note in files.read(tmp_path / "dna").notes)


GRAPH = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected"><node id="a"/></graph>
</graphml>"""


pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")


@pipes
@pytest.mark.parametrize(("name", "content"), [("1.txt", "a text"), ("1.graphml", GRAPH)])
def test_pipes_devices_and_dangling_links_of_a_folder_are_left_out_and_said(put, tmp_path, name, content):
    put(f"t/pos/{name}", content)
    put(f"t/neg/{name}", content)
    assert not any("pipes" in note for note in files.read(tmp_path / "t").notes)
    os.mkfifo(tmp_path / "t/pos/pipe.txt")
    (tmp_path / "t/neg/zero.graphml").symlink_to("/dev/zero")
    (tmp_path / "t/gone").symlink_to("nowhere")
    (tmp_path / "t/neg/.hidden").symlink_to("nowhere")
    data = files.read(tmp_path / "t")
    assert len(data) == 2
    assert "ignored: pipes, devices or links to nothing, 'gone', 'neg/zero.graphml', 'pos/pipe.txt'" in data.notes


@pipes
def test_a_pipe_among_the_files_of_graphs_is_refused(put, tmp_path):
    put("d/D_A.txt", "1, 2\n")
    put("d/D_graph_indicator.txt", "1\n1\n")
    os.mkfifo(tmp_path / "d/D_node_labels.txt")
    refuses("D_node_labels.txt is no file, but a folder, a pipe", tmp_path / "d")


def test_images_as_one_looks_at_them(tmp_path):
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "x/a").mkdir(parents=True)
    levels = np.zeros((4, 6), np.uint8)
    levels[0] = 255
    turned = image.Exif()
    turned[0x0112] = 6
    image.fromarray(levels).save(tmp_path / "x/a/1.png", exif=turned)
    deep = np.arange(24, dtype=np.uint16).reshape(6, 4)
    image.fromarray(deep).save(tmp_path / "x/a/2.png")
    clear = np.zeros((6, 4, 4), np.uint8)
    clear[0, :, 3] = 255
    frames = [image.fromarray(clear), image.fromarray(clear[::-1].copy())]
    frames[0].save(tmp_path / "x/a/3.tif", save_all=True, append_images=frames[1:])
    data = files.read(tmp_path / "x")
    np.testing.assert_array_equal(data.objects[0].reshape(6, 4), np.rot90(levels, -1) / 255)
    np.testing.assert_allclose(data.objects[1], deep.ravel() / 65535)
    np.testing.assert_array_equal(data.objects[2].reshape(6, 4)[:, 0], [0, 1, 1, 1, 1, 1])
    assert any("images of 6 x 4 pixels" in note for note in data.notes)
    assert "1 images have several frames or pages: the first is taken" in data.notes
    assert "1 images have transparent pixels: what is behind them is white" in data.notes
    colors = files.read(tmp_path / "x", color=True).objects.reshape(3, 6, 4, 3)
    np.testing.assert_array_equal(colors[1, ..., 0], colors[1, ..., 2])
    image.fromarray(np.ones((4, 6), np.float32)).save(tmp_path / "x/a/4.tif")
    refuses("a/4.tif: its levels are real numbers", tmp_path / "x")


def test_a_german_table_is_read_as_pandas_reads_it(put):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=50) * 1e4, "b": rng.integers(0, 9, 50), "c": rng.random(50)}).round(3)
    frame.loc[3, "a"] = None
    path = put("x.csv", frame.to_csv(sep=";", decimal=",", index=False))
    pd.testing.assert_frame_equal(files.read(path).objects, frame)
