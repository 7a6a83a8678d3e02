"""FASTA, npz, .ts series and TU graphs."""

import gzip
import zipfile

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from similitude import files
from similitude.errors import FileError
from similitude.kernels import DTW, Gaussian, Linear, ShortestPath, WeisfeilerLehman


def refuses(pattern, path, content=None, **options):
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FileError, match=pattern):
        files.read(path, **options)


# ---------------------------------------------------------------- FASTA


def test_fasta_keeps_sequences_and_ids(tmp_path):
    path = tmp_path / "x.fasta"
    path.write_text(">s1 first one\nACgt\n\nac gt\n>s2\nNA\n> s3\n*\n")
    data = files.read(path)
    assert data.objects == ["ACgtacgt", "NA", "*"] and data.ids == ["s1", "s2", "s3"]
    assert data.labels is None and data.notes[0] == "sequences as strings"


def test_fasta_labels_are_the_last_word_or_a_named_value(tmp_path):
    path = tmp_path / "x.fa"
    path.write_text(">s1 class=a|fold=1 promoter\nac\n>s2 fold=2 class=b other\ngt\n")
    assert files.read(path, label="header").labels.tolist() == ["promoter", "other"]
    assert files.read(path, label="class").labels.tolist() == ["a", "b"]
    assert files.read(path, label="fold").labels.tolist() == [1, 2]
    refuses("line 1 has no label: .* has no 'kind='", path, label="kind")
    refuses("line 1 has no label: .* no second word", path, ">s1\nac\n", label="header")
    refuses("objects of a FASTA file are its sequences", path, object="s")


def test_fasta_labels_are_optional_with_a_schema(tmp_path):
    path = tmp_path / "x.fa"
    path.write_text(">s1 1\nac\n>s2 2\ngt\n")
    schema = files.read(path, label="header").schema
    assert (schema.label, schema.label_type) == ("header", "integer")
    assert files.read(path, schema=schema).labels.tolist() == [1, 2]
    path.write_text(">s1\nac\n")
    data = files.read(path, schema=schema)
    assert data.labels is None and data.notes[1].startswith("no labels: line 1 has no label")


def test_fasta_without_a_header_is_refused_and_empty_sequences_are_said(tmp_path):
    path = tmp_path / "x.fasta"
    refuses("line 2 is 'acgt': a FASTA file starts with a header", path, "\nacgt\n>s\nac\n")
    path.write_text(">a\n>b\nac\n")
    data = files.read(path)
    assert data.objects == ["", "ac"] and data.notes[1] == "1 sequences are empty, the first on line 1, 'a'"


@given(
    st.lists(
        st.tuples(st.from_regex(r"[A-Za-z0-9_.]{1,8}", fullmatch=True), st.text("ACGTN-*", max_size=30)), min_size=1
    ),
    st.integers(1, 9),
    st.booleans(),
)
def test_any_fasta_is_read_back(tmp_path_factory, records, width, packed):
    path = tmp_path_factory.mktemp("fasta") / ("x.fasta.gz" if packed else "x.fasta")
    text = "".join(
        f">{name}\r\n" + "".join(f"{sequence[i : i + width]}\n" for i in range(0, len(sequence), width))
        for name, sequence in records
    )
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    data = files.read(path)
    assert list(zip(data.ids, data.objects, strict=True)) == records
    pieces = list(files.batches(path, rows=3))
    assert [one for piece in pieces for one in piece.objects] == data.objects


# ---------------------------------------------------------------- npz


def test_arrays_are_vectors_series_and_strings(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, X=np.arange(6).reshape(3, 2), y=np.array(["a", "b", "a"]), other=np.zeros(9))
    data = files.read(path)
    assert data.objects.dtype == float and data.objects.shape == (3, 2) and data.labels.tolist() == ["a", "b", "a"]
    assert data.notes == ("array 'X' as vectors of 2 numbers",)
    assert files.read(path, label="y", kind="series").objects[1].tolist() == [2, 3]
    np.savez_compressed(path, S=np.zeros((4, 10, 2), np.float32))
    data = files.read(path)
    assert len(data.objects) == 4 and data.objects[0].shape == (10, 2) and data.objects[0].dtype == np.float32
    assert data.notes == ("array 'S' as series of 10 times and 2 channels",) and data.labels is None
    np.savez(path, X=np.array(["ac", "gt"]), c=np.array([b"u", b"v"]))
    data = files.read(path, label="c")
    assert data.objects == ["ac", "gt"] and data.labels.tolist() == ["u", "v"]


