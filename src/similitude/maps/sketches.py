"""Random projections that keep lengths, and what maps share that write whole rows of random features."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from similitude.compute import Encoding, count, is_sparse, is_tensor, loops
from similitude.kernels.vectors import inner
from similitude.landmarks import in_floats
from similitude.similarity import Hints
from similitude.support import check_choice, check_integer

SKETCH_KINDS = ("gaussian", "sign", "sparse", "hadamard")


@dataclass(frozen=True)
class Sketch:
    r"""A random projection :math:`u' = A u / \sqrt{k}` from `n_in` to k = `n_out` dimensions that keeps lengths.

    For every kind :math:`E|u'|^2 = |u|^2`. With normal or plus-or-minus-one entries, for any two points,
    :math:`(1-\epsilon)|u-v|^2 \le |u'-v'|^2 \le (1+\epsilon)|u-v|^2` with probability at least
    :math:`1 - 2 e^{-(\epsilon^2-\epsilon^3)k/4}` (Arriaga and Vempala, "An algorithmic theory of learning: robust
    concepts and random projection", 1999, whose "U(-1, 1)" are the two signs).

    The entries of A, by `kind`: standard normal; 1 or -1; :math:`\sqrt{s}` or :math:`-\sqrt{s}` with probability
    1/(2s) each and else 0, :math:`s = \max(3, \sqrt{n_{in}})` (Achlioptas, "Database-friendly random projections",
    2003; Li, Hastie and Church, "Very sparse random projections", 2006); rows of H D, the Walsh-Hadamard matrix with
    random signs of its columns (Ailon and Chazelle, "The fast Johnson-Lindenstrauss transform", 2009). They are drawn
    from the seed where they are needed, so that only the seed is stored.

    >>> shorter = Sketch("sign", n_in=1000, n_out=200, seed=0)
    >>> u = np.ones((1, 1000))
    >>> shorter(u).shape, round(float((shorter(u) ** 2).sum() / 1000), 1)
    ((1, 200), 1.0)
    """

    kind: str
    n_in: int
    n_out: int
    seed: int

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, SKETCH_KINDS)
        check_integer("n_in", self.n_in)
        check_integer("n_out", self.n_out)

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        """Return the projections of the rows of Z, in the precision of Z."""
        Z = in_floats(Z)
        if Z.ndim != 2 or Z.shape[1] != self.n_in:
            raise ValueError(f"this sketch takes rows of {self.n_in} numbers, got an array of shape {Z.shape}")
        drawn = self._drawn(Z.dtype)
        if self.kind != "hadamard":
            return inner(Z, drawn)
        signs, chosen = drawn
        size = padded(self.n_in)
        out = np.empty((len(Z), self.n_out), Z.dtype)
        for some in strips(len(Z), signs.nbytes):
            np.multiply(hadamard(Z[some], signs, size)[:, chosen], 1.0 / math.sqrt(self.n_out), out=out[some])
        return out

    def matrix(self) -> np.ndarray:
        r"""Return the matrix :math:`A / \sqrt{k}` of shape (n_out, n_in): the sketch of Z is ``Z @ matrix().T``."""
        if self.kind == "hadamard":
            return np.ascontiguousarray(self(np.eye(self.n_in)).T)
        drawn = self._drawn(np.dtype(np.float64))
        return drawn.toarray() if is_sparse(drawn) else drawn

    def _drawn(self, dtype: np.dtype) -> Any:
        """Return A / sqrt(k); for Hadamard transforms the signs, and which of their columns are kept."""
        rng = np.random.default_rng(self.seed)
        k = self.n_out
        d = self.n_in
        if self.kind == "gaussian":
            return (rng.standard_normal((k, d)) / math.sqrt(k)).astype(dtype, copy=False)
        if self.kind == "sign":
            return random_signs(rng, (k, d), dtype) / dtype.type(math.sqrt(k))
        if self.kind == "sparse":
            s = max(3.0, math.sqrt(d))
            where = rng.choice(k * d, rng.binomial(k * d, 1.0 / s), replace=False, shuffle=False)
            entries = random_signs(rng, (len(where),), dtype) * dtype.type(math.sqrt(s / k))
            return csr_array((entries, np.divmod(where, d)), shape=(k, d))
        columns = padded(d) * math.ceil(k / padded(d))
        return random_signs(rng, (1, columns), dtype), np.sort(rng.choice(columns, k, replace=False))


def random_signs(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return independent fair signs: 1 or -1."""
    return (2 * rng.integers(2, size=shape, dtype=np.int8) - 1).astype(dtype)


def padded(d: int) -> int:
    """Return the smallest power of two that is at least d."""
    return 1 << (d - 1).bit_length()


def hadamard(X: Any, signs: np.ndarray, size: int) -> np.ndarray:
    """Return H D_k ... H D_1 x for every row x, padded with zeros, once for each stretch of `size` columns of `signs`.

    H is the Walsh-Hadamard matrix of 1 and -1, D_i has row i of `signs` on its diagonal.

    >>> hadamard(np.array([[1.0, 2.0, 3.0]]), np.ones((1, 4)), 4)
    array([[ 6.,  2.,  0., -4.]])
    """
    n, d = X.shape
    stretches = np.zeros((n, signs.shape[1] // size, size), signs.dtype)
    stretches[:, :, :d] = (X.toarray() if is_sparse(X) else X)[:, np.newaxis]
    values = stretches.reshape(n, signs.shape[1])
    loops.hadamard(values, signs, size)
    return values


def strips(n: int, row_bytes: int, at_once: int = 2**18) -> Iterator[slice]:
    """Yield the rows from 0 to n in strips, whose bytes stay in the cache between two steps."""
    step = max(1, at_once // row_bytes)
    return (slice(start, min(n, start + step)) for start in range(0, n, step))


@dataclass(frozen=True)
class Written:
    """A map as :class:`Blocks` calls it: ``B.write(A, out)`` writes the ``len(B)`` features of every row of A."""

    name: str
    hints: ClassVar[Hints] = Hints(on_tensors=True)

    def block(self, A: Encoding, B: Any, out: Any = None) -> Any:
        """Return the features of the encoded rows."""
        if is_tensor(A):
            return B.of_tensor(A)
        features = np.empty((count(A), len(B)), A.dtype) if out is None else out
        with np.errstate(all="ignore"):  # a feature that is not finite raises later, by its place
            B.write(A, features)
        return features

    def __repr__(self) -> str:
        return f"a feature of {self.name}"
