"""Objects of every kind come back from a file as they were; what cannot be stored is named with its place."""

import datetime as dt
import re
import sys
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from similitude import load, save
from similitude.errors import SavedModelError
from similitude.persistence import information
from similitude.persistence.file_format import ArrayReader
from similitude.persistence.forms import FORMS
from similitude.persistence.model_files import model_bytes


def round_trip(value, folder, **functions):
    save([value], folder / "value.sim")
    (back,) = load(folder / "value.sim", functions=functions)
    assert model_bytes([back]) == (folder / "value.sim").read_bytes()
    return back


def same(a, b):
    """Tell whether two values are equal, of the same types, bit for bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        alike = a.dtype == b.dtype and a.shape == b.shape
        return alike and (same(a.tolist(), b.tolist()) if a.dtype.kind in "OTV" else a.tobytes() == b.tobytes())
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and repr(a) == repr(b)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (set, frozenset)):
        return a == b and {type(item) for item in a} == {type(item) for item in b}
    by_text = isinstance(a, (float, complex, Decimal)) or a is pd.NaT or a is pd.NA
    return repr(a) == repr(b) if by_text else a == b


PLAIN = [
    [10**30, -(10**400), 2**63, -(2**63), 2**63 - 1, True, None],
    [float("nan"), float("inf"), -0.0, 5e-324, 0.1, 3 + 4j, complex("nan+infj")],
    [Decimal("1.10"), Decimal("NaN"), Fraction(1, 3)],
    ["", "é", "\ud800", "\ud800\udc00", "\0", "😀"] * 10,
    [b"", b"\xff\0"] * 60,
    [-(2**63), *range(-200, 200), 2**63 - 1],
    (0.1, float("nan"), -0.0, float("inf")) * 40,
    [1, 2.0, "x"] * 20,
    [True, False] * 80,
    [1, 2**63] * 80,
    (1, (2, [3, {4: "a", (5, "b"): None}])),
    {"a": {"b", 1, (2, 3)}, "c": frozenset({"x", frozenset({1})}), "d": set()},
    set(map(str, range(50))),
    bytearray(b"xy"),
    range(3, 10, 2),
    slice(None, 3),
    [np.dtype("f4"), np.dtype("M8[ns]"), np.float32, float, str],
]
DATES = [
    dt.date(2020, 2, 29),
    dt.datetime(2020, 1, 2, 3, 4, 5, 6, fold=1),
    dt.datetime(2020, 7, 1, tzinfo=ZoneInfo("Europe/Berlin")),
    dt.datetime(2020, 7, 1, tzinfo=dt.timezone(dt.timedelta(hours=2), "here")),
    dt.time(1, 2, 3, 4),
    dt.timedelta(-1, 2, 3),
    pd.Timestamp("2020-01-01 10:00", tz="Europe/Berlin"),
    pd.Timedelta("3s"),
    pd.NaT,
    pd.NA,
]
SCALARS = [np.dtype(code).type(1) for code in "?bhilBHILefdFD"] + [
    np.str_(""),
    np.str_("é"),
    np.bytes_(b"a\0b"),
    np.datetime64("NaT", "ms"),
    np.datetime64("2020-01-01T00", "h"),
    np.timedelta64(3, "s"),
    np.float64("nan"),
]
ARRAYS = [
    np.arange(6).reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(10)[::3],
    np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2),
    np.array(5),
    np.zeros((0, 3)),
    np.array(["a", "bcd", ""]),
    np.array([b"x", b""]),
    np.array(["2020", "NaT"], "M8[D]"),
    np.arange(3, dtype=">i4"),
    np.array([1, "a", None, {2}], object),
    np.array([[1, None]], object),
    np.array([(1.0, [2, 3])], dtype=[("a", "f8"), ("b", "i4", (2,))]),
]


@pytest.mark.parametrize("value", [*PLAIN, DATES, SCALARS], ids=lambda value: type(value).__name__)
def test_plain_values(value, tmp_path):
    assert same(round_trip(value, tmp_path), value)


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype} {array.shape}")
def test_arrays(array, tmp_path):
    back = round_trip(array, tmp_path)
    assert same(back, array)
    assert back.flags.writeable and back.flags.aligned
    assert not array.flags.forc or back.flags.f_contiguous == array.flags.f_contiguous


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy 2 has strings of any length")
def test_strings_of_any_length(tmp_path):
    array = np.array([["é", "x" * 100]], np.dtypes.StringDType())
    assert same(round_trip(array, tmp_path), array)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


@given(values)
def test_any_nested_value(tmp_path_factory, value):
    assert same(round_trip(value, tmp_path_factory.getbasetemp()), value)


@pytest.mark.parametrize("kind", ["csr_", "csc_", "coo_", "bsr_"])
@pytest.mark.parametrize("family", ["array", "matrix"])
def test_sparse(kind, family, tmp_path):
    matrix = getattr(sp, f"{kind}{family}")(np.array([[0, 1.5, 0, 2], [0, 0, 0, 0], [3, 0, 0, 0], [0, 0, 1, 0]], "f4"))
    back = round_trip(matrix, tmp_path)
    assert type(back) is type(matrix) and back.dtype == matrix.dtype
    assert (back.toarray() == matrix.toarray()).all()


@pytest.mark.parametrize("make", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_networkx(make, tmp_path):
    graph = make([(1, 0), ("b", (2, "c")), (0, "b"), (0, 0)], name="mine")
    graph.add_edge(1, 0, weight=2.5, label={"x"})
    graph.nodes["b"]["label"] = np.arange(3)
    graph.add_node("alone")
    if graph.is_multigraph():
        graph.add_edge("b", 1, key="second", weight=1)
    back = round_trip(graph, tmp_path)
    assert type(back) is make and back.graph == {"name": "mine"}
    assert list(back.nodes) == list(graph.nodes) and list(back.edges) == list(graph.edges)  # with keys
    assert same([d for *_, d in back.edges(data=True)], [d for *_, d in graph.edges(data=True)])
    assert same(dict(back.nodes["b"]), dict(graph.nodes["b"]))


def test_igraph(tmp_path):
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph([(0, 1), (1, 2)], directed=True)
    graph.vs["label"], graph.es["weight"], graph["name"] = ["a", None, "c"], [1.0, 2.5], "mine"
    back = round_trip(graph, tmp_path)
    assert back.get_edgelist() == graph.get_edgelist() and back.is_directed()
    assert (back.vs["label"], back.es["weight"], back["name"]) == (["a", None, "c"], [1.0, 2.5], "mine")


def test_tensors_come_back_as_arrays_and_it_is_said(tmp_path):
    torch = pytest.importorskip("torch")
    save([torch.arange(3.0, requires_grad=True)], tmp_path / "value.sim")
    assert same(load(tmp_path / "value.sim")[0], np.arange(3, dtype=np.float32))
    assert information(tmp_path / "value.sim").notes == ("model[0] was a torch tensor and comes back as a NumPy array",)


FRAMES = {
    "kinds": pd.DataFrame(
        {"a": [1, 2], "b": [1.5, np.nan], "c": ["x", None], "d": pd.Categorical(["u", None], ["v", "u"], ordered=True)}
    ),
    "index": pd.DataFrame(
        {1: pd.array([1, None], "Int64"), "o": [{1, 2}, [3]]},
        index=pd.MultiIndex.from_tuples([(1, "a"), (2, "b")], names=["n", None]),
    ),
    "times": pd.DataFrame(
        {"t": pd.to_datetime(["2020", "2021"]), "z": pd.to_datetime(["2020", None]).tz_localize("Europe/Berlin")},
        index=pd.date_range("2020", periods=2, freq="D", name="day"),
    ),
    "beside": pd.DataFrame({"c": pd.Categorical([1, "a"]), "x": [1 + 2j, 3], "h": np.array([1, 2], np.float16)}),
    "columns": pd.DataFrame(np.ones((2, 2)), columns=pd.MultiIndex.from_product([["a"], [1, 2]])),
    "twice": pd.DataFrame([[1, "b"]], columns=["a", "a"]),
    "strings": pd.DataFrame({"s": pd.array(["a", None], "string")}, index=pd.CategoricalIndex(["p", "q"])),
    "nullable": pd.DataFrame(
        {
            "b": pd.array([True, None], "boolean"),
            "f": pd.array([1.5, None], "Float32"),
            "s": pd.array(["x", None], "string[python]"),
            "a": pd.array([1, None], "int64[pyarrow]"),
        }
    ),
    "hour twice": pd.DataFrame({"t": pd.date_range("2020-10-25", periods=6, freq="30min", tz="Europe/Berlin")}),
    "empty": pd.DataFrame({"a": []}),
    "no columns": pd.DataFrame(index=range(3)),
}


@pytest.mark.parametrize("name", FRAMES)
def test_pandas(name, tmp_path):
    frame = FRAMES[name]
    frame.attrs["source"] = "a test"
    back = round_trip(frame, tmp_path)
    pd.testing.assert_frame_equal(back, frame, check_exact=True, check_column_type=True)
    assert back.attrs == frame.attrs
    for column in range(frame.shape[1]):
        series = frame.iloc[:, column]
        pd.testing.assert_series_equal(round_trip(series, tmp_path), series, check_exact=True)


@pytest.mark.parametrize(
    "value",
    [
        pl.DataFrame(
            {
                "a": [1, None],
                "s": ["x", None],
                "c": pl.Series(["u", "v"], dtype=pl.Categorical),
                "e": pl.Series(["u", "v"], dtype=pl.Enum(["v", "u"])),
                "l": [[1], [2, 3]],
                "d": [dt.date(2020, 1, 1), None],
            }
        ),
        pl.Series("q", [1.5, None]),
        pl.DataFrame(
            {
                "ns": pl.Series([1577836800000000001, None]).cast(pl.Datetime("ns", "Europe/Berlin")),
                "nested": pl.Series([[1577836800000000001], None]).cast(pl.List(pl.Datetime("ns"))),
                "duration": pl.Series([dt.timedelta(1, 2), None], dtype=pl.Duration("ms")),
                "decimal": pl.Series([Decimal("1.25"), None], dtype=pl.Decimal(10, 2)),
                "struct": pl.Series(
                    [{"a": 1, "b": [b"x"]}, None], dtype=pl.Struct({"a": pl.Int8, "b": pl.List(pl.Binary)})
                ),
                "array": pl.Series([[[1, 2], [3, 4]], None], dtype=pl.Array(pl.Int16, (2, 2))),
            }
        ),
        pl.DataFrame({"n": [None, None]}),
        pl.DataFrame(),
    ],
    ids=["kinds", "series", "parameters", "nulls", "empty"],
)
def test_polars(value, tmp_path):
    back = round_trip(value, tmp_path)
    assert back.equals(value) and type(back) is type(value)
    assert getattr(back, "schema", None) == getattr(value, "schema", None)


def test_zones_of_pytz_become_those_of_python(tmp_path):
    pytz = pytest.importorskip("pytz", reason="pytz is not installed")
    berlin = pytz.timezone("Europe/Berlin")
    twice = [berlin.localize(dt.datetime(2024, 10, 27, 2, 30), is_dst=summer) for summer in (True, False)]
    back = round_trip([*twice, pd.Timestamp(twice[1])], tmp_path)
    assert [one.utcoffset() for one in back] == [one.utcoffset() for one in [*twice, twice[1]]]
    assert [one.timestamp() for one in back] == [one.timestamp() for one in [*twice, twice[1]]]
    assert {str(one.tzinfo) for one in back} == {"Europe/Berlin"}
    with pytest.raises(SavedModelError, match="cannot be stored"):
        round_trip(dt.time(2, 30, tzinfo=pytz.utc), tmp_path)


def test_generators_draw_on(tmp_path):
    for kind in (np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM):
        rng = np.random.Generator(kind(3))
        rng.random(5)
        back = round_trip(rng, tmp_path)
        assert (back.random(4) == rng.random(4)).all()
        assert (back.spawn(1)[0].random(4) == rng.spawn(1)[0].random(4)).all()
    state = np.random.RandomState(3)
    state.randn(3)
    assert (round_trip(state, tmp_path).randn(3) == state.randn(3)).all()


def test_a_dict_of_many_arrays(tmp_path):
    value = {f"key {i}": np.full(i, i) for i in range(40)}
    assert same(round_trip(value, tmp_path), value)


def test_what_is_shared_is_stored_once_and_comes_back_shared(tmp_path):
    big, words = np.zeros(100_000), ["word"] * 3
    value = {"a": big, "b": [big, words], "c": (words, words)}
    back = round_trip(value, tmp_path)
    assert back["a"] is back["b"][0] and back["b"][1] is back["c"][0] is back["c"][1]
    assert (tmp_path / "value.sim").stat().st_size < 810_000


@dataclass
class Point:
    x: float
    rest: list = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Slotted:
    x: Any


class Pair(NamedTuple):
    a: int
    b: str


def test_dataclasses_and_named_tuples_of_the_user(tmp_path):
    point = Point(1.5, [Slotted((1, 2)), Pair(1, "x")])
    back = round_trip(point, tmp_path, Point=Point, Slotted=Slotted, Pair=Pair)
    assert back == point and type(back.rest[1]) is Pair


class Opaque:
    pass


def looped():
    loop = [1]
    loop.append({"inside": loop})
    return loop


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"m": [1, (2, Opaque())]}, "model['m'][1][1] is a .*Opaque"),
        (looped(), "model[1]['inside'] leads back to itself"),
        (np.ma.array([1.0]), "model is a numpy.*MaskedArray"),
        ([sp.lil_array(np.eye(2))], "model[0] is a scipy.*lil_array"),
        (sys, "model is a builtins.module"),
        ({"f": pd.DataFrame({"i": pd.interval_range(0, 2)})}, "model['f'] has a column 'i' of interval"),
        (
            [pl.DataFrame({"o": pl.Series([object()], dtype=pl.Object)})],
            "model[0].columns[0] has values of the type",
        ),
        ([lambda: None, (i for i in "ab")], "model[1] is a builtins.generator"),
        (5, "5 is not a model"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_cannot_be_stored_is_named(value, place, tmp_path):
    pattern = re.escape(place).replace(r"\.\*", ".*")
    with pytest.raises(SavedModelError, match=pattern):
        save(value, tmp_path / "value.sim")
    assert not list(tmp_path.iterdir())


def test_nested_deeper_than_python_can_recurse(tmp_path):
    deep: list = []
    for _ in range(20_000):
        deep = [deep]
    save(deep, tmp_path / "value.sim")
    (back,), depth = load(tmp_path / "value.sim"), 1
    while back:
        (back,), depth = back, depth + 1
    assert depth == 20_000


def test_an_item_of_a_set_that_is_nested_too_deeply(tmp_path):
    deep: tuple = ()
    for _ in range(2_000):
        deep = (deep,)
    with pytest.raises(SavedModelError, match="nested too deeply"):
        save([{deep, "other"}], tmp_path / "value.sim")


@pytest.mark.parametrize("missing", ["pandas", "networkx"])
def test_a_missing_library_is_named_with_its_pip_command(missing, tmp_path, monkeypatch):
    save([FRAMES["kinds"] if missing == "pandas" else nx.path_graph(3)], tmp_path / "value.sim")
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(SavedModelError, match=f"pip install {missing}"):
        load(tmp_path / "value.sim")


# How values are stored.


def test_arrays_of_up_to_32_dimensions_are_read():
    numbers = np.arange(2.0)
    assert ArrayReader(numbers.data.cast("B")).take({"dtype": "<f8", "shape": [1] * 31 + [2]}).shape == (1,) * 31 + (2,)
    empty = ArrayReader(memoryview(b"")).take({"dtype": "|u1", "shape": [0, 2**62 - 1]})
    assert empty.shape == (0, 2**62 - 1)
    for shape in ([1] * 32 + [2], [0, 2**62], [-1], [True]):
        with pytest.raises(SavedModelError, match=r"^an array has an impossible dtype or shape$"):
            ArrayReader(numbers.data.cast("B")).take({"dtype": "<f8", "shape": shape})


@pytest.mark.parametrize("name", [None, "home"])
def test_zones_of_a_fixed_offset_keep_their_name(name, tmp_path):
    offset = dt.timedelta(hours=2)
    zone = dt.timezone(offset) if name is None else dt.timezone(offset, name)
    back = round_trip(zone, tmp_path)
    assert (back, repr(back)) == (zone, repr(zone))


def test_what_other_forms_cannot_hold_is_said(tmp_path):
    for value, said in (
        (np.random.RandomState(np.random.PCG64(0)), "draws by PCG64, which cannot be stored: use an integer seed"),
        (np.dtype([("a", int)]), "is the dtype"),
        (sp.coo_array(np.ones(3)), "is a sparse array of 1 dimensions: only two can be stored"),
    ):
        with pytest.raises(SavedModelError, match=re.escape(f"model[0] {said}")):
            save([value], tmp_path / "value.sim")
    with pytest.raises(SavedModelError, match=r"^there is no random generator called 'Dice'$"):
        FORMS["numpy.Generator"][1]("Dice", None, None)


@pytest.mark.parametrize("ends", [[[0, 2]], [[2, 0]], [[-1, 0]], [0, 1], [[0, 1, 1]], [[0.0, 1.0]]])
def test_edges_join_nodes_that_there_are(ends):
    make = FORMS["networkx.Graph"][1]
    assert list(make({}, {"a": None, "b": {"c": 1}}, np.array([[0, 1]]), None, None).edges) == [("a", "b")]
    with pytest.raises(SavedModelError, match=r"^a graph has an edge between nodes that it does not have$"):
        make({}, {"a": None, "b": None}, np.array(ends), None, None)
