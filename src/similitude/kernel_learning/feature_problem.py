"""Kernels of explicit features with weights, on pilot rows: their Gram matrices, gradients and contributions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.kernel_learning.limits import MOST_WEIGHTS
from similitude.kernels import Intersection, Jaccard, Linear, Spectrum, WeisfeilerLehman
from similitude.kernels.feature_weights import IDF, FeatureTable, idf_weights
from similitude.similarity import Normalized, Similarity

WEIGHABLE = (Spectrum, WeisfeilerLehman, Intersection, Jaccard)
"""The kernels whose features can have learned weights."""

EQUAL = "equal weights"


@dataclass(frozen=True, eq=False)
class FeatureProblem:
    r"""A kernel of explicit features :math:`\phi_u` with weights :math:`w_u`: a dot product, a cosine or Jaccard's.

    The weights of k are None or "idf". `objects` are the pilot rows, `table` has their features without weights, and
    `whole` returns the kernel of the user's objects, given k with other weights.
    """

    k: Any
    cosine: bool
    objects: Any
    table: FeatureTable
    whole: Callable[[Similarity], Similarity]

    kind = "features"

    @property
    def n(self) -> int:
        """The number of pilot rows."""
        return int(self.table.rows.shape[0])

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self.table.keys)

    @property
    def is_constant(self) -> bool:
        """Whether no feature tells rows apart."""
        first = self.table.rows[:1].toarray()
        return not any(
            (end.toarray() != first).any() for end in (self.table.rows.min(axis=0), self.table.rows.max(axis=0))
        )

    def starts(self, fitted: np.ndarray) -> dict[str, np.ndarray]:
        """Return the weights to begin with, the kernel's own first; idf is that of the rows that are fitted."""
        idf, _ = idf_weights(self.table.rows[fitted])
        starts = {EQUAL: np.ones(self.width), IDF: idf}
        return starts if self.k.weights is None else {IDF: idf}

    def grams(self, w: np.ndarray, fitted: np.ndarray, judged: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the kernel of fitted rows, and that of judged and fitted rows."""
        A, B = (_scaled(self.table.rows[rows], np.sqrt(w)) for rows in (fitted, judged))
        K = Linear().block(A, A)
        C = Linear().block(B, A)
        a = K.diagonal().copy()
        b = _squares(B)
        if isinstance(self.k, Jaccard):
            return _shares(K, a, a), _shares(C, b, a)
        if self.cosine:
            a = _inverse_roots(a)
            b = _inverse_roots(b)
            K *= a[:, None] * a
            C *= b[:, None] * a
        return K, C

    def squares(
        self, w: np.ndarray, fitted: np.ndarray, judged: np.ndarray, coefficients: np.ndarray, predicted: np.ndarray
    ) -> np.ndarray:
        """Return the mean squared gradient of the model in each feature, over judged rows; 0 if it was not seen."""
        F = self.table.rows[fitted]
        G = self.table.rows[judged]
        if isinstance(self.k, Jaccard):
            found = self._jaccard_squares(w, F, G, coefficients)
        elif not self.cosine:
            found = ((F.T @ coefficients) ** 2).sum(axis=1)
        else:
            f = _inverse_roots(F.power(2) @ w)
            g = _inverse_roots(G.power(2) @ w)
            c = F.T @ (coefficients * f[:, None])
            H = G.power(2)
            found = c**2 * (g**2).mean() - 2 * c * (G.T @ (predicted * g[:, None] ** 3)) / len(g)
            found = (found + H.T @ (predicted**2 * g[:, None] ** 4) / len(g)).sum(axis=1)
        seen = np.bincount(F.indices, minlength=self.width) > 0
        return np.where(seen, w**2 * np.maximum(found, 0.0), 0.0)

    def _jaccard_squares(self, w: np.ndarray, F: Any, G: Any, coefficients: np.ndarray) -> np.ndarray:
        r"""Return them for :math:`I / U`, whose derivative in an indicator is :math:`w_u (z_u (U + I) - I) / U^2`."""
        a = F @ w
        b = G @ w
        total = np.zeros(self.width)
        for start in range(0, G.shape[0], 64):
            some = G[start : start + 64]
            shared = (_scaled(some, w) @ F.T).toarray()
            union = np.maximum(b[start : start + 64, None] + a - shared, np.finfo(float).tiny)
            for column in coefficients.T:
                slopes = column / union**2
                gradients = (F.T @ (slopes * (union + shared)).T).T - (slopes * shared).sum(axis=1)[:, None]
                total += (gradients**2).sum(axis=0)
        return total / G.shape[0]

    def contributions(
        self, w: np.ndarray, fitted: np.ndarray, judged: np.ndarray, coefficients: np.ndarray
    ) -> list[Any]:
        """Return for each output a sparse matrix of what features add to the predictions for judged rows."""
        F = self.table.rows[fitted]
        G = self.table.rows[judged]
        if isinstance(self.k, Jaccard):
            return [self._jaccard_contributions(w, F, G, column) for column in coefficients.T]
        if self.cosine:
            F = _scaled_rows(F, _inverse_roots(F.power(2) @ w))
            G = _scaled_rows(G, _inverse_roots(G.power(2) @ w))
        return [_scaled(G, w * (F.T @ column)) for column in coefficients.T]

    def _jaccard_contributions(self, w: np.ndarray, F: Any, G: Any, column: np.ndarray) -> Any:
        shared = (_scaled(G, w) @ F.T).toarray()
        union = (G @ w)[:, None] + F @ w - shared
        slopes = column / np.where(union > 0, union, 1.0)
        owners = np.repeat(np.arange(G.shape[0]), np.diff(G.indptr))
        made = G.copy()
        T = F.T.tocsr()
        for i in range(G.shape[0]):
            mine = owners == i
            made.data[mine] = w[G.indices[mine]] * (T[G.indices[mine]] @ slopes[i])
        return made

    def bounded(self, w: np.ndarray) -> np.ndarray:
        """Return the weights without those of features that count least, where there are very many."""
        if len(w) <= MOST_WEIGHTS:
            return w
        counted = w * np.bincount(self.table.rows.indices, self.table.rows.data**2, minlength=len(w))
        kept = np.argpartition(counted, -MOST_WEIGHTS)[-MOST_WEIGHTS:]
        found = np.zeros(len(w))
        found[kept] = w[kept]
        return found

    def unit(self, w: np.ndarray) -> np.ndarray:
        """Return the weights such that the mean of K(x, x), before it is normalized, is that of equal weights."""
        each = np.bincount(self.table.rows.indices, self.table.rows.data**2, minlength=len(w))
        total = float(w @ each)
        return w * (each.sum() / total) if total > 0 else w

    def kernel(self, name: str, w: np.ndarray) -> Similarity:
        """Return the kernel of the user's objects with weights that were learned, or those of a start."""
        k = self.k.with_params(weights=None)
        if name == IDF:
            k = self.k.with_params(weights=IDF).resolve(self.objects)
        elif name != EQUAL:
            kept = np.flatnonzero(w)
            values = w[kept].tolist()
            learned = {self.table.keys[i]: value for i, value in zip(kept.tolist(), values, strict=True)}
            k = k.with_params(weights=learned, default_weight=0.0)
        return self.whole(Normalized(k) if self.cosine else k)

    def names(self, which: np.ndarray) -> list[str]:
        """Return features as text."""
        return self.k.feature_names(self.objects, [self.table.keys[i] for i in which.tolist()])


def _scaled(A: Any, scales: np.ndarray) -> Any:
    """Return sparse rows with their columns multiplied."""
    made = A.copy()
    made.data = made.data * scales[made.indices]
    return made


def _scaled_rows(A: Any, scales: np.ndarray) -> Any:
    """Return sparse rows multiplied by numbers."""
    made = A.copy()
    made.data = made.data * np.repeat(scales, np.diff(A.indptr))
    return made


def _squares(A: Any) -> np.ndarray:
    owners = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    return np.bincount(owners, A.data**2, minlength=A.shape[0])


def _inverse_roots(squares: np.ndarray) -> np.ndarray:
    return np.where(squares > 0, 1.0 / np.sqrt(np.where(squares > 0, squares, 1.0)), 0.0)


def _shares(shared: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return shared / union, 1 for two empty sets."""
    union = a[:, None] + b - shared
    return np.where(union > 0, shared / np.where(union > 0, union, 1.0), 1.0)
