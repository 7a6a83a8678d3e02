"""Objects as HTML and SVG: what is drawn is there, and nothing of it is markup."""

import html
import io
from dataclasses import dataclass
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from similitude.relevance import thinned
from similitude.relevance.graph_layout import positions
from similitude.report.findings import DecidingExample, Decision
from similitude.report.render.drawings import drawer
from similitude.report.render.images import BLUE_RED, VIRIDIS, palette, png
from similitude.report.render.page_drawings import steps

ATTACK = "\"'><img src=x onerror=window.__pwned=1><script>window.__pwned=1</script>&amp;"

DRAWN = {
    *("svg", "title", "path", "polyline", "circle", "text", "img"),
    *("code", "span", "mark", "dl", "div", "dt", "dd", "p", "ul", "li"),
}
"""All that drawings are made of."""


class Reader(HTMLParser):
    """Collects tags, attributes and text, and checks that tags are closed in order."""

    def __init__(self, drawn):
        super().__init__()
        self.tags, self.attributes, self.text, self.open = [], [], "", []
        self.feed(drawn)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag != "img":
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def read(drawn):
    found = Reader(drawn)
    assert set(found.tags) <= DRAWN
    assert not any(name.startswith("on") or name == "href" for name, _ in found.attributes)
    assert all(value.startswith("data:image/png") for name, value in found.attributes if name == "src")
    return found


class Hostile:
    """An object of one's own whose repr is markup, and which says that it is safe."""

    def __repr__(self):
        return f"Hostile({ATTACK})"

    def __html__(self):
        return ATTACK


@dataclass(frozen=True)
class Paper:
    title: str
    authors: frozenset


def networkx_graph(label):
    networkx = pytest.importorskip("networkx")
    graph = networkx.path_graph(3)
    networkx.set_node_attributes(graph, label, "label")
    return graph


@pytest.mark.parametrize(
    ("kind", "one"),
    [
        ("strings", f"ACGT{ATTACK}"),
        ("strings", f"two words {ATTACK}"),
        ("strings", ATTACK.encode()),
        ("sets", {ATTACK, "b"}),
        ("table", {ATTACK: ATTACK, "n": 1.5}),
        ("graphs", ([(0, 1)], [ATTACK, "O"])),
        ("any", Hostile()),
        ("any", Paper(ATTACK, frozenset({ATTACK}))),
        ("any", [ATTACK, Hostile()]),
        ("sets", {Hostile()}),
        ("table", {Hostile(): Hostile()}),
    ],
)
def test_what_users_wrote_is_text(kind, one):
    some = drawer(kind, [one])
    found = read(some.draw(one) + some.draw(one, one) + some.legend)
    assert "img" not in found.tags and "script" not in found.tags
    everything = found.text + "".join(value or "" for _, value in found.attributes)
    assert "<img src=x onerror" in everything or kind == "graphs"  # it is shown, as text; of node labels two letters


@given(st.text(max_size=60), st.text(max_size=60))
@settings(max_examples=60)
def test_sequences_keep_every_letter_and_mark_those_that_differ(one, near):
    drawn = drawer("strings", ["ACGT"]).draw(one, near)
    inside = drawn.removeprefix('<code class="drawing sequence">').removesuffix("</code>")
    assert html.unescape(inside.replace("<mark>", "").replace("</mark>", "")) == html.unescape(html.escape(one))
    if len(one) == len(near):
        marked = sum(len(html.unescape(part.split("</mark>")[0])) for part in inside.split("<mark>")[1:])
        assert marked == sum(a != b for a, b in zip(one, near, strict=True))
    if one == near:
        assert "<mark>" not in drawn


def test_sequences_of_different_lengths_are_aligned():
    assert drawer("strings", ["A"]).draw("ACGGT", "ACGT").count("<mark>") == 1


def test_long_texts_are_shortened_and_say_so():
    assert "(5,000 characters)" in drawer("strings", ["a b"]).draw("word " * 1000)
    assert "(700 letters)" in drawer("strings", ["A"]).draw("A" * 700)


def test_a_repr_is_shortened_with_the_full_text_in_the_title():
    class Long:
        def __repr__(self):
            return "x" * 500

    found = read(drawer("any", [Long()]).draw(Long()))
    assert len(found.text) == 120 and found.text.endswith("…")
    assert dict(found.attributes)["title"] == "x" * 500


def test_a_repr_that_fails_is_named():
    class Broken:
        def __repr__(self):
            raise RuntimeError

    assert "Broken" in drawer("any", [Broken()]).draw(Broken())


def test_texts_have_words_and_sequences_have_none():
    assert 'class="drawing text"' in drawer("strings", ["two words", "and more", "Ok"]).draw("Ok")
    assert 'class="drawing sequence"' in drawer("strings", ["acgt", "ttga"]).draw("acgt")


