"""How alike two strings are by the edits that turn one into the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import loops
from similitude.compute.encodings import Encoding
from similitude.kernels.ragged import ragged_rows
from similitude.kernels.text import as_letters
from similitude.similarity import BOUNDED, SYMMETRIC, UNIT_DIAGONAL, Similarity


class Edit(Similarity):
    r"""One minus the share of letters that must be edited.

    .. math:: K(s, t) = 1 - \frac{d(s, t)}{\max(|s|, |t|)},

    where d is the least number of letters to insert, delete or replace that turns s into t (Levenshtein 1966); 1 for
    two empty strings. Between 0 and 1, and 1 for equal strings only. It is not a kernel: learners that need one refuse
    it, or take ``repair(Edit(), X)``. Letters are unicode code points or bytes; case is kept.

    Notes
    -----
    Computed with 64 letters of a column of the table in one machine word (Myers 1999; Hyyrö 2003) and with several
    strings at once; strings may have any length.

    Examples
    --------
    >>> from similitude.kernels import Edit
    >>> Edit()("kitten", "sitting")
    0.57142857
    >>> Edit().distances(["kitten"], ["sitting", "kit", ""])
    array([[3., 3., 6.]])
    """

    objects = "strings"
    claims = frozenset({SYMMETRIC, UNIT_DIAGONAL, BOUNDED})
    reason = "edit distances do not embed into a Euclidean space: 'ab', 'ba', 'aba', 'bab' have a negative eigenvalue"
    finite = True

    def encode(self, objects: Any) -> Encoding:
        """Return the letters of each string."""
        return Letters(*as_letters(objects))

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return one minus each distance over the length of the longer string."""
        out = _distances(A, B, np.empty((len(A), len(B))) if out is None else out)
        longer = np.maximum(np.maximum(np.diff(A.starts)[:, None], np.diff(B.starts)), 1)
        np.divide(out, longer, out=out)
        return np.subtract(1.0, out, out=out)

    def diagonal(self, A: Encoding) -> Any:
        """Return ones."""
        return np.ones(len(A))

    def distances(self, X: Any, Z: Any = None) -> np.ndarray:
        """Return the numbers of edits themselves, d(x_i, z_j); Z is X where it is not given."""
        return _Distance().gram(X) if Z is None else _Distance().cross(X, Z)


class _Distance(Edit):
    """The number of edits, in tiles."""

    claims = frozenset({SYMMETRIC})
    reason = "a distance: zero for equal strings, and no kernel"
    finite = True

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the distances."""
        return _distances(A, B, np.empty((len(A), len(B))) if out is None else out)

    def diagonal(self, A: Encoding) -> Any:
        """Return zeros."""
        return np.zeros(len(A))


class Letters:
    """Strings as numbers of letters, one string after the other; sliced like an array.

    Parameters
    ----------
    text, starts : arrays of int
        String i is ``text[starts[i]:starts[i + 1]]``.
    """

    def __init__(self, text: np.ndarray, starts: np.ndarray) -> None:
        self.text, self.starts = text, starts

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, which: Any) -> Letters:
        starts, letters = ragged_rows(self.starts, which)
        return Letters(self.text[letters], starts)


def _distances(A: Letters, B: Letters, out: np.ndarray) -> np.ndarray:
    a, b = _numbered(A.text, B.text)
    loops.levenshtein(out, a, A.starts, b, B.starts, A is B)
    return out


def _numbered(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return letters as numbers from 0 on; those that occur in a only share one number."""
    numbers = np.zeros(int(max(a.max(initial=0), b.max(initial=0))) + 1, np.int32)
    numbers[b] = 1
    numbers = np.cumsum(numbers, dtype=np.int32) * numbers
    return numbers[a], numbers[b]