def test_sparse_matrices_are_vectors(tmp_path):
    path, dense = tmp_path / "x.npz", np.array([[0, 1.5, 0], [2, 0, 0]])
    for matrix in (sp.csr_matrix(dense), sp.csc_matrix(dense)):
        sp.save_npz(path, matrix)
        data = files.read(path)
        assert data.schema.kind == "vectors" and data.notes == ("sparse vectors of 3 numbers",)
        np.testing.assert_array_equal(data.objects.toarray(), dense)
        Gaussian(1.0).gram(data.objects)
        assert [len(piece) for piece in files.batches(path, rows=1)] == [1, 1]
    matrix = sp.csr_matrix(dense)
    parts = {f"train_{name}": getattr(matrix, name) for name in ("data", "indices", "indptr", "shape")}
    np.savez(path, **parts, labels=[0, 1])
    data = files.read(path, object="train", label="labels")
    np.testing.assert_array_equal(data.objects.toarray(), dense)
    parts["train_indices"] = np.array([0, 99], np.int32)
    np.savez(path, **parts)
    refuses("truncated, damaged or not an npz", path, object="train")
    sp.save_npz(path, sp.coo_matrix(dense))
    refuses("which array holds the objects", path)


def test_arrays_that_do_not_fit_are_refused(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, X=np.eye(3), y=[0, 1])
    refuses("3 objects in 'X' and 2 labels in 'y'", path)
    refuses("no array 'Z'.*it has 'X', 'y'", path, label="Z")
    refuses("no array 'Z': it has 'X'", path, object="Z")
    np.savez(path, a=np.eye(3), b=np.eye(2))
    refuses("which array holds the objects\\? Choose one with object=: it has 'a', 'b'", path)
    np.savez(path, X=np.array([{}], dtype=object))
    refuses("Python objects \\(pickle\\): these are never loaded", path)
    np.savez(path, X=np.zeros(3))
    refuses(r"'X' has shape \(3,\)", path)
    np.savez(path, X=np.array([[1.0], [np.nan]]))
    refuses(r"missing value \(NaN\) in row 1", path)
    np.savez(path, X=np.eye(2), y=[1.0, np.nan])
    refuses("label 'y' is missing in row 1", path)
    np.savez(path, X=np.eye(2), y=np.eye(2))
    refuses("labels 'y' are an array of shape", path)
    np.savez(path, X=np.eye(20))
    refuses("truncated, damaged or not an npz", path, path.read_bytes()[:200])
    refuses("truncated, damaged or not an npz", path, b"nothing of the kind")
    refuses("kind='graphs' does not fit", _npz(path), kind="graphs")
    np.savez(path, X=np.zeros((2, 3, 2)))
    refuses("several channels", path, kind="vectors")


def _npz(path):
    np.savez(path, X=np.eye(2))
    return path


# ---------------------------------------------------------------- .ts

HEADER = "#comment\n@problemName Toy\n@timeStamps false\n@univariate true\n@equalLength false\n"