@pytest.mark.parametrize(
    ("objects", "sign"),
    [
        ([{"a", "b"}], "chip"),
        ([{"age": 3}], "<dt>age</dt>"),
        ([Paper("t", frozenset({"b", "a"}))], "a, b"),
        ([np.array([1.0, 2.0])], "vector"),
        ([np.arange(20.0)], "<path"),
        ([([(0, 1), (1, 2)], ["C", "O", "C"])], "<circle"),
        ([3], "repr"),
        ([{"a"}, {"age": 3}], "repr"),
    ],
)
def test_objects_of_unknown_kind_are_drawn_as_what_they_look_like(objects, sign):
    assert sign in drawer("any", objects).draw(objects[0])


def test_objects_of_another_kind_than_the_similarity_says_are_still_drawn():
    assert "repr" in drawer("vectors", [object()]).draw(3)
    assert "repr" in drawer("series", [["a", "b"]]).draw(["a", "b"])
    assert "sequence" in drawer("vectors", ["ACGT"]).draw("ACGT")


def test_rows_of_a_matrix_are_named():
    assert "row 7 of the matrix" in drawer("indices", [np.int64(7)]).draw(np.int64(7))


def test_sets_mark_what_is_shared():
    assert drawer("sets", [{1}]).draw({1, 2}, {2, 3}).count("<mark") == 1
    assert "and 60 more" in drawer("sets", [{1}]).draw(set(range(100)))
    assert "empty set" in drawer("sets", [set()]).draw(set())


def test_rows_show_only_what_differs_and_name_what_is_missing():
    rows = drawer("table", [{"a": 1, "b": 0}, {"a": 9, "b": 100}])
    beside = rows.draw({"a": 1, "b": 2, "c": "x"}, {"a": 8, "b": 3, "c": "x"})
    assert "<dt>a</dt>" in beside and "<dt>b</dt>" not in beside and "2 alike" in beside  # 2 and 3 of 100 are alike
    assert rows.draw({"a": 1, "b": 2}, {"a": 1, "b": 2}).count("<div>") == 1
    assert "missing" in rows.draw({"a": None, "b": float("nan")})
    assert "20 more columns" in rows.draw({f"c{i}": i for i in range(80)})


def test_identifiers_come_last_where_rows_differ():
    rows = drawer("table", [{"id": "A1", "color": "red"}], last=["id"])
    assert rows.draw({"id": "A1", "color": "red"}, {"id": "B2", "color": "blue"}).index("color") < rows.draw(
        {"id": "A1", "color": "red"}, {"id": "B2", "color": "blue"}
    ).index("id</dt>")


@pytest.mark.parametrize("nodes", [0, 1, 2, 7, 400])
def test_graphs_of_any_size(nodes):
    graph = (np.array([(i, i + 1) for i in range(nodes - 1)]).reshape(-1, 2), ["C"] * nodes)
    drawn = drawer("graphs", [graph]).draw(graph)
    assert f"{nodes} nodes" in drawn
    assert drawn.count("<circle") == (nodes if nodes < 150 else 0)


def test_graphs_of_networkx_igraph_and_scipy_are_drawn_alike():
    sparse = pytest.importorskip("scipy.sparse")
    path = sparse.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    some = [networkx_graph("C"), path, ([(0, 1), (1, 2)], 3)]
    drawn = [drawer("graphs", some).draw(one) for one in some]
    assert [one.count("<circle") for one in drawn] == [3, 3, 3]
    assert [one.split('d="')[1].split('"')[0].count("L") for one in drawn] == [2, 2, 2]


def test_a_label_has_one_color_in_all_graphs():
    some = [([(0, 1)], ["C", "O"]), ([(0, 1)], ["O", "N"])]
    graphs = drawer("graphs", some)
    assert 'class="fill-0"' in graphs.draw(some[0]) and 'class="fill-0"' in graphs.draw(some[1])
    assert graphs.legend.count("<li>") == 3


def test_layout_is_the_same_every_time_and_keeps_steps():
    ring = np.array([(i, (i + 1) % 6) for i in range(6)])
    at = positions(6, ring)
    assert np.array_equal(at, positions(6, ring))
    sides = np.linalg.norm(at[ring[:, 0]] - at[ring[:, 1]], axis=1)
    assert sides.max() / sides.min() < 1.05
    tree = positions(5, np.array([(0, 1), (1, 2), (2, 3), (3, 4)]))
    assert np.linalg.norm(tree[0] - tree[4]) == pytest.approx(4, abs=0.05)


