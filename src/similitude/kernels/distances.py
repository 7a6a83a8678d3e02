"""Distances between vectors that are computed once for all similarities that are functions of them."""

from __future__ import annotations

from typing import Any

from similitude.compute.encodings import Encoding
from similitude.compute.engines.profiles import Profile
from similitude.kernels.products import IDENTITY, Form, of_squared_distances, of_sums
from similitude.kernels.vectors import VectorSimilarity


class OfDistances:
    """What similarities of vectors that are functions of a distance have in common.

    Distances that were computed once serve all of them: ``k.of_distances(k.distances(A, B))`` is ``k.block(A, B)``.

    Attributes
    ----------
    terms : str
        What the distances are sums of over features: ``squared_difference`` or ``absolute_difference``.
    """

    terms: str = "squared_difference"
    on_tensors: bool = True

    def _form(self) -> Form:
        """Return the function."""
        raise NotImplementedError

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the function of the distances."""
        return self._sums(A, B, self._form(), out)

    def distances(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return what `of_distances` takes: squared Euclidean distances, or sums of absolute differences.

        >>> import numpy as np
        >>> from similitude.kernels import Gaussian
        >>> Gaussian(sigma=1.0).distances(np.array([[0., 0.]]), np.array([[1., 1.], [3., 4.]]))
        array([[ 2., 25.]])
        """
        return self._sums(A, B, IDENTITY, out)

    def of_distances(self, D: Any) -> Any:
        """Return the similarities of pairs whose distances are known; D is overwritten.

        >>> import numpy as np
        >>> from similitude.kernels import Gaussian
        >>> Gaussian(sigma=1.0).of_distances(np.array([[2., 25.]]))
        array([[0.36787944, 0.00000373]])
        """
        return self._form().of(D)

    def profile(self) -> Profile | None:
        """Return the function and what it is a function of."""
        return Profile.of(self.terms, self._form().loop)

    def shared_distances(self) -> str | None:
        """Return which distances these are, equal for all that can share them; None where a subclass changed them."""
        writer = next(cls for cls in type(self).__mro__ if "block" in vars(cls))
        usual = "of_distances" in vars(writer) and getattr(type(self), "encode", None) is VectorSimilarity.encode
        return self.terms if usual else None

    def _sums(self, A: Encoding, B: Encoding, form: Form, out: Any) -> Any:
        if self.terms == "squared_difference":
            return of_squared_distances(A, B, form, out)
        return of_sums(A, B, self.terms, form, out)
