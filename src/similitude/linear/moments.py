"""Linear models of features, and the weighted sums over a pass that least squares needs for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from similitude.compute import as_numpy, beside, in_precision, namespace
from similitude.evaluation import at_rows

STRIP_BYTES = 2**22
"""Bytes of a strip of rows in float64: it stays in the CPU cache while it is used."""

DEVICE_CELLS = 2**24
"""Values of a strip of rows on a device."""

OFF_CENTER = 100.0
"""Ratio of squared mean to variance of a feature above which features are centered before they are multiplied."""


def strips(F: Any, mean: Any = None, *, rough: bool = False) -> Iterator[tuple[slice, Any]]:
    """Yield the rows of F, less a mean, in float64 or, roughly, as they are; the next strip may overwrite this one."""
    dtype = namespace(F).float64
    if rough:
        dtype = F.dtype
    height = DEVICE_CELLS // max(1, F.shape[1])
    on_host = isinstance(F, np.ndarray)
    buffer = None
    if on_host:
        height = min(len(F), STRIP_BYTES // (8 * max(1, F.shape[1])))
        if mean is not None or F.dtype != dtype:
            buffer = np.empty((max(1, height), F.shape[1]), dtype=dtype)
    height = max(1, height)
    for first in range(0, len(F), height):
        rows = slice(first, min(first + height, len(F)))
        strip = F[rows]
        if buffer is not None:
            buffer[: len(strip)] = strip
            strip = buffer[: len(strip)]
            if mean is not None:
                strip -= mean
        elif not on_host:
            strip = in_precision(strip, dtype)
            if mean is not None:
                strip = strip - in_precision(mean, dtype)
        yield rows, strip


def products(F: Any, W: Any, mean: Any = None, *, rough: bool = False) -> Any:
    """Return (F - mean) W in float64; roughly, with products in the precision of F."""
    answer = zeros((len(F), W.shape[1]), F)
    for rows, strip in strips(F, mean, rough=rough):
        answer[rows] = strip @ in_precision(W, strip.dtype)
    return answer


def zeros(shape: tuple[int, ...], beside: Any) -> Any:
    """Return zeros in float64, where another array or tensor is."""
    if isinstance(beside, np.ndarray):
        return np.zeros(shape)
    return namespace(beside).zeros(shape, dtype=namespace(beside).float64, device=beside.device)


@dataclass(frozen=True)
class LinearModel:
    """The scores f(x) = x' w + b of one or several outputs.

    The gap is how far the objective may be above its minimum, relative to its value at w = 0; the largest over outputs
    that were fitted separately. Whether it is an estimate or a bound depends on the solver.

    >>> LinearModel(np.array([[1.0], [2.0]]), np.array([0.5])).scores(np.eye(2, dtype=np.float32))
    array([[1.5],
           [2.5]])
    """

    weights: np.ndarray  # w, of shape (features, outputs), float64
    intercept: np.ndarray  # b, of shape (outputs,)
    gap: float = 0.0

    def scores(self, F: Any) -> np.ndarray:
        """Return f at each row of F, an array or a tensor, as float64 whatever the precision of F."""
        if isinstance(F, np.ndarray) and F.dtype == np.float64:
            return np.asarray(F @ self.weights + self.intercept)
        return as_numpy(products(F, beside(self.weights, F))) + self.intercept


FEW_GROUPED_ROWS = 1000
"""Rows whose sums over groups are a product of dense matrices."""

DIVIDED_AT_ONCE = 256
"""Rows up to which a symmetric matrix is divided by a triangle on one side after the other."""

GROUP_PREFIX = "group_"
"""Of the names of arrays that belong to groups."""


@dataclass(frozen=True, eq=False)
class Members:
    """To which group each row belongs."""

    group: Any  # the number of the group of each row
    n_groups: int
    numbers: Any = None  # targets of shape (n, k), whose sums over groups are kept too

    def __getitem__(self, cut: slice) -> Members:
        return Members(self.group[cut], self.n_groups, at_rows(self.numbers, cut))


@dataclass
class GroupMoments:
    """Weighted sums over the rows of each group: of the features, and for numbers of features times targets."""

    cross: np.ndarray  # of s_i f_i, then of s_i f_i y_i for each target; shape (d, groups (1 + targets))
    targets: np.ndarray  # of s_i, then of s_i y_i
    counts: np.ndarray  # the number of rows with a weight, shape (groups,)

    @classmethod
    def of(cls, F: Any, members: Members, weights: Any) -> GroupMoments:
        """Return the sums over rows: what rows count for in them are their weights, and weights times numbers."""
        n = members.n_groups
        columns = [weights]
        if members.numbers is not None:
            columns += [weights * one for one in members.numbers.T]
        if isinstance(F, np.ndarray):
            totals = np.concatenate(list(map(np.bincount, repeat(members.group), columns, repeat(n))))
            cross = sums_of_groups(F, members, columns).T.astype(np.float64, copy=False)
            return cls(cross, totals, np.bincount(members.group, weights > 0, n))
        xp = namespace(F)
        zero = xp.zeros((n, F.shape[1] + 1), dtype=xp.float64, device=F.device)
        parts = []
        for one in [*columns, weights > 0]:
            s = in_precision(one, F.dtype)[:, None]
            rows = in_precision(xp.concat([F * s, s], axis=1), xp.float64)
            parts.append(zero.index_add(0, members.group, rows))
        sums = xp.concat(parts[:-1])
        return cls(sums[:, :-1].T, sums[:, -1], parts[-1][:, -1])

    @classmethod
    def precisely(cls, F: np.ndarray, members: Members, weights: np.ndarray) -> GroupMoments:
        """Return the sums over rows in memory, with products in float64."""
        if F.dtype == np.float64:
            return cls.of(F, members, weights)
        parts = (cls.of(strip, members[rows], weights[rows]) for rows, strip in strips(F))
        total = next(parts)
        for part in parts:
            total += part
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
    def of(cls, F: Any, Y: Any, weights: Any, members: Members | None = None) -> Moments:
        """Return the moments of rows, and those of their groups; products have the precision of the features."""
        if F.dtype.itemsize == 4 and (shift := _shift(F)).any():
            found = cls._of(F - shift, Y, weights, members)
            return found._about(in_precision(shift, namespace(F).float64))
        return cls._of(F, Y, weights, members)

    @classmethod
    def _of(cls, F: Any, Y: Any, weights: Any, members: Members | None) -> Moments:
        on_host = isinstance(F, np.ndarray)
        xp: Any = np
        if not on_host:
            xp = namespace(F)
        exact = F.dtype == weights.dtype == xp.float64
        weighted = weights[:, None] * Y
        narrow = [weights, weighted, xp.sqrt(weights)]
        if not exact:
            narrow = [in_precision(one, F.dtype) for one in narrow]
        features = narrow[0] @ F
        cross = None
        # number of classes from which on sums over the rows of each are quicker than a product with their codes
        if on_host and Y.shape[1] >= 32 and len(Y):
            cross = _cross_of_codes(F, Y, weights, features)
        if cross is None:
            cross = F.T @ narrow[1]
        groups = None
        if members is not None:
            groups = GroupMoments.of(F, members, weights)
        if bool((weights != 1.0).any()):
            F = F * narrow[2][:, None]
        gram = F.T @ F
        if not exact:
            features, gram, cross = [in_precision(one, xp.float64) for one in (features, gram, cross)]
        eps = float(xp.finfo(F.dtype).eps)
        return cls(float(weights.sum()), features, weighted.sum(axis=0), gram, cross, eps, groups)

    def moved(self, move: Callable[[Any], Any]) -> Moments:
        """Return the same with each array passed through `move`."""
        arrays = {name: move(getattr(self, name)) for name in ("features", "targets", "gram", "cross")}
        return replace(self, **arrays, groups=self.groups and self.groups.moved(move))

    def to_arrays(self) -> dict[str, Any]:
        """Return all fields by name; those of groups have a prefix."""
        found = {name: value for name, value in vars(self).items() if name != "groups"}
        if self.groups is not None:
            found |= {GROUP_PREFIX + name: value for name, value in vars(self.groups).items()}
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Moments:
        """Return the moments whose `to_arrays` gave these arrays."""
        found: dict[str, Any] = {name: float(one) if one.ndim == 0 else one for name, one in arrays.items()}
        apart = {name: found.pop(name) for name in list(found) if name.startswith(GROUP_PREFIX)}
        total = cls(**found)
        if apart:
            total.groups = GroupMoments(**{name.removeprefix(GROUP_PREFIX): one for name, one in apart.items()})
        return total

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
        groups = self.groups and self.groups.about(by)
        return Moments(self.weight, self.features + self.weight * by, self.targets, gram, cross, self.eps, groups)

    def divided(self, U: np.ndarray, columns: slice) -> Moments:
        """Return the moments after some columns of the features are multiplied by the inverse of an upper triangle."""
        features = self.features.copy()
        gram = self.gram.copy()
        cross = self.cross.copy()
        groups = self.groups and self.groups.moved(np.copy)
        divided = [features, cross]
        if groups is not None:
            divided.append(groups.cross)
        for rows in divided:
            rows[columns] = solve_triangular(U, rows[columns], trans=1, check_finite=False)
        divide_both_sides(gram[columns, columns], U)
        start, stop, _ = columns.indices(len(gram))
        for others in (slice(start), slice(stop, None)):
            gram[columns, others] = solve_triangular(U, gram[columns, others], trans=1, check_finite=False)
            gram[others, columns] = gram[columns, others].T
        return replace(self, features=features, gram=gram, cross=cross, groups=groups)

    def first(self, m: int) -> Moments:
        """Return those of the first m features, without groups."""
        return replace(self, features=self.features[:m], gram=self.gram[:m, :m], cross=self.cross[:m], groups=None)

    def centered(self) -> tuple[np.ndarray, np.ndarray]:
        """Return Gram matrix and cross products of the centered features and targets."""
        gram = self.gram - np.outer(self.features, self.features / self.weight)
        return gram, self.cross - np.outer(self.features, self.targets / self.weight)


def divide_both_sides(G: np.ndarray, U: np.ndarray) -> None:
    """Replace a symmetric matrix G by U'^-1 G U^-1 with an upper triangle U, in place; symmetry saves half the work.

    >>> G, U = np.array([[4.0, 2.0], [2.0, 5.0]]), np.array([[2.0, 1.0], [0.0, 2.0]])
    >>> divide_both_sides(G, U)
    >>> G
    array([[1., 0.],
           [0., 1.]])
    """
    if len(U) <= DIVIDED_AT_ONCE:
        for rows in (G, G.T):
            rows[...] = solve_triangular(U, rows, trans=1, check_finite=False)
        return
    first = slice(len(U) // 2)
    last = slice(len(U) // 2, None)
    divide_both_sides(G[first, first], U[first, first])
    half = 0.5 * (G[first, first] @ U[first, last])
    across = solve_triangular(U[first, first], G[first, last], trans=1, check_finite=False) - half
    product = across.T @ U[first, last]
    G[last, last] -= product + product.T
    G[last, first] = solve_triangular(U[last, last], (across - half).T, trans=1, check_finite=False)
    G[first, last] = G[last, first].T
    divide_both_sides(G[last, last], U[last, last])


def sums_of_groups(F: np.ndarray, members: Members, columns: list[np.ndarray]) -> np.ndarray:
    """Return the sums of rows times each column over the rows of each group, in one sequential pass over F."""
    n = members.n_groups
    several = len(columns)
    if len(F) < FEW_GROUPED_ROWS:
        dense = np.zeros((len(F), several * n), dtype=F.dtype)
        for i, one in enumerate(columns):
            dense[np.arange(len(F)), members.group + i * n] = one
        summed: np.ndarray = dense.T @ F
        return summed
    from scipy.sparse import csc_array

    chosen = csc_array((several * n, len(F)), dtype=F.dtype)  # its arrays are set without the checks of a constructor
    chosen.indptr = np.arange(0, several * len(F) + 1, several, dtype=np.int32)
    chosen.indices = (members.group[:, None] + n * np.arange(several)).ravel().astype(np.int32, copy=False)
    chosen.data = np.stack(columns, axis=1).astype(F.dtype, copy=False).ravel()
    found: np.ndarray = chosen @ F
    return found


def _cross_of_codes(F: Any, Y: Any, weights: Any, features: Any) -> np.ndarray | None:
    """Return the sum of s_i f_i y_i' if the targets are codes of classes, high in a row's own column; or None."""
    own = Y.argmax(axis=1)
    low = Y.min()
    high = Y.max()
    if not (Y[np.arange(len(Y)), own] == high).all() or np.count_nonzero(low == Y) != Y.size - len(Y):
        return None
    sums = sums_of_groups(F, Members(own, Y.shape[1]), [weights]).T
    return F.dtype.type(high - low) * sums + F.dtype.type(low) * features[:, None]


def _shift(F: Any) -> Any:
    """Return what to subtract from features in single precision before they are multiplied.

    It is their mean where that dwarfs the spread of the first rows: products would hold little but its square.
    """
    xp = namespace(F)
    some = in_precision(F[:256], xp.float64)
    mean = xp.mean(some, axis=0)
    far = mean**2 > OFF_CENTER * xp.var(some, axis=0)
    return in_precision(xp.where(far, mean, xp.zeros_like(mean)), F.dtype)
