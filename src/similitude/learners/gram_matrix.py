"""The whole Gram matrix of the training objects, for learners that factorize it or multiply by it repeatedly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import (
    Encoding,
    as_numpy,
    check_fits,
    check_objects,
    in_precision,
    itemsize,
    namespace,
    rows,
    take,
)
from similitude.compute.engines import Engine
from similitude.scikit import CHECKED_OBJECTS, demand_valid, proven, refuse_known, whole_gram
from similitude.similarity import Similarity
from similitude.support import generator
from similitude.validity import Validity, check_gram


@dataclass(frozen=True)
class Objects:
    """Some of the training objects, with a resolved kernel."""

    kernel: Similarity
    objects: Any  # all training objects
    encoding: Encoding  # of all of them
    used: np.ndarray  # positions of the objects in the Gram matrix
    engine: Engine

    def gram(self) -> tuple[Any, float, Validity]:
        """Return the Gram matrix in float64, the machine epsilon of its values, and the verdict on the kernel.

        It is a tensor if the engine computes on a device with room for it and a copy. Raises NotAKernelError if it
        contains a witness. Its size is checked before the first kernel call. A kernel without a proof is checked on
        the values themselves, for at most 500 objects and for the worst pair of all, so that a user's function is
        called once per pair.
        """
        k = self.kernel
        n = len(self.used)
        refuse_known(k)
        check_fits(n, n, 8, self.engine)
        A = self.encoding
        if n < check_objects(self.objects):
            A = rows(A, self.used)
        there = self.engine.to_device(A, reserve=16 * n * n) if k.hints.on_tensors else A
        values = k.blocks(there, engine=self.engine).whole()
        single = itemsize(values) == 4 or itemsize(A) == 4
        eps = float(np.finfo(np.float32 if single else np.float64).eps)
        validity = proven(k)
        if validity is not None:
            values = in_precision(values, namespace(values).float64)
            return self.engine.to_device(values, reserve=8 * n * n), eps, validity
        values = as_numpy(values)
        K = values.astype(np.float64, copy=False)
        some = np.sort(generator(0).permutation(n)[:CHECKED_OBJECTS])
        validity = self._demand(values, some)
        lengths = np.sqrt(np.maximum(K.diagonal(), 0.0))
        for suspicion in (np.abs(K - K.T), np.abs(K) - lengths[:, None] * lengths):
            self._demand(values, np.unique(np.unravel_index(suspicion.argmax(), suspicion.shape)))
        return self.engine.to_device(0.5 * K + 0.5 * K.T, reserve=8 * n * n), eps, validity

    def _demand(self, values: np.ndarray, some: np.ndarray) -> Validity:
        return demand_valid(self._verdict(values[np.ix_(some, some)], self.used[some]))

    def refuse_negative(self, direction: np.ndarray) -> None:
        """Raise NotAKernelError if there is a witness among the objects with the largest entries of an eigenvector."""
        if not proven(self.kernel):
            some = self.used[np.sort(np.argsort(-np.abs(direction.astype(float)), kind="stable")[:200])]
            few = rows(self.encoding, some)
            demand_valid(self._verdict(as_numpy(whole_gram(self.kernel, few, self.engine)), some))

    def _verdict(self, values: np.ndarray, positions: np.ndarray) -> Validity:
        n = check_objects(self.objects)
        with np.errstate(over="ignore"):  # sums of values near the largest number
            return check_gram(self.kernel, values, take(self.objects, positions), positions, n)
