"""Similarities of strings by alignments with scores of letters and gaps: the sum over all, the best one, and scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from similitude.compute import Encoding, Hints, loops
from similitude.kernels.strings.letters import Letters, as_letters, numbered
from similitude.similarity import PSD, SYMMETRIC, UNIT_DIAGONAL, UNIT_KERNEL, Similarity
from similitude.support import brief, check_nonnegative, check_positive


class Substitution:
    """A symmetric table of scores with the code points of its letters; without letters, equal and other ones."""

    def __init__(self, letters: np.ndarray | None, scores: Any) -> None:
        self.letters = letters
        self.scores = np.asarray(scores, float)

    def rows(self, strings: Letters) -> Letters:
        """Return strings as numbers of rows of the table, or as they are; refuse letters that it lacks."""
        if self.letters is None:
            return strings
        order = np.argsort(self.letters)
        places = np.minimum(np.searchsorted(self.letters, strings.text, sorter=order), len(order) - 1)
        found = order[places]
        unknown = np.flatnonzero(self.letters[found] != strings.text)
        if len(unknown):
            string = int(np.searchsorted(strings.starts, unknown[0], side="right")) - 1
            at = int(unknown[0] - strings.starts[string])
            known = "".join(map(chr, self.letters.tolist()))
            raise ValueError(
                f"object {string} has {chr(int(strings.text[unknown[0]]))!r} at position {at}, which has no scores: "
                f"the letters of the table are {known!r}, and case matters"
            )
        return Letters(strings.starts, found.astype(np.uint32))

    def of_block(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the letters of two blocks as numbers of rows of a table of scores, and that table."""
        if self.letters is not None:
            return a.astype(np.int32), b.astype(np.int32), self.scores
        a, b = numbered(a, b)
        size = int(b.max(initial=0)) + 1
        if size > 2_000:  # all pairs of them have a score
            raise ValueError(
                f"strings have {size:,} different letters, and the limit of alignments is 2,000; Edit() and "
                f"Spectrum() have none"
            )
        equal, other = self.scores[0]
        return a, b, np.where(np.eye(size, dtype=bool), equal, other)


def as_substitution(given: Any) -> Substitution:
    """Return scores as a table; refuse those that are not finite, not symmetric or not complete."""
    if isinstance(given, str):
        if given != "blosum62":
            raise ValueError(f"substitution must be 'blosum62', a pair, a dict or letters with a matrix, got {given!r}")
        return _blosum62()
    if isinstance(given, Mapping):
        for key in given:
            if not isinstance(key, str) or len(key) != 2:
                raise ValueError(f"substitution must have keys of two letters such as 'AC', got {brief(key)}")
        letters = "".join(dict.fromkeys("".join(given)))
        missing = [x + z for x in letters for z in letters if x + z not in given and z + x not in given]
        if missing:
            raise ValueError(f"substitution has no score of {missing[0]!r}")
        return _table(letters, [[given.get(x + z, given.get(z + x)) for z in letters] for x in letters])
    if isinstance(given, (tuple, list)) and len(given) == 2:
        if isinstance(given[0], str):
            return _table(*given)
        if all(isinstance(score, Real) and math.isfinite(score) for score in given):
            return Substitution(None, [given])
    raise TypeError(
        f"substitution must be 'blosum62', a score of equal and one of other letters such as (1, -1), a dict such as "
        f"{{'AA': 2, 'AC': -1, 'CC': 2}}, or letters with a matrix of scores, got {brief(given)}"
    )


@cache
def _blosum62() -> Substitution:
    lines = Path(__file__).with_name("blosum62.txt").read_text("ascii").splitlines()
    letters, *rows = [line.split() for line in lines if not line.startswith("#")]
    return _table("".join(letters), [row[1:] for row in rows])


def _table(letters: str, given: Any) -> Substitution:
    scores = np.asarray(given, float)
    if not letters or len(set(letters)) != len(letters):
        raise ValueError(f"the letters of a substitution table must be given once each, got {brief(letters)}")
    if scores.shape != (len(letters), len(letters)):
        raise ValueError(f"{len(letters)} letters need as many rows and columns of scores, got shape {scores.shape}")
    if not np.isfinite(scores).all():
        raise ValueError("the scores of a substitution table must be finite numbers")
    unequal = np.argwhere(scores != scores.T)
    if len(unequal):
        i, j = unequal[0].tolist()
        raise ValueError(
            f"the substitution table is not symmetric: {letters[i] + letters[j]!r} has {scores[i, j]:g} and "
            f"{letters[j] + letters[i]!r} has {scores[j, i]:g}"
        )
    return Substitution(np.array([ord(letter) for letter in letters], np.uint32), scores)


