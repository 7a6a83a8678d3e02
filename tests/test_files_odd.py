"""Unusual but valid files: read as intended, or refused with advice."""

import io
import json
import sys

import numpy as np
import pandas as pd
import pytest

from similitude import files
from similitude.errors import FileError


@pytest.fixture
def put(tmp_path):
    def written(name, content):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return path

    return written


def json_lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_semicolons_of_rows_of_unequal_lengths_are_named(put):
    path = put("x.csv", "a;b;c\n1,5;2,5;yes\n1,5;2\n")
    with pytest.raises(FileError, match=r"line 2 has 3 cells, the header has 1, 'a;b;c': these look like several"):
        files.read(path, label="c")


def test_a_comma_at_the_end_of_each_line_adds_no_column(put):
    data = files.read(put("x.csv", "a,b,\n1,2,\n3,4,\n"))
    assert data.objects.tolist() == [[1, 2], [3, 4]]
    assert data.notes == ("columns 'a', 'b' as vectors", "ignored: no value at all in 'Unnamed: 2'")
    again = files.read(put("y.csv", "b,a,\n4,3,x\n"), schema=data.schema)
    assert again.objects.tolist() == [[3, 4]]


def test_columns_that_are_all_empty_are_kept_where_there_is_nothing_else(put):
    data = files.read(put("x.csv", "a,b,y\n,,u\n,,v\n"), label="y")
    assert list(data.objects) == ["a", "b"] and not any("ignored" in one for one in data.notes)
    data = files.read(put("x.jsonl", json_lines({"a": None, "b": 1, "c": {}}, {"b": 2, "c": {}})))
    assert list(data.objects) == ["b", "c"]


def test_infinite_numbers_are_named(put):
    with pytest.raises(FileError, match="column 'b' is -inf in row 1: vectors hold finite numbers"):
        files.read(put("x.csv", "a,b\n1,2\n3,-inf\n"))


def test_the_index_of_pandas_is_no_feature(tmp_path):
    path = tmp_path / "x.parquet"
    pd.DataFrame({"a": [1.0, 2.0], "y": ["u", "v"]}, index=[7, 3]).to_parquet(path)
    data = files.read(path, label="y")
    assert data.objects.tolist() == [[1], [2]]
    assert data.notes == ("column 'a' as vectors", "ignored: columns '__index_level_0__'")


def test_numbers_that_are_no_text_are_not_offered_as_strings(put):
    assert files.read(put("x.jsonl", json_lines({"a": 1}, {"a": 2}))).notes == ("column 'a' as vectors",)


def test_comments_in_fasta_are_no_letters_and_letters_of_both_cases_are_said(put):
    data = files.read(put("x.fasta", "; from 1985\n>g1 u\n; a comment\nACGT\n>g2 v\nTT\n"), label="header")
    assert data.objects == ["ACGT", "TT"] and data.notes == ("sequences as strings",)
    notes = files.read(put("y.fasta", ">g1\nAC\n>g2\ngt\n")).notes
    assert notes[1] == "capital and small letters occur, and are different letters: 'A' is not 'a'"


SERIES = "# made by hand\n\n@problemName x\n@timeStamps False\n@classLabel True a b\n@data\n1,2,3:a\n4,5,6:b\n"


def test_ts_files_may_write_truth_with_a_capital_and_begin_with_comments(put, monkeypatch):
    data = files.read(put("x.ts", SERIES))
    assert data.labels.tolist() == ["a", "b"] and data.notes == ("series of 1 channel and 3 times",)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SERIES.encode())))
    assert files.read("-").labels.tolist() == ["a", "b"]
    with pytest.raises(FileError, match="time stamps"):
        files.read(put("y.ts", SERIES.replace("False", "True")))


def test_a_csv_that_begins_with_a_hash_is_a_csv(put):
    assert files.read(put("x.txt", "#a,b\n1,2\n")).schema.names == ("#a", "b")


def test_npz_reads_the_same_array_again_or_the_usual_one(tmp_path):
    both, usual = tmp_path / "both.npz", tmp_path / "usual.npz"
    np.savez(both, train=np.eye(2), test=np.zeros((2, 2)))
    np.savez(usual, X=np.ones((3, 2)))
    schema = files.read(both, object="train").schema
    assert files.read(both, schema=schema).objects.tolist() == [[1, 0], [0, 1]]
    assert files.read(both, schema=schema, object="test").objects.tolist() == [[0, 0], [0, 0]]
    assert files.read(usual, schema=schema).objects.shape == (3, 2)
    with pytest.raises(FileError, match="there is no array 'other'"):
        files.read(both, schema=schema, object="other")


def test_labels_of_a_graph_may_be_called_labels(put):
    data = files.read(put("x.jsonl", json_lines({"edges": [[0, 1]], "labels": "u"})), label="labels")
    assert data.labels.tolist() == ["u"] and data.objects[0][1] == 2
    nodes = files.read(put("y.jsonl", json_lines({"edges": [[0, 1]], "labels": ["C", "O"]})))
    assert nodes.objects[0][1] == ["C", "O"]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"edges": [[0, 1]], "nodes": "many"}, "graph 0: 'nodes' must be the number of its nodes, got 'many'"),
        ({"edges": [[0, 1]], "nodes": 2.5}, "graph 0: 'nodes' must be the number of its nodes, got 2.5"),
        ({"edges": [], "nodes": -1}, "graph 0: 'nodes' must be the number of its nodes, got -1"),
        ({"edges": [[0, 1]], "node_labels": "CO"}, "graph 0: the labels of its nodes must be a list, got 'CO'"),
        ({"s": ["a", ["b"]]}, r"column 's' is \['a', \['b'\]\] in row 0: the items of a set are texts or numbers"),
        ({"s": ["a", {"b": 1}]}, "column 's' is .* in row 0: the items of a set are texts or numbers"),
    ],
)
def test_parts_of_another_type_are_named(put, row, problem):
    with pytest.raises(FileError, match=problem):
        files.read(put("x.jsonl", json_lines(row)))


@pytest.mark.parametrize("text", ['[\n{"a": 1}\n]\n', '{\n"a": 1\n}\n', '[{"a": 1},\n{"a": 2}]\n'])
def test_json_over_several_lines_is_refused_with_what_to_do(put, text):
    with pytest.raises(FileError, match="JSON Lines has one object per line: jq -c"):
        files.read(put("x.jsonl", text))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a", "b", "a"], ["a", "b", "a", "a"]),
        (["a", None, "b"], ["a", None, "b", "a"]),
        ([1, 2, 1], [1, 2, 1, 1]),
        ([1.5, float("nan"), 2.5], [1.5, None, 2.5, 1.5]),
        ([[1], [2], [1]], [[1], [2], [1], [1]]),
    ],
)
def test_dictionaries_may_hold_what_pandas_does_not_allow_in_them(tmp_path, values, expected):
    pa = pytest.importorskip("pyarrow")
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0]), pa.array(values))
    table = pa.table({"coded": coded, "text": list("wxyz")})
    path = tmp_path / "coded.arrow"
    with pa.ipc.new_file(path, table.schema) as out:
        out.write_table(table)
    found = files.read(path, kind="table").objects["coded"]
    assert [None if one is None or one != one else one for one in found] == expected
