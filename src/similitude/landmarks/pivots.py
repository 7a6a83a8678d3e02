"""Sequential draws of landmarks by their distance from those drawn before, in blocks with the same distribution.

In randomly pivoted Cholesky, as in k-means++, every object has a weight, its squared distance from what is chosen so
far, by which the next landmark is drawn. Instead of one column of K at a time, a block of proposals is drawn from the
weights as they stand, and each in turn is accepted with probability (its weight by now) / (its weight when drawn). By
the law of rejection sampling the accepted ones have exactly the distribution of sequential draws; only the small Gram
matrix of the proposals is needed to decide. (Epperly, Tropp and Webber, Embrace rejection: kernel matrix approximation
by accelerated randomly pivoted Cholesky, 2024.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from scipy.linalg import solve_triangular

from similitude.compute import (
    Blocks,
    BlockTask,
    Encoding,
    as_numpy,
    count,
    filled,
    in_precision,
    is_sparse,
    itemsize,
    rows,
    take,
    tensor_in,
)
from similitude.compute.engines import format_bytes
from similitude.landmarks.projection import solve_rows, solver
from similitude.scikit import whole_gram
from similitude.similarity import Hints, Similarity
from similitude.support import NotAKernelError, pairs_at
from similitude.validity import Tolerance, Witness, asymmetric_pair, check_gram, stored_witness

if TYPE_CHECKING:
    from similitude.landmarks.rules import Pool

FEWEST = 16
"""Proposals in the first block, and at least if they are cheap: enough to notice an asymmetric similarity."""

ROUNDING = 64
"""A residual below this times eps (1 + sqrt(pivots)) K(x, x) is rounding: errors of one pivot after another add up."""


def draw(weights: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return positions drawn independently with probability proportional to their weights."""
    cumulative = np.cumsum(weights)
    found = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
    return np.minimum(found, np.flatnonzero(weights)[-1])  # a product may be rounded up to the sum


def sample(weights: Nearest | Residual, n: int, rng: np.random.Generator, block: int | None) -> np.ndarray:
    """Draw landmarks until there are `n` or every weight is zero, block by block."""
    chosen: list[np.ndarray] = []
    size = block or FEWEST
    left = n
    while left and weights.current.any():
        proposed = draw(weights.current, size, rng)
        accepted = proposed[weights.sift(proposed, rng.random(size), left)]
        weights.add(accepted)
        chosen.append(accepted)
        left -= len(accepted)
        rate = len(accepted) / size
        # a tenth of the kernel values spent on columns may be spent on the Gram matrices of proposals
        cheap = max(FEWEST, int(0.1 * len(weights.current) * rate))
        # more than 256 would not stay in the cache
        size = block or max(1, min(math.ceil(left / rate), 2 * size, 256, cheap))
    return np.concatenate([np.empty(0, dtype=np.intp), *chosen])


