"""Fused products with plain torch in place of the Triton kernels: running out of memory, rows of large norm."""

import warnings

import numpy as np
import pytest

from similitude import SimilarityRegressor
from similitude.engines import TorchEngine
from similitude.fitting import limits
from similitude.kernels import Gaussian, Linear, RationalQuadratic

torch = pytest.importorskip("torch", reason="torch is not installed")

from similitude.compute.engines.torch import fused, kernel_operator  # noqa: E402 (only where torch is)


class Plain:
    """What the Triton kernels compute, in plain torch; a product of more than `most` pairs runs out of memory."""

    SUM_FORMS = ("gaussian", "rational_quadratic", "laplace", "matern3", "matern5")

    def __init__(self, most=10**9):
        self.most, self.calls = most, []

    padded_rows = padded_features = staticmethod(lambda n: n)

    def _note(self, what, sizes):
        self.calls.append((what, *sizes))
        if sizes[0] * sizes[1] > self.most:
            raise torch.OutOfMemoryError("on purpose")

    def offsets(self, X, center, unit):
        z = (X if center is None else X - center).double() * unit
        return (-0.5 * z.square().sum(1)).float()

    def halves(self, X, center, unit, split):
        z = (X if center is None else X - center) * unit
        high = z.half() if split else z
        return high, (z - high.float()).half() if split else high

    def of_dots(self, vectors, sizes, form, p, q, degree, way, V):
        self._note("dots", sizes)
        left, right = (high.float() + (low.float() if way == "fp16x3" else 0.0) for high, low, _ in vectors)
        (_, _, a), (_, _, b) = vectors
        e = left @ right.T + a[:, None] + b
        return (torch.exp2(e) if form == "gaussian" else (1.0 - e.clip(max=0.0)) ** -q).double() @ V.double()

    def of_sums(self, vectors, sizes, absolute, form, p, q, V):
        self._note("sums", sizes)
        x, y = vectors
        apart = x[:, :, None] - y[:, None]
        s = (apart.abs() if absolute else apart**2).sum(0)
        return (torch.exp2(p * s) if form == "gaussian" else (1.0 + p * s) ** -q).double() @ V.double()


@pytest.fixture
def plain(monkeypatch):
    made = Plain()
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setattr(fused, "kernels", lambda: made)
    return made


