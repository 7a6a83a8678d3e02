"""Who computes matrices of similarities, and features."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.nouns import OURS, Contender, SelfTimed
from similitude import FromPairs, check_kernel
from similitude.kernels import Gaussian, Laplace, Polynomial
from similitude.maps import FourierMap, LandmarkMap, ProjectionMap

STRIP = 1024
"""Rows that a contender without tiles of its own computes at once when a matrix is not stored."""


def seconds_to_import(module: str, name: str = "") -> SelfTimed:
    """Return how long an import takes in a new process, from bytecode."""
    statement = f"from {module} import {name}" if name else f"import {module}"
    write_bytecode(statement)
    return SelfTimed(imported(statement), statement)


@functools.cache
def write_bytecode(statement: str) -> None:
    """Import once before imports are measured."""
    imported(statement)


def imported(statement: str) -> float:
    """Return the seconds of an import in a new process, which writes the bytecode that it does not find."""
    program = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment = {**kept, "PYTHONPYCACHEPREFIX": bytecode_folder()}
    return float(subprocess.check_output([sys.executable, "-c", program], env=environment))


@functools.cache
def bytecode_folder() -> str:
    """Return a new folder, which is removed when this process ends."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def in_strips(f: Callable[[Any], Any], X: Any) -> list[Any]:
    """Return f of each strip of rows."""
    return [f(X[start : start + STRIP]) for start in range(0, len(X), STRIP)]


class Ours(Contender):
    name = OURS

    def gaussian(self, X, Z, sigma):
        return Gaussian(sigma).cross(X, Z)

    def gaussian_gram(self, X, sigma):
        return Gaussian(sigma).gram(X)

    def sparse_gram(self, X, sigma):
        return Gaussian(sigma).gram(X)

    def gaussian_times(self, X, Z, v, sigma):
        k = Gaussian(sigma)
        return k.blocks(k.encode(X), k.encode(Z)).times(v)

    def laplace(self, X, Z, sigma):
        return Laplace(sigma, norm=1, squared_scale=False).cross(X, Z)

    def polynomial(self, X, Z, degree, coef0, scale):
        return Polynomial(degree, coef0, scale).cross(X, Z)

    def pairs(self, f, X):
        return FromPairs(f).gram(X)

    def projection(self, X, sigma, m):
        chosen = np.random.RandomState(0).permutation(len(X))[:m]  # those that scikit-learn's seed 0 takes
        return ProjectionMap(Gaussian(sigma), landmark_indices=chosen).fit_transform(X)

    def rpcholesky(self, X, sigma, k):
        return LandmarkMap(Gaussian(sigma), landmarks="rpcholesky", n_components=k).fit(X).landmark_indices_

    def fourier(self, X, sigma, D):
        return FourierMap(Gaussian(sigma), n_components=D, kind="structured").fit_transform(X)

    def verdict(self, M):
        return check_kernel(M).verdict

    def importing(self):
        return seconds_to_import("similitude")


class OursBlock(Contender):
    """The kernel's block alone: no tiles, no checks of the values."""

    name = "ours (block)"

    def gaussian(self, X, Z, sigma):
        return Gaussian(sigma).block(X, Z)

    def laplace(self, X, Z, sigma):
        return Laplace(sigma, norm=1, squared_scale=False).block(X, Z)

    def polynomial(self, X, Z, degree, coef0, scale):
        return Polynomial(degree, coef0, scale).block(X, Z)


class OursKernels(Contender):
    """The package together with its kernels."""

    name = "ours (kernels)"

    def importing(self):
        return seconds_to_import("similitude.kernels")


class OursEstimator(Contender):
    """The package together with its main estimator."""

    name = "ours (estimator)"

    def importing(self):
        return seconds_to_import("similitude", "SimilarityClassifier")


class ScikitLearn(Contender):
    name = "scikit-learn"
    packages = ("sklearn.kernel_approximation", "sklearn.metrics.pairwise")

    def importing(self):
        return seconds_to_import("sklearn.base")

    def projection(self, X, sigma, m):
        from sklearn.kernel_approximation import Nystroem

        return Nystroem(gamma=0.5 / sigma**2, n_components=m, random_state=0).fit_transform(X)

    def fourier(self, X, sigma, D):
        from sklearn.kernel_approximation import RBFSampler

        return RBFSampler(gamma=0.5 / sigma**2, n_components=D, random_state=0).fit_transform(X)

    def gaussian(self, X, Z, sigma):
        return self.library.rbf_kernel(X, Z, gamma=0.5 / sigma**2)

    def gaussian_gram(self, X, sigma):
        return self.library.rbf_kernel(X, gamma=0.5 / sigma**2)

    def sparse_gram(self, X, sigma):
        return self.library.rbf_kernel(X, gamma=0.5 / sigma**2)

    def laplace(self, X, Z, sigma):
        return self.library.laplacian_kernel(X, Z, gamma=1.0 / sigma)

    def polynomial(self, X, Z, degree, coef0, scale):
        return self.library.polynomial_kernel(X, Z, degree=degree, gamma=scale, coef0=coef0)


