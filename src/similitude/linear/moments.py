"""The weighted sums that least squares needs, gathered over a pass: sums, Gram matrix and cross products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from similitude.compute import in_precision, namespace
from similitude.linear.strips import OFF_CENTER, strips

SAMPLED, SHIFTED_STRIP = 256, 2048
"""Rows by which it is decided whether features are far from centered, and rows that are then shifted at once."""


GROUP_PREFIX = "group_"
"""Of the names of arrays that belong to groups."""


@dataclass
class GroupMoments:
    """Weighted sums over rows for targets t of groups of rows: zero for the rows of other groups."""

    cross: np.ndarray  # of s_i f_i t_i', shape (d, q)
    targets: np.ndarray  # of s_i t_i, shape (q,)
    counts: np.ndarray  # of t_i over the rows with a weight, shape (q,)

    @classmethod
    def of(cls, F: Any, T: Any, weights: Any) -> GroupMoments:
        """Return the sums over rows."""
        xp, weighted = namespace(F), weights[:, None] * T
        cross = F.T @ _cast(weighted, F.dtype)
        return cls(_cast(cross, xp.float64), weighted.sum(axis=0), _cast(weights > 0, T.dtype) @ T)

    @classmethod
    def precisely(cls, F: np.ndarray, T: np.ndarray, weights: np.ndarray) -> GroupMoments:
        """Return the sums over rows in memory, with products in float64."""
        total = cls(np.zeros((F.shape[1], T.shape[1])), np.zeros(T.shape[1]), np.zeros(T.shape[1]))
        for rows, strip in strips(F):
            total += cls.of(strip, T[rows], weights[rows])
        return total

    def moved(self, move: Callable[[Any], Any]) -> GroupMoments:
        """Return the same with each array passed through `move`."""
        return GroupMoments(move(self.cross), move(self.targets), move(self.counts))

    def about(self, by: Any) -> GroupMoments:
        """Return the sums after a vector is added to the features of each row."""
        return replace(self, cross=self.cross + by[:, None] * self.targets)

    def __iadd__(self, other: GroupMoments) -> GroupMoments:
        self.cross += other.cross
        self.targets += other.targets
        self.counts += other.counts
        return self


@dataclass
class Moments:
    """Weighted sums over rows, in float64 whatever the precision of the features: the normal equations.

    With features :math:`f_i`, targets :math:`y_i` and weights :math:`s_i` these suffice for ridge regression with an
    intercept at every penalty. They can be added: the moments of two parts of the data add up to those of both.

    >>> F, Y = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [2.0], [2.0]])
    >>> both = Moments.of(F[:2], Y[:2], np.ones(2)) + Moments.of(F[2:], Y[2:], np.ones(1))
    >>> both.gram, both.cross
    (array([[14.]]), array([[11.]]))
    """

    weight: float  # the sum of s_i
    features: np.ndarray  # of s_i f_i, shape (d,)
    targets: np.ndarray  # of s_i y_i, shape (k,)
    gram: np.ndarray  # of s_i f_i f_i', shape (d, d)
    cross: np.ndarray  # of s_i f_i y_i', shape (d, k)
    eps: float = float(np.finfo(np.float64).eps)  # the relative rounding error of the products
    groups: GroupMoments | None = None  # the cross products of groups of rows, if these are kept apart

    @classmethod
    def of(cls, F: Any, Y: Any, weights: Any, members: Any = None) -> Moments:
        """Return the moments of rows (arrays or tensors); products are computed in the precision of the features.

        `members` holds further targets of the rows, whose cross products are kept as those of groups.
        """
        shift = _shift(F) if F.dtype == namespace(F).float32 else None
        if shift is None or not shift.any():
            return cls._of(F, Y, weights, members)
        cuts = [slice(start, start + SHIFTED_STRIP) for start in range(0, F.shape[0], SHIFTED_STRIP)]
        parts = (
            cls._of(F[cut] - shift, Y[cut], weights[cut], None if members is None else members[cut]) for cut in cuts
        )
        total = next(parts)
        for part in parts:
            total += part
        return total._about(in_precision(shift, namespace(F).float64))

    @classmethod
    def _of(cls, F: Any, Y: Any, weights: Any, members: Any) -> Moments:
        xp = namespace(F)
        weighted = weights[:, None] * Y
        cross = F.T @ _cast(weighted, F.dtype)
        features = _cast(weights, F.dtype) @ F
        groups = None if members is None else GroupMoments.of(F, members, weights)
        if bool((weights != 1.0).any()):
            F = F * _cast(xp.sqrt(weights), F.dtype)[:, None]
        gram = F.T @ F
        return cls(
            float(weights.sum()),
            _cast(features, xp.float64),
            weighted.sum(axis=0),
            _cast(gram, xp.float64),
            _cast(cross, xp.float64),
            float(xp.finfo(F.dtype).eps),
            groups,
        )

    def moved(self, move: Callable[[Any], Any]) -> Moments:
        """Return the same with each array passed through `move`."""
        arrays = {name: move(getattr(self, name)) for name in ("features", "targets", "gram", "cross")}
        groups = None if self.groups is None else self.groups.moved(move)
        return replace(self, **arrays, groups=groups)

    def to_arrays(self) -> dict[str, Any]:
        """Return all fields by name; those of groups have a prefix."""
        found = {name: value for name, value in vars(self).items() if name != "groups"}
        apart = {} if self.groups is None else vars(self.groups)
        return found | {GROUP_PREFIX + name: value for name, value in apart.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Moments:
        """Return the moments whose `to_arrays` gave these arrays."""
        found: dict[str, Any] = {name: float(one) if one.ndim == 0 else one for name, one in arrays.items()}
        apart = {name: found.pop(name) for name in list(found) if name.startswith(GROUP_PREFIX)}
        groups = (
            GroupMoments(**{name.removeprefix(GROUP_PREFIX): one for name, one in apart.items()}) if apart else None
        )
        return cls(**found, groups=groups)

    def __add__(self, other: Moments) -> Moments:
        total = self.moved(lambda array: array + 0.0)
        total += other
        return total

    def __iadd__(self, other: Moments) -> Moments:
        self.weight += other.weight
        self.features += other.features
        self.targets += other.targets
        self.gram += other.gram
        self.cross += other.cross
        self.eps = max(self.eps, other.eps)
        if self.groups is not None and other.groups is not None:
            self.groups += other.groups
        return self

    def _about(self, by: Any) -> Moments:
        """Return the moments after a vector is added to the features of each row."""
        across = self.features[:, None] * by
        gram = self.gram + across + across.T + self.weight * (by[:, None] * by)
        cross = self.cross + by[:, None] * self.targets
        groups = None if self.groups is None else self.groups.about(by)
        return Moments(self.weight, self.features + self.weight * by, self.targets, gram, cross, self.eps, groups)

    def divided(self, U: np.ndarray, columns: slice) -> Moments:
        """Return the moments after some columns of the features are multiplied by the inverse of an upper triangle."""
        features, gram, cross = self.features.copy(), self.gram.copy(), self.cross.copy()
        groups = None if self.groups is None else self.groups.moved(np.copy)
        for rows in (features, cross, gram, gram.T, *([] if groups is None else [groups.cross])):
            rows[columns] = solve_triangular(U, rows[columns], trans=1, check_finite=False)
        return replace(self, features=features, gram=gram, cross=cross, groups=groups)

    def means(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the weighted means of the features and of the targets."""
        return self.features / self.weight, self.targets / self.weight

    def centered(self) -> tuple[np.ndarray, np.ndarray]:
        """Return Gram matrix and cross products of the centered features and targets."""
        mean, middle = self.means()
        gram = self.gram - np.outer(self.features, mean)
        return gram, self.cross - np.outer(self.features, middle)


def _cast(array: Any, dtype: Any) -> Any:
    return array if array.dtype == dtype else in_precision(array, dtype)


def _shift(F: Any) -> Any:
    """Return what to subtract from features in single precision before they are multiplied.

    It is their mean, where the first rows suggest that it dwarfs their spread: the products would otherwise hold little
    but its square, and rounding errors.
    """
    xp = namespace(F)
    some = in_precision(F[:SAMPLED], xp.float64)
    mean = xp.mean(some, axis=0)
    far = mean**2 > OFF_CENTER * xp.var(some, axis=0)
    return in_precision(xp.where(far, mean, xp.zeros_like(mean)), F.dtype)
