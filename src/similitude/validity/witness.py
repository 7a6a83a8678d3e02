"""The smallest set of objects that shows that a matrix of similarities is not positive semi-definite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.errors import brief
from similitude.loops import worst_triple
from similitude.results import Result

_NUMBERS = ("no", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


@dataclass(frozen=True)
class Witness(Result):
    """A few objects that no kernel can treat as this similarity does.

    Attributes
    ----------
    indices : tuple of int
        Their positions in X; empty where they were found by search.
    objects : tuple
        The objects themselves.
    coefficients : tuple of float
        Weights a, the largest of magnitude 1; empty where a pair shows asymmetry.
    value : float
        The sum of a_i a_j K(x_i, x_j), which is negative; for an asymmetric pair K(x, z) - K(z, x).
    gram : array
        The matrix K(x_i, x_j) of these objects.
    """

    indices: tuple[int, ...]
    objects: tuple[Any, ...]
    coefficients: tuple[float, ...]
    value: float
    gram: np.ndarray

    def in_short(self) -> str:
        """Return what the witness shows in a few words."""
        if not self.coefficients:
            return f"K(x, z) = {self.gram[0, 1]:.3g}, K(z, x) = {self.gram[1, 0]:.3g}"
        if len(self.objects) == 1:
            return f"K(x, x) = {self.value:.3g} < 0"
        return f"a squared length of {self.value:.3g} from {len(self.objects)} objects"

    def __str__(self) -> str:
        return "\n".join([self._claim(), *self._list()])

    def _claim(self) -> str:
        if not self.coefficients:
            there, back = self.gram[0, 1], self.gram[1, 0]
            return f"It is not symmetric: K(x, z) = {there:.6g} but K(z, x) = {back:.6g} for these two objects x and z."
        impossible = "but K(x, x) is the squared length of the feature vector of x, and no length is negative"
        if len(self.objects) == 1:
            return f"One object shows it: K(x, x) = {self.value:.6g}, {impossible}."
        number = _NUMBERS[len(self.objects)] if len(self.objects) < len(_NUMBERS) else str(len(self.objects))
        claim = (
            f"{number} objects show it: their feature vectors, added with the weights {_listed(self.coefficients)}, "
            f"would make a vector of squared length {self.value:.6g}, and no squared length is negative."
        )
        whole = np.rint(self.coefficients)
        total = float(whole @ self.gram @ whole)
        if total < 0 and not np.allclose(whole, self.coefficients):
            claim += f" (Whole weights {_listed(whole)} do as well: {total:.6g}.)"
        return claim

    def _list(self) -> list[str]:
        if self.indices:
            return [f"  X[{i}] = {brief(x)}" for i, x in zip(self.indices, self.objects, strict=True)]
        return [f"  found by search: {brief(x)}" for x in self.objects]


def _listed(weights: Any) -> str:
    return ", ".join(f"{weight:.4g}" for weight in weights)


def entry_tolerance(K: np.ndarray) -> float:
    """Return the relative error that is granted to every value of K: eps^(2/3) of its precision."""
    return float(np.finfo(K.dtype).eps) ** (2 / 3)


def asymmetric_pair(K: np.ndarray) -> tuple[float, tuple[int, int] | None]:
    """Return the largest |K_ij - K_ji|, and where it is if rounding cannot explain it."""
    gap = np.abs(K - K.T)
    i, j = divmod(int(gap.argmax()), len(K))
    rounding = float(np.finfo(K.dtype).eps) ** 0.5 * float(np.abs(K).max())
    return float(gap[i, j]), ((i, j) if gap[i, j] > rounding else None)


def negative_direction(K: np.ndarray, tolerance: float) -> tuple[np.ndarray, float] | None:
    """Return weights a (largest of magnitude 1) with a'Ka < 0 beyond doubt, and a'Ka; None if there are none.

    The sign is certain: a'Ka must be below -max(16 k eps, tolerance) times the sum of |a_i a_j K_ij|.
    """
    K64 = K.astype(np.float64)
    lowest = np.linalg.eigh(K64)[1][:, 0]
    a = lowest / lowest[np.abs(lowest).argmax()]
    a = a if a[np.flatnonzero(a)[0]] > 0 else -a
    terms = a[:, None] * K64 * a[None, :]
    doubt = max(16 * len(K) * float(np.finfo(K.dtype).eps), tolerance) * np.abs(terms).sum()
    return (a, float(terms.sum())) if terms.sum() < -doubt else None


def smallest_negative_set(
    K: np.ndarray, lowest: np.ndarray | None, tolerance: float, scan_triples: bool
) -> np.ndarray | None:
    """Return the positions of a small set of objects whose Gram matrix is not PSD; None if K shows none.

    First single objects, then pairs, both exactly. Then the set is shrunk from the eigenvector `lowest` of the
    smallest eigenvalue: a prefix of its largest entries (interlacing makes the search monotone), then one object
    after another is left out. Where more than three remain and `scan_triples`, all triples are tried.
    """
    for find in (_single, _pair):
        found = find(K, tolerance)
        if found is not None:
            return found
    if lowest is None:
        return None
    found = _shrunk(K, np.argsort(-np.abs(lowest), kind="stable"), tolerance)
    if found is not None and len(found) > 3 and scan_triples:
        triple = _triple(K, tolerance)
        found = triple if triple is not None else found
    return found


def _noise(K: np.ndarray) -> float:
    return 512 * float(np.finfo(K.dtype).eps) * float(np.abs(K).max())


def _single(K: np.ndarray, tolerance: float) -> np.ndarray | None:
    diagonal = K.diagonal()
    bad = (diagonal < -_noise(K)) & (diagonal < -tolerance * np.abs(K).max(axis=1))
    return np.array([np.where(bad, diagonal, 0).argmin()]) if bad.any() else None


def _pair(K: np.ndarray, tolerance: float) -> np.ndarray | None:
    """A pair with K_ij^2 > K_ii K_jj, the one that exceeds it most."""
    lengths = np.sqrt(np.maximum(K.diagonal(), 0))
    excess = np.abs(K) * (1 - tolerance) - lengths[:, None] * lengths[None, :]
    np.fill_diagonal(excess, 0)
    i, j = divmod(int(excess.argmax()), len(K))
    return np.array(sorted((i, j))) if excess[i, j] > _noise(K) else None


def _shrunk(K: np.ndarray, order: np.ndarray, tolerance: float) -> np.ndarray | None:
    def shows(positions: np.ndarray) -> bool:
        return negative_direction(K[np.ix_(positions, positions)], tolerance) is not None

    enough = 2
    while enough < len(K) and not shows(order[:enough]):
        enough *= 2
    low, high = enough // 2, min(enough, len(K))
    if not shows(order[:high]):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shows(order[:middle]) else (middle, high)
    kept = order[:high]
    for position in order[:high][::-1]:
        fewer = kept[kept != position]
        if len(fewer) and shows(fewer):
            kept = fewer
    return np.sort(kept)


def _triple(K: np.ndarray, tolerance: float) -> np.ndarray | None:
    positive = np.flatnonzero(K.diagonal() > _noise(K))
    if len(positive) < 3:
        return None
    lengths = np.sqrt(K.diagonal()[positive].astype(np.float64))
    cosines = np.ascontiguousarray(K[np.ix_(positive, positive)] / lengths[:, None] / lengths[None, :])
    triple = positive[list(worst_triple(cosines.astype(np.float64))[:3])]
    return triple if negative_direction(K[np.ix_(triple, triple)], tolerance) is not None else None
