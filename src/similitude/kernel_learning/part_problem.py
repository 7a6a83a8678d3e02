"""Weighted sums of similarities on pilot rows: the columns of Gower and Columns, or the terms of a sum."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from similitude.compute import take
from similitude.kernel_learning.limits import MOST_ENTRIES
from similitude.kernels import Columns, Gower
from similitude.similarity import Scaled, Similarity, Sum

OWN_WEIGHTS = "the weights as given"


@dataclass(frozen=True, eq=False)
class PartProblem:
    r"""A similarity :math:`\sum_k w_k K_k`; Gower's is divided by the weights of the columns that both rows have.

    `values`, of shape (parts, n, n), are the similarities of the pilot rows under each part: terms of a sum divided by
    their mean K(x, x), and 0 where a value of Gower's is missing. `known` is where none is missing, or None. `own` are
    the weights as given, and `whole` returns the similarity with other weights.
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

    def _sum(self, w: np.ndarray, down: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the similarities of some rows, and what they were divided by."""
        K = _added(w, self.values, down, right)
        if self.known is None:
            return K, None
        total = _added(w, self.known, down, right)
        total[total == 0] = 1.0
        return K / total, total

    def grams(self, w: np.ndarray, fitted: np.ndarray, judged: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the similarities of fitted rows, and those of judged and fitted rows."""
        return self._sum(w, fitted, fitted)[0], self._sum(w, judged, fitted)[0]

    def squares(
        self, w: np.ndarray, fitted: np.ndarray, judged: np.ndarray, coefficients: np.ndarray, predicted: np.ndarray
    ) -> np.ndarray:
        r"""Return :math:`w_k^2 a^\top K_k a`, the squared gradient of the model in the features of each part."""
        _, total = self._sum(w, fitted, fitted)
        found = []
        for part in self.values:
            K = part[np.ix_(fitted, fitted)].astype(float)
            found.append(float(np.einsum("io,io->", coefficients, (K if total is None else K / total) @ coefficients)))
        return w**2 * np.maximum(found, 0.0)

    def contributions(
        self, w: np.ndarray, fitted: np.ndarray, judged: np.ndarray, coefficients: np.ndarray
    ) -> list[Any]:
        """Return for each output what the parts add to the predictions for judged rows."""
        _, total = self._sum(w, judged, fitted)
        made = np.empty((coefficients.shape[1], len(judged), self.width))
        for k, part in enumerate(self.values):
            K = part[np.ix_(judged, fitted)].astype(float)
            made[:, :, k] = w[k] * ((K if total is None else K / total) @ coefficients).T
        return list(made)

    def bounded(self, w: np.ndarray) -> np.ndarray:
        """Return the weights."""
        return w

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


def gower_problem(k: Gower, X: Any, order: np.ndarray) -> PartProblem:
    """Return the columns of Gower's coefficient as parts."""
    k = k.resolve(X)
    names = list(k.ranges or {})
    objects = take(X, order[: affordable_rows(len(names))])
    alone = [k.with_params(ranges={name: given}, weights=None) for name, given in (k.ranges or {}).items()]
    grams = [(one.encode(objects), one) for one in alone]
    values = np.stack([one.block(A, A) for A, one in grams]).astype(np.float32)
    missing = [np.isnan(numbers).any(axis=1) | (keys == 0).any(axis=1) for (numbers, keys), _ in grams]
    known = None
    if any(gone.any() for gone in missing):
        known = np.stack([(~gone[:, None] & ~gone).astype(np.float32) for gone in missing])
        values *= known
    own = np.array([float((k.weights or {}).get(name, 1.0)) for name in names])

    def whole(w: np.ndarray) -> Similarity:
        return k.with_params(weights=dict(zip(names, _rounded(w), strict=True)))

    return PartProblem(values, known, list(map(str, names)), own, k, whole, "columns")


def columns_problem(k: Columns, X: Any, order: np.ndarray) -> PartProblem:
    """Return the similarities of columns as parts of their sum or mean."""
    k.check_params()
    if k.how not in ("mean", "sum"):
        raise ValueError(f"weights are those of a mean or a sum, not of how={k.how!r}")
    k = k.resolve(X)
    names = list(k.columns)
    A = k.encode(take(X, order[: affordable_rows(len(names))]))
    values = np.stack([part.block(a, a) for part, a in zip(k.parts(), A, strict=True)]).astype(np.float32)
    own = np.array([float((k.weights or {}).get(name, 1.0)) for name in names])

    def whole(w: np.ndarray) -> Similarity:
        return k.with_params(weights=dict(zip(names, _rounded(w), strict=True)))

    return PartProblem(values, None, list(map(str, names)), own, k, whole, "columns")


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