def test_ts_files_hold_series(tmp_path):
    path = tmp_path / "x.ts"
    path.write_text(HEADER + "@classLabel true 1 2\n@data\n1.5,2,3:1\n4,-5e1:2\n\n")
    data = files.read(path)
    assert [one.tolist() for one in data.objects] == [[1.5, 2, 3], [4, -50]] and data.labels.tolist() == [1, 2]
    assert data.notes == ("series of 1 channel and 2 to 3 times",) and data.schema.label == "label"
    DTW(1.0).gram(data.objects)
    path.write_text(HEADER + "@classLabel true walk run\n@data\n1,2:3,4:walk\n5,6:7,8:run\n")
    data = files.read(path, label="label")
    assert data.objects[0].tolist() == [[1, 3], [2, 4]] and data.labels.tolist() == ["walk", "run"]
    path.write_text("@targetlabel true\n@data\n1,2:0.5\n")
    assert files.read(path).labels.tolist() == [0.5]
    path.write_text("@classLabel false\n@data\n1,2\n3,4\n")
    data = files.read(path, kind="vectors")
    assert data.objects.tolist() == [[1, 2], [3, 4]] and data.labels is None and data.schema.label is None


@pytest.mark.parametrize(
    ("content", "pattern"),
    [
        (HEADER + "@data\n1,?,3\n", r"line 7, channel 1 has a missing value '\?'"),
        (HEADER + "@data\n1,2:NaN,3\n", "line 7, channel 2 has a missing value"),
        (HEADER + "@data\n1,x\n", "line 7, channel 1: could not convert"),
        (HEADER + "@data\n1,2:3\n", "line 7 has channels of unequal length: 2, 1"),
        (HEADER + "@data\n1,2\n1,2:3,4\n", "line 8 has 2 channels, those above have 1"),
        (HEADER + "@classLabel true a b\n@data\n1,2:c\n", "line 8 has the label 'c', which is not in @classLabel a b"),
        (HEADER + "@classLabel true a b\n@data\n1,2:?\n", "line 8 has no label"),
        ("@timeStamps true\n@data\n(0,1)\n", "line 1: series with time stamps"),
        (HEADER + "1,2\n", "line 6 is '1,2': the header has lines that start with @"),
        (HEADER + "@classLabel true a b\n@data\na\n", "line 8 has a label and no values"),
        (HEADER + "@\n", "no line @data"),
        (HEADER, "no line @data"),
        (HEADER + "@data\n", "header but no series"),
    ],
)
def test_ts_files_that_are_wrong(tmp_path, content, pattern):
    refuses(pattern, tmp_path / "x.ts", content)


def test_labels_of_ts_files_have_their_place(tmp_path):
    refuses("labels come from @classLabel", tmp_path / "x.ts", HEADER + "@data\n1,2\n", label="y")
    refuses("holds no labels", tmp_path / "x.ts", HEADER + "@data\n1,2\n", label="label")


# ---------------------------------------------------------------- TU


def write_tu(folder, graphs, labels, node_labels=True, edge_labels=True, both=True, name="DS"):
    """Write graphs of networkx as a TU folder."""
    folder.mkdir(exist_ok=True)
    lines = {part: [] for part in ("A", "graph_indicator", "graph_labels", "node_labels", "edge_labels")}
    offset = 1
    for number, (graph, label) in enumerate(zip(graphs, labels, strict=True), 1):
        lines["graph_labels"].append(label)
        for node in graph:
            lines["graph_indicator"].append(number)
            lines["node_labels"].append(graph.nodes[node]["label"])
        for u, v, edge_label in graph.edges(data="label"):
            for a, b in [(u, v), (v, u)] if both and u != v else [(u, v)]:
                lines["A"].append(f"{a + offset}, {b + offset}")
                lines["edge_labels"].append(edge_label)
        offset += len(graph)
    for part, rows in lines.items():
        if (part != "node_labels" or node_labels) and (part != "edge_labels" or edge_labels):
            (folder / f"{name}_{part}.txt").write_text("".join(f"{row}\n" for row in rows))


def random_graph(rng):
    graph = nx.gnp_random_graph(int(rng.integers(1, 9)), float(rng.random()), seed=int(rng.integers(1 << 30)))
    for node in graph:
        graph.nodes[node]["label"] = int(rng.integers(3))
    for u, v in graph.edges:
        graph.edges[u, v]["label"] = int(rng.integers(2))
    return graph


