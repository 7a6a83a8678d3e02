"""What weights are learned for, on pilot rows: explicit features, columns of Gower and Columns, or terms of a sum."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from similitude.compute import take
from similitude.kernel_learning.limits import MOST_ENTRIES, MOST_WEIGHTS
from similitude.kernels import Columns, Gower, Intersection, Jaccard, Linear, Spectrum, WeisfeilerLehman
from similitude.kernels.feature_weights import IDF, FeatureTable, idf_weights
from similitude.similarity import Normalized, Scaled, Similarity, Sum

WEIGHABLE = (Spectrum, WeisfeilerLehman, Intersection, Jaccard)
"""The kernels whose features can have learned weights."""

EQUAL = "equal weights"


@dataclass(frozen=True, eq=False)
class FeatureProblem:
    """A kernel of explicit features with weights: a dot product, a cosine or Jaccard's.

    `table` has the features of the pilot rows, and `whole` returns the kernel of the user's objects for another k.
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

    def grams(self, w: np.ndarray, fitted: np.ndarray, held_out: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the kernel of fitted rows, and that of held-out and fitted rows."""
        A, B = (self.table.rows[rows].multiply(np.sqrt(w)).tocsr() for rows in (fitted, held_out))
        K = Linear().block(A, A)
        C = Linear().block(B, A)
        a = K.diagonal().copy()
        b = np.asarray(B.multiply(B).sum(axis=1)).ravel()
        if isinstance(self.k, Jaccard):
            return _shares(K, a, a), _shares(C, b, a)
        if self.cosine:
            a = _inverse_roots(a)
            b = _inverse_roots(b)
            K *= a[:, None] * a
            C *= b[:, None] * a
        return K, C

    def squares(
        self, w: np.ndarray, fitted: np.ndarray, held_out: np.ndarray, coefficients: np.ndarray, predicted: np.ndarray
    ) -> np.ndarray:
        """Return the mean squared gradient of the model in each feature, over held-out rows; 0 if it was not seen."""
        F = self.table.rows[fitted]
        G = self.table.rows[held_out]
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
            shared = (some.multiply(w).tocsr() @ F.T).toarray()
            union = np.maximum(b[start : start + 64, None] + a - shared, np.finfo(float).tiny)
            for column in coefficients.T:
                slopes = column / union**2
                gradients = (F.T @ (slopes * (union + shared)).T).T - (slopes * shared).sum(axis=1)[:, None]
                total += (gradients**2).sum(axis=0)
        return total / G.shape[0]

    def contributions(
        self, w: np.ndarray, fitted: np.ndarray, held_out: np.ndarray, coefficients: np.ndarray
    ) -> list[Any]:
        """Return for each output a sparse matrix of what features add to the predictions for held-out rows."""
        F = self.table.rows[fitted]
        G = self.table.rows[held_out]
        if isinstance(self.k, Jaccard):
            return [self._jaccard_contributions(w, F, G, column) for column in coefficients.T]
        if self.cosine:
            F, G = (one.multiply(_inverse_roots(one.power(2) @ w)[:, None]).tocsr() for one in (F, G))
        return [G.multiply(w * (F.T @ column)).tocsr() for column in coefficients.T]

    def _jaccard_contributions(self, w: np.ndarray, F: Any, G: Any, column: np.ndarray) -> Any:
        shared = (G.multiply(w).tocsr() @ F.T).toarray()
        union = (G @ w)[:, None] + F @ w - shared
        slopes = column / np.where(union > 0, union, 1.0)
        owners = np.repeat(np.arange(G.shape[0]), np.diff(G.indptr))
        made = G.copy()
        T = F.T.tocsr()
        for i in range(G.shape[0]):
            mine = owners == i
            made.data[mine] = w[G.indices[mine]] * (T[G.indices[mine]] @ slopes[i])
        return made

    def unit(self, w: np.ndarray) -> np.ndarray:
        """Return weights such that the mean of K(x, x), before it is normalized, is that of equal weights.

        Where there are very many, features that count least have none.
        """
        each = np.bincount(self.table.rows.indices, self.table.rows.data**2, minlength=len(w))
        if len(w) > MOST_WEIGHTS:
            least = np.argpartition(w * each, -MOST_WEIGHTS)[:-MOST_WEIGHTS]
            w = w.copy()
            w[least] = 0.0
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


def _inverse_roots(squares: np.ndarray) -> np.ndarray:
    return np.divide(1.0, np.sqrt(squares), out=np.zeros_like(squares), where=squares > 0)


def _shares(shared: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return shared / union, 1 for two empty sets."""
    union = a[:, None] + b - shared
    return np.divide(shared, union, out=np.ones_like(union), where=union > 0)


OWN_WEIGHTS = "the weights as given"


@dataclass(frozen=True, eq=False)
class PartProblem:
    r"""A similarity :math:`\sum_k w_k K_k`; Gower's is divided by the weights of the columns that both rows have.

    `values`, of shape (parts, n, n), are those of the pilot rows, terms of a sum divided by their mean K(x, x); `known`
    is where no value of Gower's is missing.
    """

    values: np.ndarray
    known: np.ndarray | None
    titles: list[str]
    own: np.ndarray
    given: Similarity
    whole: Callable[[np.ndarray], Similarity]
    kind: str

    @property
    def n(self) -> int:
        """The number of pilot rows."""
        return self.values.shape[1]

    @property
    def width(self) -> int:
        """The number of parts."""
        return len(self.titles)

    @property
    def is_constant(self) -> bool:
        """Whether all rows are equal under all parts."""
        return not any((one != one[0, 0]).any() for one in self.values)

    def starts(self, fitted: np.ndarray) -> dict[str, np.ndarray]:
        """Return the weights to begin with."""
        return {OWN_WEIGHTS: self.own}

    def _sum(self, w: np.ndarray, down: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the similarities of some rows, and what they were divided by."""
        total = np.ones((1, 1))
        if self.known is not None:
            total = _added(w, self.known, down, right)
            total[total == 0] = 1.0
        return _added(w, self.values, down, right) / total, total

    def grams(self, w: np.ndarray, fitted: np.ndarray, held_out: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the similarities of fitted rows, and those of held-out and fitted rows."""
        return self._sum(w, fitted, fitted)[0], self._sum(w, held_out, fitted)[0]

    def squares(
        self, w: np.ndarray, fitted: np.ndarray, held_out: np.ndarray, coefficients: np.ndarray, predicted: np.ndarray
    ) -> np.ndarray:
        r"""Return :math:`w_k^2 a^\top K_k a`, the squared gradient of the model in the features of each part."""
        _, total = self._sum(w, fitted, fitted)
        found = []
        for part in self.values:
            K = part[np.ix_(fitted, fitted)].astype(float)
            found.append(float(np.einsum("io,io->", coefficients, (K / total) @ coefficients)))
        return w**2 * np.maximum(found, 0.0)

    def contributions(
        self, w: np.ndarray, fitted: np.ndarray, held_out: np.ndarray, coefficients: np.ndarray
    ) -> list[Any]:
        """Return for each output a sparse matrix of what the parts add to the predictions for held-out rows."""
        _, total = self._sum(w, held_out, fitted)
        made = np.empty((coefficients.shape[1], len(held_out), self.width))
        for k, part in enumerate(self.values):
            K = part[np.ix_(held_out, fitted)].astype(float)
            made[:, :, k] = w[k] * ((K / total) @ coefficients).T
        return list(map(csr_array, made))

    def unit(self, w: np.ndarray) -> np.ndarray:
        """Return the weights with the sum of those given."""
        return w * (self.own.sum() / w.sum()) if w.sum() > 0 else w

    def kernel(self, name: str, w: np.ndarray) -> Similarity:
        """Return the similarity with weights."""
        return self.given if name == OWN_WEIGHTS else self.whole(w)

    def names(self, which: np.ndarray) -> list[str]:
        """Return the names of parts."""
        return [self.titles[i] for i in which.tolist()]


def _added(w: np.ndarray, parts: np.ndarray, down: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the weighted sum of matrices at some rows and columns, in double precision."""
    total = np.zeros((len(down), len(right)))
    for weight, part in zip(w.tolist(), parts, strict=True):
        if weight:
            total += weight * part[np.ix_(down, right)]
    return total


def affordable_rows(n_parts: int) -> int:
    """Return the number of rows whose similarities under all parts are kept in memory.

    >>> affordable_rows(2), affordable_rows(30)
    (5000, 1290)
    """
    return int((MOST_ENTRIES / n_parts) ** 0.5)


def columns_problem(k: Gower | Columns, X: Any, order: np.ndarray) -> PartProblem:
    """Return the columns of Gower's coefficient, or the similarities of columns, as parts."""
    if isinstance(k, Columns) and k.how not in ("mean", "sum"):
        raise ValueError(f"weights are those of a mean or a sum, not of how={k.how!r}")
    k = k.resolve(X)
    known = None
    if isinstance(k, Gower):
        names = list(k.ranges or {})
        objects = take(X, order[: affordable_rows(len(names))])
        alone = [k.with_params(ranges={name: given}, weights=None) for name, given in (k.ranges or {}).items()]
        encoded = [one.encode(objects) for one in alone]
        values = np.stack([one.block(A, A) for A, one in zip(encoded, alone, strict=True)]).astype(np.float32)
        missing = [np.isnan(numbers).any(axis=1) | (keys == 0).any(axis=1) for numbers, keys in encoded]
        if np.any(missing):
            known = np.stack([(~gone[:, None] & ~gone).astype(np.float32) for gone in missing])
            values *= known
    else:
        names = list(k.columns)
        A = k.encode(take(X, order[: affordable_rows(len(names))]))
        values = np.stack([part.block(a, a) for part, a in zip(k.parts(), A, strict=True)]).astype(np.float32)
    own = np.array([float((k.weights or {}).get(name, 1.0)) for name in names])

    def whole(w: np.ndarray) -> Similarity:
        return k.with_params(weights=dict(zip(names, _rounded(w), strict=True)))

    return PartProblem(values, known, list(map(str, names)), own, k, whole, "columns")


def sum_problem(terms: Sequence[tuple[float, Similarity]], X: Any, order: np.ndarray, random_state: Any) -> PartProblem:
    """Return the terms of a sum, each a factor and a similarity, as parts with the same mean K(x, x)."""
    similarities = [k.resolve(X, random_state) for _, k in terms]
    objects = take(X, order[: affordable_rows(len(terms))])
    encoded = [k.encode(objects) for k in similarities]
    sizes = np.array([float(np.mean(k.diagonal(A))) for k, A in zip(similarities, encoded, strict=True)])
    sizes[~(sizes > 0)] = 1.0
    values = np.stack([k.blocks(A).whole() / size for k, A, size in zip(similarities, encoded, sizes, strict=True)])
    own = np.array([factor for factor, _ in terms]) * sizes

    def whole(w: np.ndarray) -> Similarity:
        factors = _rounded(w / sizes)
        return reduce(operator.add, [factor * k for factor, k in zip(factors, similarities, strict=True) if factor > 0])

    titles = [repr(k) for k in similarities]
    given = whole(own)
    return PartProblem(values.astype(np.float32), None, titles, own, given, whole, "similarities")


def terms_of(k: Similarity) -> list[tuple[float, Similarity]]:
    """Return the terms of a sum, nested ones too, with their factors.

    >>> from similitude.kernels import Gaussian, Linear
    >>> terms_of(0.5 * (Gaussian(1.0) + 2.0 * Linear()))
    [(0.5, Gaussian(sigma=1.0)), (1.0, Linear())]
    """
    if isinstance(k, Scaled):
        return [(k.factor * factor, part) for factor, part in terms_of(k.k)]
    if isinstance(k, Sum):
        return [term for part in k.parts() for term in terms_of(part)]
    return [(1.0, k)]


def _rounded(w: np.ndarray) -> list[float]:
    """Return weights with four digits, so that they can be read; those far below the largest are zero."""
    return [float(f"{value:.4g}") if value > 1e-4 * w.max() else 0.0 for value in w.tolist()]
