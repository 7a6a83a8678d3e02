"""What a fused product needs to know of a similarity: a description of its values, not code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class Term(NamedTuple):
    """A function of one number per pair of vectors, times a weight.

    Attributes
    ----------
    sums : str
        What that number is a sum of over features: ``product`` (the dot product), ``squared_difference`` or
        ``absolute_difference``.
    form : tuple
        The function's name and its parameters, as the compiled loops know it: ``("gaussian", -0.5)``.
    weight : float
    part : int or None
        Which part of the encoding holds the vectors; None where the encoding is the vectors.
    """

    sums: str
    form: tuple[Any, ...]
    weight: float = 1.0
    part: int | None = None


@dataclass(frozen=True)
class Profile:
    """A similarity of vectors as a weighted sum of functions of distances and dot products, and a constant.

    Examples
    --------
    >>> from similitude.kernels import Gaussian, Linear
    >>> (2.0 * Gaussian(sigma=1.0) + Linear() + 1.0).described().constant
    1.0
    """

    terms: tuple[Term, ...]
    constant: float = 0.0

    @classmethod
    def of(cls, sums: str, form: tuple[Any, ...]) -> Profile:
        """Return the profile of one function."""
        return cls((Term(sums, form),))

    def __add__(self, other: Profile) -> Profile:
        return Profile(self.terms + other.terms, self.constant + other.constant)

    def shifted(self, constant: float) -> Profile:
        """Return the profile with a constant added."""
        return Profile(self.terms, self.constant + constant)

    def scaled(self, factor: float) -> Profile:
        """Return the profile times a factor."""
        terms = tuple(term._replace(weight=term.weight * factor) for term in self.terms)
        return Profile(terms, self.constant * factor)

    def at(self, part: int) -> Profile:
        """Return the profile of vectors that are one part of an encoding."""
        return Profile(tuple(term._replace(part=part) for term in self.terms), self.constant)
