"""What is measured: the machine, products, fits, landmarks and classes in any number, predictions, streams, digits."""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.gpu.plain import plain
from benchmarks.gpu.timing import Row, seconds
from similitude import SimilarityClassifier, SimilarityRegressor
from similitude.engines import TorchEngine
from similitude.kernels import Gaussian, Laplace, Matern, Polynomial, RationalQuadratic
from similitude.linear.landmark_ridge import LandmarkRidge


@dataclass(frozen=True)
class Sizes:
    """How large everything is."""

    gemm: int = 8192
    rows: int = 2_000_000
    landmarks: int = 20_000
    wide: tuple[int, int] = (200_000, 20_000)
    fits: tuple[tuple[int, int], ...] = ((1_000_000, 10_000), (10_000_000, 20_000))
    predictions: int = 20_000_000
    streamed: int = 100_000_000
    digits: tuple[int, int] = (60_000, 10_000)
    numbers: tuple[int, tuple[int, ...]] = (1_000_000, (100, 1_000, 2_999, 5_000, 10_000))
    classes: tuple[int, tuple[int, ...]] = (100_000, (100, 300, 1_000, 5_000))
    learned: int = 1_000_000


TOY = Sizes(128, 600, 60, (200, 50), ((400, 30),), 500, 700, (300, 30), (400, (30,)), (400, (5,)), 400)


def machine(engine: TorchEngine, sizes: Sizes) -> Iterator[Row]:
    """Measure products of matrices and copies; a third of tf32 is the peak of 3xTF32."""
    place, n = engine.torch_device, sizes.gemm
    kinds = (("fp16", torch.float16, "highest"), ("tf32", torch.float32, "high"), ("fp32", torch.float32, "highest"))
    for name, dtype, precision in kinds:
        A = torch.randn(n, n, device=place).to(dtype)
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision(precision)
        took = seconds(lambda A=A: A @ A, place)
        torch.set_float32_matmul_precision(before)
        yield Row(f"GEMM {name}", f"{n} x {n}", 2 * n**3 / took / 1e12, "TFLOP/s")
    A = torch.randn(n, n, device=place)
    yield Row("copy on the device", f"{n} x {n}", 2 * A.nbytes / seconds(A.clone, place) / 1e9, "GB/s")
    host = np.random.default_rng(0).random((n, n), dtype=np.float32)
    from similitude.compute.engines.torch.transfer import DeviceCopier

    move = DeviceCopier(place)
    yield Row("copy to the device", f"{n} x {n}", host.nbytes / seconds(lambda: move(host), place) / 1e9, "GB/s")


