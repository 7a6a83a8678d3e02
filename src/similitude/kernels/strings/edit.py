"""Similarity of strings by the edits that turn one into the other."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from similitude.compute import Encoding, Hints, loops
from similitude.kernels.signatures_of_sets import ROUNDING_ROOM, Items, SetBounds, as_counted
from similitude.kernels.strings.alignment import Substitution
from similitude.kernels.strings.letters import Letters, as_letters, numbered
from similitude.similarity import BOUNDED, SYMMETRIC, UNIT_DIAGONAL, Bounds, Candidates, Similarity
from similitude.support import brief, check_positive

Costs = tuple[float, float, float]

UNIT: Costs = (1.0, 1.0, 1.0)
"""The costs of an insertion, a deletion and a substitution that count edits."""


class Edit(Similarity):
    r"""One minus the number of edits relative to the length of the longer string, or their costs.

    .. math:: K(s, t) = 1 - \frac{d(s, t)}{\max(|s|, |t|)},

    where d is the smallest number of letters to insert, delete or replace that turns s into t (Levenshtein 1966); 1 for
    two empty strings. Between 0 and 1, and 1 only for equal strings. It is not a kernel: learners that need one refuse
    it, or take ``repair(Edit(), X)``. Letters are unicode code points or bytes; case matters.

    Parameters
    ----------
    costs : (float, float, float) or None
        What an insertion, a deletion and a substitution cost, each above 0; None for 1. Then d(s, t) is the smallest
        cost of turning s into t, and is divided by the largest that it can be for strings of these lengths,

        .. math:: \min(c_s, c_i + c_d) \min(|s|, |t|) + c_d \max(|s| - |t|, 0) + c_i \max(|t| - |s|, 0),

        which is max(\|s\|, \|t\|) if all costs are 1. It is symmetric if insertions and deletions cost the same.

    Notes
    -----
    64 letters of a column of the table are computed in one machine word (Myers 1999; Hyyrö 2003), for several strings
    at once; strings may have any length. So they are if a substitution costs half as much as an insertion and a
    deletion together; other costs take a step for every pair of letters, and strings of up to 2,000 different letters.

    Examples
    --------
    >>> from similitude.kernels import Edit
    >>> Edit()("kitten", "sitting")
    0.57142857
    >>> Edit().distances(["kitten"], ["sitting", "kit", ""])
    array([[3., 3., 6.]])
    >>> Edit(costs=(1, 1, 0.5)).distances(["kitten"], ["sitting", "kit", ""])
    array([[2., 3., 6.]])
    """

    objects = "strings"
    hints = Hints(finite=True, heavy=True)
    costs: Any = None
    _quiet = ("costs",)
    _checks: ClassVar = {"costs": lambda name, costs: _as_costs(costs)}

    def __init__(self, costs: tuple[float, float, float] | None = None) -> None:
        self.costs = costs

    @property
    def claims(self) -> frozenset[str]:
        """Symmetric if insertions and deletions cost the same; in [0, 1], and 1 for equal strings."""
        insertion, deletion, _ = _as_costs(self.costs)
        return frozenset({UNIT_DIAGONAL, BOUNDED} | ({SYMMETRIC} if insertion == deletion else set()))

    @property
    def reason(self) -> str:
        """Why it is not a kernel."""
        if SYMMETRIC not in self.claims:
            return "insertions and deletions have different costs, so it is not symmetric"
        return "edit distances do not embed into a Euclidean space: 'ab', 'ba', 'aba', 'bab' have a negative eigenvalue"

    def counterexamples(self) -> list[Any]:
        """Return the four strings of the reason, and two that differ by a deletion."""
        return [["ab", "ba", "aba", "bab"] if SYMMETRIC in self.claims else ["ab", "b"]]

    def encode(self, objects: Any) -> Encoding:
        """Return the letters of each string."""
        return as_letters(objects)

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return one minus the distances over the largest ones of strings of these lengths."""
        costs = _as_costs(self.costs)
        out = _edits(A, B, costs, out)
        np.divide(out, _largest(A.lengths[:, None], B.lengths, costs), out=out)
        return np.subtract(1.0, out, out=out)

    def diagonal(self, A: Encoding) -> Any:
        """Return ones."""
        return np.ones(len(A))

    def bounds(self, A: Encoding) -> Bounds | None:
        """Return bounds by the lengths and the letters that strings share; none for other costs than 1."""
        return EditBounds(A) if _as_costs(self.costs) == UNIT else None

    def distances(self, X: Any, Z: Any = None) -> np.ndarray:
        """Return the numbers or costs of edits d(x_i, z_j), by default between the objects of X."""
        distance = _EditDistance(self.costs)
        return distance.gram(X) if Z is None else distance.cross(X, Z)


