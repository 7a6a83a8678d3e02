"""Fused products with plain torch in the place of the Triton kernels: memory that runs out, rows that are far away."""

import warnings

import numpy as np
import pytest

from similitude import SimilarityRegressor
from similitude.engines import TorchEngine
from similitude.kernels import Gaussian, Linear
from similitude.machine import landmarking, products, training

torch = pytest.importorskip("torch", reason="torch is not installed")

from similitude.engines import torch_loops, torch_products  # noqa: E402 (only where torch is)


class Plain:
    """What the Triton kernels compute, in plain torch; a product of more than so many rows runs out of memory."""

    SUM_FORMS = ("gaussian", "rational_quadratic", "laplace", "matern3", "matern5")

    def __init__(self, most=10**9):
        self.most, self.calls = most, []

    padded = staticmethod(lambda n: n)
    chunks = staticmethod(lambda d: (d, d))

    def _note(self, what, x, y):
        self.calls.append((what, x.n, y.n))
        if x.n * y.n > self.most:
            raise torch.OutOfMemoryError("on purpose")

    def of_dots(self, x, y, V, form, p, q, degree, way):
        self._note("dots", x, y)
        left, right = (z.high.float() + (z.low.float() if way == "fp16x3" else 0.0) for z in (x, y))
        e = left @ right.T + x.offset[:, None] + y.offset
        return (torch.exp2(e) if form == "gaussian" else (1.0 - e.clip(max=0.0)) ** -q) @ V

    def of_sums(self, x, y, V, absolute, form, p, q):
        self._note("sums", x, y)
        apart = x.features[:, :, None] - y.features[:, None]
        s = (apart.abs() if absolute else apart**2).sum(0)
        return (torch.exp2(p * s) if form == "gaussian" else (1.0 + p * s) ** -q) @ V


@pytest.fixture
def plain(monkeypatch):
    made = Plain()
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setattr(torch_loops, "kernels", lambda: made)
    return made


def vectors(n, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def checked(k, X, Y, product):
    """Compare both products with float64."""
    assert product.fused
    K = k.cross(X.astype(float), Y.astype(float))
    V = np.random.default_rng(0).normal(size=(len(Y), 2))
    W = np.random.default_rng(1).normal(size=(len(X), 2))
    for found, wanted in ((product.applied(V, False), K @ V), (product.applied(W, True), K.T @ W)):
        assert np.abs(found - wanted).max() <= 3e-5 * max(1.0, np.abs(wanted).max())


# Out of memory.


@pytest.mark.parametrize("k", [Gaussian(2.0), 2.0 * Gaussian(2.0) + Linear() + 1.0], ids=repr)
def test_out_of_memory_halves_the_rows_says_so_once_and_remembers_it(plain, k):
    plain.most = 20 * 13
    X, Y = vectors(70), vectors(13, seed=1)
    product = TorchEngine(device="cpu").product(k, k.encode(X), k.encode(Y))
    with pytest.warns(UserWarning, match=r"a tile of \d+ rows did not fit on the device"):
        checked(k, X, Y, product)
    plain.calls.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checked(k, X, Y, product)
    assert max(n * m for _, n, m in plain.calls) <= plain.most
    both = product.normal(torch.ones(13, 1), torch.ones(70))[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = (
            TorchEngine(device="cpu").product(k, k.encode(X), k.encode(Y)).normal(torch.ones(13, 1), torch.ones(70))[0]
        )
    assert torch.equal(both, again)  # cut alike, added alike


def test_one_row_that_does_not_fit_is_refused_and_the_model_is_left_as_it_was(plain, monkeypatch):
    for module, name in ((training, "PILOT"), (landmarking, "PILOT"), (products, "MANY")):
        monkeypatch.setattr(module, name, 20 if name == "MANY" else 100)
    X = vectors(300, 2)
    model = SimilarityRegressor(Gaussian(1.0), n_landmarks=30, random_state=0, engine=TorchEngine(device="cpu"))
    before = set(vars(model))
    plain.most = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(MemoryError, match="one row does not fit on the device"):
            model.fit(X, X[:, 0])
    assert set(vars(model)) == before
    plain.most = 64 * 30
    with pytest.warns(UserWarning, match="did not fit on the device"):
        found = model.fit(X, X[:, 0]).predict(X)
    plain.most = 10**9
    np.testing.assert_allclose(found, model.fit(X, X[:, 0]).predict(X), atol=1e-2)


def test_rows_that_do_not_fit_come_piece_by_piece(monkeypatch):
    usual, tries = torch_products.Product._here, []

    def hungry(self, encoding):
        tries.append(len(encoding))
        if len(encoding) == 300 and tries.count(300) == 1:
            raise torch.OutOfMemoryError("on purpose")
        return usual(self, encoding)

    monkeypatch.setattr(torch_products.Product, "_here", hungry)
    X, Y, k = vectors(300), vectors(9, seed=1), Gaussian(2.0)
    with pytest.warns(UserWarning, match="300 rows did not fit on the device: they come piece by piece"):
        found = TorchEngine(device="cpu").times(k, X, Y, np.ones(9))
    np.testing.assert_allclose(found, k.block(X.astype(float), Y.astype(float)).sum(1), atol=1e-5)
