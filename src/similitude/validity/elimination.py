"""Counterexamples in a Gram matrix, as witnesses: an asymmetric pair, or the fewest objects whose matrix is not PSD."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute.loops import worst_triple
from similitude.support import Result, brief, table


@dataclass(frozen=True)
class Witness(Result):
    """A few objects whose similarities no kernel can have.

    Attributes
    ----------
    indices : tuple of int
        Their positions in X; empty if they are not part of X.
    objects : tuple
        The objects themselves.
    coefficients : tuple of float
        Weights c, the largest of magnitude 1: the eigenvector of the smallest eigenvalue, up to scale. Empty for an
        asymmetric pair.
    value : float
        The sum of c_i c_j K(x_i, x_j), which is negative; for an asymmetric pair K(x, z) - K(z, x).
    gram : array
        The matrix K(x_i, x_j) of these objects.
    """

    indices: tuple[int, ...]
    objects: tuple[Any, ...]
    coefficients: tuple[float, ...]
    value: float
    gram: np.ndarray

    def in_short(self) -> str:
        """Return the counterexample in a few words."""
        if not self.coefficients:
            return f"K(x, z) = {self.gram[0, 1]:.3g}, K(z, x) = {self.gram[1, 0]:.3g}"
        if len(self.objects) == 1:
            return f"K(x, x) = {self.value:.3g} < 0"
        return f"a squared length of {self.value:.3g} from {len(self.objects)} objects"

    def __str__(self) -> str:
        return "\n".join([self.claim(), *self.lines()])

    def html_parts(self) -> Sequence[object]:
        """Return what the objects show, and the objects with their weights and similarities."""
        places = self._places()
        columns = [places, list(map(brief, self.objects)), self._weights("{:.4g}")]
        heads = ["", "object", "weight c"]
        if len(places) <= 6:  # few enough to show their similarities to each other
            columns += [[f"{value:.4g}" for value in column] for column in self.gram.T.tolist()]
            heads += [f"K to {place}" for place in places]
        return self.claim(), table(heads, [*zip(*columns, strict=True)], numbers=range(2, len(heads)), noun="objects")

    def claim(self) -> str:
        """Return a sentence that says what the objects show, and what their weights mean."""
        if not self.coefficients:
            there = self.gram[0, 1]
            back = self.gram[1, 0]
            return f"It is not symmetric: K(x, z) = {there:.6g} but K(z, x) = {back:.6g} for these two objects x and z."
        impossible = "but K(x, x) is the squared length of the feature vector of x, and no length is negative"
        if len(self.objects) == 1:
            return f"One object shows it: K(x, x) = {self.value:.6g}, {impossible}."
        n = len(self.objects)
        numbers = dict(enumerate(("Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten"), start=2))
        claim = (
            f"{numbers.get(n, n)} objects show it: with the weights c below, the sum of c_i c_j K(x_i, x_j) is "
            f"{self.value:.6g}. If K were a kernel, this would be the squared length of the sum of their feature "
            f"vectors with these weights, and no squared length is negative."
        )
        whole = np.rint(self.coefficients)
        total = float(whole @ self.gram @ whole)
        if total < 0 and not np.allclose(whole, self.coefficients):
            listed = ", ".join(f"{weight:.4g}" for weight in whole)
            claim += f" (Whole weights {listed} do as well: {total:.6g}.)"
        return claim

    def lines(self, shorten: Callable[[Any], str] = brief) -> list[str]:
        """Return a line per object, with its weight if there are several."""
        listed = zip(self._weights("c = {:7.4f}  "), self._places(), map(shorten, self.objects), strict=True)
        return [f"  {weight}{place} = {text}" for weight, place, text in listed]

    def _places(self) -> list[str]:
        return [f"X[{i}]" for i in self.indices] or [f"x{i}" for i in range(1, len(self.objects) + 1)]

    def _weights(self, form: str) -> list[str]:
        if len(self.coefficients) < 2:
            return [""] * len(self.objects)
        return list(map(form.format, self.coefficients))


ONE_BY_ONE = 200
"""Objects from which one after another is removed, so that no set is larger than by plain backward elimination; of
more, which would take seconds, those with small weights are dropped in portions first."""


@dataclass(frozen=True)
class Tolerance:
    """The rounding error that is granted to the values of a matrix, given the precision eps of their computation."""

    relative: float  # of every value: sqrt(eps)
    floor: float  # of every value: a few eps of the largest one
    between_twins: float  # relative, of K(x, z) and K(z, x), which come from the same formula: eps^(2/3)

    @classmethod
    def of(cls, K: np.ndarray, eps: float) -> Tolerance:
        """Return the tolerance for a matrix whose values were computed with precision `eps`."""
        return cls(eps ** (1 / 2), 16 * eps * float(np.abs(K).max(initial=0.0)), eps ** (2 / 3))


def asymmetric_pair(K: np.ndarray, tolerance: Tolerance) -> tuple[float, tuple[int, int] | None]:
    """Return the largest |K_ij - K_ji|, and the pair that exceeds the tolerance most, if any."""
    gap = np.abs(K - K.T)
    lengths = np.sqrt(np.abs(K.diagonal()))
    size = np.maximum(np.maximum(np.abs(K), np.abs(K.T)), lengths[:, None] * lengths[None, :])
    excess = gap - tolerance.between_twins * size - tolerance.floor
    i, j = divmod(int(excess.argmax()), len(K))
    return float(gap.max()), ((i, j) if excess[i, j] > 0 else None)


def negative_direction(K: np.ndarray, tolerance: Tolerance) -> tuple[np.ndarray, float] | None:
    """Return weights a (largest of magnitude 1) with a'Ka < 0 beyond the tolerance, and a'Ka, or None."""
    for weights in (np.ones(len(K)), 1 / np.sqrt(np.where(K.diagonal() > 0, K.diagonal(), 1))):  # to a unit diagonal
        lowest = np.linalg.eigh(K * weights[:, None] * weights[None, :])[1][:, 0] * weights
        a = lowest / lowest[np.abs(lowest).argmax()]
        if a[np.flatnonzero(a)[0]] < 0:
            a = -a
        value = negative_square(K, a, tolerance)
        if value is not None:
            return a, value
    return None


def negative_square(K: np.ndarray, a: np.ndarray, tolerance: Tolerance) -> float | None:
    """Return a'Ka if it is negative beyond the tolerance, else None."""
    terms = a[:, None] * K * a[None, :]
    sizes = np.abs(np.outer(a, a))
    granted = max(16 * len(K) * np.finfo(float).eps, tolerance.relative) * np.abs(terms).sum()
    return float(terms.sum()) if terms.sum() < -granted - tolerance.floor * sizes.sum() else None


