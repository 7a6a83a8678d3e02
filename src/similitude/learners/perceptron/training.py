"""Passes of a perceptron over examples, its rules of update, and bounds on its mistakes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from similitude.compute import Blocks, BlockTask, Encoding, count, itemsize, rows
from similitude.compute.engines import Engine
from similitude.compute.loops import add_rows, perceptron_pass
from similitude.learners.limits import EXAMPLES_IN_TURN, ONE_BLOCK_VALUES, SCORED_EXAMPLES
from similitude.scikit import CHECKED_OBJECTS
from similitude.similarity import Similarity
from similitude.support import ESTIMATE, NONE, Result, pairs_at
from similitude.theory import perceptron_mistakes


class MulticlassRule:
    """Several classes: add the example to its class, and subtract it from the class with the largest other score.

    Update unless the true class has the largest score alone or, with ``tie="ge0"``, only where argmax (the first on a
    tie) is wrong.
    """

    outputs: tuple[int, ...]
    """The shape of an example's scores: () for one score, (k,) for one per class."""

    def __init__(self, k: int, tie: str) -> None:
        self.outputs = (k,)
        self.tie = tie

    def targets(self, codes: np.ndarray) -> np.ndarray:
        """Return class numbers as this rule takes them."""
        return codes

    def wrong(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return which examples cause an update, given their scores."""
        if self.tie == "ge0":
            return scores.argmax(axis=1) != y
        return self.margins(scores, y) <= 0

    def steps(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the weights of each example in an update: -1 for the strongest other class, the first on a tie."""
        steps = np.zeros(scores.shape)
        i = np.arange(len(y))
        steps[i, _others(scores, y).argmax(axis=1)] = -1.0
        steps[i, y] = 1.0
        return steps

    def margins(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the lead of the true class over the strongest other one; negative where it is wrong."""
        return np.asarray(scores[np.arange(len(y)), y] - _others(scores, y).max(axis=1))

    def learn(self, K: np.ndarray, y: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Process examples in turn, given their kernel and scores, which change; return updates and weights."""
        which: list[int] = []
        taken = [np.empty((0, *self.outputs))]
        start = 0
        while True:
            wrong = self.wrong(scores[start:], y[start:])
            if not wrong.any():
                return np.array(which, np.intp), np.concatenate(taken)
            i = start + int(wrong.argmax())
            step = self.steps(scores[i : i + 1], y[i : i + 1])
            scores[i + 1 :] += np.multiply.outer(K[i + 1 :, i], step[0])
            which.append(i)
            taken.append(step)
            start = i + 1


class BinaryRule(MulticlassRule):
    """Two classes: update where y times the score is at most (if `strict`, below) a threshold; see `wrong` for ties."""

    outputs = ()

    def __init__(self, tie: str = "le0", threshold: float = 0.0, strict: bool = False) -> None:
        self.tie = tie
        self.threshold = threshold
        self.strict = strict

    def targets(self, codes: np.ndarray) -> np.ndarray:
        """Return -1 and +1."""
        return np.where(codes == 1, 1.0, -1.0)

    def wrong(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return which examples cause an update."""
        if self.tie == "ge0":
            return (scores >= 0) != (y > 0)
        if self.strict:
            return y * scores < self.threshold
        return y * scores <= self.threshold

    def steps(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the weight that each example gets in an update."""
        return y

    def margins(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the signed margin of each score."""
        return y * scores

    def learn(self, K: np.ndarray, y: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Process examples in turn, in a compiled loop unless ties count for the positive class."""
        if self.tie == "ge0":
            return super().learn(K, y, scores)
        K = np.ascontiguousarray(K if K.dtype == np.float32 else K.astype(np.float64, copy=False))
        which = np.flatnonzero(perceptron_pass(K, y, scores, self.threshold, self.strict))
        return which, y[which]


def _others(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    others = scores.copy()
    others[np.arange(len(y)), y] = -np.inf
    return others


@dataclass
class EncodedExamples:
    """Encoded examples and the kernel between them."""

    kernel: Similarity
    encoding: Encoding
    engine: Engine
    names: np.ndarray
    gram: np.ndarray | None = None

    def __len__(self) -> int:
        return count(self.encoding)

    @property
    def cheap(self) -> bool:
        """Whether a kernel value costs less than the function calls around it."""
        return self.kernel.hints.threadsafe and self.kernel.objects in ("vectors", "indices")

    def square(self, part: slice) -> np.ndarray:
        """Return K between consecutive examples, few enough for one block."""
        if self.gram is not None:
            return self.gram[part, part]
        few = rows(self.encoding, part)
        with pairs_at(self.names[part], self.names[part]):
            return np.asarray(BlockTask(self.kernel)(few, few))

    def scores(self, part: slice, which: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the weighted sum of similarities of consecutive examples to some of the examples."""
        if self.gram is not None:
            return np.asarray(self.gram[part, which] @ weights)
        n = part.stop - part.start
        if not len(which) or not n:
            return np.zeros((n, *weights.shape[1:]))
        some = rows(self.encoding, part)
        others = rows(self.encoding, which)
        with pairs_at(self.names[part], self.names[which]):
            if self.cheap and n * len(which) <= ONE_BLOCK_VALUES:
                return np.asarray(np.asarray(BlockTask(self.kernel)(some, others)) @ weights)
            return Blocks(self.kernel, some, others, engine=self.engine).times(weights)

    def compute_gram(self) -> np.ndarray:
        """Return the whole Gram matrix, which is computed once."""
        if self.gram is None:
            self.gram = np.asarray(self.kernel.blocks(self.encoding, engine=self.engine).whole())
        return self.gram


class PerceptronTraining:
    """Passes of a perceptron over examples, of which it may remember the first from earlier batches, with weights.

    At most `budget` examples are remembered: the one whose last mistake is oldest is forgotten. ``moments`` are the
    sums of weights added, each times the number of steps before it, for the average hypothesis; ``time`` counts steps,
    one per example and epoch. ``squared_length`` is that of the hypothesis, NaN if examples were forgotten. ``least``
    is the smallest margin of an example at its turn in the last epoch, ``longest`` the largest squared length;
    ``impossible`` tells whether a squared length was negative, which no kernel allows.
    """

    def __init__(
        self, examples: EncodedExamples, y: np.ndarray, rule: MulticlassRule, budget: int | None = None
    ) -> None:
        self.examples = examples
        self.y = y  # of the examples that are not remembered from earlier batches
        self.rule = rule
        self.budget = budget
        self.first = len(examples) - len(y)
        self.weights = np.zeros((len(examples), *rule.outputs))
        self.moments = np.zeros_like(self.weights)
        self.time = 0
        self.squared_length = self.longest = self.least = 0.0
        self.order = dict.fromkeys(range(self.first))  # examples with a weight, by the time of their last mistake
        self.mistakes: list[int] = []
        self.impossible = False
        self.turn = EXAMPLES_IN_TURN if examples.cheap and budget is None else 1

    def run(self, epochs: int, until_clean: bool = False) -> PerceptronTraining:
        """Pass over the batch several times; after a clean epoch nothing changes any more."""
        n = len(self.y)
        size = SCORED_EXAMPLES if self.budget is None else 512  # an example that is forgotten changes all later scores
        for epoch in range(1, epochs + 1):
            self.mistakes.append(0)
            self.least = np.inf
            with np.errstate(over="ignore", invalid="ignore"):
                for start in range(0, n, size):
                    self._chunk(slice(start, min(start + size, n)))
            self.time += n
            left = 20 if until_clean else epochs - epoch  # about as many are expected until an epoch is clean
            if self.clean and not until_clean:
                self.mistakes += [0] * left
                self.time += n * left
            if self.clean:
                break
            fits = 2 * len(self.examples) ** 2 * itemsize(self.examples.encoding) <= self.examples.engine.budget
            if epoch == 1 and left * len(self.order) >= n and fits:
                self.examples.compute_gram()  # less work than the remaining epochs
        return self

    @property
    def clean(self) -> bool:
        """Whether the last epoch changed nothing."""
        return self.mistakes[-1] == 0

    @property
    def margin(self) -> float | None:
        """The margin of the hypothesis on the batch in feature space, if the last epoch shows it."""
        if self.clean and self.least > 0 and 0 < self.squared_length < np.inf:
            return self.least / float(np.sqrt(self.squared_length))
        return None

    def remembered(self) -> np.ndarray:
        """Return which examples are remembered, from the oldest to the newest."""
        which = np.array(list(self.order), np.intp)
        if self.budget is None:
            which.sort()
        return which

    def _chunk(self, part: slice) -> None:
        which = np.array(list(self.order), np.intp)
        shifted = slice(self.first + part.start, self.first + part.stop)
        scores = self.examples.scores(shifted, which, self.weights[which])
        y = self.y[part]
        position = 0
        while True:
            wrong = self.rule.wrong(scores[position:], y[position:])
            if not wrong.any():
                break
            first = position + int(wrong.argmax())
            position = min(first + self.turn, len(scores))
            self._take_turns(part, slice(first, position), scores)
        self.least = min(self.least, float(self.rule.margins(check_finite(scores), y).min()))

    def _take_turns(self, part: slice, turns: slice, scores: np.ndarray) -> None:
        """Process some examples of a chunk in turn, and update the scores of the later ones."""
        start = self.first + part.start + turns.start
        stop = self.first + part.start + turns.stop
        later = slice(stop, self.first + part.stop)
        K = self.examples.square(slice(start, stop))
        learned, steps = self.rule.learn(K, self.y[part][turns], scores[turns])
        which = start + learned
        self._update(which, steps, scores[turns][learned], K.diagonal()[learned])
        scores[turns.stop :] += self.examples.scores(later, which, steps)
        while self.budget is not None and len(self.order) > self.budget:
            oldest = next(iter(self.order))
            scores[turns.stop :] -= self.examples.scores(later, np.array([oldest]), self.weights[[oldest]])
            del self.order[oldest]
            self.weights[oldest] = self.moments[oldest] = 0.0
            self.squared_length = np.nan

    def _update(self, which: np.ndarray, steps: np.ndarray, scores: np.ndarray, diagonal: np.ndarray) -> None:
        """Add steps to the weights, and record the length of the hypothesis after each."""
        self.mistakes[-1] += len(which)
        self.weights[which] += steps
        self.moments[which] += (steps.T * (self.time + which - self.first)).T
        for i in which.tolist():
            self.order.pop(i, None)
            self.order[i] = None
        lengths = self.squared_length + np.cumsum(lengthening(steps, scores, diagonal.astype(np.float64)))
        self.squared_length = float(lengths[-1])
        self.longest = max(self.longest, float(lengths.max()))
        self.impossible = self.impossible or bool(min(lengths.min(), diagonal.min()) < 0)


def lengthening(steps: np.ndarray, scores: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """Return how much each step increases the squared length of the hypothesis: 2 <w, s x> + |s x|^2."""
    along = steps * scores
    squared = steps * steps
    if steps.ndim == 2:
        along = along.sum(axis=1)
        squared = squared.sum(axis=1)
    return np.asarray(2.0 * along + squared * diagonal)


def check_finite(scores: np.ndarray) -> np.ndarray:
    """Return scores; raise ValueError if one overflowed."""
    if not np.isfinite(scores).all():
        raise ValueError(
            "the kernel's values are so large that their sums overflow: divide the kernel by a constant, k / 1e100, "
            "or use k.normalized()"
        )
    return scores


# How many mistakes there can be.

OWN = "the margin of this perceptron"


@dataclass(frozen=True)
class MistakeBound(Result):
    """An upper bound on the mistakes of a perceptron on some examples, in any order and any number of passes.

    Attributes
    ----------
    value : int or None
        The bound; None if no margin is known.
    radius : float or None
        The length R of the longest example in feature space (times sqrt 2 for several classes).
    margin : float or None
        A margin attained by some separator of the examples, less rounding. The largest margin may be larger, and its
        bound smaller.
    reason : str
        The origin of the margin, or why there is no bound.
    grade : str
        ESTIMATE, since further examples may have a smaller margin than this sample; NONE without a bound.
    """

    value: int | None
    radius: float | None
    margin: float | None
    reason: str
    grade: str

    def __str__(self) -> str:
        if self.value is None:
            return f"no bound: {self.reason}"
        return f"at most {self.value:,} ({self.grade}: R = {self.radius:.4g}, margin {self.margin:.4g}; {self.reason})"


def no_bound(reason: str) -> MistakeBound:
    """Return a MistakeBound without a value."""
    return MistakeBound(None, None, None, reason, NONE)


def mistake_bound(
    examples: EncodedExamples,
    problems: list[np.ndarray],
    rule: MulticlassRule,
    attained: list[float | None],
    most: Callable[[float, float], int] = perceptron_mistakes,
) -> MistakeBound:
    """Return the sum of `most` by radius and margin, the largest one known of each problem, such as one `attained`."""
    squares = np.asarray(examples.kernel.diagonal(examples.encoding))
    radius = math.sqrt(float(squares.max()) * (1 + bool(rule.outputs)))
    error = {4: 1e-4}.get(itemsize(examples.encoding), 1e-9)
    margins = []
    for y, own in zip(problems, attained, strict=True):
        margin: float | None = own
        reason = OWN
        if own is None or most is perceptron_mistakes:  # that of a margin perceptron is a third of the largest anyway
            margin, reason = known_margin(examples, y, rule, own)
        if margin is None:
            return no_bound(reason)
        if margin <= 1e-12 * radius:
            return no_bound("the margin that was found is within rounding of zero")
        margins.append(min(margin * (1 - error), radius))
    return MistakeBound(sum(most(radius, one) for one in margins), radius, min(margins), reason, ESTIMATE)


def known_margin(
    examples: EncodedExamples, y: np.ndarray, rule: MulticlassRule, attained: float | None
) -> tuple[float | None, str]:
    """Return the larger of the attained margin and that of a separator sought here, and its origin."""
    pairs = len(examples) * max(1, sum(rule.outputs) - 1)
    limit = CHECKED_OBJECTS
    if examples.kernel.hints.threadsafe:
        limit = 1000
    reason = f"the last epoch was not clean, and with more than {limit:,} examples no separator is sought"
    if pairs <= limit and 32 * pairs**2 <= examples.engine.budget:  # room for two matrices of float64, and for tiles
        sought = _sought_margin(examples, y, rule)
        if sought > (attained or 0.0):
            return sought, "the margin of a separator that a margin perceptron found"
        reason = "no separator was found in many passes over the examples: there may be none"
    if attained is None:
        return None, reason
    return attained, OWN


def _sought_margin(examples: EncodedExamples, y: np.ndarray, rule: MulticlassRule) -> float:
    """Return the margin of a separator by a margin perceptron, a third of the largest or more; 0 if none is found.

    Several classes become one binary problem with positive examples only, by Kesler's construction.
    """
    G = np.asarray(examples.compute_gram(), np.float64)
    if rule.outputs:
        classes = np.arange(*rule.outputs)
        example, other = np.nonzero(classes != y[:, None])
        blocks = np.eye(len(classes))[y[example]] - np.eye(len(classes))[other]
        G = G[np.ix_(example, example)] * (blocks @ blocks.T)
        y = np.ones(len(example))
    threshold = float(G.diagonal().max())
    if not threshold > 0:
        return 0.0
    weights = np.zeros(len(y))
    scores = np.zeros(len(y))
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(2000):
            learned = np.flatnonzero(perceptron_pass(G, y, scores.copy(), threshold, True))
            if not len(learned):
                return float(np.nan_to_num((y * scores).min() / np.sqrt(weights @ scores), posinf=0.0))
            weights[learned] += y[learned]
            if np.abs(weights).sum() > 100 * len(y):
                break  # there may be no separator
            add_rows(G, learned, y[learned], scores)
    return 0.0
