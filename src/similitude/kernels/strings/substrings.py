"""String kernels that count shared substrings: spectrum, gapped and mismatch kernels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from math import comb, isqrt, log2
from typing import Any

import numpy as np

from similitude.compute import Encoding, Hints, loops
from similitude.compute.loops import BagArrays, Patterns
from similitude.kernels.feature_weights import FeatureTable, WeightedFeatures, proof_with_weights, remembered
from similitude.kernels.ragged import places_of, starts_of, starts_of_kept
from similitude.kernels.strings.bags import Bags, bag_features, bag_products, joined_bags
from similitude.kernels.strings.letters import Letters, as_letters, letters_in_parts, numbered
from similitude.similarity import KERNEL, Similarity
from similitude.support import brief, check_integer, check_positive

MOST_POSITIONS = 1_000_000
"""The largest number of positions in all sets together, which are held in memory."""


class BagSimilarity(Similarity):
    """A string kernel that is the dot product of bags of features, with or without their counts."""

    objects = "strings"
    claims = KERNEL
    hints = Hints(finite=True)
    counts: bool = True

    @abstractmethod
    def patterns(self) -> Patterns:
        """Return the positions of windows whose letters make the features."""

    def encode(self, objects: Any) -> Encoding:
        """Return the bag of features of each string."""
        return joined_bags([self.bags(letters).compact() for letters in letters_in_parts(objects)])

    def _windows(self, letters: Letters) -> BagArrays:
        return loops.window_bags(letters.text, letters.starts, self.patterns())

    def bags(self, letters: Letters) -> Bags:
        """Return the bag of windows of each string."""
        return Bags.of(self._windows(letters))

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the dot products of bags."""
        return bag_products(A, B, self.patterns(), bool(self.counts), out)

    def diagonal(self, A: Encoding) -> Any:
        """Return the squared norms of bags."""
        return A.squared_norms(bool(self.counts))

    def features(self, objects: Any, like: Any = None) -> Any:
        """Return a sparse matrix with K(x, z) = phi(x) . phi(z) for every x in `objects` and z in `like`.

        It has a column for each feature that occurs in `like` (by default the objects themselves), in order of
        appearance, and a last one with the norm of all other features of an object, so that phi(x) . phi(x) is K(x, x).
        """
        A = self.encode(objects)
        known = A if like is None else self.encode(like)
        return bag_features(A, known, self.patterns(), bool(self.counts))