def smallest_negative_set(K: np.ndarray, tolerance: Tolerance, scan_triples: bool) -> np.ndarray | None:
    """Return the positions of a small set of objects whose Gram matrix is not PSD; None if K shows none.

    Single objects and pairs are found exactly. Otherwise objects are removed one at a time, as long as an eigenvalue is
    negative; then all triples are tried (with `scan_triples`), and among at most a dozen objects all larger sets.
    """
    diagonal = K.diagonal()
    bad = diagonal < -tolerance.floor - tolerance.relative * np.abs(K).max(axis=1)
    if bad.any():
        return np.array([np.where(bad, diagonal, 0).argmin()])
    lengths = np.sqrt(np.maximum(diagonal, 0) + tolerance.floor)  # of a kernel K_ij^2 <= K_ii K_jj
    excess = np.abs(K) * (1 - tolerance.relative) - lengths[:, None] * lengths[None, :] - tolerance.floor
    np.fill_diagonal(excess, 0)
    i, j = divmod(int(excess.argmax()), len(K))
    if excess[i, j] > 0:
        return np.array(sorted((i, j)))
    positive = np.flatnonzero(diagonal > tolerance.floor)
    if not len(positive):
        return None
    values = K[np.ix_(positive, positive)]
    squares = values.diagonal()
    lengths = np.sqrt(squares)
    cosines = np.ascontiguousarray(values / lengths[:, None] / lengths[None, :])
    problems = [_Elimination(cosines, 1 / lengths, values, tolerance)]
    if np.ptp(squares) > 1e-9 * squares.max():
        problems.append(_Elimination(values, np.ones(len(values)), values, tolerance))
    sets = [p.polished(p.eliminated(start)) for p in problems for start in p.starts()]
    if not sets:
        return None
    smallest = np.sort(positive[min(sets, key=len)])
    for fewer in range(3, len(smallest)):
        tried = []
        if len(K) <= 12:  # then all sets are
            tried.append(_lowest_set(K, fewer))
        if fewer == 3 and scan_triples and len(positive) >= 3:
            tried.append(positive[list(worst_triple(cosines)[:3])])
        for better in tried:
            if negative_direction(K[np.ix_(better, better)], tolerance) is not None:
                return better
    return smallest


