"""Input of similarities in every form: what is not finite, not a vector, not a number or not a function is named."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from similitude import FromBlocks, FromPairs, Precomputed, use_engine
from similitude.engines import LocalEngine
from similitude.errors import PairError, UnresolvedError
from similitude.kernels import (
    Cosine,
    Gaussian,
    HistogramIntersection,
    Laplace,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)

G = Gaussian(1.0)
X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
KERNELS = [G, Gaussian(), Linear(), Laplace(1.0, norm=1), Cosine(), HistogramIntersection(), 2 * G + Linear() ** 2]
every_kernel = pytest.mark.parametrize("k", KERNELS, ids=repr)


def spoiled(value, dtype=float):
    Y = X.astype(dtype)
    Y[2, 1] = value
    return Y


# Vectors.


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "form",
    [
        np.asarray,
        np.float32,
        list,
        lambda Y: Y.tolist(),
        lambda Y: Y.astype(object),
        sp.csr_matrix,
        sp.csr_array,
        sp.csc_array,
    ],
)
@every_kernel
def test_what_is_not_finite_is_named_by_row_and_column(k, form, value):
    Y = form(spoiled(value))
    for use in (lambda: k.gram(Y), lambda: k.resolve(X).cross(Y, X), lambda: k.resolve(X).cross(X, Y)):
        with pytest.raises(ValueError, match=r"(?s)2.*1") as caught:
            use()
        assert "row 2" in str(caught.value)
        assert "column 1" in str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(
    "form",
    [
        lambda Y: pd.DataFrame(Y, columns=["height", "weight"]),
        lambda Y: pd.DataFrame(Y, columns=["height", "weight"]).astype("Float64"),
        lambda Y: pl.from_numpy(Y, schema=["height", "weight"]),
    ],
)
@every_kernel
def test_what_is_not_finite_in_a_frame_is_named_by_row_and_column_name(k, form, value):
    with pytest.raises(ValueError, match="weight") as caught:
        k.gram(form(spoiled(value)))
    assert "row 2" in str(caught.value)


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda d: pl.DataFrame(d, strict=False)])
def test_missing_and_wordy_cells_of_a_frame_are_named(frame):
    for cells in ([1.0, None], ["a", "b"]):
        with pytest.raises((ValueError, TypeError), match="weight"):
            G.gram(frame({"height": [1.0, 2.0], "weight": cells}))


def test_tensors_that_are_not_finite_are_named_by_row_and_column():
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"row 2.*column 1"):
        G.gram(torch.from_numpy(spoiled(np.nan)))
    with pytest.raises((ValueError, TypeError), match=r"complex|real"):
        G.gram(torch.ones(2, 2, dtype=torch.complex64))


@pytest.mark.parametrize("form", [np.asarray, list, sp.csr_array, pd.DataFrame])
@every_kernel
def test_wrong_dimensions_are_named(k, form):
    k = k.resolve(X)
    for use in (lambda: k.cross(form(X), form(np.ones((2, 3)))), lambda: k.cross(X, np.ones((2, 3)))):
        with pytest.raises(ValueError, match=r"(?s)2.*3|3.*2"):
            use()
    with pytest.raises(ValueError, match=r"(?s)2.*3|3.*2"):
        k([1.0, 2.0], [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "rows",
    [
        [],
        np.ones((0, 2)),
        sp.csr_array((0, 2)),
        pd.DataFrame({"a": []}),
        "kernel",
        b"kernel",
        {"a": 1},
        {1, 2},
        None,
        3.0,
        np.array(3.0),
        iter([[1.0]]),
        (x for x in [[1.0]]),
    ],
    ids=lambda rows: type(rows).__name__,
)
@pytest.mark.parametrize("k", [*KERNELS, FromPairs(lambda x, z: 1.0), FromBlocks(lambda A, B: 1.0)], ids=repr)
def test_what_is_no_sequence_of_objects_is_refused(k, rows):
    for use in (lambda: k.gram(rows), lambda: k.diag(rows), lambda: k.prepare(rows), lambda: k.distance(rows)):
        with pytest.raises((ValueError, TypeError), match=r"sequence|at least one|list of objects"):
            use()
    if not k.unresolved():
        for use in (lambda: k.cross(rows, X), lambda: k.cross(X, rows)):
            with pytest.raises((ValueError, TypeError), match=r"sequence|at least one|list of objects"):
                use()


@pytest.mark.parametrize(
    ("rows", "say"),
    [
        (["a", "b"], "number"),
        ([["1", "2"], ["3", "4"]], "number"),
        (np.array(["a", "b"]), "number"),
        ([{"a": 1}, {"a": 2}], "number"),
        ([None, None], "number"),
        ([[1.0, None]], "number"),
        ([[1.0, 2.0], [1.0]], "2|length|dimension"),
        ([1.0, [2.0]], "length|dimension|vector"),
        (np.ones((2, 2, 2)), "dimension|3|matrix"),
        (np.ones((2, 2), dtype=complex), "complex|real"),
        (sp.csr_array(np.ones((2, 2), dtype=complex)), "complex|real"),
        ([[1j, 2.0]], "complex|real"),
        (np.ma.masked_array(np.ones((2, 2)), mask=[[0, 1], [0, 0]]), "mask"),
        (np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"), "number"),
        (pd.Series(["a", "b"]), "number"),
        (pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}), "number"),
    ],
    ids=lambda v: repr(v)[:40] if not isinstance(v, str) else "",
)
@pytest.mark.parametrize("k", [G, HistogramIntersection()], ids=repr)
def test_what_is_no_list_of_vectors_is_refused(k, rows, say):
    with pytest.raises((ValueError, TypeError), match=f"(?i){say}"):
        k.gram(rows)


def test_histograms_have_no_negative_entries():
    for form in (np.asarray, sp.csr_array, lambda Y: Y.tolist()):
        with pytest.raises(ValueError, match=r"negative|>= 0"):
            HistogramIntersection().gram(form(spoiled(-1.0)))


# Parameters: stored without a word, refused at first use.


@pytest.mark.parametrize(
    "bad", [0, -1.0, math.nan, math.inf, -math.inf, "mean", "", True, None, [1.0], 1j, np.ones(2), "1.0"], ids=repr
)
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (Gaussian, "sigma"),
        (Laplace, "sigma"),
        (lambda v: Matern(length=v), "length"),
        (lambda v: RationalQuadratic(length=v), "length"),
        (lambda v: 2 * Gaussian(v).normalized() + Linear(), "sigma"),
        (lambda v: Matern(nu=v, length=1.0), "nu"),
        (lambda v: RationalQuadratic(alpha=v, length=1.0), "alpha"),
    ],
)
def test_widths_are_positive_numbers(make, name, bad):
    k = make(bad)
    if name == "nu" and isinstance(bad, float) and bad == math.inf:
        pytest.skip("infinity is a smoothness: the Gaussian kernel")
    for use in (
        lambda: k.gram(X),
        lambda: k.cross(X, X),
        lambda: k([1.0], [2.0]),
        lambda: k.diag(X),
        lambda: k.prepare(X),
    ):
        with pytest.raises((ValueError, TypeError), match=name) as caught:
            use()
        assert not isinstance(caught.value, UnresolvedError)


@pytest.mark.parametrize(
    ("k", "say"),
    [
        *[(Polynomial(degree), "degree") for degree in (0, -1, 1.5, "2", None, True, math.nan)],
        *[(Polynomial(2, coef0=c), "coef0") for c in (math.nan, math.inf, "1", None)],
        *[(Polynomial(2, scale=c), "scale") for c in (math.nan, "1", None)],
        *[(Sigmoid(scale=c), "scale") for c in (math.nan, "1", None)],
        *[(Laplace(1.0, norm=n), "norm") for n in (0, 3, "1", None, 1.5, math.inf)],
        (FromPairs(lambda x, z: 1.0, claims=["PSD", "NICE"]), "NICE"),
        (FromBlocks(lambda A, B: A @ B.T, claims="NICE"), "NICE"),
        (Linear().pullback("abs"), "function|call"),
    ],
)
def test_other_parameters_are_checked_at_first_use(k, say):
    for use in (lambda: k.gram(X), lambda: k.cross(X, X), lambda: k(X[0], X[1])):
        with pytest.raises((ValueError, TypeError), match=say):
            use()


@pytest.mark.parametrize("c", [math.nan, math.inf, np.float64("nan")])
def test_constants_are_finite(c):
    for make in (lambda: c * G, lambda: G + c, lambda: G**-c):
        with pytest.raises((ValueError, TypeError), match=r"finite|number"):
            make().gram(X)


@pytest.mark.parametrize("make", [Gaussian.from_c, Gaussian.from_gamma])
@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, "1"])
def test_other_ways_to_write_the_width_are_checked_too(make, bad):
    with pytest.raises((ValueError, TypeError), match=r"(?i)gamma|c |c=|sigma|positive"):
        make(bad).gram(X)


# Functions and matrices.


@pytest.mark.parametrize(
    "f",
    [lambda: 1.0, lambda x: 1.0, lambda x, y, z: 1.0, lambda x, *, z: 1.0, "linear", 3.0, None],
    ids=["none", "one", "three", "keyword", "str", "number", "None"],
)
@pytest.mark.parametrize("adapter", [FromPairs, FromBlocks])
def test_functions_that_do_not_take_two_objects_are_refused(adapter, f):
    k = adapter(f)
    for use in (lambda: k.gram(X), lambda: k.cross(X, X), lambda: k(X[0], X[1])):
        with pytest.raises(TypeError, match=r"f\(|two|call"):
            use()


def test_functions_with_defaults_and_built_ins_are_taken():
    for f in (lambda x, z, c=1.0: c, lambda *both: 1.0, max, math.gcd, np.maximum, pow):
        assert FromPairs(f).gram([1, 1]).shape == (2, 2)


@pytest.mark.parametrize(
    ("M", "say"),
    [
        (np.array([[1.0, np.nan], [0.0, 1.0]]), r"finite.*|\(0, 1\)"),
        (np.array([[1.0, np.inf], [0.0, 1.0]]), r"finite.*|\(0, 1\)"),
        (np.ones(3), "matrix|two|2"),
        (np.ones((2, 2, 2)), "matrix|two|2"),
        (np.ones((2, 2), dtype=complex), "real|complex|number"),
        (np.array([["a", "b"], ["c", "d"]]), "number"),
        ("gaussian", "matrix|number"),
        (None, "matrix|number"),
    ],
)
def test_matrices_that_are_none_are_refused(M, say):
    k = Precomputed(M)
    for use in (lambda: k.gram([0, 1]), lambda: k.cross([0], [1]), lambda: k(0, 1)):
        with pytest.raises((ValueError, TypeError), match=f"(?i){say}"):
            use()


@pytest.mark.parametrize("k", [Gaussian(), Laplace() + 1, Matern().normalized(), RationalQuadratic().pullback(abs)])
def test_an_unresolved_width_is_fixed_by_gram_and_refused_elsewhere_with_the_way_out(k):
    Y = X[:, 0]
    np.testing.assert_allclose(k.gram(Y), k.resolve(Y).cross(Y, Y), rtol=1e-10)
    np.testing.assert_allclose(k.diag(Y), np.diag(k.gram(Y)))
    for use in (lambda: k(1.0, 2.0), lambda: k.cross(Y, Y), lambda: k.distance(Y, Y)):
        with pytest.raises(UnresolvedError, match=r"(sigma|length).*resolve\(X\)"):
            use()
    assert k.unresolved()
    assert not k.resolve(Y).unresolved()


@pytest.mark.parametrize("w", [[1.0], [1.0] * 4, [1.0, -1.0, 1.0], [1.0, np.nan, 1.0], ["a", "b", "c"]])
def test_weights_are_one_non_negative_number_per_row(w):
    with pytest.raises((ValueError, TypeError), match="weight"):
        Gaussian().resolve(X, sample_weight=w)


@pytest.mark.parametrize("indices", [[0, 3], [-1], [0.5], [1.0], ["a"], [None], [True, False], [[0, 1]], [0, 10**30]])
def test_what_is_no_index_is_refused(indices):
    with pytest.raises((ValueError, TypeError, IndexError), match=r"ind(ex|ices)|whole number"):
        Precomputed(np.eye(3)).gram(indices)


# Values that a function gives.


BAD = [None, float("nan"), float("inf"), -np.inf, "1.0", 1j, np.complex128(1), np.array([1.0]), np.ones((1, 1)), [1.0]]
serial_and_not = pytest.mark.parametrize(
    "engine", [LocalEngine(), LocalEngine(processes=2)], ids=["serial", "processes"]
)


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("value", BAD, ids=repr)
def test_what_is_no_finite_number_is_refused_by_name(value, everywhere):
    k = FromPairs(lambda x, z: value if everywhere or (x, z) == ("b", "a") else 1.0)
    where = r"\(0, 0\)" if everywhere else r"\(1, 0\)"
    with pytest.raises(PairError, match=where) as caught:
        k.gram(["a", "b"])
    assert ("'a'" if everywhere else "'b'") in str(caught.value)
    with pytest.raises(PairError):
        k("b", "a")


@serial_and_not
@pytest.mark.parametrize("claims", [(), ("SYMMETRIC",)])
def test_the_pair_is_named_by_its_place_in_the_whole_matrix(claims, engine):
    def f(x, z):
        return None if {x, z} == {"object 120", "object 230"} else 1.0

    X = [f"object {i}" for i in range(300)]
    with use_engine(engine), pytest.raises(PairError, match=r"\(120, 230\)") as caught:
        FromPairs(f, claims=claims).gram(X)
    assert "object 120" in str(caught.value)
    assert "object 230" in str(caught.value)
    assert (caught.value.i, caught.value.j) == (120, 230)
    with use_engine(engine), pytest.raises(PairError, match=r"\(7, 230\)"):
        FromPairs(f, claims=claims).cross(X[113:], X)


@serial_and_not
def test_an_exception_inside_the_function_names_the_pair_and_keeps_its_cause(engine):
    X = [{"age": i, "notes": "x" * 10_000} for i in range(150)]
    del X[140]["age"]
    with use_engine(engine), pytest.raises(PairError, match=r"\(0, 140\).*KeyError") as caught:
        FromPairs(lambda p, q: p["age"] + q["age"]).gram(X)
    cause = caught.value.__cause__  # from another process it comes as the text of its traceback
    assert isinstance(cause, KeyError) or "KeyError: 'age'" in str(cause)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("values", [np.ones((2, 2)), np.ones(3), 1.0, None, [["a"] * 3] * 3, np.full((3, 3), np.nan)])
def test_blocks_of_the_wrong_shape_or_kind_are_refused(values):
    with pytest.raises((ValueError, TypeError), match=r"shape|number|finite|array"):
        FromBlocks(lambda A, B: values).gram(np.ones((3, 1)))
