"""Kernels and similarities that are functions of the dot product, and the intersection of histograms."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from similitude.compute import Encoding, Hints, as_matrix, is_sparse, namespace
from similitude.kernels.vectors.pairwise import Form, VectorSimilarity, squared_norms, unit_rows, vector_profile
from similitude.similarity import BOUNDED, KERNEL, PSD, SYMMETRIC
from similitude.support import brief, check_number, is_number


class Linear(VectorSimilarity):
    r"""The dot product, :math:`K(x, z) = \langle x, z\rangle`.

    (Balcan, lecture notes 10-315, section 1.2.)

    Examples
    --------
    >>> from similitude.kernels import Linear
    >>> Linear().cross([[2., 3.]], [[1., 0.], [1., 1.]])
    array([[2., 5.]])
    """

    claims = KERNEL
    reason = "K(x, z) = <x, z> is the dot product of the vectors themselves"
    hints = Hints(on_tensors=True, profile=vector_profile)


class Polynomial(VectorSimilarity):
    r"""The polynomial kernel, :math:`K(x, z) = (s\,\langle x, z\rangle + c)^d`.

    ``coef0=0`` gives the homogeneous form :math:`\langle x, z\rangle^d`, ``coef0=1`` the form with all lower
    degrees. (Balcan, lecture notes 10-315, section 1.2.1; Lecture 6: Kernels.) It is a kernel for an integer degree
    and c, s >= 0; with a negative c or s it is a similarity without that claim.

    Parameters
    ----------
    degree : int
        d >= 1.
    coef0 : float
        c.
    scale : float
        s.

    Examples
    --------
    >>> from similitude.kernels import Polynomial
    >>> Polynomial(degree=2, coef0=3.0)([1., 2., 3.], [2., -1., .5])
    20.25
    """

    hints = Hints(on_tensors=True, profile=vector_profile)
    _checks: ClassVar = {"coef0": check_number, "scale": check_number}

    def __init__(self, degree: int = 3, coef0: float = 1.0, scale: float = 1.0) -> None:
        self.degree = degree
        self.coef0 = coef0
        self.scale = scale

    @property
    def claims(self) -> frozenset[str]:
        """Symmetry; PSD if no coefficient is negative."""
        return frozenset({SYMMETRIC, PSD} if self.coef0 >= 0 and self.scale >= 0 else {SYMMETRIC})

    @property
    def reason(self) -> str:
        """The feature map, or why there is none."""
        if PSD not in self.claims:
            return "with a negative coefficient (scale or coef0) a polynomial of <x, z> need not be a kernel"
        return "a polynomial of <x, z> with coefficients >= 0: its features are the monomials of x, weighted"

    def counterexamples(self) -> list[Any]:
        """Return numbers that refute it if a coefficient is negative; none for an even power of a negated kernel.

        If the degree is odd, (s x^2 + c)^d < 0 for a single number x. If it is even and the signs of s and c differ,
        x^2 = -c/s has K(x, x) = 0 and K(x, 0) = c^d, which is not 0.
        """
        s = float(self.scale)
        c = float(self.coef0)
        if PSD in self.claims or (self.degree % 2 == 0 and s <= 0 and c <= 0):
            return []
        if self.degree % 2 == 0:
            return [[[math.sqrt(-c / s)], [0.0]]]
        return [[[0.0]] if c < 0 else [[math.sqrt(2 * (1 + c) / -s)]]]

    def check_params(self) -> None:
        """Validate the degree and the coefficients."""
        super().check_params()
        if not is_number(self.degree) or not float(self.degree).is_integer() or self.degree < 1:
            raise ValueError(f"degree must be a whole number >= 1, got {brief(self.degree)}")

    def form(self) -> Form:
        """Return the polynomial of the dot product."""
        return "polynomial", float(self.scale), float(self.coef0), int(self.degree)


class Cosine(VectorSimilarity):
    r"""The cosine of the angle, :math:`K(x, z) = \langle x, z\rangle / (|x|\,|z|)`; zero for a zero vector.

    Examples
    --------
    >>> from similitude.kernels import Cosine
    >>> Cosine()([3., 0.], [1., 1.])
    0.70710678
    """

    claims = frozenset({SYMMETRIC, PSD, BOUNDED})
    reason = "the dot product of the vectors scaled to length 1 (a zero vector stays zero)"
    hints = Hints(finite=True, on_tensors=True, profile=vector_profile)

    def encode(self, objects: Any) -> Encoding:
        """Return the vectors, scaled to length 1."""
        return unit_rows(as_matrix(objects))

    def diagonal(self, A: Encoding) -> Any:
        """Return 1, or 0 for a zero vector."""
        xp = namespace(A)
        norms = squared_norms(A)
        return xp.where(norms > 0, xp.ones_like(norms), xp.zeros_like(norms))


class Sigmoid(VectorSimilarity):
    r"""The "neural" similarity :math:`K(x, z) = \tanh(s\,\langle x, z\rangle + c)`: not a kernel.

    It is a kernel for no s and c except s = 0 and c >= 0, where it is constant, not even of numbers.

    Parameters
    ----------
    scale : float
        s.
    coef0 : float
        c.

    Examples
    --------
    >>> from similitude.kernels import Sigmoid
    >>> Sigmoid(scale=1.0, coef0=-1.0)([0.], [0.])
    -0.76159416
    """

    hints = Hints(on_tensors=True, profile=vector_profile)

    def __init__(self, scale: float = 1.0, coef0: float = 0.0) -> None:
        self.scale = scale
        self.coef0 = coef0

    @property
    def claims(self) -> frozenset[str]:
        """Symmetry and range; PSD if it is a constant >= 0."""
        return frozenset({SYMMETRIC, BOUNDED} | ({PSD} if self.scale == 0 and self.coef0 >= 0 else set()))

    @property
    def reason(self) -> str:
        """The single feature of a constant, or why there are none."""
        if PSD in self.claims:
            return "the constant tanh(c) >= 0 is the kernel of the single feature sqrt(tanh(c))"
        return "tanh of a dot product is not a kernel, unless it is a constant >= 0"

    def counterexamples(self) -> list[Any]:
        """Return numbers that refute it.

        K(x, x) < 0 for x = 0 if c < 0, and for large x if s < 0. Otherwise, with x and z such that s x^2, s x z and
        s z^2 are 0.01, 1 and 100, tanh(1 + c)^2 > tanh(0.01 + c) tanh(100 + c). For large c these are all close to 1;
        then 0, r and -r with s r^2 = 2c and the weights -2, 1, 1 give 2 tanh(3c) - 6 tanh(c) < 0.
        """
        s = float(self.scale)
        c = float(self.coef0)
        if PSD in self.claims:
            return []
        if c < 0:
            return [[[0.0]]]
        if s < 0:
            return [[[math.sqrt(2 * (1 + c) / -s)]]]
        if c < 1:
            return [[[0.1 / math.sqrt(s)], [10 / math.sqrt(s)]]]
        r = math.sqrt(2 * c / s)
        return [[[0.0], [r], [-r]]]

    _checks: ClassVar = {"scale": check_number, "coef0": check_number}

    def form(self) -> Form:
        """Return tanh of the scaled dot product."""
        return "sigmoid", float(self.scale), float(self.coef0)


class HistogramIntersection(VectorSimilarity):
    r"""What two histograms share, :math:`K(x, z) = \sum_k \min(x_k, z_k)`, for entries >= 0.

    Examples
    --------
    >>> from similitude.kernels import HistogramIntersection
    >>> HistogramIntersection()([1., 3., 0.], [2., 1., 5.])
    2.0
    """

    claims = KERNEL
    reason = "min(s, t) for s, t >= 0 is the dot product of the indicators of [0, s] and [0, t]; a sum of these"
    hints = Hints(on_tensors=True)
    sums = "smaller"

    def encode(self, objects: Any) -> Encoding:
        """Return the vectors as a matrix; refuse negative entries."""
        A = as_matrix(objects)
        if (A.data.min(initial=0) if is_sparse(A) else A.min()) < 0:
            i, j = (int(place[0]) for place in np.nonzero(A < 0 if is_sparse(A) else np.asarray(A) < 0))
            raise ValueError(f"row {i}, column {j} is {float(A[i, j])}: a histogram has no negative entries")
        return A

    def diagonal(self, A: Encoding) -> Any:
        """Return the sums of the entries."""
        return np.asarray(A.sum(axis=1)).ravel() if is_sparse(A) else A.sum(1)
