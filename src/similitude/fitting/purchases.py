"""Similarities of training rows that were paid for: each pair is computed once, and kept."""

from __future__ import annotations

import numpy as np

from similitude.compute import Encoding, count
from similitude.similarity import SYMMETRIC, Similarity, calls_per_pair


class Purchases:
    """Similarities K(x, l) and K(l, x) of rows to candidates for landmarks, which are rows as well.

    Parameters
    ----------
    k : Similarity
    A : encoding
        The training rows.

    Attributes
    ----------
    symmetric : bool
        Whether K(x, z) stands for K(z, x) as well.
    calls : int
        Calls that were made, or that a cache saved.
    """

    def __init__(self, k: Similarity, A: Encoding) -> None:
        self.k, self.A, self.n = k, A, count(A)
        self.symmetric = SYMMETRIC in k.claims
        self.calls = 0
        self._known: dict[int, np.ndarray] = {}

    def pairs(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return K(x_i, x_j) for pairs of positions."""
        keys = self._keys(i, j)
        different, first, back = np.unique(keys, return_index=True, return_inverse=True)
        known = self._lookup(different)
        new = np.flatnonzero(np.isnan(known))
        if len(new):
            at = first[new]
            order = np.argsort(at)  # rows in the order in which they were asked for
            known[new[order]] = self.k.values_at(self.A, self.A, i[at[order]], j[at[order]])
            self._store(different[new], known[new])
            self.calls += len(new) * calls_per_pair(self.k)
        found: np.ndarray = known[back.ravel()]
        return found

    def columns(self, rows: np.ndarray, landmarks: np.ndarray, turned: np.ndarray) -> np.ndarray:
        """Return the similarities of rows to landmarks: K(x, l), or K(l, x) where a landmark is turned."""
        i, j = _directed(rows, landmarks, turned)
        return self.pairs(i.ravel(), j.ravel()).reshape(i.shape)

    def known(self, rows: np.ndarray, landmarks: np.ndarray, turned: np.ndarray) -> np.ndarray:
        """Return those of these similarities that were bought, and NaN for the others."""
        i, j = _directed(rows, landmarks, turned)
        return self._lookup(self._keys(i.ravel(), j.ravel())).reshape(i.shape)

    def _keys(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        if self.symmetric:
            i, j = np.minimum(i, j), np.maximum(i, j)
        keys: np.ndarray = i.astype(np.int64) * self.n + j
        return keys

    def _lookup(self, keys: np.ndarray) -> np.ndarray:
        found = np.full(len(keys), np.nan)
        row, column = np.divmod(keys, self.n)
        for one in np.unique(row).tolist():
            if one in self._known:
                at = row == one
                found[at] = self._known[one][column[at]]
        return found

    def _store(self, keys: np.ndarray, values: np.ndarray) -> None:
        row, column = np.divmod(keys, self.n)
        for one in np.unique(row).tolist():
            at = row == one
            known = self._known.setdefault(one, np.full(self.n, np.nan))
            known[column[at]] = values[at]


def _directed(rows: np.ndarray, landmarks: np.ndarray, turned: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and second objects of all pairs of a row and a landmark."""
    here, there = np.broadcast_arrays(rows[:, None], landmarks[None])
    return np.where(turned, there, here), np.where(turned, here, there)
