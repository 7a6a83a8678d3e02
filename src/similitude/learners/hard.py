"""The hard margin: no example may violate it, or the conflicting ones are named."""

from __future__ import annotations

import numpy as np

from similitude.learners.dual import Solution
from similitude.learners.kernel_rows import KernelRows
from similitude.learners.largest_margin import conflict, separates
from similitude.learners.machines import Machine, spans
from similitude.learners.polytope import nearest_point

ROUNDING = 32 * float(np.finfo(np.float64).eps)


class ConflictError(Exception):
    """Some examples that no separator can all put on their own sides, by position."""

    def __init__(self, positions: np.ndarray) -> None:
        super().__init__(positions)
        self.positions = positions


def separate_hard(K: np.ndarray, sign: np.ndarray, keep_sum: bool) -> Machine:
    """Return the machine of smallest |w| with sign_i f(x_i) >= 1 for all i; raise ConflictError if there is none.

    It is the point nearest to the origin of a hull (without intercept), or the shortest connection of two.
    """
    Q = K * sign[:, None] * sign
    groups = sign if keep_sum else np.zeros(len(sign))
    place = nearest_point(Q, groups)
    if not separates(place, ROUNDING):
        raise ConflictError(conflict(Q, groups, place, ROUNDING))
    stretch = len(place.lows) / place.square
    coefficients = np.zeros(len(sign))
    coefficients[place.corners] = stretch * place.weights * sign[place.corners]
    intercept = 1 - stretch * float(place.lows[-1]) if keep_sum else 0.0  # the last group is the positive one
    scores = K @ coefficients + intercept
    squared = float(coefficients @ (scores - intercept))
    gap = max(0.0, float(place.gap / place.square)) * squared / 2
    alone = scores - coefficients * spans(KernelRows.of_matrix(K), np.sort(place.corners), coefficients, keep_sum)
    solution = Solution(coefficients, sign - scores, float(np.maximum(0, 1 - sign * scores).max()), 1, 1)
    return Machine(coefficients, intercept, scores, squared, squared / 2, gap, alone, solution)