class Spectrum(WeightedFeatures, BagSimilarity):
    r"""The spectrum kernel: the number of different substrings of length p that two strings share.

    .. math:: K(s, t) = \sum_{u \in \Sigma^p} \phi_u(s)\,\phi_u(t),

    where :math:`\phi_u(s)` is 1 if u occurs in s and 0 otherwise (Lecture 6: Kernels), or with ``counts=True`` the
    number of its occurrences (Leslie, Eskin and Noble 2002). Letters are unicode code points, or bytes, which equal
    the code points of the same value; case matters. A string shorter than p has no such substrings, and K = 0 with
    every string.

    Parameters
    ----------
    p : int
        The length of substrings, >= 1.
    counts : bool
        Multiply the numbers of occurrences in both strings.
    blended : bool
        Sum over the lengths 1, …, p.
    weights : dict, "idf" or None
        A number :math:`w_u \ge 0` for some substrings, by which their terms are multiplied: :math:`K(s, t) = \sum_u w_u
        \phi_u(s) \phi_u(t)`. ``"idf"``: on the strings it is resolved on, the square of :math:`\ln\frac{1 + n}{1 +
        n_u} + 1`, where :math:`n_u` of n strings have u; with counts and `normalized` it is then the cosine of tf-idf.
        `learn_kernel` learns weights from labels.
    default_weight : float
        The weight of all other substrings; ``"idf"`` sets it to that of a substring that no string has.

    Notes
    -----
    The values are exact for any length and alphabet: substrings of up to seven letters below 256 are numbers, others
    are found by a digest and compared letter by letter.

    Examples
    --------
    >>> from similitude.kernels import Spectrum
    >>> [Spectrum(p)("asdf", "gpsd") for p in (1, 2, 3)]
    [2.0, 1.0, 0.0]
    >>> Spectrum(2, counts=True)("banana", "bandana")
    7.0
    >>> Spectrum(2, weights={"an": 4.0, "na": 0.0})("banana", "bandana")
    5.0
    """

    claims = KERNEL
    hints = BagSimilarity.hints

    def __init__(
        self,
        p: int = 3,
        counts: bool = False,
        blended: bool = False,
        weights: Mapping[str, float] | str | None = None,
        default_weight: float = 1.0,
    ) -> None:
        self.p = p
        self.counts = counts
        self.blended = blended
        self.weights = weights
        self.default_weight = default_weight

    reason = proof_with_weights(
        "K(s, t) = <phi(s), phi(t)>, where phi has one number per substring: whether or how often it occurs (Lecture "
        "6: Kernels; Leslie, Eskin and Noble 2002)"
    )

    def check_params(self) -> None:
        """Validate the length and the weights."""
        p = check_integer("p", self.p, 1)
        most = isqrt(2 * MOST_POSITIONS) if self.blended else MOST_POSITIONS
        lengths = "substrings" + " of all lengths up to p" * bool(self.blended)
        if p > most:
            raise ValueError(
                f"p = {p:,} is too large: the limit for {lengths} is about {most:,}; a p that is longer than all "
                f"strings finds nothing, so take the length of what they share"
            )
        super().check_params()

    def check_key(self, key: Any) -> None:
        """Refuse a key that is no substring of a length that is compared."""
        if not isinstance(key, str):
            raise TypeError(f"weights name substrings, which are texts, got {brief(key)}")
        if len(key) not in self._lengths():
            lengths = "1 to " * bool(self.blended) + str(self.p)
            raise ValueError(f"weights name {brief(key)}, and substrings of length {lengths} are compared")

    def _lengths(self) -> Sequence[int]:
        return range(1 if self.blended else int(self.p), int(self.p) + 1)

    def _key_params(self) -> tuple[Any, ...]:
        return int(self.p), bool(self.blended)

    def patterns(self) -> Patterns:
        """Return windows of length p, or of each length up to p."""
        return _patterns(tuple((tuple(range(length)), length) for length in self._lengths()))

    def bags(self, letters: Letters) -> Bags:
        """Return the bag of substrings of each string; with weights, without those of weight 0."""
        bags = self._windows(letters)
        if self.weights is None:
            return Bags.of(bags)
        known, roots = remembered(self, self._known_substrings, "substrings", self._key_params())
        numbers, theirs, width = loops.shared_features(bags, known, self.patterns())
        scales = np.full(width + 1, np.sqrt(float(self.default_weight)))  # the last one is that of number -1
        scales[theirs[theirs >= 0]] = roots[theirs >= 0]
        values = scales[numbers]
        kept = values > 0
        if self.counts:
            values = values * bags.counts
        return Bags.of(_only(bags, kept), values[kept])

    def _known_substrings(self) -> tuple[BagArrays, np.ndarray]:
        """Return the substrings that have a weight as bags of one feature each, and the roots of the weights."""
        given: Any = self.weights
        letters = as_letters(list(given) or [""])
        bags = self._windows(letters)
        at, spans = self._where(bags)
        whole = (at == 0) & (spans == np.repeat(letters.lengths, np.diff(bags.starts)))
        return _only(bags, whole), np.sqrt(np.fromiter(given.values(), float, len(given)))

    def _where(self, bags: BagArrays) -> tuple[np.ndarray, np.ndarray]:
        """Return where each feature begins in its string, and its length."""
        _, _, spans = self.patterns()
        at, which = np.divmod(bags.places, len(spans))
        return at, spans[which]

    def feature_table(self, objects: Any) -> FeatureTable:
        """Return the numbers of occurrences, or their presence, and the substrings."""
        from scipy.sparse import csr_array

        letters = as_letters(objects)
        bags = self._windows(letters)
        columns, _, width = loops.shared_features(bags, bags, self.patterns())
        values = Bags.of(bags).numbers(bool(self.counts))
        _, first = np.unique(columns, return_index=True)
        at, spans = self._where(bags)
        begins = (np.repeat(letters.starts[:-1], np.diff(bags.starts)) + at)[first]
        pieces = [letters.text[a : a + span] for a, span in zip(begins, spans[first], strict=True)]
        keys = ["".join(map(chr, piece.tolist())) for piece in pieces]
        return FeatureTable(csr_array((values, columns, bags.starts), shape=(len(letters), width)), keys)

    def feature_names(self, objects: Any, keys: Sequence[Any]) -> list[str]:
        """Return the substrings; those with spaces, digits or signs in quotes."""
        return [key if key.isalpha() else repr(key) for key in keys]