def as_networkx(graph):
    edges, nodes, *edge_labels = graph
    found = nx.Graph()
    count = nodes if isinstance(nodes, int) else len(nodes)
    for node in range(count):
        found.add_node(node, **({} if isinstance(nodes, int) else {"label": nodes[node]}))
    for place, (u, v) in enumerate(edges.tolist()):
        assert not found.has_edge(u, v)
        found.add_edge(u, v, **({"label": edge_labels[0][place]} if edge_labels else {}))
    return found


@given(st.integers(0, 10_000), st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_any_graphs_are_read_back_from_a_tu_folder(tmp_path_factory, seed, node_labels, edge_labels, both, packed):
    rng = np.random.default_rng(seed)
    graphs = [random_graph(rng) for _ in range(int(rng.integers(1, 6)))]
    labels = rng.integers(-1, 2, len(graphs)).tolist()
    folder = tmp_path_factory.mktemp("tu") / "DS"
    write_tu(folder, graphs, labels, node_labels, edge_labels, both)
    if packed:
        path = folder.with_suffix(".zip")
        with zipfile.ZipFile(path, "w") as file:
            for one in folder.iterdir():
                file.write(one, f"DS/{one.name}")
        folder = path
    data = files.read(folder)
    assert data.labels.tolist() == labels and data.schema.kind == "graphs"
    for graph, original in zip(map(as_networkx, data.objects), graphs, strict=True):
        assert {frozenset(edge) for edge in graph.edges} == {frozenset(edge) for edge in original.edges}
        assert len(graph) == len(original)
        if node_labels:
            assert dict(graph.nodes(data="label")) == dict(original.nodes(data="label"))
        if edge_labels:
            assert all(original.edges[u, v]["label"] == label for u, v, label in graph.edges(data="label"))
    ShortestPath().gram(data.objects)


@pytest.fixture
def triangle(tmp_path):
    def write(**changed):
        parts = {
            "A": "1, 2\n2, 1\n3, 4\n4, 3\n",
            "graph_indicator": "1\n1\n2\n2\n",
            "graph_labels": "1\n-1\n",
            **changed,
        }
        for part, text in parts.items():
            path = tmp_path / f"DS_{part}.txt"
            path.unlink(missing_ok=True)
            if text is not None:
                path.write_text(text)
        return tmp_path

    return write


def test_a_small_tu_folder(triangle):
    data = files.read(triangle(graph_attributes="0.5\n" * 4))
    assert [(edges.tolist(), nodes) for edges, nodes in data.objects] == [([[0, 1]], 2), ([[0, 1]], 2)]
    assert data.notes == ("DS: undirected graphs, without labels of nodes and edges", "ignored: 'graph_attributes'")
    assert files.read(triangle(graph_labels=None)).labels is None
    data = files.read(triangle(node_labels="0, 1\n0, 2\n0, 1\n1, 1\n"))
    assert data.objects[0][1] == [(0, 1), (0, 2)]
    mixed = files.read(triangle(graph_indicator="1\n2\n1\n2\n", A="1, 3\n4, 2\n", node_labels="5\n6\n7\n8\n"))
    assert [(edges.tolist(), nodes) for edges, nodes in mixed.objects] == [([[0, 1]], [5, 7]), ([[1, 0]], [6, 8])]


def test_attributes_of_edges_in_a_tu_folder(triangle):
    data = files.read(triangle(edge_attributes="0.5, 1\n" * 2 + "2, 3\n" * 2))
    assert data.notes == ("DS: undirected graphs, without labels of nodes and edges, 2 attributes of each edge",)
    assert [graph[4].tolist() for graph in data.objects] == [[[0.5, 1]], [[2, 3]]]
    with pytest.raises(FileError, match="two vectors of attributes for the edge of nodes 2 and 1"):
        files.read(triangle(edge_attributes="0.5\n1\n1\n1\n"))


def test_attributes_of_nodes_in_a_tu_folder(triangle):
    rows = "0.5, 1e2\n-1, 2\n 3 ,4.25\n5,6\n\n"
    data = files.read(triangle(graph_indicator="1\n2\n1\n2\n", A="1, 3\n4, 2\n", node_attributes=rows))
    assert data.notes == ("DS: undirected graphs, without labels of nodes and edges, 2 attributes of each node",)
    assert [graph[1:3] for graph in data.objects] == [(2, None), (2, None)]
    assert [graph[3].tolist() for graph in data.objects] == [[[0.5, 100], [3, 4.25]], [[-1, 2], [5, 6]]]
    assert ShortestPath(Linear())(*data.objects) == pytest.approx(ShortestPath(Linear())(*data.objects[::-1]))
    assert WeisfeilerLehman().gram(data.objects).tolist() == WeisfeilerLehman().gram([([(0, 1)],)] * 2).tolist()
    labeled = files.read(triangle(node_attributes="1\n2\n3\n4\n", node_labels="5\n6\n7\n8\n", edge_labels="1\n" * 4))
    assert [(*graph[1:3], graph[3].tolist()) for graph in labeled.objects] == [
        ([5, 6], [1], [[1], [2]]),
        ([7, 8], [1], [[3], [4]]),
    ]


@pytest.mark.parametrize(
    ("changed", "pattern"),
    [
        ({"A": "1, 2\n3, 9\n"}, "line 2 of the edges joins nodes 3 and 9, but there are only nodes 1 to 4"),
        ({"A": "0, 9\n"}, "line 1 of the edges joins nodes 0 and 9, but there are only nodes 1 to 4"),
        ({"A": "1, 3\n"}, "line 1 of the edges joins node 1 of graph 1 and node 3 of graph 2"),
        ({"A": "1, 2\n1 2\n"}, "line 2 of DS_A.txt is '1 2', not 2 integers"),
        ({"A": "1, x\n"}, "line 1 of DS_A.txt is '1, x'"),
        ({"graph_indicator": "1\n1.5\n"}, "line 2 of DS_graph_indicator.txt is '1.5', not an integer"),
        ({"graph_indicator": "1\n1\n2\n3\n"}, "node 4 belongs to graph 3, but there are graphs 1 to 2"),
        ({"graph_indicator": None}, "no DS_graph_indicator.txt"),
        ({"graph_indicator": ""}, "DS_graph_indicator.txt is empty: it has a line for each node"),
        ({"graph_indicator": "\n \n", "graph_labels": None}, "DS_graph_indicator.txt is empty"),
        ({"graph_labels": ""}, "no graphs"),
        ({"graph_labels": "1\n---1\n"}, "line 2 of DS_graph_labels.txt is '---1', not an integer"),
        ({"graph_labels": "1\n+-1\n"}, "line 2 of DS_graph_labels.txt is '\\+-1', not an integer"),
        ({"graph_labels": "1\n9999999999999999999\n"}, "line 2 of DS_graph_labels.txt is '9+', not an integer"),
        ({"node_labels": "1\n"}, "4 nodes and 1 lines of node_labels"),
        ({"edge_labels": "1\n"}, "4 edges and 1 lines of edge_labels"),
        ({"edge_labels": "1\n2\n1\n1\n"}, "graph 1 has two labels for the edge of nodes 2 and 1: 1 and 2"),
        ({"node_attributes": "1\n2\n"}, "4 nodes and 2 lines of node_attributes"),
        ({"node_attributes": ""}, "4 nodes and 0 lines of node_attributes"),
        ({"node_attributes": "1\n2\nx\n4\n"}, "line 3 of DS_node_attributes.txt is 'x', not a finite number"),
        ({"node_attributes": "1, 2\n2, 1\n3\n4, 1\n"}, "line 3 of DS_node_attributes.txt is '3', not 2 finite numbers"),
        ({"node_attributes": "1\n2\nnan\n4\n"}, "line 3 of DS_node_attributes.txt is 'nan', not a finite number"),
        ({"A": None}, "not a folder of TU graphs"),
    ],
)
def test_tu_folders_that_are_wrong(triangle, changed, pattern):
    refuses(pattern, triangle(**changed))


def test_a_zip_that_is_none(tmp_path):
    refuses("not a zip file", tmp_path / "x.zip", "nothing")
