"""Hints: what an engine may know about a similarity beyond its ``block``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Hints:
    """What an engine may rely on when it computes blocks of a similarity.

    Attributes
    ----------
    finite : bool
        ``block`` returns finite numbers of the right shape for all encoded objects, so the values are not checked.
    heavy : bool
        One value takes microseconds, so small matrices are cut into tiles as well, for several threads to share.
    on_tensors : bool
        ``block`` also works on torch tensors, so a device can run it.
    threadsafe : bool
        Several threads may call ``block`` at once and gain from it; False if it calls a user's Python function.
    profile : callable, optional
        A function of the similarity that returns its `Profile`, or None if its values have no such form.
    cells : callable, optional
        A function of an encoding that returns the number of each object's cell, if objects of different cells have
        similarity 0: these need not be compared.

    Examples
    --------
    >>> from similitude.kernels import Gaussian
    >>> Gaussian().hints.finite
    True
    """

    finite: bool = False
    heavy: bool = False
    on_tensors: bool = False
    threadsafe: bool = True
    profile: Callable[[Any], Profile | None] | None = None
    cells: Callable[[Any], Any] | None = None

    def cautions(self) -> Hints:
        """Return only the hints that restrict an engine, which also hold for a subclass with another ``block``."""
        return Hints(heavy=self.heavy, threadsafe=self.threadsafe)


class Term(NamedTuple):
    """A weighted function of one number per pair of vectors, which is a sum over features."""

    sums: str  # product, squared_difference or absolute_difference
    form: tuple[Any, ...]  # of the function as loops take it: ("gaussian", -0.5)
    weight: float = 1.0
    part: int | None = None  # the place of the vectors in the encoding, a tuple; None if it is the vectors


@dataclass(frozen=True)
class Profile:
    """A similarity of vectors as a constant plus a weighted sum of functions of distances and dot products."""

    terms: tuple[Term, ...]
    constant: float = 0.0

    @classmethod
    def of(cls, sums: str, form: tuple[Any, ...]) -> Profile:
        """Return the profile of a single function."""
        return cls((Term(sums, form),))

    def __add__(self, other: Profile) -> Profile:
        return Profile(self.terms + other.terms, self.constant + other.constant)

    def scaled(self, factor: float) -> Profile:
        """Return the profile times a factor."""
        terms = tuple(term._replace(weight=term.weight * factor) for term in self.terms)
        return Profile(terms, self.constant * factor)

    def moved(self, parts: Mapping[int | None, int]) -> Profile:
        """Return the profile of vectors that are at other positions of an encoding."""
        return Profile(tuple(term._replace(part=parts[term.part]) for term in self.terms), self.constant)


def profile_of(similarity: Any) -> Any:
    """Return the `Profile` of a similarity, or None if it has none."""
    profile = similarity.hints.profile
    return None if profile is None else profile(similarity)