class ScikitLearnIntelex(Contender):
    name = "scikit-learn-intelex"
    packages = ("sklearnex", "onedal.primitives")

    def gaussian(self, X, Z, sigma):
        return self.library.rbf_kernel(X, Z, gamma=0.5 / sigma**2)

    def gaussian_gram(self, X, sigma):
        return self.library.rbf_kernel(X, gamma=0.5 / sigma**2)

    def polynomial(self, X, Z, degree, coef0, scale):
        return self.library.poly_kernel(X, Z, gamma=scale, coef0=coef0, degree=degree)


class SciPy(Contender):
    """Its distances and sparse products know no threads, and its distances are of float64."""

    name = "SciPy"
    packages = ("scipy.spatial.distance",)
    uses_threads = False

    def gaussian(self, X, Z, sigma):
        D = self.library.cdist(X, Z, "sqeuclidean")
        D *= -0.5 / sigma**2
        return np.exp(D, out=D)

    def laplace(self, X, Z, sigma):
        D = self.library.cdist(X, Z, "cityblock")
        D *= -1.0 / sigma
        return np.exp(D, out=D)

    def sparse_gram(self, X, sigma):
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        return exp_of_squares((X @ X.T).toarray(), squares, squares, sigma)


class Torch(Contender):
    name = "torch"
    packages = ("torch",)

    def _gaussian(self, X, Z, sigma):
        squares = self.library.addmm((Z * Z).sum(1)[None, :], X, Z.T, alpha=-2.0)
        return squares.add_((X * X).sum(1)[:, None]).clamp_(min=0).mul_(-0.5 / sigma**2).exp_()

    def _tensors(self, *arrays):
        return [self.library.from_numpy(array) for array in arrays]

    def gaussian(self, X, Z, sigma):
        return self._gaussian(*self._tensors(X, Z), sigma).numpy()

    def gaussian_times(self, X, Z, v, sigma):
        X, Z, v = self._tensors(X, Z, v)
        return self.library.cat(in_strips(lambda x: self._gaussian(x, Z, sigma) @ v, X)).numpy()

    def laplace(self, X, Z, sigma):
        return self.library.cdist(*self._tensors(X, Z), p=1).mul_(-1.0 / sigma).exp_().numpy()

    def polynomial(self, X, Z, degree, coef0, scale):
        X, Z = self._tensors(X, Z)
        return (X @ Z.T).mul_(scale).add_(coef0).pow_(degree).numpy()


def exp_of_squares(products: Any, x: Any, z: Any, sigma: float) -> Any:
    """Turn dot products and squared lengths into Gaussian values, in place."""
    products *= -2.0
    products += x[:, None]
    products += z
    np.maximum(products, 0, out=products)
    products *= -0.5 / sigma**2
    return np.exp(products, out=products)


class NumPy(Contender):
    """The formula, written with a matrix product and in place."""

    name = "NumPy"

    def gaussian(self, X, Z, sigma):
        return exp_of_squares(X @ Z.T, (X * X).sum(1), (Z * Z).sum(1), sigma)

    def gaussian_times(self, X, Z, v, sigma):
        return np.concatenate(in_strips(lambda x: self.gaussian(x, Z, sigma) @ v, X))

    def polynomial(self, X, Z, degree, coef0, scale):
        K = X @ Z.T
        K *= scale
        K += coef0
        return np.power(K, degree, out=K)

    def verdict(self, M):
        spectrum = np.linalg.eigh(M)[0]
        return "VALID" if spectrum[0] >= -len(M) * np.finfo(M.dtype).eps * spectrum[-1] else "INVALID"

    def importing(self):
        return seconds_to_import("numpy")


class Gemm(Contender):
    """The bare matrix product of the same vectors."""

    name = "NumPy GEMM"
    is_limit = True

    def gaussian(self, X, Z, sigma):
        return X @ Z.T

    def gaussian_gram(self, X, sigma):
        return X @ X.copy().T  # the copy hides the symmetry: a whole product

    def gaussian_times(self, X, Z, v, sigma):
        return in_strips(lambda x: (x @ Z.T)[0], X)

    def projection(self, X, sigma, m):
        return self._kernel_then_triangle(X, m)

    def rpcholesky(self, X, sigma, k):
        return self._kernel_then_triangle(X, k)

    def _kernel_then_triangle(self, X, m):
        """Products with as many operations as m columns of the kernel, then a triangle of order m, take."""
        half = np.ones((m, m // 2), X.dtype)
        return in_strips(lambda x: ((x @ X[:m].T) @ half)[0], X)

    def polynomial(self, X, Z, degree, coef0, scale):
        return X @ Z.T


class BareLoop(Contender):
    """The calls of a user's function and nothing else."""

    name = "bare loop"
    is_limit = True
    uses_threads = False

    def pairs(self, f, X):
        return [[f(x, z) for z in X] for x in X]