@dataclass(frozen=True)
class _Elimination:
    """Removal of objects by the eigenvalues of M, which is K with rows and columns multiplied by `scale`."""

    M: np.ndarray
    scale: np.ndarray
    K: np.ndarray
    tolerance: Tolerance

    def shows(self, positions: np.ndarray, lowest: np.ndarray | None = None) -> bool:
        """Whether these objects are indefinite beyond rounding, along the given eigenvector of M or at all."""
        K = self.K[np.ix_(positions, positions)]
        if lowest is not None and negative_square(K, lowest * self.scale[positions], self.tolerance) is not None:
            return True
        return negative_direction(K, self.tolerance) is not None

    def lowest(self, positions: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the smallest eigenvalue of some objects and its eigenvector."""
        from scipy.linalg import eigh

        part = self.M if len(positions) == len(self.M) else self.M[np.ix_(positions, positions)]
        value, vector = eigh(part, subset_by_index=[0, 0], check_finite=False)
        return float(value[0]), vector[:, 0]

    def starts(self) -> Iterator[np.ndarray]:
        """Yield indefinite sets to remove objects from; none if there is no negative eigenvalue."""
        value, vector = self.lowest(np.arange(len(self.M)))
        if value > -np.finfo(float).eps * float(self.M.diagonal().max()):
            return
        order = np.argsort(-np.abs(vector), kind="stable")
        enough = 2
        while enough < len(order) and not self.shows(order[:enough]):
            enough *= 2
        low = enough // 2
        high = min(enough, len(order))
        if not self.shows(order[:high]):
            return
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.shows(order[:middle]) else (middle, high)
        yield order[:high]
        if high < len(order) and self.shows(order, vector[order]):
            yield self._without_small_weights(order)

    def _without_small_weights(self, order: np.ndarray) -> np.ndarray:
        """Drop the objects with the smallest entries in the lowest eigenvector, which is then computed again."""
        while len(order) > ONE_BY_ONE:
            # the share of the objects that such a portion leaves
            size = max(ONE_BY_ONE, int(0.8 * len(order)))
            vector = self.lowest(order[:size])[1]
            while size < len(order) and not self.shows(order[:size], vector):
                size = (size + len(order) + 1) // 2
                vector = self.lowest(order[:size])[1]
            if size == len(order):
                break
            order = order[:size][np.argsort(-np.abs(vector), kind="stable")]
        return order

    def eliminated(self, kept: np.ndarray) -> np.ndarray:
        """Remove one object at a time, so that the smallest eigenvalue stays lowest, as long as it is negative."""
        values, vectors = np.linalg.eigh(self.M[np.ix_(kept, kept)])
        while len(kept) > 1:
            fewer = np.delete(kept, _least_needed(values, vectors))
            values, vectors = np.linalg.eigh(self.M[np.ix_(fewer, fewer)])
            if not self.shows(fewer, vectors[:, 0]):
                break
            kept = fewer
        return kept

    def polished(self, kept: np.ndarray) -> np.ndarray:
        """Add the objects that lower the eigenvalue most and eliminate again, as long as this finds a better set."""
        # the largest set that is compared with sets that contain other objects
        while 3 < len(kept) <= 60:
            value, vector = self.lowest(kept)
            gain = (self.M[:, kept] @ vector) ** 2 / (self.M.diagonal() - value)
            gain[kept] = -1.0
            added = np.argsort(-gain, kind="stable")[: min(len(gain) - len(kept), max(10, len(kept)))]
            new = self.eliminated(np.concatenate([kept, added]))
            if len(new) > len(kept) or (len(new) == len(kept) and self.lowest(new)[0] >= value * (1 + 1e-6)):
                break
            kept = new
        return kept


def _least_needed(values: np.ndarray, vectors: np.ndarray) -> int:
    """Return the object without which the smallest eigenvalue is lowest, given all eigenvalues and eigenvectors.

    Without object i it is w_1 + t, where t is the smallest root of t S_i(t) = v_i1^2 with
    S_i(t) = sum_(j > 1) v_ij^2 / (w_j - w_1 - t). S_i increases, so t <= v_i1^2 / S_i(0), and objects whose t exceeds
    the smallest of these bounds are out. The others are compared by bisection.
    """
    squares = vectors**2
    gaps = values[1:] - values[0]
    first = squares[:, 0]
    others = squares[:, 1:]
    if gaps[0] <= 1e-12 * abs(values[0]):  # a multiple eigenvalue stays the same without any one object
        return int(squares[:, values - values[0] <= 1e-12 * abs(values[0])].sum(axis=1).argmin())
    high = float((first / np.maximum(others @ (1 / gaps), 1e-300)).min())
    candidates = np.arange(len(values))
    low = 0.0
    t = min(high, 0.5 * float(gaps[0]))
    for _ in range(50):
        below = t * (others[candidates] @ (1 / (gaps - t))) >= first[candidates]
        if below.any():
            candidates = candidates[below]
            high = t
        else:
            low = t
        t = (low + min(high, float(gaps[0]))) / 2
        if len(candidates) == 1 or not low < t < high:
            break
    return int(candidates[first[candidates].argmin()])


def _lowest_set(K: np.ndarray, size: int) -> np.ndarray:
    """Return the objects of the submatrix of a size that has the lowest eigenvalue."""
    sets = np.array(list(itertools.combinations(range(len(K)), size)))
    lowest = np.linalg.eigvalsh(K[sets[:, :, None], sets[:, None, :]])[:, 0]
    return sets[lowest.argmin()]
