"""Similarities of vectors of numbers, dense or sparse: dot products and what is made of them, histograms."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from similitude.compute.encodings import Encoding, is_sparse, namespace
from similitude.compute.engines.profiles import Profile
from similitude.kernels.checking import check_number
from similitude.kernels.matrix import as_matrix
from similitude.kernels.products import IDENTITY, Form, of_dot_products, of_sums, squared_norms, unit_rows
from similitude.similarity import BOUNDED, PSD, SYMMETRIC, Similarity

KERNEL = frozenset({SYMMETRIC, PSD})


class VectorSimilarity(Similarity):
    """A similarity of the rows of a matrix."""

    objects = "vectors"

    def encode(self, objects: Any) -> Encoding:
        """Return the vectors as the rows of one float matrix (sparse stays sparse)."""
        return as_matrix(objects)


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
    on_tensors = True
    reason = "K(x, z) = <x, z> is the dot product of the vectors themselves"

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the dot products."""
        return of_dot_products(A, B, IDENTITY, out)

    def profile(self) -> Profile:
        """Return the function of the dot products."""
        return Profile.of("product", IDENTITY.loop)

    def diagonal(self, A: Encoding) -> Any:
        """Return the squared norms."""
        return squared_norms(A)


class Polynomial(VectorSimilarity):
    r"""The polynomial kernel, :math:`K(x, z) = (s\,\langle x, z\rangle + c)^d`.

    ``coef0=0`` gives the homogeneous form :math:`\langle x, z\rangle^d`, ``coef0=1`` the form with all lower
    degrees. (Balcan, lecture notes 10-315, section 1.2.1; Lecture 6: Kernels.) It is a kernel for a whole degree
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

    on_tensors = True

    def __init__(self, degree: int = 3, coef0: float = 1.0, scale: float = 1.0) -> None:
        self.degree = degree
        self.coef0 = coef0
        self.scale = scale

    @property
    def claims(self) -> frozenset[str]:
        """PSD where no coefficient is negative."""
        return KERNEL if self.coef0 >= 0 and self.scale >= 0 else frozenset({SYMMETRIC})

    @property
    def reason(self) -> str:
        """The feature map, or why there is none."""
        if PSD not in self.claims:
            return "with a negative coefficient (scale or coef0) a polynomial of <x, z> need not be a kernel"
        return "a polynomial of <x, z> with coefficients >= 0: its features are the monomials of x, weighted"

    def check_params(self) -> None:
        """Refuse a degree that is no whole number >= 1."""
        if (
            isinstance(self.degree, bool)
            or not isinstance(self.degree, Real)
            or not float(self.degree).is_integer()
            or self.degree < 1
        ):
            raise ValueError(f"degree must be a whole number >= 1, got {self.degree!r}")
        check_number("coef0", self.coef0)
        check_number("scale", self.scale)

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the polynomial of the dot products."""
        return of_dot_products(A, B, self._form(), out)

    def profile(self) -> Profile:
        """Return the function of the dot products."""
        return Profile.of("product", self._form().loop)

    def diagonal(self, A: Encoding) -> Any:
        """Return the polynomial of the squared norms."""
        return self._form().of(squared_norms(A)[:, None])[:, 0]

    def _form(self) -> Form:
        p, q, degree = float(self.scale), float(self.coef0), int(self.degree)
        return Form(("polynomial", p, q, degree), lambda x: (p * x + q) ** degree)


class Cosine(VectorSimilarity):
    r"""The cosine of the angle, :math:`K(x, z) = \langle x, z\rangle / (|x|\,|z|)`; zero for a zero vector.

    Examples
    --------
    >>> from similitude.kernels import Cosine
    >>> Cosine()([3., 0.], [1., 1.])
    0.70710678
    """

    claims = frozenset({SYMMETRIC, PSD, BOUNDED})
    finite = True
    on_tensors = True
    reason = "the dot product of the vectors scaled to length 1 (a zero vector stays zero)"

    def encode(self, objects: Any) -> Encoding:
        """Return the vectors, scaled to length 1."""
        return unit_rows(as_matrix(objects))

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the dot products of the unit vectors."""
        return of_dot_products(A, B, IDENTITY, out)

    def profile(self) -> Profile:
        """Return the function of the dot products."""
        return Profile.of("product", IDENTITY.loop)

    def diagonal(self, A: Encoding) -> Any:
        """Return 1, or 0 for a zero vector."""
        xp, norms = namespace(A), squared_norms(A)
        return xp.where(norms > 0, xp.ones_like(norms), xp.zeros_like(norms))


class Sigmoid(VectorSimilarity):
    r"""The "neural" similarity :math:`K(x, z) = \tanh(s\,\langle x, z\rangle + c)`: not a kernel.

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

    claims = frozenset({SYMMETRIC, BOUNDED})
    on_tensors = True
    reason = "tanh of a dot product is not a kernel in general"

    def __init__(self, scale: float = 1.0, coef0: float = 0.0) -> None:
        self.scale = scale
        self.coef0 = coef0

    def check_params(self) -> None:
        """Refuse what is not a finite number."""
        check_number("scale", self.scale)
        check_number("coef0", self.coef0)

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return tanh of the scaled dot products."""
        return of_dot_products(A, B, self._form(), out)

    def profile(self) -> Profile:
        """Return the function of the dot products."""
        return Profile.of("product", self._form().loop)

    def diagonal(self, A: Encoding) -> Any:
        """Return tanh of the scaled squared norms."""
        return self._form().of(squared_norms(A)[:, None])[:, 0]

    def _form(self) -> Form:
        p, q = float(self.scale), float(self.coef0)
        return Form(("sigmoid", p, q), lambda x: namespace(x).tanh(p * x + q))


class HistogramIntersection(VectorSimilarity):
    r"""What two histograms share, :math:`K(x, z) = \sum_k \min(x_k, z_k)`, for entries >= 0.

    Examples
    --------
    >>> from similitude.kernels import HistogramIntersection
    >>> HistogramIntersection()([1., 3., 0.], [2., 1., 5.])
    2.0
    """

    claims = KERNEL
    on_tensors = True
    reason = "min(s, t) for s, t >= 0 is the dot product of the indicators of [0, s] and [0, t]; a sum of these"

    def encode(self, objects: Any) -> Encoding:
        """Return the vectors as a matrix; refuse negative entries."""
        A = as_matrix(objects)
        if (A.data.min(initial=0) if is_sparse(A) else A.min()) < 0:
            i, j = (int(place[0]) for place in np.nonzero(A < 0 if is_sparse(A) else np.asarray(A) < 0))
            raise ValueError(f"row {i}, column {j} is {float(A[i, j])}: a histogram has no negative entries")
        return A

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the sums of the smaller entries."""
        return of_sums(A, B, "smaller", IDENTITY, out)

    def diagonal(self, A: Encoding) -> Any:
        """Return the sums of the entries."""
        return np.asarray(A.sum(axis=1)).ravel() if is_sparse(A) else A.sum(1)
