"""When a perceptron updates on an example, and by how much: two classes, or several."""

from __future__ import annotations

import numpy as np

from similitude.compute.loops import perceptron_pass

TIES = ("le0", "ge0")
"""On a score of zero, update always, or only if the example is negative."""


class BinaryRule:
    """Two classes: update where y times the score is at most a threshold, or below it if `strict`.

    With ``tie="ge0"`` it updates where the prediction, positive at a score >= 0, is wrong.
    """

    outputs: tuple[int, ...] = ()
    """The shape of an example's scores: () for one score, (k,) for one per class."""

    def __init__(self, tie: str = "le0", threshold: float = 0.0, strict: bool = False) -> None:
        self.tie, self.threshold, self.strict = tie, threshold, strict

    def targets(self, codes: np.ndarray) -> np.ndarray:
        """Return class numbers as this rule takes them."""
        return np.where(codes == 1, 1.0, -1.0)

    def wrong(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Tell for each example whether it causes an update, given its score."""
        if self.tie == "ge0":
            return (scores >= 0) != (y > 0)
        margins = y * scores
        return margins < self.threshold if self.strict else margins <= self.threshold

    def steps(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the weight that each example gets in an update."""
        return y

    def margins(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the signed margin of each score; negative where it is wrong."""
        return y * scores

    def learn(self, K: np.ndarray, y: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Process examples in turn, given the kernel between them; return those that caused updates, and their weights.

        `scores` are those before the first example; they are changed to the score of each example at its turn.
        """
        if self.tie == "ge0":
            return _learn_in_turn(self, K, y, scores)
        K = np.ascontiguousarray(K if K.dtype == np.float32 else K.astype(np.float64, copy=False))
        which = np.flatnonzero(perceptron_pass(K, y, scores, self.threshold, self.strict))
        return which, y[which]


class MulticlassRule:
    """Several classes: add the example to its class, and subtract it from the class with the largest other score.

    Update unless the true class has the largest score alone or, with ``tie="ge0"``, only where argmax (the first on a
    tie) is wrong.
    """

    def __init__(self, k: int, tie: str) -> None:
        self.outputs, self.tie = (k,), tie

    def targets(self, codes: np.ndarray) -> np.ndarray:
        """Return the class numbers."""
        return codes

    def wrong(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Tell for each example whether it causes an update."""
        return scores.argmax(axis=1) != y if self.tie == "ge0" else self.margins(scores, y) <= 0

    def steps(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return +1 for the true class and -1 for the strongest other one, the first on a tie."""
        steps, i = np.zeros(scores.shape), np.arange(len(y))
        steps[i, _others(scores, y).argmax(axis=1)] = -1.0
        steps[i, y] = 1.0
        return steps

    def margins(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the lead of the true class over the strongest other one."""
        return np.asarray(scores[np.arange(len(y)), y] - _others(scores, y).max(axis=1))

    def learn(self, K: np.ndarray, y: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Process examples in turn; see `BinaryRule.learn`."""
        return _learn_in_turn(self, K, y, scores)


Rule = BinaryRule | MulticlassRule


def perceptron_rule(n_classes: int, tie: str) -> Rule:
    """Return the rule of the plain perceptron."""
    return MulticlassRule(n_classes, tie) if n_classes > 2 else BinaryRule(tie)


def _learn_in_turn(rule: Rule, K: np.ndarray, y: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    which: list[int] = []
    taken, start = [np.empty((0, *rule.outputs))], 0
    while True:
        wrong = rule.wrong(scores[start:], y[start:])
        if not wrong.any():
            return np.array(which, np.intp), np.concatenate(taken)
        i = start + int(wrong.argmax())
        step = rule.steps(scores[i : i + 1], y[i : i + 1])
        scores[i + 1 :] += np.multiply.outer(K[i + 1 :, i], step[0])
        which.append(i)
        taken.append(step)
        start = i + 1


def _others(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    others = scores.copy()
    others[np.arange(len(y)), y] = -np.inf
    return others
