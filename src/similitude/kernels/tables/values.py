"""Similarities of single values, such as the cells of a column: categories, ordered categories, missing values."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from similitude.compute import Encoding, Hints, take
from similitude.kernels.ragged import Ragged, starts_of
from similitude.kernels.tables.cells import Cells
from similitude.similarity import BOUNDED, PSD, SYMMETRIC, UNIT_DIAGONAL, UNIT_KERNEL, Similarity
from similitude.support import brief, check_number


def _complete(objects: Any) -> Cells:
    """Return single values; refuse missing ones."""
    values = Cells.of(objects)
    if values.missing.any():
        i = int(values.missing.argmax())
        raise ValueError(f"object {i} is missing: define its similarities, for instance with OrMissing(k)")
    return values


class Equal(Similarity):
    r"""1 for equal values, 0 for different ones: the kernel of a category.

    Values may be of any kind (they are compared by 64-bit digests); a new category differs from all others.

    Examples
    --------
    >>> from similitude.kernels import Equal
    >>> Equal().gram(["red", "blue", "red"])
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """

    claims = UNIT_KERNEL
    hints = Hints(finite=True)
    reason = "equality is the dot product of the indicators of each value"

    def encode(self, objects: Any) -> Encoding:
        """Return a 64-bit key per value."""
        return _complete(objects).keys()

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> np.ndarray:
        """Return 1 for equal keys, 0 for different ones."""
        if out is None:
            out = np.empty((len(A), len(B)))
        return np.equal(A[:, None], B[None, :], out=out)

    def diagonal(self, A: Encoding) -> np.ndarray:
        """Return ones."""
        return np.ones(len(A))


class Ordinal(Similarity):
    r"""The similarity of ordered categories by their ranks, :math:`K(x, z) = 1 - |r(x) - r(z)| / (c - 1)`.

    The c categories have the ranks 0, …, c - 1.

    Parameters
    ----------
    order : list, optional
        The categories, lowest first. None: taken from data, an ordered categorical column of pandas or an Enum of
        polars. Other values have no rank and are refused.

    Examples
    --------
    >>> from similitude.kernels import Ordinal
    >>> Ordinal(["low", "middle", "high"]).cross(["low"], ["low", "middle", "high"])
    array([[1. , 0.5, 0. ]])
    """

    claims = UNIT_KERNEL
    hints = Hints(finite=True)
    reason = (
        "1 - |r - s| of r, s in [0, 1] is min(r, s) + min(1 - r, 1 - s): two dot products of indicators of intervals"
    )
    resolves = ("order",)

    def __init__(self, order: Any = None) -> None:
        self.order = order

    def check_params(self) -> None:
        """Validate the order: a list of different categories."""
        if self.order is None:
            return
        if isinstance(self.order, (str, bytes)) or not hasattr(self.order, "__len__") or len(self.order) == 0:
            raise ValueError(f"order must be a list of categories, lowest first, got {brief(self.order)}")
        if len({*self.order}) < len(self.order):
            raise ValueError(f"order names a category twice: {brief(self.order)}")

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Similarity:
        """Take the order from an ordered categorical column."""
        if self.order is not None:
            return self
        order = Cells.of(X).order()
        if order is None:
            raise ValueError("these values have no order of their own: give Ordinal(order=[...]), lowest first")
        return self.with_params(order=order)

    def encode(self, objects: Any) -> Encoding:
        """Return the ranks, scaled to [0, 1]."""
        return _complete(objects).ranks(self.order, "object {}")

    def block(self, A: Encoding, B: Encoding) -> np.ndarray:
        """Return 1 minus the differences of ranks."""
        return 1.0 - np.abs(np.subtract.outer(A, B))

    def diagonal(self, A: Encoding) -> np.ndarray:
        """Return ones."""
        return np.ones(len(A))


class OrMissing(Similarity):
    """A similarity of values that may be missing: None, NaN, or a missing value of pandas or polars.

    A missing and a known value have K = 0, two missing values have K = `alike`.

    Parameters
    ----------
    k : Similarity
        The similarity of two known values; its data-dependent parameters are fixed on known values.
    alike : float
        K of two missing values; 0 also for a missing value with itself.

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

    _checks: ClassVar = {"alike": check_number}

    @property
    def claims(self) -> frozenset[str]:
        """The claims of the part that hold for `alike` too."""
        kept = {SYMMETRIC: True, PSD: self.alike >= 0, UNIT_DIAGONAL: self.alike == 1, BOUNDED: abs(self.alike) <= 1}
        return frozenset(claim for claim in self.k.claims if kept[claim])

    @property
    def reason(self) -> str:
        """The rule for this value of `alike`."""
        if self.alike < 0:
            return "two missing values with K < 0: a kernel is nowhere negative on its diagonal"
        return "a missing value has features of its own (none, where two missing values have K = 0)"

    def counterexamples(self) -> list[Any]:
        """Return a missing value if `alike` is negative, and the counterexamples of the part."""
        return [*([[None]] if self.alike < 0 else []), *self.k.counterexamples()]

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Similarity:
        """Resolve the part on known values."""
        if not self.k.unresolved():
            return self
        known = ~Cells.of(X).missing
        if not known.any():
            raise ValueError(f"every value is missing: nothing to fix {', '.join(self.k.unresolved())} from")
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        return self.with_params(k=self.k.resolve(take(X, np.flatnonzero(known)), random_state, weight))

    def encode(self, objects: Any) -> Encoding:
        """Return the encoding of the known values, and their positions."""
        known = ~Cells.of(objects).missing
        encoded = self.k.encode(take(objects, np.flatnonzero(known))) if known.any() else None
        return PartlyKnown(starts_of(known), encoded)

    def block(self, A: Encoding, B: Encoding) -> np.ndarray:
        """Return K of known pairs, `alike` for pairs that are both missing, 0 for others."""
        values = np.zeros((len(A), len(B)))
        values[np.ix_(~A.known, ~B.known)] = self.alike
        if A.known.any() and B.known.any():
            values[np.ix_(A.known, B.known)] = self.k.block(A.encoded, B.encoded)
        return values

    def diagonal(self, A: Encoding) -> np.ndarray:
        """Return the diagonal of the part for known values, `alike` for missing ones."""
        values = np.full(len(A), float(self.alike))
        if A.known.any():
            values[A.known] = self.k.diagonal(A.encoded)
        return values


class PartlyKnown(Ragged):
    """The encoding of the known values: a row has one entry, or none if the value is missing."""

    of_entries = ("encoded",)
    encoded: Encoding

    @property
    def known(self) -> np.ndarray:
        """A boolean array that marks the known values."""
        return self.lengths > 0
