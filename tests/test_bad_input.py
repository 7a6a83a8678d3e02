"""What cannot be right is refused before any work, in words that say what was expected."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from similitude import FromBlocks, FromPairs, Precomputed
from similitude.errors import UnresolvedError
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
    with pytest.raises(ValueError, match="row 2.*column 1"):
        G.gram(torch.from_numpy(spoiled(np.nan)))
    with pytest.raises((ValueError, TypeError), match="complex|real"):
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
        (np.ones((3, 0)), "column|feature|dimension|empty"),
    ],
    ids=lambda v: repr(v)[:40] if not isinstance(v, str) else "",
)
@every_kernel
def test_what_is_no_list_of_vectors_is_refused(k, rows, say):
    with pytest.raises((ValueError, TypeError), match=f"(?i){say}"):
        k.gram(rows)


def test_histograms_have_no_negative_entries():
    for form in (np.asarray, sp.csr_array, lambda Y: Y.tolist()):
        with pytest.raises(ValueError, match="negative|>= 0"):
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
        (lambda v: 2 * Gaussian(v).normalised() + Linear(), "sigma"),
        (lambda v: Matern(nu=v, length=1.0), "nu"),
        (lambda v: RationalQuadratic(alpha=v, length=1.0), "alpha"),
    ],
)
def test_widths_are_positive_numbers(make, name, bad):
    k = make(bad)
    if name == "nu" and isinstance(bad, float) and bad == math.inf:
        return
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
        (Linear().pullback("abs"), "call"),
    ],
)
def test_other_parameters_are_checked_at_first_use(k, say):
    for use in (lambda: k.gram(X), lambda: k.cross(X, X), lambda: k(X[0], X[1])):
        with pytest.raises((ValueError, TypeError), match=say):
            use()


@pytest.mark.parametrize("c", [math.nan, math.inf, np.float64("nan")])
def test_constants_are_finite(c):
    for make in (lambda: c * G, lambda: G + c, lambda: G**c):
        with pytest.raises((ValueError, TypeError), match="finite|number"):
            make().gram(X)


@pytest.mark.parametrize("make", [Gaussian.from_c, Gaussian.from_gamma])
@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, "1"])
def test_other_ways_to_write_the_width_are_checked_too(make, bad):
    with pytest.raises((ValueError, TypeError), match="(?i)gamma|c |c=|sigma|positive"):
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


def test_nothing_is_called_when_the_input_is_wrong():
    calls = []

    def f(*args):
        calls.append(args)
        return 1.0

    pairs, blocks, pulled = FromPairs(f), FromBlocks(f), Linear().pullback(f)
    for use in (
        *[lambda k=k: k.gram([]) for k in (pairs, blocks, pulled)],
        *[lambda k=k: k.cross([1.0], "ab") for k in (pairs, blocks, pulled)],
        lambda: FromPairs(f, claims=["NICE"]).gram([1.0]),
        lambda: (pairs + Gaussian(-1.0)).gram([1.0, 2.0]),
        lambda: (pairs + Gaussian()).cross([1.0], [2.0]),
        lambda: (pairs + Gaussian())(1.0, 2.0),
        lambda: Gaussian(0.0).pullback(f).gram([1.0]),
        lambda: Gaussian().pullback(f).cross([1.0], [2.0]),
        lambda: (pairs * G).gram([[1.0], [math.nan]]),
        lambda: (pulled + G).gram([[1.0], [math.nan]]),
        lambda: (pairs + Precomputed(np.eye(2)) + G).gram([0, 1]),
        lambda: (pairs + Precomputed(np.eye(2))).gram([0, 5]),
    ):
        with pytest.raises((ValueError, TypeError, IndexError)):
            use()
        assert calls == []


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
        (np.ones((0, 0)), "empty|matrix|no "),
    ],
)
def test_matrices_that_are_none_are_refused(M, say):
    k = Precomputed(M)
    for use in (lambda: k.gram([0, 1]), lambda: k.cross([0], [1]), lambda: k(0, 1)):
        with pytest.raises((ValueError, TypeError), match=f"(?i){say}"):
            use()


@pytest.mark.parametrize("k", [Gaussian(), Laplace() + 1, Matern().normalised(), RationalQuadratic().pullback(abs)])
def test_an_unresolved_width_is_refused_on_a_pair_with_the_way_out(k):
    for use in (lambda: k(1.0, 2.0), lambda: k.cross([1.0], [2.0]), lambda: k.distance([1.0], [2.0])):
        with pytest.raises(UnresolvedError, match=r"(sigma|length).*resolve\(X\)"):
            use()


@pytest.mark.parametrize("w", [[1.0], [1.0, -1.0, 1.0], [0.0, 0.0, 0.0], [1.0, np.nan, 1.0], ["a", "b", "c"]])
def test_weights_are_one_non_negative_number_per_row(w):
    with pytest.raises((ValueError, TypeError), match="weight"):
        Gaussian().resolve(X, sample_weight=w)
