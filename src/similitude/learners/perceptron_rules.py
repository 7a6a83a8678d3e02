"""When a perceptron learns from an example, and what it adds to its weights: two classes, or several."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from similitude.compute.loops import perceptron_pass

TIES = ("le0", "ge0")
"""Learn from a score of zero always, or only if the example is negative."""


class Rule(ABC):
    """What a perceptron does with scores and targets, one row per example.

    Attributes
    ----------
    outputs : tuple of int
        () for one score per example, (k,) for one per class.
    """

    outputs: tuple[int, ...] = ()

    def targets(self, numbers: np.ndarray) -> np.ndarray:
        """Return class numbers as this rule takes them."""
        return np.where(numbers == 1, 1.0, -1.0)

    @abstractmethod
    def wrong(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Tell from which examples it would learn if each had its turn now."""

    def steps(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the weights that examples get when it learns from them."""
        return y

    def margins(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return by how much each score is right; negative where it is wrong."""
        return y * scores

    def learn(self, K: np.ndarray, y: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give each example its turn; return the ones it learned from, and their weights.

        Parameters
        ----------
        K : array of shape (n, n)
            The kernel among these examples.
        y : array
        scores : array
            In: by what was learned before. Out: the score each example had when its turn came.
        """
        which: list[int] = []
        taken, start = [np.empty((0, *self.outputs))], 0
        while True:
            ahead = self.wrong(scores[start:], y[start:])
            if not ahead.any():
                return np.array(which, np.intp), np.concatenate(taken)
            i = start + int(ahead.argmax())
            step = self.steps(scores[i : i + 1], y[i : i + 1])
            scores[i + 1 :] += np.multiply.outer(K[i + 1 :, i], step[0])
            which.append(i)
            taken.append(step)
            start = i + 1


class Threshold(Rule):
    """Two classes: learn where y times the score is at most (or, if strict, below) a threshold; compiled."""

    def __init__(self, threshold: float = 0.0, strict: bool = False) -> None:
        self.threshold, self.strict = threshold, strict

    def wrong(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Compare with the threshold."""
        margins = y * scores
        return margins < self.threshold if self.strict else margins <= self.threshold

    def learn(self, K: np.ndarray, y: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give each example its turn, in one compiled pass."""
        K = np.ascontiguousarray(K if K.dtype == np.float32 else K.astype(np.float64, copy=False))
        which = np.flatnonzero(perceptron_pass(K, y, scores, self.threshold, self.strict))
        return which, y[which]


class ZeroIsPositive(Rule):
    """Two classes: the prediction is positive where the score is >= 0; learn where it is wrong."""

    def wrong(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Compare the prediction with the truth."""
        return (scores >= 0) != (y > 0)


class Classes(Rule):
    """Several classes: add the example to its class, and take it from the strongest other one.

    Parameters
    ----------
    k : int
    tie : {"le0", "ge0"}
        Learn where the class is not ahead of all others, or only where argmax (lowest index on a tie) is wrong.
    """

    def __init__(self, k: int, tie: str) -> None:
        self.outputs, self.tie = (k,), tie

    def targets(self, numbers: np.ndarray) -> np.ndarray:
        """Return the class numbers."""
        return numbers

    def wrong(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Compare the true class with the others."""
        return scores.argmax(axis=1) != y if self.tie == "ge0" else self.margins(scores, y) <= 0

    def steps(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return +1 for the true class and -1 for the strongest other one, the lowest index on a tie."""
        steps, i = np.zeros(scores.shape), np.arange(len(y))
        steps[i, _others(scores, y).argmax(axis=1)] = -1.0
        steps[i, y] = 1.0
        return steps

    def margins(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the lead of the true class over the strongest other one."""
        return np.asarray(scores[np.arange(len(y)), y] - _others(scores, y).max(axis=1))


def _others(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    others = scores.copy()
    others[np.arange(len(y)), y] = -np.inf
    return others


def perceptron_rule(n_classes: int, tie: str) -> Rule:
    """Return the plain perceptron's rule."""
    if n_classes > 2:
        return Classes(n_classes, tie)
    return Threshold() if tie == "le0" else ZeroIsPositive()