def vectors(n, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def checked(k, X, Y, operator):
    """Compare both products with float64."""
    assert operator.fused
    K = k.cross(X.astype(float), Y.astype(float))
    V = np.random.default_rng(0).normal(size=(len(Y), 2))
    W = np.random.default_rng(1).normal(size=(len(X), 2))
    for found, wanted in ((operator.product(V, False), K @ V), (operator.product(W, True), K.T @ W)):
        assert np.abs(found - wanted).max() <= 3e-5 * max(1.0, np.abs(wanted).max())


# Out of memory.


@pytest.mark.parametrize("k", [Gaussian(2.0), 2.0 * Gaussian(2.0) + Linear() + 1.0], ids=repr)
def test_out_of_memory_halves_the_rows_says_so_once_and_remembers_it(plain, k):
    plain.most = 20 * 13
    X, Y = vectors(70), vectors(13, seed=1)
    operator = TorchEngine(device="cpu").operator(k, k.encode(X), k.encode(Y))
    with pytest.warns(UserWarning, match=r"a tile of \d+ rows did not fit on the device"):
        checked(k, X, Y, operator)
    plain.calls.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checked(k, X, Y, operator)
    assert max(n * m for _, n, m in plain.calls) <= plain.most
    both = operator.normal(torch.ones(13, 1), torch.ones(70))[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = (
            TorchEngine(device="cpu").operator(k, k.encode(X), k.encode(Y)).normal(torch.ones(13, 1), torch.ones(70))[0]
        )
    assert torch.equal(both, again)  # the same halves, added in the same order


def test_one_row_that_does_not_fit_is_refused_and_the_model_is_left_as_it_was(plain, monkeypatch):
    monkeypatch.setattr(limits, "SAMPLE_ROWS", 100)
    monkeypatch.setattr(TorchEngine, "products_from", 20)
    X = vectors(300, 2)
    y = np.sin(2 * X[:, 0]) + 0.3 * np.random.default_rng(5).normal(size=300)
    model = SimilarityRegressor(Gaussian(1.0), n_landmarks=30, random_state=0, engine=TorchEngine(device="cpu"))
    before = set(vars(model))
    plain.most = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(MemoryError, match="one row does not fit on the device"):
            model.fit(X, y)
    assert set(vars(model)) == before
    plain.most = 64 * 30
    with pytest.warns(UserWarning, match="did not fit on the device"):
        found = model.fit(X, y).score(X, y)
    plain.most = 10**9
    assert abs(found - model.fit(X, y).score(X, y)) < 5e-3  # another of several good penalties may be best


def test_rows_that_do_not_fit_come_piece_by_piece(monkeypatch):
    usual, tries = kernel_operator.KernelOperator._to_device, []

    def hungry(self, encoding):
        tries.append(len(encoding))
        if len(encoding) == 300 and tries.count(300) == 1:
            raise torch.OutOfMemoryError("on purpose")
        return usual(self, encoding)

    monkeypatch.setattr(kernel_operator.KernelOperator, "_to_device", hungry)
    X, Y, k = vectors(300), vectors(9, seed=1), Gaussian(2.0)
    with pytest.warns(UserWarning, match="300 rows did not fit on the device: they are streamed in pieces"):
        found = TorchEngine(device="cpu").operator(k, X, Y).product(np.ones(9))
    np.testing.assert_allclose(found, k.block(X.astype(float), Y.astype(float)).sum(1), atol=1e-5)


# Rows that are far away.

OF_DISTANCES = [Gaussian(2.0), RationalQuadratic(1.3, 2.0), 2.0 * Gaussian(2.0) + Linear() + 1.0]


@pytest.mark.parametrize("k", OF_DISTANCES, ids=repr)
@pytest.mark.parametrize(("in_X", "in_Y"), [([7], []), ([], [3]), ([0, 59], [20]), ([5, 6, 7], [0, 1])])
def test_only_what_has_to_do_with_far_rows_is_computed_feature_by_feature(plain, k, in_X, in_Y):
    X, Y = vectors(60) + 3, vectors(21, seed=1) + 3
    X[in_X] *= 1e3
    Y[in_Y] *= 1e3
    X[in_X[:1]] = Y[in_Y[:1]] if in_Y and in_X else X[in_X[:1]]  # far away, and yet near to each other
    operator = TorchEngine(device="cpu").operator(k, k.encode(X), k.encode(Y))
    assert operator.method.split(",")[0] == "fp16x3 and direct"
    if len(operator.profile.terms) == 1:
        checked(k, X, Y, operator)
        sizes = {(what, n * m) for what, n, m in plain.calls}
        assert ("dots", (60 - len(in_X)) * (21 - len(in_Y))) in sizes
        assert sum(n * m for what, n, m in plain.calls if what == "sums") == 2 * (
            60 * 21 - (60 - len(in_X)) * (21 - len(in_Y))
        )
    else:  # the linear part is as large as the far rows are
        found = operator.product(np.ones(21), False)
        wanted = k.cross(X.astype(float), Y.astype(float)).sum(1)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_where_most_rows_are_far_or_none_is_there_is_one_way(plain):
    X, Y = vectors(60), vectors(21, seed=1)
    for k, way, wide in (
        (Gaussian(2.0), "fp16x3", 1.0),
        (Gaussian(0.05), "direct", 1.0),
        (Gaussian(2.0), "direct", 1e3),
    ):
        operator = TorchEngine(device="cpu").operator(k, wide * X, wide * Y)
        assert operator.method == way
        checked(k, np.float32(wide) * X, np.float32(wide) * Y, operator)


def test_far_rows_and_too_little_memory_go_together(plain):
    plain.most = 15 * 21
    X, Y, k = vectors(60), vectors(21, seed=1), Gaussian(2.0)
    X[11] *= 1e4
    operator = TorchEngine(device="cpu").operator(k, X, Y)
    with pytest.warns(UserWarning, match="did not fit"):
        checked(k, X, Y, operator)


def test_the_robust_mean_leaves_outliers_out():
    X = torch.from_numpy(vectors(50))
    torch.testing.assert_close(fused.robust_mean(X), X.mean(0))
    far = torch.cat([X, torch.full((1, 4), 1e6)])
    torch.testing.assert_close(fused.robust_mean(far), X.mean(0))
    assert torch.equal(fused.robust_mean(torch.ones(3, 2)), torch.ones(2))