def _only(bags: BagArrays, kept: np.ndarray) -> BagArrays:
    codes, counts, places = (one[kept] for one in bags[:3])
    return bags._replace(codes=codes, counts=counts, places=places, starts=starts_of_kept(bags.starts, kept))


@lru_cache(maxsize=64)
def _patterns(of: tuple[tuple[Sequence[int], int], ...]) -> Patterns:
    positions = np.array([at for chosen, _ in of for at in chosen], np.int64)
    return positions, starts_of([len(chosen) for chosen, _ in of]), np.array([span for _, span in of], np.int64)


class Gapped(BagSimilarity):
    r"""The gapped k-mer kernel: windows of g letters that agree except at m positions.

    .. math:: K(s, t) = \sum_{|S| = g - m} \sum_{u \in \Sigma^{g - m}} \phi_{S,u}(s)\,\phi_{S,u}(t),

    where S is any set of g - m positions in a window and :math:`\phi_{S,u}(s)` is the number of windows of g letters
    in s that have the letters u at these positions. A pair of windows with j mismatches counts
    :math:`\binom{g - j}{m - j}` times. (Leslie and Kuang 2004; Blakely et al. 2020, FastSK.) A string shorter
    than g has no windows, and K = 0 with every string.

    Parameters
    ----------
    g : int
        The length of windows, >= 1.
    m : int
        The number of positions that are ignored, from 0 to g - 1.

    Examples
    --------
    >>> from similitude.kernels import Gapped
    >>> Gapped(3, 1)("abc", "axc")
    1.0
    >>> Gapped(3, 1)("abc", "abc")
    3.0
    """

    reason = (
        "a sum of spectrum kernels, one for each set of positions: K(s, t) = <phi(s), phi(t)> with counts of windows "
        "(Leslie and Kuang 2004; Blakely et al. 2020)"
    )

    def __init__(self, g: int = 6, m: int = 2) -> None:
        self.g = g
        self.m = m

    def check_params(self) -> None:
        """Validate g and m, and the number of sets of positions."""
        check_integer("g", self.g, 1)
        if check_integer("m", self.m, 0) >= self.g:
            raise ValueError(f"m must be below g = {self.g}, so that a position is left, got {brief(self.m)}")
        if self.m > 0 and (self.g > 5_000 or comb(self.g, self.m) > 5_000):
            raise ValueError(
                f"g = {self.g} and m = {self.m} make more than 5,000 sets of positions: take a smaller g, or an m "
                f"nearer to 0 or g"
            )
        if comb(self.g, self.m) * (self.g - self.m) > MOST_POSITIONS:
            raise ValueError(
                f"g = {self.g} and m = {self.m} make more than {MOST_POSITIONS:,} positions in all sets together: take "
                f"a smaller g"
            )

    def patterns(self) -> Patterns:
        """Return each set of positions of a window of length g."""
        g = int(self.g)
        m = int(self.m)
        return _patterns(tuple((chosen, g) for chosen in combinations(range(g), g - m)))