class Exactness:
    """The precision of a pool's values, and which values no kernel can have."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.proven = pool.similarity.proven
        self.dtype, self.eps = _precision(pool)
        self.diagonal = pool.diagonal()
        self.floor = 16 * self.eps * float(np.abs(self.diagonal).max(initial=0.0))
        known = None if self.proven else stored_witness(pool.similarity)
        if known is not None:
            raise _not_a_kernel(pool, known)
        negative = self.impossible(self.diagonal, np.zeros(pool.n))
        if negative is not None:
            refuse(pool, np.array(negative))

    def gram(self, chosen: np.ndarray) -> np.ndarray:
        """Return the Gram matrix of some objects in double precision; refuse one that is not symmetric."""
        K = self.pool.gram(chosen).astype(np.float64)
        if not self.proven:
            pair = asymmetric_pair(K, Tolerance.of(K, self.eps))[1]
            if pair is not None:
                refuse(self.pool, chosen[list(pair)])
        return K

    def impossible(self, squares: np.ndarray, scale: np.ndarray) -> tuple[int, ...] | None:
        """Return the position of the squared length that is most negative beyond rounding; None if none is."""
        if self.proven or squares.min(initial=0.0) >= 0:
            return None
        excess = squares + 8 * math.sqrt(self.eps) * scale + self.floor
        if excess.min() >= 0:
            return None
        return tuple(int(i) for i in np.unravel_index(int(excess.argmin()), excess.shape))


def _precision(pool: Pool) -> tuple[np.dtype[Any], float]:
    """Return the type of the values, and eps of the coarser of their precision and that of the objects."""
    value = pool.gram(np.arange(1))
    first = rows(pool.encoding, np.arange(1))
    kinds = (value, first, first[0] if isinstance(first, (list, tuple)) else None)
    names = (str(getattr(kind, "dtype", "")).rsplit(".", 1)[-1] for kind in kinds)
    return value.dtype, max({"float16": 2.0**-10, "float32": 2.0**-23}.get(name, 2.0**-52) for name in names)


def refuse(pool: Pool, objects: np.ndarray) -> NoReturn:
    """Raise NotAKernelError, with a counterexample among these objects if one is found."""
    positions = np.unique(objects)
    few = rows(pool.encoding, positions)
    if pool.objects is not None:
        shown = take(pool.objects, positions)
    else:
        shown = few if isinstance(few, (list, np.ndarray)) or is_sparse(few) else positions
    values = as_numpy(whole_gram(pool.similarity, few, pool.engine))
    raise _not_a_kernel(pool, check_gram(pool.similarity, values, shown, positions, pool.n).witness)


def _not_a_kernel(pool: Pool, witness: Witness | None) -> NotAKernelError:
    advice = "use landmarks='uniform' or landmarks='diverse', which need none"
    problem = f"{pool.similarity!r} is not a kernel, and this choice of landmarks needs one: {advice}."
    return NotAKernelError(problem, witness)


def rpcholesky(pool: Pool, k: int, block: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    r"""Choose landmarks by randomly pivoted Cholesky, and return the factor that it builds.

    The next one is drawn by the diagonal of the residual :math:`R = K - K_{\cdot S} K_{SS}^{-1} K_{S \cdot} = K - F
    F'`. After :math:`k \ge r/\epsilon + r \log(1/(\epsilon\eta))` pivots the expected trace of the residual is at most
    :math:`1 + \epsilon` times that of the best approximation of rank :math:`r` (where that is :math:`\eta
    \operatorname{tr} K`). (Chen, Epperly, Tropp and Webber, Randomly pivoted Cholesky, 2022.) There are fewer than k
    pivots if the residual is zero up to rounding.
    """
    A = pool.encoding
    _check_factor(pool, k, itemsize(A[0] if isinstance(A, tuple) else A))
    weights = Residual(pool, k)
    pivots = sample(weights, k, pool.rng, block)
    return pivots, weights.factor[:, : len(pivots)]


def _check_factor(pool: Pool, k: int, bytes_each: int) -> None:
    """Raise MemoryError if the factor exceeds the memory budget, before anything is computed."""
    size = pool.n * k * bytes_each
    if size > pool.engine.budget:
        raise MemoryError(
            f"landmarks='rpcholesky' keeps a factor of {pool.n:,} x {k:,} values, {format_bytes(size)}, and the "
            f"memory budget is {format_bytes(pool.engine.budget)}: choose fewer landmarks, use landmarks='uniform', "
            f"or raise the budget with use_engine(LocalEngine(memory='{math.ceil(size / 2**30)}GiB'))"
        )


class Nearest:
    """Weights of k-means++: the squared distance from every object to the nearest landmark; zero if that is rounding.

    `sift` accepts a proposal of weight w by now, w0 when drawn, if u w0 <= w, and returns at most `most` of them.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.exact = Exactness(pool)
        self.current = np.full(pool.n, np.inf)

    def sift(self, proposed: np.ndarray, chances: np.ndarray, most: int) -> np.ndarray:
        """Go through the proposals, updating their distances from the nearest accepted one."""
        apart = self._squares(self.exact.gram(proposed), proposed, proposed)
        apart[proposed[:, None] == proposed] = 0.0
        left = self.current[proposed]
        least = chances * left
        taken: list[int] = []
        for j in range(len(proposed)):
            if len(taken) < most and left[j] > 0 and left[j] >= least[j]:
                taken.append(j)
                np.minimum(left, apart[:, j], out=left)
        return np.array(taken)

    def add(self, accepted: np.ndarray) -> None:
        """Compare every object with the accepted ones, strip by strip."""
        everyone = np.arange(self.pool.n)
        with pairs_at(None, accepted):
            for strip, values in self.pool.against(accepted).rows():
                nearest = self._squares(as_numpy(values), everyone[strip], accepted).min(axis=1)
                np.minimum(self.current[strip], nearest, out=self.current[strip])
        self.current[accepted] = 0.0

    def _squares(self, K: np.ndarray, these: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return D^2 of every pair, zero within rounding; a clearly negative one raises an error."""
        these_too = self.exact.diagonal[these, None]
        others_too = self.exact.diagonal[None, others]
        scale = np.abs(these_too) + np.abs(others_too)
        squares = these_too + others_too - 2.0 * K.astype(np.float64)
        negative = self.exact.impossible(squares, scale)
        if negative is not None:
            refuse(self.pool, np.array([these[negative[0]], others[negative[1]]]))
        squares[squares <= 32 * self.exact.eps * scale] = 0.0
        return squares


class Residual:
    """Weights of randomly pivoted Cholesky: the diagonal of K - F F', and F."""

    def __init__(self, pool: Pool, k: int) -> None:
        self.pool = pool
        self.exact = Exactness(pool)
        _check_factor(pool, k, self.exact.dtype.itemsize)
        self.factor = np.empty((pool.n, k), self.exact.dtype)
        self.pivots = np.empty(0, dtype=np.intp)
        self.triangle = np.empty((0, 0))
        self.diagonal = self.exact.diagonal.copy()
        self.current = self._beyond_rounding()

    def _beyond_rounding(self) -> np.ndarray:
        return np.where(self.diagonal > self._rounding(slice(None)), self.diagonal, 0.0)

    def _rounding(self, which: Any) -> np.ndarray:
        return ROUNDING * (1 + math.sqrt(len(self.pivots))) * self.exact.eps * np.abs(self.exact.diagonal[which])

    def resume(self, triangle: np.ndarray) -> None:
        """Start with the first objects as landmarks, whose Cholesky factor is known."""
        self.triangle = triangle
        self.add(np.arange(len(triangle)))

    def sift(self, proposed: np.ndarray, chances: np.ndarray, most: int) -> np.ndarray:
        """Run Cholesky on the residual of the proposals, skipping those rejected."""
        F = self.factor[proposed, : len(self.pivots)].astype(np.float64)
        R = self.exact.gram(proposed) - F @ F.T
        left = self.current[proposed]
        least = np.maximum(chances * left, self._rounding(proposed))
        L = np.zeros((len(proposed), min(most, len(proposed))))
        taken: list[int] = []
        for j, position in enumerate(proposed):
            if left[j] < least[j]:
                continue
            t = len(taken)
            L[:, t] = (R[:, j] - L[:, :t] @ L[j, :t]) / math.sqrt(left[j])
            L[j, t] = math.sqrt(left[j])
            left -= L[:, t] ** 2
            left[proposed == position] = 0.0
            taken.append(j)
            if len(taken) == most:
                break
        self.triangle = np.tril(L[taken, : len(taken)])
        return np.array(taken)

    def add(self, accepted: np.ndarray) -> None:
        """Compute the new columns of the factor, and update the residual."""
        known = self.factor[:, : len(self.pivots)]
        new = slice(len(self.pivots), len(self.pivots) + len(accepted))
        A = self.pool.encoding
        dtype = self.factor.dtype
        against = (rows(A, accepted), known[accepted], solver(self.triangle.T, dtype))
        fresh = _Fresh(self.pool.similarity)
        columns = Blocks(fresh, (A, known), against, False, self.pool.engine, dtype.itemsize, True)
        with pairs_at(None, accepted):
            columns.whole(out=self.factor[:, new])
        self.diagonal -= np.einsum("ij,ij->i", self.factor[:, new], self.factor[:, new], dtype=np.float64)
        self.pivots = np.concatenate([self.pivots, accepted])
        self.diagonal[self.pivots] = 0.0
        negative = self.exact.impossible(self.diagonal, np.abs(self.exact.diagonal))
        if negative is not None:  # no squared distance is negative
            F = self.factor[:, : len(self.pivots)].astype(np.float64)
            nearest = solve_triangular(F[self.pivots].T, F[negative[0]])
            # a counterexample is sought among few pivots
            most = np.argsort(-np.abs(nearest) * np.sqrt(self.exact.diagonal[self.pivots]))[:200]
            refuse(self.pool, np.append(self.pivots[most], negative))
        self.current = self._beyond_rounding()


@dataclass(frozen=True)
class _Fresh:
    """New columns of the factor: (K(x, pivots) - known part), solved with the triangle."""

    kernel: Similarity

    @property
    def hints(self) -> Hints:
        """Those of the kernel, whose values are checked."""
        hints = self.kernel.hints
        return Hints(finite=True, on_tensors=hints.on_tensors, threadsafe=hints.threadsafe)

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the new columns for objects and their known part (A), given pivots, theirs and the triangle (B)."""
        (x, x_known), (pivots, pivots_known, triangle) = A, B
        task = BlockTask(self.kernel)
        if tensor_in(x) is not None:
            return solve_rows(in_precision(task(x, pivots), triangle.dtype) - x_known @ pivots_known.T, triangle)
        K = np.empty((count(x), count(pivots)), triangle.dtype) if out is None else out
        with np.errstate(invalid="ignore"):  # BLAS may raise this flag for memory beside a short row
            filled(task, x, pivots, K)
            K -= x_known @ pivots_known.T
            return solve_rows(K, triangle)
