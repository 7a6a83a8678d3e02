"""The objects of a test: validated, pooled in random order, and the kernels that are fixed on the pool."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from similitude.compute import as_numpy, check_fits, check_objects, is_sparse, is_table, join_all, take
from similitude.compute.engines import Engine
from similitude.hypotheses.limits import ALL_PAIRS_LIMIT, DEFAULT_LANDMARKS, RELATIVE_WIDTHS
from similitude.kernels import Spectrum, family_of, kind_of_objects
from similitude.scikit import SimilarityEstimator
from similitude.similarity import Auto, Similarity, as_similarity
from similitude.support import check_integer, error_prefix, pairs_at


class TestedObjects(SimilarityEstimator):
    """Validation of kernels, engine and objects as in estimators."""

    __test__ = False  # for pytest

    def __init__(
        self, kernel: Any, *, engine: Engine | None = None, widths: tuple[float, ...] = RELATIVE_WIDTHS
    ) -> None:
        self.given = list(kernel) if isinstance(kernel, (list, tuple)) else [kernel]
        self.engine = engine
        self.widths = widths
        _ = self._engine  # validated first
        if not self.given:
            raise ValueError("kernel is an empty list: give a kernel, several, or 'auto'")
        self.kernel = self.given[0]
        for one in self.given:
            if isinstance(one, str) and one == "precomputed":
                raise ValueError(
                    "kernel='precomputed' cannot tell which rows belong together: use Precomputed(M) as the kernel, "
                    "and positions in M as objects"
                )
            as_similarity(one).check_params()

    def read(self, objects: Any, name: str) -> Any:
        """Return validated objects; for kernels of vectors, numbers become vectors of one number."""
        check_objects(objects, name)
        plain = not (is_table(objects) or is_sparse(objects)) and len(getattr(objects, "shape", (0,))) == 1
        if plain and (self._is_automatic or self._kind() == "vectors"):
            first = objects.iloc[0] if hasattr(objects, "iloc") else objects[0]
            if isinstance(first, (Real, np.number)):
                objects = np.asarray(objects, dtype=np.float64)[:, None]
        with error_prefix(name):
            return self._checked(objects, reset=True)

    def resolved(self, pool: Any, seed: int) -> list[Similarity]:
        """Return the kernels with what depends on data fixed on all objects; ``auto`` is several."""
        found: list[Similarity] = []
        for one in self.given:
            k = as_similarity(one)
            found += _automatic(pool, k.kind, seed, self.widths) if isinstance(k, Auto) else [k.resolve(pool, seed)]
        return found


def _automatic(pool: Any, kind: str | None, seed: int, widths: tuple[float, ...]) -> list[Similarity]:
    """Return the kernels for a kind of objects: several widths, or all proven kernels of the kind.

    The kernels of strings are normalized, so that counts of letters, pairs and triples join them: they see lengths.
    """
    kind = kind or kind_of_objects(pool)
    members = family_of(kind, pool)
    if kind == "strings":
        members = (*members, *[Spectrum(p, counts=True) for p in (1, 2, 3)])
    if kind not in ("vectors", "table"):
        return [k.resolve(pool, seed) for k in members if k.proven]
    names = [name for name in members[0].unresolved() if name.endswith("sigma")]
    k = members[0].resolve(pool, seed)
    params = k.get_params()
    return [copy.deepcopy(k).set_params(**{name: width * params[name] for name in names}) for width in widths]


def check_alike(X: Any, Z: Any, x: str, z: str) -> None:
    """Refuse samples of different kinds of objects, or of vectors of different lengths."""
    if is_table(X) != is_table(Z):
        raise TypeError(f"{x if is_table(X) else z} is a data frame and the other is not: give two of one type")
    if is_table(X) and list(X.columns) != list(Z.columns):
        raise ValueError(f"{x} has the columns {list(X.columns)} and {z} has {list(Z.columns)}")
    kinds = [kind_of_objects(one) for one in (X, Z)]
    # the objects of one sample may be taken for some kinds, and those of the other not, by chance
    if kinds[0] != kinds[1] and not set(kinds) <= {"vectors", "table", "records", "series"}:
        raise TypeError(f"{x} holds {kinds[0]} and {z} holds {kinds[1]}: objects of one kind are needed")
    columns = [one.shape[1] if len(getattr(one, "shape", ())) == 2 else 0 for one in (X, Z)]
    if columns[0] != columns[1]:
        raise ValueError(f"{x} has {columns[0]} columns and {z} has {columns[1]}: as many are needed")


class PooledObjects:
    """Several samples one after the other, and the kernels, which were fixed without looking at who is in which.

    The pool is shuffled, so that rules that look at the first objects, or draw some, see all samples alike; ``order``
    and ``places`` lead from it to positions and back, which count the objects of the first sample first.
    """

    def __init__(self, tested: TestedObjects, samples: Sequence[Any], rng: np.random.Generator) -> None:
        objects = join_all(samples)
        self.order = rng.permutation(check_objects(objects))
        self.places = np.argsort(self.order)
        self.objects = take(objects, self.order)
        self.kernels = tested.resolved(self.objects, int(rng.integers(2**31)))
        self.engine = tested._engine

    def __len__(self) -> int:
        return len(self.order)

    def gram(self, k: Similarity) -> np.ndarray:
        """Return K(x_i, x_j) of all objects, in the order of their positions."""
        check_fits(len(self), len(self), 8 * (len(self.kernels) + 2), self.engine)
        with pairs_at(self.order, self.order):
            K = as_numpy(k.blocks(k.encode_checked(self.objects), engine=self.engine).whole())
        return np.asarray(K[np.ix_(self.places, self.places)], dtype=np.float64)

    def chunk(self, positions: np.ndarray) -> Any:
        """Return the objects at some positions."""
        return take(self.objects, self.places[positions])


def landmark_number(n_landmarks: Any, n: int) -> int | None:
    """Return the number of landmarks for n objects; None: all pairs are compared."""
    if n_landmarks is None:
        return None
    if isinstance(n_landmarks, str) and n_landmarks == "auto":
        return None if n <= ALL_PAIRS_LIMIT else DEFAULT_LANDMARKS
    return check_integer("n_landmarks", n_landmarks, 1, n, otherwise="'auto' or None")


def centered(K: np.ndarray) -> np.ndarray:
    """Return (K + K') / 2 without its diagonal, U-centered: rows sum to zero (Székely and Rizzo 2014).

    Sums over pairs of different objects of the result are unbiased estimates of MMD and HSIC.
    """
    n = len(K)
    A = (K + K.T) / 2
    np.fill_diagonal(A, 0.0)
    largest = float(np.abs(A).max())
    means = A.sum(axis=1) / (n - 2)
    A -= means[:, None]
    A -= means
    A += means.sum() / (n - 1)
    np.fill_diagonal(A, 0.0)
    if np.abs(A).max() <= 1e-13 * n * largest:  # the rounding of a constant similarity
        A[...] = 0.0
    return A
