"""Scores of pairs of letters: tables by name, dicts, arrays, or one score of equal letters and one of others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from similitude.kernels.strings.letters import Letters, numbered
from similitude.support import brief

BLOSUM62 = """
   A  R  N  D  C  Q  E  G  H  I  L  K  M  F  P  S  T  W  Y  V  B  Z  X  *
A  4 -1 -2 -2  0 -1 -1  0 -2 -1 -1 -1 -1 -2 -1  1  0 -3 -2  0 -2 -1  0 -4
R -1  5  0 -2 -3  1  0 -2  0 -3 -2  2 -1 -3 -2 -1 -1 -3 -2 -3 -1  0 -1 -4
N -2  0  6  1 -3  0  0  0  1 -3 -3  0 -2 -3 -2  1  0 -4 -2 -3  3  0 -1 -4
D -2 -2  1  6 -3  0  2 -1 -1 -3 -4 -1 -3 -3 -1  0 -1 -4 -3 -3  4  1 -1 -4
C  0 -3 -3 -3  9 -3 -4 -3 -3 -1 -1 -3 -1 -2 -3 -1 -1 -2 -2 -1 -3 -3 -2 -4
Q -1  1  0  0 -3  5  2 -2  0 -3 -2  1  0 -3 -1  0 -1 -2 -1 -2  0  3 -1 -4
E -1  0  0  2 -4  2  5 -2  0 -3 -3  1 -2 -3 -1  0 -1 -3 -2 -2  1  4 -1 -4
G  0 -2  0 -1 -3 -2 -2  6 -2 -4 -4 -2 -3 -3 -2  0 -2 -2 -3 -3 -1 -2 -1 -4
H -2  0  1 -1 -3  0  0 -2  8 -3 -3 -1 -2 -1 -2 -1 -2 -2  2 -3  0  0 -1 -4
I -1 -3 -3 -3 -1 -3 -3 -4 -3  4  2 -3  1  0 -3 -2 -1 -3 -1  3 -3 -3 -1 -4
L -1 -2 -3 -4 -1 -2 -3 -4 -3  2  4 -2  2  0 -3 -2 -1 -2 -1  1 -4 -3 -1 -4
K -1  2  0 -1 -3  1  1 -2 -1 -3 -2  5 -1 -3 -1  0 -1 -3 -2 -2  0  1 -1 -4
M -1 -1 -2 -3 -1  0 -2 -3 -2  1  2 -1  5  0 -2 -1 -1 -1 -1  1 -3 -1 -1 -4
F -2 -3 -3 -3 -2 -3 -3 -3 -1  0  0 -3  0  6 -4 -2 -2  1  3 -1 -3 -3 -1 -4
P -1 -2 -2 -1 -3 -1 -1 -2 -2 -3 -3 -1 -2 -4  7 -1 -1 -4 -3 -2 -2 -1 -2 -4
S  1 -1  1  0 -1  0  0  0 -1 -2 -2  0 -1 -2 -1  4  1 -3 -2 -2  0  0  0 -4
T  0 -1  0 -1 -1 -1 -1 -2 -2 -1 -1 -1 -1 -2 -1  1  5 -2 -2  0 -1 -1  0 -4
W -3 -3 -4 -4 -2 -2 -3 -2 -2 -3 -2 -3 -1  1 -4 -3 -2 11  2 -3 -4 -3 -2 -4
Y -2 -2 -2 -3 -2 -1 -2 -3  2 -1 -1 -2 -1  3 -3 -2 -2  2  7 -1 -3 -2 -1 -4
V  0 -3 -3 -3 -1 -2 -2 -3 -3  3  1 -2  1 -1 -2 -2  0 -3 -1  4 -3 -2 -1 -4
B -2 -1  3  4 -3  0  1 -1  0 -3 -4  0 -3 -3 -2  0 -1 -4 -3 -3  4  1 -1 -4
Z -1  0  0  1 -3  3  4 -2  0 -3 -3  1 -1 -3 -1  0 -1 -3 -2 -2  1  4 -1 -4
X  0 -1 -1 -1 -2 -1 -1 -1 -1 -1 -1 -1 -1 -1 -2  0  0 -2 -1 -1 -1 -1 -1 -4
* -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4  1
"""
"""Scores of amino acids in half bits, from blocks of proteins clustered at 62 % identity. B is N or D, Z is Q or E, X
is any of them, and * is a stop.

Henikoff and Henikoff, Amino acid substitution matrices from protein blocks, PNAS 89 (1992), 10915-10919, as distributed
with BLAST by the National Center for Biotechnology Information of the United States, in the public domain."""

MOST_LETTERS = 2_000
"""The largest number of different letters of a block that is scored by equality: all pairs of them have a score."""


class Substitution(NamedTuple):
    """A symmetric table of scores with the code points of its letters; without letters, equal and other ones."""

    letters: np.ndarray | None
    scores: np.ndarray

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
        return Letters(found.astype(np.uint32), strings.starts)

    def of_block(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the letters of two blocks as numbers of rows of a table of scores, and that table."""
        if self.letters is not None:
            return a.astype(np.int32), b.astype(np.int32), self.scores
        a, b = numbered(a, b)
        size = int(b.max(initial=0)) + 1
        if size > MOST_LETTERS:
            raise ValueError(
                f"strings have {size:,} different letters, and the limit of alignments is {MOST_LETTERS:,}; Edit() and "
                f"Spectrum() have none"
            )
        equal, other = self.scores[0]
        return a, b, np.where(np.eye(size, dtype=bool), equal, other)


def as_substitution(given: Any) -> Substitution:
    """Return scores as a table; refuse those that are not finite, not symmetric or not complete.

    >>> as_substitution({"AA": 2, "AC": -1, "CC": 2}).scores
    array([[ 2., -1.],
           [-1.,  2.]])
    """
    if isinstance(given, str):
        if given != "blosum62":
            raise ValueError(f"substitution must be 'blosum62', a pair, a dict or letters with a matrix, got {given!r}")
        lines = [line.split() for line in BLOSUM62.strip().splitlines()]
        return _table("".join(lines[0]), np.array([line[1:] for line in lines[1:]], float))
    if isinstance(given, Mapping):
        return _of_dict(given)
    if isinstance(given, (tuple, list)) and len(given) == 2:
        if isinstance(given[0], str):
            return _table(given[0], np.asarray(given[1], float))
        if all(isinstance(score, Real) and math.isfinite(score) for score in given):
            return Substitution(None, np.array([given], float))
    raise TypeError(
        f"substitution must be 'blosum62', a score of equal and one of other letters such as (1, -1), a dict such as "
        f"{{'AA': 2, 'AC': -1, 'CC': 2}}, or letters with a matrix of scores, got {brief(given)}"
    )


def _of_dict(given: Mapping[Any, Any]) -> Substitution:
    for key in given:
        if not isinstance(key, str) or len(key) != 2:
            raise ValueError(f"substitution must have keys of two letters such as 'AC', got {brief(key)}")
    letters = "".join(dict.fromkeys("".join(given)))
    scores = np.empty((len(letters), len(letters)))
    for i, x in enumerate(letters):
        for j, z in enumerate(letters):
            if x + z not in given and z + x not in given:
                raise ValueError(f"substitution has no score of {x + z!r}")
            scores[i, j] = given.get(x + z, given.get(z + x))
    return _table(letters, scores)


def _table(letters: str, scores: np.ndarray) -> Substitution:
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
