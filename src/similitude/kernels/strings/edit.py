"""Similarity of strings by the number of edits that turn one into the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import Encoding, Hints, loops
from similitude.kernels.strings.letters import Letters, as_letters, numbered
from similitude.similarity import BOUNDED, SYMMETRIC, UNIT_DIAGONAL, Similarity


class Edit(Similarity):
    r"""One minus the number of edits relative to the length of the longer string.

    .. math:: K(s, t) = 1 - \frac{d(s, t)}{\max(|s|, |t|)},

    where d is the smallest number of letters to insert, delete or replace that turns s into t (Levenshtein 1966); 1 for
    two empty strings. Between 0 and 1, and 1 only for equal strings. It is not a kernel: learners that need one refuse
    it, or take ``repair(Edit(), X)``. Letters are unicode code points or bytes; case matters.

    Notes
    -----
    64 letters of a column of the table are computed in one machine word (Myers 1999; Hyyrö 2003), for several strings
    at once; strings may have any length.

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
    hints = Hints(finite=True, heavy=True)

    def counterexamples(self) -> list[Any]:
        """Return the four strings of the reason."""
        return [["ab", "ba", "aba", "bab"]]

    def encode(self, objects: Any) -> Encoding:
        """Return the letters of each string."""
        return as_letters(objects)

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return one minus the distances over the lengths of the longer strings."""
        out = _edits(A, B, out)
        longer = np.maximum(np.maximum(A.lengths[:, None], B.lengths), 1)
        np.divide(out, longer, out=out)
        return np.subtract(1.0, out, out=out)

    def diagonal(self, A: Encoding) -> Any:
        """Return ones."""
        return np.ones(len(A))

    def distances(self, X: Any, Z: Any = None) -> np.ndarray:
        """Return the numbers of edits d(x_i, z_j), by default between the objects of X."""
        return _EditDistance().gram(X) if Z is None else _EditDistance().cross(X, Z)


class _EditDistance(Similarity):
    """The number of edits, for `Edit.distances`."""

    objects = "strings"
    claims = frozenset({SYMMETRIC})
    hints = Hints(finite=True, heavy=True)

    def encode(self, objects: Any) -> Encoding:
        """Return the letters of each string."""
        return as_letters(objects)

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the distances."""
        return _edits(A, B, out)


def _edits(A: Letters, B: Letters, out: np.ndarray | None) -> np.ndarray:
    out = np.empty((len(A), len(B))) if out is None else out
    a, b = numbered(A.text, B.text)
    loops.levenshtein(out, a, A.starts, b, B.starts, A is B)
    return out