class EditBounds(Bounds):
    """Edits are at least the letters that one string lacks, and half of such pairs of neighbors (Ukkonen, 1992)."""

    def __init__(self, A: Letters) -> None:
        self.letters = SetBounds(A, lambda A: as_counted(A.lengths, A.text), "share_of_larger")
        self.neighbors = SetBounds(A, neighbor_counts, "share_of_larger")

    def sketch(self, A: Encoding) -> Any:
        """Return the bits of the letters, and of pairs of neighboring letters."""
        return self.letters.sketch(A), self.neighbors.sketch(A)

    def upper(self, A: Any, B: Any) -> np.ndarray:
        """Return the smaller of both bounds."""
        longer = np.maximum(np.maximum(A[0][1][:, None], B[0][1]), 1.0)
        edits = np.ceil((longer + 1 - self.neighbors.common(A[1], B[1])) / 2)
        return np.minimum(self.letters.upper(A[0], B[0]), (1 - edits / longer) * (1 + ROUNDING_ROOM) + ROUNDING_ROOM)

    def candidates(self, A: Any, B: Any, floors: np.ndarray) -> Candidates:
        """Return pairs by lengths and letters."""
        return self.letters.candidates(A[0], B[0], floors)

    def values(
        self, k: Similarity, A: Encoding, B: Encoding, i: np.ndarray, j: np.ndarray, floors: np.ndarray
    ) -> np.ndarray:
        """Return one minus the numbers of edits over the longer lengths, each pair by itself."""
        a, b = numbered(A.text, B.text)
        out = np.empty(len(i))
        loops.levenshtein_pairs(out, a, A.starts, b, B.starts, *map(np.ascontiguousarray, (i, j)))
        return np.subtract(1.0, out / _largest(A.lengths[i], B.lengths[j], UNIT))


def neighbor_counts(A: Letters) -> Items:
    """Return the pairs of neighboring letters as counted items; 0 stands before the first and after the last letter."""
    sizes = A.lengths + 1
    before, after = np.zeros((2, int(sizes.sum())), np.uint64)
    places = np.arange(len(A.text)) + A.owners  # each string before has one more pair than letters
    after[places] = A.text
    before[places + 1] = A.text
    return as_counted(sizes, (before << np.uint64(21)) | after)


class _EditDistance(Edit):
    """The number or cost of edits, for `Edit.distances`."""

    hints = Edit.hints
    diagonal = Similarity.diagonal

    @property
    def claims(self) -> frozenset[str]:
        """Symmetric if insertions and deletions cost the same."""
        return super().claims & {SYMMETRIC}

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the distances."""
        return _edits(A, B, _as_costs(self.costs), out)


def _as_costs(given: Any) -> Costs:
    if given is None:
        return UNIT
    if not isinstance(given, (tuple, list)) or len(given) != 3:
        raise ValueError(f"costs must be three numbers, of insertions, deletions and substitutions, got {brief(given)}")
    insertion, deletion, substitution = given
    return (
        check_positive("the cost of insertions", insertion),
        check_positive("the cost of deletions", deletion),
        check_positive("the cost of substitutions", substitution),
    )


def _largest(a: Any, b: Any, costs: Costs) -> Any:
    """Return the largest distance of strings of two lengths; 1 for two empty ones."""
    if costs == UNIT:
        return np.maximum(np.maximum(a, b), 1)
    insertion, deletion, substitution = costs
    replaced = min(substitution, insertion + deletion) * np.minimum(a, b)
    largest = replaced + deletion * np.maximum(a - b, 0) + insertion * np.maximum(b - a, 0)
    return np.where(largest > 0, largest, 1.0)


def _edits(A: Letters, B: Letters, costs: Costs, out: np.ndarray | None) -> np.ndarray:
    """Return the smallest costs of turning each string of A into each of B.

    There are |s| - |t| more deletions than insertions, whatever the edits: both may have their mean cost, if half
    their difference is added that many times.
    """
    if out is None:
        out = np.empty((len(A), len(B)))
    insertion, deletion, substitution = costs
    gap = (insertion + deletion) / 2
    if substitution == gap:
        a, b = numbered(A.text, B.text)
        loops.levenshtein(out, a, A.starts, b, B.starts, A is B)
        if gap != 1.0:
            out *= gap
    else:
        a, b, scores = Substitution(None, np.array([[0.0, -substitution]])).of_block(A.text, B.text)
        loops.best_alignment(out, a, A.starts, b, B.starts, scores, gap, gap, same=A is B)
        np.subtract(0.0, out, out=out)
    if insertion != deletion:
        out += (deletion - insertion) / 2 * (A.lengths[:, None] - B.lengths)
        np.maximum(out, 0.0, out=out)  # negative only by rounding
    return out
