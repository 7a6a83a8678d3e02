"""Kernels of strings that count the substrings two strings share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from similitude import loops
from similitude.encodings import Encoding
from similitude.kernels.bags import Bags, bag_products
from similitude.kernels.checking import check_whole
from similitude.kernels.text import as_letters
from similitude.loops import Patterns
from similitude.similarity import PSD, SYMMETRIC, Similarity


class BagSimilarity(Similarity):
    """A kernel of strings that is the dot product of bags of features, with or without their counts."""

    objects = "strings"
    claims = frozenset({SYMMETRIC, PSD})
    finite = True
    counts: bool = True

    def patterns(self) -> Patterns:
        """Return which positions of which windows make the features."""
        raise NotImplementedError

    def encode(self, objects: Any) -> Encoding:
        """Return the bag of windows of each string."""
        text, starts = as_letters(objects)
        return Bags(loops.window_bags(text, starts, self.patterns()))

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the dot products of bags."""
        return bag_products(A, B, self.patterns(), bool(self.counts), out)

    def diagonal(self, A: Encoding) -> Any:
        """Return the squared norms of bags."""
        return A.squares(bool(self.counts))


class Spectrum(BagSimilarity):
    r"""The number of different substrings of length p that two strings share.

    .. math:: K(s, t) = \sum_{u \in \Sigma^p} \phi_u(s)\,\phi_u(t),

    where :math:`\phi_u(s)` is 1 if u occurs in s and 0 if not (Lecture 6: Kernels), or with ``counts=True`` how often
    it occurs (Leslie, Eskin and Noble 2002, the spectrum kernel). Letters are unicode code points, or bytes, which
    count as the code points of the same numbers; case is kept. A string shorter than p has no such substrings, and
    K = 0 with every string.

    Parameters
    ----------
    p : int
        The length of substrings, >= 1.
    counts : bool
        Multiply how often a substring occurs in either string.
    blended : bool
        Sum over the lengths 1, …, p.

    Notes
    -----
    Exact for any length and alphabet: substrings of up to seven letters below 256 are numbers, longer ones are found
    by a digest and compared letter by letter.

    Examples
    --------
    >>> from similitude.kernels import Spectrum
    >>> [Spectrum(p)("asdf", "gpsd") for p in (1, 2, 3)]
    [2.0, 1.0, 0.0]
    >>> Spectrum(2, counts=True)("banana", "bandana")
    7.0
    """

    def __init__(self, p: int = 3, counts: bool = False, blended: bool = False) -> None:
        self.p = p
        self.counts = counts
        self.blended = blended

    reason = (
        "K(s, t) = <phi(s), phi(t)>, where phi has one number per substring: whether or how often it occurs (Lecture "
        "6: Kernels; Leslie, Eskin and Noble 2002)"
    )

    def check_params(self) -> None:
        """Refuse a length below 1."""
        check_whole("p", self.p, 1)

    def patterns(self) -> Patterns:
        """Return windows of length p, or of each length up to p."""
        lengths = range(1, int(self.p) + 1) if self.blended else (int(self.p),)
        return _patterns(tuple((tuple(range(length)), length) for length in lengths))


@lru_cache(maxsize=64)
def _patterns(of: tuple[tuple[Sequence[int], int], ...]) -> Patterns:
    """Return patterns, each given by its positions and the span of its windows, as arrays."""
    positions = np.array([at for chosen, _ in of for at in chosen], np.int64)
    starts = np.concatenate([[0], np.cumsum([len(chosen) for chosen, _ in of])]).astype(np.int64)
    return Patterns(positions, starts, np.array([span for _, span in of], np.int64))