class ScoredStrings(Letters):
    """Strings as numbers of letters, with half the logarithm of k(x, x) of each."""

    of_rows = ("norms",)


class LocalAlignment(Similarity):
    r"""The local alignment kernel: a sum over all local alignments of two strings, of which `Aligned` takes the best.

    .. math:: k(s, t) = \sum_\pi e^{\beta\,S(\pi)}, \qquad K(s, t) = \frac{k(s, t)}{\sqrt{k(s, s)\,k(t, t)}},

    over all alignments :math:`\pi` of a part of s and a part of t, the empty one included. Its score S adds the scores
    of its pairs of letters, and takes away ``gap_open + gap_extend (n - 1)`` for n letters without partner between two
    pairs, in either string. (Vert, Saigo and Akutsu 2004, Local alignment kernels for biological sequences.)

    It is a kernel if the matrix :math:`e^{\beta\,S(a, b)}` of the letters a, b is PSD, which is checked on the table:
    for BLOSUM62 it is from about beta = 0.2 on. Where it is not, K is still symmetric and K(s, s) = 1, and that is all
    that is claimed. The logarithm of k, which is often used instead, is not a kernel. An empty string has k = 1 with
    every string. Letters without scores are an error.

    Parameters
    ----------
    substitution : "blosum62", pair, dict or (str, matrix)
        Scores of pairs of letters: of amino acids; (1, -1) for the score of equal and that of other letters, of any
        alphabet; a dict such as ``{"AA": 2, "AC": -1, "CC": 2}``; or letters with a symmetric matrix. Case matters.
    gap_open, gap_extend : float
        What the first and each further letter of a gap cost, >= 0.
    beta : float
        Above 0. The larger, the more do the best alignments count: k^(1/beta) approaches the best score's exponential.

    Notes
    -----
    Values of unrelated long strings are close to 0, since k(s, s) grows exponentially with the length of s; a smaller
    beta brings them nearer to each other. Every sum has a power of two of its own: none overflows or is lost at any
    length. The values are symmetric bit for bit (by the readable loops, up to rounding).

    Examples
    --------
    >>> from similitude.kernels import LocalAlignment
    >>> LocalAlignment(beta=0.2)("HEAGAWGHEE", "PAWHEAE")
    0.01182302
    >>> LocalAlignment((1, -1), gap_open=2, gap_extend=1, beta=0.3).gram(["acgt", "acct", "tttt"]).round(2)
    array([[1.  , 0.86, 0.56],
           [0.86, 1.  , 0.52],
           [0.56, 0.52, 1.  ]])
    """

    objects = "strings"
    hints = Hints(heavy=True)

    def __init__(
        self, substitution: Any = "blosum62", gap_open: float = 11.0, gap_extend: float = 1.0, beta: float = 0.5
    ) -> None:
        self.substitution = substitution
        self.gap_open = gap_open
        self.gap_extend = gap_extend
        self.beta = beta

    def check_params(self) -> None:
        """Validate the scores, the gaps and beta."""
        table = as_substitution(self.substitution)
        gaps = [check_nonnegative(name, getattr(self, name)) for name in ("gap_open", "gap_extend")]
        beta = check_positive("beta", self.beta)
        least, most = np.log(loops.SIZES_OF_FACTORS)
        largest = max(float(np.abs(table.scores).max()), *gaps)
        if beta * largest > most or -beta * largest < least:
            raise ValueError(
                f"beta = {self.beta!r} times the largest score or gap, {largest:g}, must be at most {most:.4g}"
            )

    @property
    def claims(self) -> frozenset[str]:
        """Those of a kernel if exp(beta S) is PSD: of two scores, if equal letters have the larger one."""
        table = as_substitution(self.substitution)
        if table.letters is None:
            least = table.scores[0, 0] - table.scores[0, 1]
        else:
            eigenvalues = np.linalg.eigvalsh(np.exp(float(self.beta) * table.scores))
            least = eigenvalues[0] + 1e-12 * eigenvalues[-1]  # up to rounding
        if least >= 0:
            return UNIT_KERNEL
        return frozenset({SYMMETRIC, UNIT_DIAGONAL})

    @property
    def reason(self) -> str:
        """The proof, or where it fails."""
        if PSD in self.claims:
            return (
                "exp(beta S(a, b)) is PSD on the table's letters, by its eigenvalues, and exp of the costs of gaps "
                "is a product of functions of each string: a sum of convolutions of kernels (Vert, Saigo and Akutsu "
                "2004), and its normalization"
            )
        return "exp(beta S(a, b)) has a negative eigenvalue on the letters of the table; a larger beta may help"

    def encode(self, objects: Any) -> Encoding:
        """Return strings as numbers of letters, and half the logarithm of k(x, x) of each."""
        table = as_substitution(self.substitution)
        strings = table.rows(as_letters(objects))
        text, _, factors = table.of_block(strings.text, strings.text)
        norms = 0.5 * loops.self_sum_alignments(text, strings.starts, *self._factors(factors))
        return ScoredStrings(strings.starts, strings.text, norms)

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the kernel of all pairs."""
        if out is None:
            out = np.empty((len(A), len(B)))
        a, b, factors = as_substitution(self.substitution).of_block(A.text, B.text)
        loops.sum_alignments(out, a, A.starts, b, B.starts, *self._factors(factors), A is B)
        out -= A.norms[:, None] + B.norms
        if self.claims >= UNIT_KERNEL:
            np.minimum(out, 0.0, out=out)  # positive only by rounding (Cauchy-Schwarz)
        return np.exp(out, out=out)

    def diagonal(self, A: Encoding) -> Any:
        """Return ones."""
        return np.ones(len(A))

    def _factors(self, scores: np.ndarray) -> tuple[np.ndarray, float, float]:
        beta = float(self.beta)
        gaps = np.exp([-beta * float(self.gap_open), -beta * float(self.gap_extend)]).tolist()
        return np.exp(beta * scores), gaps[0], gaps[1]


class Aligned(Similarity):
    r"""The score of the best alignment of two strings: of any parts of them, or of the whole strings.

    An alignment pairs letters of both strings in order. Its score adds those of its pairs, and takes away ``gap_open +
    gap_extend (n - 1)`` for n letters without partner in a row. With ``local=True`` only parts of both strings need to
    be aligned, and the score is at least 0 (Smith and Waterman 1981); otherwise all letters are (Needleman and Wunsch
    1970); both with affine gaps (Gotoh 1982). ``Aligned().normalized()`` divides by the scores of strings with
    themselves. It is symmetric, but not a kernel; `LocalAlignment` is one. Letters without scores are an error.

    Parameters
    ----------
    substitution : "blosum62", pair, dict or (str, matrix)
        Scores of pairs of letters, as in `LocalAlignment`.
    gap_open, gap_extend : float
        What the first and each further letter of a gap cost, gap_open >= gap_extend >= 0. (BLAST's existence 11
        and extension 1 are 12 and 1.)
    local : bool
        Align parts of both strings.

    Examples
    --------
    >>> from similitude.kernels import Aligned
    >>> Aligned()("HEAGAWGHEE", "PAWHEAE")
    17.0
    >>> Aligned((1, -1), gap_open=1, gap_extend=1, local=False)("acgt", "act")
    2.0
    """

    objects = "strings"
    claims = frozenset({SYMMETRIC})
    reason = "the best alignment is not a sum over features: with BLOSUM62, A, R, AR and RA have a negative eigenvalue"
    hints = Hints(heavy=True)

    def __init__(
        self, substitution: Any = "blosum62", gap_open: float = 11.0, gap_extend: float = 1.0, local: bool = True
    ) -> None:
        self.substitution = substitution
        self.gap_open = gap_open
        self.gap_extend = gap_extend
        self.local = local

    def check_params(self) -> None:
        """Validate the scores and the gaps."""
        as_substitution(self.substitution)
        gap_open, gap_extend = (check_nonnegative(name, getattr(self, name)) for name in ("gap_open", "gap_extend"))
        if gap_extend > gap_open:
            raise ValueError(f"gap_extend = {gap_extend:g} must be at most gap_open = {gap_open:g}")

    def counterexamples(self) -> list[Any]:
        """Return short strings of two letters of the table."""
        known: Any = as_substitution(self.substitution).letters
        if known is None:
            known = [ord("a"), ord("b")]
        a, b = map(chr, [known[0], known[:2][-1]])
        return [[a, b, a + b, b + a], ["", a + b, b + a, a + b + a, b + a + b]]

    def encode(self, objects: Any) -> Encoding:
        """Return strings as numbers of letters."""
        return as_substitution(self.substitution).rows(as_letters(objects))

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the best scores."""
        if out is None:
            out = np.empty((len(A), len(B)))
        a, b, scores = as_substitution(self.substitution).of_block(A.text, B.text)
        gaps = float(self.gap_open), float(self.gap_extend)
        loops.best_alignment(out, a, A.starts, b, B.starts, scores, *gaps, bool(self.local), A is B)
        return out