def products(engine: TorchEngine, sizes: Sizes) -> Iterator[Row]:
    """Measure K v and K' w of every fused kernel, in entries of K, checked on some rows in float64."""
    n, m = sizes.rows, sizes.landmarks
    few = max(1, n // 8), max(1, m // 4)
    kernels = [
        (Gaussian(sigma=5.0), n, m, 28),
        (Gaussian(sigma=28.0), *sizes.wide, 784),
        (RationalQuadratic(alpha=1.5, length=5.0), *few, 28),
        (Polynomial(degree=3, scale=0.05), *few, 28),
        (Laplace(sigma=2.5), *few, 28),
        (Laplace(sigma=2.5, norm=1), *few, 28),
        (Matern(nu=1.5, length=5.0), *few, 28),
    ]
    for k, rows, columns, d in kernels:
        torch.manual_seed(0)
        X = torch.randn(rows, d, device=engine.torch_device)
        yield from _product(engine, k, X, X[:columns].clone())
    X = torch.randn(few[0], 28, device=engine.torch_device)
    yield from _product(engine, Gaussian(sigma=5.0), X, X[: few[1]].clone(), outputs=10)
    for package, other in (("pykeops", _keops), ("gpytorch", _gpytorch)):
        if importlib.util.find_spec(package) is not None:
            yield other(engine, X, X[: few[1]].clone())


def _product(
    engine: TorchEngine, k: Any, X: torch.Tensor, Y: torch.Tensor, outputs: int = 1, label: str = ""
) -> Iterator[Row]:
    product, place = engine.operator(k, X, Y), engine.torch_device
    (n, m), d = product.shape, X.shape[1]
    V, W = torch.randn(m, outputs, device=place), torch.randn(n, outputs, device=place)
    entries, other = n * m / 1e9, plain(product)
    name, size, how = type(k).__name__, f"{n:,} x {m:,}, d = {d}, {outputs} outputs", product.method
    some = torch.arange(0, n, max(1, n // 300), device=place)
    exact = k.block(X[some].double(), Y.double()) @ V.double()
    error = float((product.times(V)[some] - exact).norm() / exact.norm())
    slow = seconds(lambda: other.times(V), place)
    fast = seconds(lambda: product.times(V), place)
    how += f", {2 * d * entries / fast / 1e3:.3g} TFLOP/s of dot products" + (label and f", {label}")
    yield Row(f"{name} K v", size, entries / fast, "G entries/s", how, error, entries / slow)
    columns = torch.arange(0, m, max(1, m // 100), device=place)
    exact = torch.zeros(len(columns), outputs, device=place, dtype=torch.float64)
    for start in range(0, n, 100_000):
        part = slice(start, start + 100_000)
        exact += k.block(Y[columns].double(), X[part].double()) @ W[part].double()
    error = float((product.transposed_times(W)[columns] - exact).norm() / exact.norm())
    slow = seconds(lambda: other.transposed_times(W), place)
    fast = seconds(lambda: product.transposed_times(W), place)
    yield Row(f"{name} K' w", size, entries / fast, "G entries/s", how, error, entries / slow)


def _keops(engine: TorchEngine, X: torch.Tensor, Y: torch.Tensor) -> Row:
    from pykeops.torch import LazyTensor

    V = torch.randn(len(Y), 1, device=engine.torch_device)

    def run() -> torch.Tensor:
        apart = ((LazyTensor(X[:, None, :]) - LazyTensor(Y[None, :, :])) ** 2).sum(-1)
        return (-apart / (2 * 5.0**2)).exp() @ V

    entries = len(X) * len(Y) / 1e9
    rate = entries / seconds(run, engine.torch_device)
    return Row("Gaussian K v by KeOps", f"{len(X):,} x {len(Y):,}", rate, "G entries/s")


def _gpytorch(engine: TorchEngine, X: torch.Tensor, Y: torch.Tensor) -> Row:
    import gpytorch

    k = gpytorch.kernels.RBFKernel().to(engine.torch_device)
    k.lengthscale = 5.0
    V = torch.randn(len(Y), 1, device=engine.torch_device)

    def run() -> torch.Tensor:
        with torch.no_grad():
            return k(X, Y) @ V

    entries = len(X) * len(Y) / 1e9
    rate = entries / seconds(run, engine.torch_device)
    return Row("Gaussian K v by GPyTorch", f"{len(X):,} x {len(Y):,}", rate, "G entries/s", "the matrix is stored")


def problem(n: int, d: int = 28, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors and a smooth function of a few of their entries, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=np.float32)
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.5 * X[:, 2] ** 2 + np.tanh(X[:, 3] * X[:, 4])
    y += 0.2 * rng.standard_normal(n, dtype=np.float32)
    return X, (y - y.mean()) / y.std()


def fits(engine: TorchEngine, sizes: Sizes) -> Iterator[Row]:
    """Measure whole fits with a given penalty, rows on the device; then with the choice of the penalty."""
    new, wanted = problem(min(200_000, sizes.rows), seed=1)
    k = Gaussian(sigma=6.0)
    for place, (n, m) in enumerate(sizes.fits):
        yield _fit(engine, k, n, m, (new, wanted), beside_plain=place == 0)
    for n, m in sizes.fits:
        X, y = problem(n)
        model = SimilarityRegressor(k, n_landmarks=m, random_state=0, engine=engine)
        took = seconds(lambda model=model, X=X, y=y: model.fit(X, y), engine.torch_device, 1)
        note = f"R2 {model.score(new, wanted):.4f}, penalty chosen, from host memory"
        yield Row("SimilarityRegressor.fit", f"n = {n:,}, m = {m:,}", took, "s", note)


def _fit(engine: TorchEngine, k: Any, n: int, m: int, new: tuple[np.ndarray, np.ndarray], beside_plain: bool) -> Row:
    X, y = (torch.from_numpy(array).to(engine.torch_device) for array in problem(n))
    ones = torch.ones(n, device=engine.torch_device)
    order = torch.from_numpy(np.random.default_rng(0).permutation(n)).to(engine.torch_device)
    landmarks, some = X[order[:m]], order[: 4 * m]  # as many rows precondition a fit

    def fit(product: Any) -> Any:
        ridge = LandmarkRidge(product, y[:, None], ones)
        moments, lam = ridge.only(some).moments, 1e-7 * n
        start = ridge.solve(moments, ridge.factor(moments, lam))
        return ridge.iterate(lam, ridge.factor(moments, 1e-7 * len(some)), start)

    found = fit(engine.operator(k, X, landmarks))
    took = seconds(lambda: fit(engine.operator(k, X, landmarks)), engine.torch_device, 2)
    slow = None
    if beside_plain:
        slow = seconds(lambda: fit(plain(engine.operator(k, X, landmarks))), engine.torch_device, 2)
    scores = engine.operator(k, new[0], landmarks).product(found.weights)[:, 0] + found.intercept
    r2 = 1 - float(((scores - new[1]) ** 2).mean() / new[1].var())
    note = f"R2 {r2:.4f}, residual {found.gap:.1e}"
    return Row("ridge, given penalty", f"n = {n:,}, m = {m:,}", took, "s", note, plain=slow)


def numbers(engine: TorchEngine, sizes: Sizes) -> Iterator[Row]:
    """Measure fits from host memory with few landmarks, with automatic ones, and with a learned metric."""
    new, wanted = problem(min(200_000, sizes.rows), seed=1)
    n, counts = sizes.numbers
    X, y = problem(n)
    for m in (*counts, "auto"):
        model = SimilarityRegressor(Gaussian(sigma=6.0), n_landmarks=m, random_state=0, engine=engine)
        took = seconds(lambda model=model: model.fit(X, y), engine.torch_device, 1)
        note = f"R2 {model.score(new, wanted):.4f}, penalty chosen, from host memory"
        yield Row("SimilarityRegressor.fit", f"n = {n:,}, m = {m if m == 'auto' else f'{m:,}'}", took, "s", note)
    X, y = problem(sizes.learned)
    model = SimilarityRegressor(random_state=0, engine=engine)
    took = seconds(lambda: model.fit(X, y), engine.torch_device, 1)
    note = f"R2 {model.score(new, wanted):.4f}, metric learned, from host memory"
    yield Row("SimilarityRegressor.fit", f"n = {sizes.learned:,}, similarity = auto", took, "s", note)


def classes(engine: TorchEngine, sizes: Sizes) -> Iterator[Row]:
    """Measure fits with many classes: the first one, with its compilation, and the next."""
    n, counts = sizes.classes
    rng = np.random.default_rng(0)
    for count in counts:
        means = rng.standard_normal((count, 28), dtype=np.float32)
        y = rng.integers(0, count, n)
        X = means[y] + 0.3 * rng.standard_normal((n, 28), dtype=np.float32)
        model = SimilarityClassifier(Gaussian(sigma=3.0), n_landmarks=min(2000, n // 4), random_state=0, engine=engine)
        start = time.perf_counter()
        model.fit(X, y)
        first = time.perf_counter() - start
        took = seconds(lambda model=model, X=X, y=y: model.fit(X, y), engine.torch_device, 1)
        note = f"accuracy {model.score(X[:20_000], y[:20_000]):.4f} on training rows, first fit {first:.2f} s"
        yield Row("SimilarityClassifier.fit", f"n = {n:,}, {count:,} classes", took, "s", note)


def clusters(engine: TorchEngine, sizes: Sizes) -> Iterator[Row]:
    """Measure the error of products where half of the rows are far away, and of wide polynomial kernels."""
    place, n, m = engine.torch_device, min(20_000, sizes.rows), min(1000, sizes.landmarks)
    for distance in (1e4, 1e5, 1e6):
        X = torch.randn(n, 28, device=place)
        X[::2] += distance
        yield from _product(engine, Gaussian(sigma=5.0), X, X[:m].clone(), label=f"clusters {distance:.0e} apart")
    X = torch.randn(n, 3000 if n == 20_000 else 30, device=place)
    yield from _product(engine, Polynomial(degree=3, scale=1 / 3000), X, X[:m].clone(), label="wide rows")


def predictions(engine: TorchEngine, sizes: Sizes) -> Iterator[Row]:
    """Measure prediction with 1,000 landmarks: on the device, and by a model from host memory."""
    n, k = sizes.predictions, Gaussian(sigma=6.0)
    m = min(1000, n // 5)
    X, y = problem(min(n, 100_000))
    model = SimilarityRegressor(k, n_landmarks=m, random_state=0, engine=engine).fit(X, y)
    there = torch.randn(n, 28, device=engine.torch_device)
    part = model._model.parts[0]
    landmarks, weights = part.features.landmarks.encoding, torch.from_numpy(part.weights).to(there)
    took = seconds(lambda: engine.operator(k, there, landmarks).times(weights), engine.torch_device)
    yield Row("prediction on the device", f"{n:,} rows, m = {m:,}", n / took / 1e6, "M rows/s")
    took = seconds(lambda: model.predict(there), engine.torch_device, 1)
    yield Row("SimilarityRegressor.predict, tensors", f"{n:,} rows, m = {m:,}", n / took / 1e6, "M rows/s")
    host = there.cpu().numpy()
    took = seconds(lambda: model.predict(host), engine.torch_device, 1)
    yield Row("SimilarityRegressor.predict, arrays", f"{n:,} rows, m = {m:,}", n / took / 1e6, "M rows/s")


def streams(engine: TorchEngine, sizes: Sizes) -> Iterator[Row]:
    """Measure K' K v with rows from a file against rows on the device."""
    n, m, k = sizes.streamed, sizes.landmarks, Gaussian(sigma=6.0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        mapped = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, 28))
        some = np.random.default_rng(0).standard_normal((min(n, 10**6), 28), dtype=np.float32)
        for start in range(0, n, len(some)):
            part = mapped[start : start + len(some)]
            part[:] = some[: len(part)] * (1.0 + 0.5 * start / n)
        landmarks = np.array(mapped[:m])
        small = TorchEngine(device=engine.device, precision=engine.precision, memory=4 * mapped.nbytes)
        ones, v = torch.ones(n, device=engine.torch_device), torch.randn(m, 1, device=engine.torch_device)
        resident = engine.operator(k, mapped, landmarks)
        streamed = small.operator(k, np.load(path, mmap_mode="r"), landmarks)
        within = seconds(lambda: resident.normal(v, ones), engine.torch_device)
        took = seconds(lambda: streamed.normal(v, ones), engine.torch_device)
        exact = resident.normal(v, ones)[0]
        error = float((streamed.normal(v, ones)[0] - exact).norm() / exact.norm())
    note = f"{100 * within / took:.0f} % of the rate on the device, in {len(streamed.cuts)} pieces"
    yield Row("K' K v from a file", f"{n:,} x {m:,}", 2 * n * m / took / 1e9, "G entries/s", note, error)


def digits(engine: TorchEngine, sizes: Sizes, file: str | None) -> Iterator[Row]:
    """Measure ten classes of 784 pixels, with landmarks and the choice of the penalty; MNIST where a file is given."""
    n, m = sizes.digits
    if file is None:
        rng = np.random.default_rng(0)
        means = rng.standard_normal((10, 784), dtype=np.float32)
        y = rng.integers(0, 10, n + n // 6)
        X = means[y] + 6.0 * rng.standard_normal((len(y), 784), dtype=np.float32)
        train, test, source, sigma = slice(0, n), slice(n, None), "random clusters, no MNIST file given", 160.0
    else:
        data = np.load(file)
        X = np.concatenate([data["X_train"], data["X_test"]]).reshape(-1, 784).astype(np.float32) / 255
        y = np.concatenate([data["y_train"], data["y_test"]])
        train, test, source, sigma = slice(0, n), slice(60_000, None), "MNIST", 5.0
    model = SimilarityClassifier(Gaussian(sigma=sigma), n_landmarks=m, random_state=0, engine=engine)
    took = seconds(lambda: model.fit(X[train], y[train]), engine.torch_device, 1)
    note = f"accuracy {model.score(X[test], y[test]):.4f}, {source}"
    yield Row("SimilarityClassifier.fit", f"{n:,} x 784, m = {m:,}, 10 classes", took, "s", note)