class Mismatch(BagSimilarity):
    r"""The mismatch kernel: words that are close to substrings of both strings.

    .. math:: K(s, t) = \sum_{u \in \Sigma^p} \phi_u(s)\,\phi_u(t),

    where :math:`\phi_u(s)` is the number of substrings of length p of s that differ from u at no more than m positions
    (Leslie, Eskin, Cohen, Weston and Noble 2004). With m = 0 it is ``Spectrum(p, counts=True)`` on letters of the
    alphabet. A string shorter than p has no such substrings, and K = 0 with every string.

    Parameters
    ----------
    p : int
        The length of substrings, >= 1.
    m : int
        The number of positions that may differ, from 0 to p.
    alphabet : str, bytes, sequence of letters or None
        The letters of the words u. None: those that occur in the objects it is resolved on. A letter of a string that
        is not in the alphabet differs from all letters of it.

    Notes
    -----
    Every substring gives :math:`\sum_{j \le m} \binom{p}{j} (|\Sigma| - 1)^j` features: 16 for DNA and 96 for
    proteins if p = 5, m = 1. For larger alphabets ``Gapped`` needs less.

    Examples
    --------
    >>> from similitude.kernels import Mismatch
    >>> Mismatch(2, 1, alphabet="ab")("ab", "ba")
    2.0
    """

    claims = BagSimilarity.claims
    hints = BagSimilarity.hints
    resolves = ("alphabet",)
    reason = (
        "K(s, t) = <phi(s), phi(t)>, where phi has one count per word: of the substrings that differ from it at m "
        "positions at most (Leslie et al. 2004)"
    )

    def __init__(self, p: int = 5, m: int = 1, alphabet: str | bytes | Sequence[str] | None = None) -> None:
        self.p = p
        self.m = m
        self.alphabet = alphabet

    def unresolved(self) -> list[str]:
        """Return the name of the alphabet while it is None; a string is an alphabet, not unresolved."""
        return ["alphabet"] * (self.alphabet is None)

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Similarity:
        """Take the letters that occur in X as the alphabet, in the order of their code points."""
        if self.alphabet is not None:
            return self
        letters = np.unique(as_letters(X).text).tolist()
        changed: Similarity = self.with_params(alphabet="".join(map(chr, letters)))
        changed.check_params()
        return changed

    def check_params(self) -> None:
        """Validate p, m and the size of the alphabet."""
        check_integer("p", self.p, 1)
        if check_integer("m", self.m, 0) > self.p:
            raise ValueError(f"m must be at most p = {self.p}, got {brief(self.m)}")
        if self.alphabet is None:
            return
        letters = len(self._letters())
        most = loops.MOST_NEIGHBORS
        if self.p >= 63 or self.p * log2(max(2, letters)) >= 63 or loops.words_near(letters, self.p, self.m) > most:
            raise ValueError(
                f"p = {self.p}, m = {self.m} and {letters} letters: the limit is {most:,} words near each "
                f"substring, out of fewer than 2^63 words; take a smaller p or m, or Gapped(g, m), which needs no "
                f"alphabet"
            )

    def _letters(self) -> np.ndarray:
        if not isinstance(self.alphabet, Iterable):
            raise TypeError(f"alphabet must be a string, or a sequence of letters, got {brief(self.alphabet)}")
        given: Any = self.alphabet
        if isinstance(given, bytes):
            given = given.decode("latin-1")
        given = list(given)
        letters = np.unique(as_letters([*given, ""]).text)
        if len(letters) != len(given) or not all(map(len, given)):
            raise ValueError(f"alphabet must hold single letters, each of them once, got {brief(self.alphabet)}")
        return letters

    def patterns(self) -> Patterns:
        """Return no patterns: features are words, not windows."""
        return _patterns(())

    def bags(self, letters: Letters) -> Bags:
        """Return the bag of words near the substrings of each string."""
        alphabet = self._letters()
        places, known = places_of(alphabet, letters.text)
        numbers = np.where(known, places, len(alphabet)).astype(np.uint32)
        return Bags.of(loops.neighbor_bags(numbers, letters.starts, len(alphabet), int(self.p), int(self.m)))


