"""Bounds: what a search may know of a similarity beyond its ``block``, to leave out pairs that cannot matter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from similitude.compute import Encoding

if TYPE_CHECKING:
    from similitude.similarity.contract import Similarity

Candidates = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Rows i, columns j, and for each such pair the largest value that its similarity can have."""


class Bounds:
    """Upper bounds on similarities that are much cheaper than the similarities.

    A subclass writes :meth:`upper`, and :meth:`sketch` if it needs something else of the objects than their encodings.
    It may also write :meth:`candidates`, if the pairs are found faster than by the matrix of all bounds, and
    :meth:`values`, if a similarity that turns out to be too small can be given up early.
    """

    def sketch(self, A: Encoding) -> Any:
        """Return what the bounds are computed from, of encoded objects: a sequence or array with one row for each."""
        return A

    def upper(self, A: Any, B: Any) -> np.ndarray:
        """Return numbers that are at least K(a_i, b_j), from the sketches of both."""
        raise NotImplementedError

    def candidates(self, A: Any, B: Any, floors: np.ndarray) -> Candidates:
        """Return all pairs whose similarity may be at least floors[i], from the sketches of both, in any order."""
        upper = self.upper(A, B)
        i, j = np.nonzero(upper >= floors[:, None])
        return i, j, upper[i, j]

    def values(
        self, k: Similarity, A: Encoding, B: Encoding, i: np.ndarray, j: np.ndarray, floors: np.ndarray
    ) -> np.ndarray:
        """Return K(a_i, b_j) of some pairs, sorted by i, from encodings; below floors[p], -infinity will do."""
        return np.asarray(k.values_at(A, B, i, j))
