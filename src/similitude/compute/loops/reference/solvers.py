"""Loops of solvers: perceptron passes, sequential minimal optimization, weighted sums of rows, swaps of medoids."""

import numpy as np
from numpy.typing import NDArray

from similitude.compute.loops.arguments import Array, Doubles

SMALLEST_CURVATURE = 1e-12


def smo(
    K: Array, u: Doubles, beta: Doubles, low: Doubles, high: Doubles, tolerance: float, most_steps: int, keep_sum: bool
) -> int:
    """Minimize ``beta' K beta / 2 - t' beta`` over a box by sequential minimal optimization; return the steps.

    If the sum of beta must stay constant, a step moves a pair: the variable of largest residual that can rise, and the
    partner that gains most (Fan, Chen and Lin, 2005). Otherwise it moves the single variable that gains most. It stops
    when the residuals of no pair differ, or no movable residual differs from 0, by more than the tolerance. K is
    symmetric; the residual u = t - K beta and beta are updated in place.
    """
    step = _step_on_pair if keep_sum else _step_on_one
    for steps in range(most_steps):
        if not step(K, u, beta, low, high, tolerance):
            return steps
    return most_steps


def _step_on_pair(K: Array, u: Doubles, beta: Doubles, low: Doubles, high: Doubles, tolerance: float) -> bool:
    rising = np.where(beta < high, u, -np.inf)
    falling = np.where(beta > low, u, np.inf)
    if not len(u):
        return False
    i = int(rising.argmax())
    above = np.maximum(rising[i] - falling, 0)
    gain = above**2 / np.maximum(K[i, i] + K.diagonal() - 2.0 * K[i].astype(float), SMALLEST_CURVATURE)
    j = int(gain.argmax())
    if rising[i] == -np.inf or gain[j] == 0 or not rising[i] - falling.min() > tolerance:
        return False
    curvature = max(float(K[i, i]) + float(K[j, j]) - 2.0 * float(K[i, j]), SMALLEST_CURVATURE)
    room_i = high[i] - beta[i]
    room_j = beta[j] - low[j]
    move = min((u[i] - u[j]) / curvature, room_i, room_j)
    beta[i] = high[i] if move == room_i else beta[i] + move
    beta[j] = low[j] if move == room_j else beta[j] - move
    u -= move * (K[i].astype(float) - K[j].astype(float))
    return True


def _step_on_one(K: Array, u: Doubles, beta: Doubles, low: Doubles, high: Doubles, tolerance: float) -> bool:
    curvature = np.maximum(K.diagonal().astype(float), SMALLEST_CURVATURE)
    moves = np.clip(u / curvature, low - beta, high - beta)
    gain = moves * (u - 0.5 * moves * curvature)
    violation = np.abs(u[moves != 0]).max(initial=0.0)
    if not len(u) or gain.max() <= 0 or not violation > tolerance:
        return False
    t = int(gain.argmax())
    beta[t] = np.clip(beta[t] + moves[t], low[t], high[t])
    u -= moves[t] * K[t].astype(float)
    return True


def add_rows(rows: Array, which: NDArray[np.int64], weights: Doubles, out: Doubles) -> None:
    """Add some rows of a matrix, each times its weight, to `out`."""
    for row, weight in zip(which, weights, strict=True):
        out += weight * rows[row].astype(np.float64)


def pick(rows: Array, which: NDArray[np.int64], columns: NDArray[np.int64], out: Array) -> None:
    """Write some columns of some rows of a matrix into `out`."""
    out[...] = rows[np.ix_(which, columns)]


def perceptron_pass(K: Array, y: Doubles, scores: Doubles, threshold: float = 0.0, strict: bool = False) -> Array:
    """Run a kernel perceptron over one chunk of examples; return which examples caused an update.

    Example i causes an update if ``y[i] * scores[i] <= threshold`` (or ``<``, if `strict`): then ``y[i] * K[i, j]`` is
    added to the score of every later example j. On entry, scores are those from earlier updates; on return, those with
    which each example was presented.

    >>> scores = np.zeros(3)
    >>> perceptron_pass(np.ones((3, 3)), np.array([1.0, 1.0, -1.0]), scores)
    array([ True, False,  True])
    >>> scores
    array([0., 1., 1.])
    """
    updated = np.zeros(len(K), bool)
    for i in range(len(K)):
        margin = y[i] * scores[i]
        updated[i] = margin < threshold or (margin == threshold and not strict)
        if updated[i]:
            scores[i + 1 :] += y[i] * K[i, i + 1 :].astype(np.float64)
    return updated


def swap_medoids(far: Array, medoids: NDArray[np.int64], start: int, most: int, failed: int) -> int:
    """Swap medoids for other objects while that lowers the loss; return how many candidates failed in a row.

    Entry (c, o) of `far` is the distance of object o from candidate c; the loss is the sum over all objects of the
    distance from the nearest medoid. Candidates are tried one after the other, from `start`, and each replaces the
    medoid that lowers the loss most, at once (FasterPAM; Schubert and Rousseeuw, 2021). It ends when `most` candidates
    were tried, or when as many as there are objects have failed in a row, `failed` of them before this call: then no
    swap lowers the loss. The medoids, of which there are at least two, are updated in place.
    """
    n = far.shape[1]
    for tried in range(most):
        if failed >= n:
            break
        failed = 0 if _swap_in(far, medoids, (start + tried) % n) else failed + 1
    return failed


def _swap_in(far: Array, medoids: NDArray[np.int64], candidate: int) -> bool:
    """Replace the medoid whose replacement by a candidate lowers the loss most, if any does."""
    if candidate in medoids:
        return False
    distances = far[medoids].astype(np.float64)
    everyone = np.arange(far.shape[1])
    order = distances.argsort(axis=0, kind="stable")
    near = distances[order[0], everyone]
    following = distances[order[1], everyone]
    new = far[candidate].astype(np.float64)
    gain = np.minimum(new - near, 0.0).sum()
    removed = np.minimum(np.maximum(new, near), following) - near
    change = np.bincount(order[0], removed, len(medoids))
    leaving = int(change.argmin())
    if not gain + change[leaving] < -1e-12 * abs(near.sum()):  # less is rounding
        return False
    medoids[leaving] = candidate
    return True