class Subsequence(Similarity):
    r"""The subsequence kernel: subsequences of p letters that two strings share, each weighted by what it spans.

    .. math:: K(s, t) = \sum_{u \in \Sigma^p} \phi_u(s)\,\phi_u(t), \qquad
        \phi_u(s) = \sum_{i_1 < \dots < i_p,\; s_{i_1} \dots s_{i_p} = u} \lambda^{i_p - i_1 + 1},

    where :math:`\lambda` is the decay: letters of u need not be neighbors in s, and each letter between its first and
    its last costs a factor (Lodhi, Saunders, Shawe-Taylor, Cristianini and Watkins 2002). It grows with the lengths of
    strings: ``Subsequence().normalized()`` is what is usually meant. Letters are unicode code points or bytes; case
    matters. A string shorter than p has no such subsequences, and K = 0 with every string.

    Parameters
    ----------
    p : int
        The number of letters of subsequences, from 1 to 1,000.
    decay : float
        Above 0 and at most 1. With 1, all subsequences count equally; near 0, only those without gaps.

    Notes
    -----
    One pair of strings takes p times the product of their lengths steps, for several strings at once. Matched letters
    are not weighted on the way but in the end, by :math:`\lambda^{2p}`, so that sums do not become small with the
    length of strings; what is smaller than 1e-308 is 0. :math:`\lambda^{2p}` must be at least 1e-250. The values are
    symmetric bit for bit.

    Examples
    --------
    >>> from similitude.kernels import Subsequence
    >>> Subsequence(2, decay=0.5)("cat", "cart")  # ca spans 2 and 2 letters, at 2 and 3, ct 3 and 4
    0.1015625
    >>> Subsequence(2).normalized()("science is organized knowledge", "wisdom is organized life")
    0.5798137
    """

    objects = "strings"
    claims = KERNEL
    reason = (
        "K(s, t) = <phi(s), phi(t)>, where phi has one number per word of p letters: the sum of the weights with which "
        "it is a subsequence (Lodhi et al. 2002)"
    )
    hints = Hints(heavy=True)

    def __init__(self, p: int = 3, decay: float = 0.5) -> None:
        self.p = p
        self.decay = decay

    def check_params(self) -> None:
        """Validate the length and the decay."""
        p = check_integer("p", self.p, 1)
        if p > loops.LONGEST_SUBSEQUENCE:
            raise ValueError(f"p must be at most {loops.LONGEST_SUBSEQUENCE:,}, got {p:,}")
        if check_positive("decay", self.decay) > 1:
            raise ValueError(f"decay must be at most 1, got {brief(self.decay)}")
        # the weight of a pair of subsequences without gaps, with room below it for gaps
        if float(self.decay) ** (2 * p) < 1e-250:
            raise ValueError(
                f"decay = {self.decay!r} and p = {p}: decay^(2 p) is below 1e-250, where numbers end; take "
                f"a smaller p or a decay nearer to 1"
            )

    def encode(self, objects: Any) -> Encoding:
        """Return the letters of each string."""
        return as_letters(objects)

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the sums over common subsequences."""
        if out is None:
            out = np.empty((len(A), len(B)))
        a, b = numbered(A.text, B.text)
        loops.subsequences(out, a, A.starts, b, B.starts, int(self.p), float(self.decay), A is B)
        return out

    def diagonal(self, A: Encoding) -> Any:
        """Return the sums over the subsequences of each string."""
        text, _ = numbered(A.text, A.text)
        return loops.self_subsequences(text, A.starts, int(self.p), float(self.decay))
