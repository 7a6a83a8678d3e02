"""Similarities of single values, such as the cells of one column: categories, ordered categories, missing values."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute.encodings import Encoding, as_objects, check_objects, is_column, rows, take
from similitude.kernels.cells import keys_of, missing_cells, order_of
from similitude.kernels.checking import check_number
from similitude.similarity import BOUNDED, PSD, SYMMETRIC, UNIT_DIAGONAL, Similarity
from similitude.support.errors import brief


def _single(objects: Any) -> Any:
    """Return values that can be looked at one by one: a column as it is, or else a list."""
    return objects if is_column(objects) else as_objects(objects)


def _all_known(values: Any) -> np.ndarray:
    missing = missing_cells(values)
    if missing.any():
        i = int(np.flatnonzero(missing)[0])
        raise ValueError(f"object {i} is missing: say what that means, for instance with OrMissing(k)")
    return missing


class Equal(Similarity):
    r"""1 for equal values, 0 for others: the kernel of a category.

    Values may be of any kind (they are compared by 64-bit digests); a category never seen before is just unequal to
    all others.

    Examples
    --------
    >>> from similitude.kernels import Equal
    >>> Equal().gram(["red", "blue", "red"])
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """

    claims = frozenset({SYMMETRIC, PSD, UNIT_DIAGONAL, BOUNDED})
    finite = True
    reason = "equality is the dot product of the indicators of each value"

    def encode(self, objects: Any) -> Encoding:
        """Return a key per value."""
        values = _single(objects)
        return keys_of(values, _all_known(values))

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> np.ndarray:
        """Return where keys are equal."""
        out = np.empty((len(A), len(B))) if out is None else out
        return np.equal(A[:, None], B[None, :], out=out)

    def diagonal(self, A: Encoding) -> np.ndarray:
        """Return ones."""
        return np.ones(len(A))


class Ordinal(Similarity):
    r"""How near two ordered categories are, by their ranks, :math:`K(x, z) = 1 - |r(x) - r(z)| / (c - 1)`.

    The c categories have the ranks 0, …, c - 1.

    Parameters
    ----------
    order : list, optional
        The categories, lowest first. None: taken from data, an ordered categorical column of pandas or an Enum of
        polars. A value that is not among them is refused: it has no rank.

    Examples
    --------
    >>> from similitude.kernels import Ordinal
    >>> Ordinal(["low", "middle", "high"]).cross(["low"], ["low", "middle", "high"])
    array([[1. , 0.5, 0. ]])
    """

    claims = frozenset({SYMMETRIC, PSD, UNIT_DIAGONAL, BOUNDED})
    finite = True
    reason = (
        "1 - |r - s| of r, s in [0, 1] is min(r, s) + min(1 - r, 1 - s): two dot products of indicators of intervals"
    )
    resolves = ("order",)

    def __init__(self, order: Any = None) -> None:
        self.order = order

    def check_params(self) -> None:
        """Refuse an order that names nothing, or a category twice."""
        if self.order is None:
            return
        if isinstance(self.order, (str, bytes)) or not hasattr(self.order, "__len__") or len(self.order) == 0:
            raise ValueError(f"order must be a list of categories, lowest first, got {brief(self.order)}")
        if len({*self.order}) < len(self.order):
            raise ValueError(f"order names a category twice: {brief(self.order)}")

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Similarity:
        """Take the order of an ordered categorical column."""
        if self.order is not None:
            return self
        order = order_of(X)
        if order is None:
            raise ValueError("these values do not say how they are ordered: give Ordinal(order=[...]), lowest first")
        return Ordinal(order)

    def encode(self, objects: Any) -> Encoding:
        """Return the ranks, scaled to [0, 1]."""
        values = _single(objects)
        _all_known(values)
        ranks = {category: rank for rank, category in enumerate(self.order)}
        unknown = next((i for i, value in enumerate(values) if value not in ranks), None)
        if unknown is not None:
            value = list(values)[unknown]
            raise ValueError(f"object {unknown} is {brief(value)}, which is not in the order {brief(self.order)}")
        return np.array([ranks[value] for value in values]) / max(1, len(ranks) - 1)

    def block(self, A: Encoding, B: Encoding) -> np.ndarray:
        """Return 1 minus the differences of ranks."""
        return 1.0 - np.abs(np.subtract.outer(A, B))

    def diagonal(self, A: Encoding) -> np.ndarray:
        """Return ones."""
        return np.ones(len(A))


class OrMissing(Similarity):
    """A similarity of values that may be missing: None, NaN, or a missing value of pandas or polars.

    A missing value is like no other, K = 0, and like another missing one by `alike`.

    Parameters
    ----------
    k : Similarity
        What two known values are compared by; data-dependent parameters are fixed on known values.
    alike : float
        K of two missing values. 0: a missing value is like nothing, not even like itself.

    Examples
    --------
    >>> from similitude.kernels import Equal, OrMissing
    >>> OrMissing(Equal()).gram(["red", None, "red"])
    array([[1., 0., 1.],
           [0., 0., 0.],
           [1., 0., 1.]])
    """

    objects = "any"
    takes_missing = True

    def __init__(self, k: Similarity, alike: float = 0.0) -> None:
        self.k = k
        self.alike = alike

    @property
    def threadsafe(self) -> bool:
        """Whether the part gains from threads."""
        return self.k.threadsafe

    @property
    def claims(self) -> frozenset[str]:
        """What the part claims, as far as `alike` keeps to it."""
        kept = {SYMMETRIC: True, PSD: self.alike >= 0, UNIT_DIAGONAL: self.alike == 1, BOUNDED: abs(self.alike) <= 1}
        return frozenset(claim for claim in self.k.claims if kept[claim])

    @property
    def reason(self) -> str:
        """The rule for this value of `alike`."""
        if self.alike < 0:
            return "two missing values with K < 0: a kernel is nowhere negative on its diagonal"
        return "a missing value has features of its own (none, where two missing values have K = 0)"

    def check_params(self) -> None:
        """Refuse what is not a similarity and a number."""
        if not isinstance(self.k, Similarity):
            raise TypeError(f"OrMissing takes a Similarity, got {brief(self.k)}")
        check_number("alike", self.alike)
        self.k.check_params()

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Similarity:
        """Resolve the part on known values."""
        if not self.k.unresolved():
            return self
        known = ~missing_cells(_single(X))
        if not known.any():
            raise ValueError(f"every value is missing: nothing to fix {', '.join(self.k.unresolved())} from")
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        return OrMissing(self.k.resolve(take(X, np.flatnonzero(known)), random_state, weight), self.alike)

    def encode(self, objects: Any) -> Encoding:
        """Return the part's encoding of the known values, and where they are."""
        known = np.flatnonzero(~missing_cells(_single(objects)))
        places = np.full(check_objects(objects), -1)
        places[known] = np.arange(len(known))
        return SomeKnown(self.k.encode(take(objects, known)) if len(known) else None, places)

    def block(self, A: Encoding, B: Encoding) -> np.ndarray:
        """Return the part's block where both are known, `alike` where both are missing, 0 elsewhere."""
        values = np.zeros((len(A), len(B)))
        values[np.ix_(~A.known, ~B.known)] = self.alike
        if A.known.any() and B.known.any():
            values[np.ix_(A.known, B.known)] = self.k.block(A.encoded, B.encoded)
        return values

    def diagonal(self, A: Encoding) -> np.ndarray:
        """Return the part's diagonal where known, `alike` where missing."""
        values = np.full(len(A), float(self.alike))
        if A.known.any():
            values[A.known] = self.k.diagonal(A.encoded)
        return values


class SomeKnown:
    """The encoding of the values that are known: value i is number places[i] of `encoded`, or missing where -1."""

    def __init__(self, encoded: Encoding, places: np.ndarray) -> None:
        self.encoded, self.places = encoded, places

    @property
    def known(self) -> np.ndarray:
        """Which values are known."""
        return self.places >= 0

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, which: Any) -> SomeKnown:
        chosen = self.places[which]
        known = chosen >= 0
        places = np.full(len(chosen), -1)
        places[known] = np.arange(np.count_nonzero(known))
        return SomeKnown(rows(self.encoded, chosen[known]) if known.any() else None, places)
