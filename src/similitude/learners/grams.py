"""The whole Gram matrix of a kernel, for learners that factorize it or multiply with it again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from similitude.compute.blocks import check_fits
from similitude.compute.encodings import (
    Encoding,
    as_numpy,
    check_objects,
    in_precision,
    itemsize,
    namespace,
    rows,
    take,
)
from similitude.compute.engines import Engine
from similitude.scikit.estimator import CHECKED_OBJECTS, demand_valid, whole_gram
from similitude.similarity import Similarity
from similitude.support.randomness import generator
from similitude.validity import Validity, check_gram

WITNESS_OBJECTS = 200
"""Objects at most among which a counterexample is sought when a factorization meets a negative eigenvalue."""


class Gram(NamedTuple):
    """A Gram matrix in float64, the precision of its values, and what is known of the kernel.

    The matrix is a tensor where the engine computes on a device that can hold it and a copy.
    """

    values: Any
    eps: float
    validity: Validity


@dataclass(frozen=True)
class Objects:
    """Some of the training objects under a resolved kernel.

    Attributes
    ----------
    kernel : Similarity
    objects : sequence
        All of them, as they were given.
    encoding : encoding
        Of all of them.
    used : array of int
        Positions of those that the Gram matrix is about.
    engine : Engine
    """

    kernel: Similarity
    objects: Any
    encoding: Encoding
    used: np.ndarray
    engine: Engine

    def gram(self) -> Gram:
        """Return the Gram matrix; refuse one that shows the kernel to be none.

        Its size is checked before the first kernel call. A kernel without a proof is judged by these very values, on
        500 objects at most and on the worst pair of all, so that a user's function is called once per pair.
        """
        k, n = self.kernel, len(self.used)
        check_fits(n, n, 8, self.engine)
        A = self.encoding if n == check_objects(self.objects) else rows(self.encoding, self.used)
        there = self.engine.to_device(A, reserve=16 * n * n) if k.hints.on_tensors else A
        values = k.blocks(there, engine=self.engine).whole()
        single = itemsize(values) == 4 or itemsize(A) == 4
        eps, proof = float(np.finfo(np.float32 if single else np.float64).eps), k.proof()
        if proof.holds:
            K = self.engine.to_device(in_precision(values, namespace(values).float64), reserve=8 * n * n)
            return Gram(K, eps, Validity("VALID", proof, effort="the algebra of kernels, no data needed"))
        values = as_numpy(values)
        K = values.astype(np.float64, copy=False)
        some = np.sort(generator(0).permutation(n)[:CHECKED_OBJECTS])
        validity = self._demand(values, some)
        lengths = np.sqrt(np.maximum(K.diagonal(), 0.0))
        for suspicion in (np.abs(K - K.T), np.abs(K) - lengths[:, None] * lengths):
            self._demand(values, np.unique(np.unravel_index(suspicion.argmax(), suspicion.shape)))
        return Gram(self.engine.to_device(0.5 * K + 0.5 * K.T, reserve=8 * n * n), eps, validity)

    def _demand(self, values: np.ndarray, some: np.ndarray) -> Validity:
        return demand_valid(self._verdict(values[np.ix_(some, some)], self.used[some]))

    def refuse_negative(self, direction: np.ndarray) -> None:
        """Look for a counterexample among the objects with the largest entries of an eigenvector; raise if there is."""
        if self.kernel.proof().holds:
            return
        some = self.used[np.sort(np.argsort(-np.abs(direction), kind="stable")[:WITNESS_OBJECTS])]
        few = rows(self.encoding, some)
        demand_valid(self._verdict(as_numpy(whole_gram(self.kernel, few, self.engine)), some))

    def _verdict(self, values: np.ndarray, positions: np.ndarray) -> Validity:
        n = check_objects(self.objects)
        with np.errstate(over="ignore"):  # sums of values near the largest number
            return check_gram(self.kernel, values, take(self.objects, positions), positions, n)


def unit_of(values: np.ndarray) -> float:
    """Return a power of four near the largest magnitude, in units of which nothing overflows; its root is exact too.

    >>> unit_of(np.array([3.0, -70.0]))
    64.0
    """
    largest = float(np.abs(values).max(initial=0.0))
    return 4.0 ** min(int(np.frexp(largest)[1]) // 2, 511) if largest > 0 else 1.0


def positive_whole(name: str, value: Any) -> int:
    """Return a number of things; refuse what is none.

    >>> positive_whole("n_neighbors", np.int64(5))
    5
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} must be a positive whole number, got {value!r}")
    return int(value)