def test_layout_separates_parts_without_a_path_and_nodes_without_an_edge():
    at = positions(4, np.array([[0, 1]]))
    distances = np.linalg.norm(at[:, None] - at[None], axis=2) + np.eye(4)
    assert np.isfinite(at).all() and distances.min() > 0.5


def test_series_have_one_scale_and_a_line_per_channel():
    plots = drawer("series", [np.zeros((5, 2)), np.full((9, 2), 10.0)])
    assert plots.draw(np.zeros((5, 2))).count("<polyline") == 2
    assert "10" in plots.legend and plots.legend.count("<li>") == 2
    low, high = (plots.draw(np.full((3, 2), value)) for value in (0.0, 10.0))
    assert low != high  # drawn where they are on the common scale


def test_series_with_gaps_and_a_single_value_are_drawn():
    plots = drawer("series", [[1.0, float("nan"), 3.0], [2.0]])
    for one in ([1.0, float("nan"), 3.0], [2.0], [float("nan")]):
        read(plots.draw(one))


@given(st.integers(1, 2000), st.integers(2, 400))
@settings(max_examples=30)
def test_thinned_series_keep_their_lowest_and_highest_value(n, most):
    values = np.random.default_rng(n).standard_normal(n)
    at, kept = thinned(values, most)
    assert len(kept) <= most and (np.diff(at) > 0).all()
    assert kept.min() == values.min() and kept.max() == values.max()


def test_long_series_of_many_channels_stay_small():
    long = np.random.default_rng(0).standard_normal((20_000, 40))
    plots = drawer("series", [long])
    assert plots.draw(long).count("<polyline") == 12 and len(plots.draw(long)) < 8000
    assert "the first 12 are drawn" in plots.legend


def test_vectors_are_named_and_sparse_ones_are_dense():
    sparse = pytest.importorskip("scipy.sparse")
    named = drawer("vectors", [np.array([1.0, -2.0])], names=["width", ATTACK]).draw(np.array([1.0, -2.0]))
    assert "width" in named and "below" in named
    assert "onerror" not in [name for name, _ in read(named).attributes]
    one = sparse.csr_array(np.array([[0.0, 3.0]]))
    assert "3" in read(drawer("vectors", [one]).draw(one)).text


def test_vectors_with_an_image_shape_are_images():
    image = pytest.importorskip("PIL.Image")
    import base64

    one = np.array([0.0, 1.0, 2.0, 4.0])
    drawn = read(drawer("vectors", [one], image_shape=(2, 2)).draw(one))
    source = dict(drawn.attributes)["src"].split(",")[1]
    seen = np.asarray(image.open(io.BytesIO(base64.b64decode(source))).convert("L"))
    assert seen.tolist() == [[0, 64], [128, 255]]


@given(st.integers(1, 40), st.integers(1, 40))
@settings(max_examples=20)
def test_png_is_read_back_by_others(rows, columns):
    image = pytest.importorskip("PIL.Image")
    share = np.random.default_rng(rows).random((rows, columns))
    colors = palette(VIRIDIS)
    seen = np.asarray(image.open(io.BytesIO(png(share, colors))).convert("RGB"))
    assert np.array_equal(seen, colors[np.rint(share * 255).astype(int)])


@pytest.mark.parametrize("colors", [VIRIDIS, BLUE_RED])
def test_colors_of_the_matrix_tell_values_apart(colors):
    assert len({tuple(color) for color in palette(colors).tolist()}) >= 250  # a value is read back to 1 in 128


def test_viridis_grows_lighter_all_the_way():
    light = palette(VIRIDIS) @ np.array([0.2126, 0.7152, 0.0722])
    assert (np.diff(light) > -0.8).all() and light[-1] - light[0] > 150


def test_a_waterfall_ends_at_the_score_and_shows_small_influences_on_large_numbers():
    example = DecidingExample(3, None, 90.0, 0.5, 6.0, 17)
    bars = steps(Decision(157.0, None, 157.0, 150.0, (example,), 1.0, 20))
    assert [bar["name"] for bar in bars] == [
        "base: the mean of all training numbers",
        "mean 90, example 3 and 16 other rows",
        "20 other rows",
        "predicted number",
    ]
    ends = [bar["left"] + bar["width"] for bar in bars]
    np.testing.assert_allclose(ends[-1], ends[-2])
    np.testing.assert_allclose([bars[1]["left"], bars[2]["left"]], [ends[0], ends[1]])
    assert bars[1]["width"] > 50 and bars[0]["left"] == bars[3]["left"] == 0
    classes = steps(Decision("a", "b", 0.5, 0.1, (), 0.4, 20))
    assert classes[0]["name"] == "base: the mean of all training labels" and classes[0]["width"] == pytest.approx(20)
