"""Passes of a perceptron over a batch of examples: scores in tiles, updates one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from similitude.compute import Blocks, BlockTask, Encoding, count, itemsize, rows
from similitude.compute.engines import Engine
from similitude.learners.perceptron.update_rules import Rule
from similitude.similarity import Similarity
from similitude.support import pairs_at

SCORED_EXAMPLES = 4096
"""Examples whose scores are computed at once, in tiles."""

SCORED_UNDER_BUDGET = 512
"""The same with a budget, where each example that is forgotten changes all later scores."""

EXAMPLES_IN_TURN = 128
"""Examples after a mistake that are processed with one block of the kernel between them."""

ONE_BLOCK_VALUES = 2**17
"""Values of a cheap kernel up to which one block is faster than tiles and threads."""

MOST_EPOCHS = 10**6
"""Epochs that may be asked for: the mistakes of each are kept."""

EXPECTED_EPOCHS = 20
"""Epochs that training until a clean epoch is expected to take, for planning."""


@dataclass
class EncodedExamples:
    """Encoded examples and the kernel between them, divided by the lengths of both objects if these are given."""

    kernel: Similarity
    encoding: Encoding
    engine: Engine
    lengths: np.ndarray | None = None
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
        here = range(part.start, part.stop)
        with pairs_at(here, here):
            K = np.asarray(BlockTask(self.kernel)(few, few))
        return K if self.lengths is None else K / self.lengths[part, None] / self.lengths[part]

    def scores(self, part: slice, which: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the weighted sum of similarities of consecutive examples to some of the examples."""
        if self.gram is not None:
            return np.asarray(self.gram[part, which] @ weights)
        if self.lengths is not None:
            weights = (weights.T / self.lengths[which]).T
        scores = self.scores_against(part, rows(self.encoding, which), which, weights)
        return scores if self.lengths is None else (scores.T / self.lengths[part]).T

    def scores_against(self, part: slice, others: Encoding, positions: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the weighted sum of similarities to other objects, which errors name by their positions."""
        n = part.stop - part.start
        if not len(positions) or not n:
            return np.zeros((n, *weights.shape[1:]))
        some = rows(self.encoding, part)
        with pairs_at(range(part.start, part.stop), positions):
            if self.cheap and n * len(positions) <= ONE_BLOCK_VALUES:
                return np.asarray(np.asarray(BlockTask(self.kernel)(some, others)) @ weights)
            return Blocks(self.kernel, some, others, engine=self.engine).times(weights)

    def diagonal(self) -> np.ndarray:
        """Return K(x, x)."""
        if self.gram is not None:
            return self.gram.diagonal()
        values = np.asarray(self.kernel.diagonal(self.encoding))
        return values if self.lengths is None else values / self.lengths**2

    def compute_gram(self) -> None:
        """Compute the whole Gram matrix."""
        self.gram = np.asarray(self.kernel.blocks(self.encoding, engine=self.engine).whole())
        if self.lengths is not None:
            self.gram /= self.lengths[:, None]
            self.gram /= self.lengths

    def gram_fits(self) -> bool:
        """Tell whether the Gram matrix takes at most half of the memory budget."""
        return 2 * len(self) ** 2 * itemsize(self.encoding) <= self.engine.budget


@dataclass(frozen=True)
class Hypothesis:
    """A weighted sum of remembered examples, from the oldest to the newest.

    ``moments`` are the sums of weights added, each times the number of steps before it, for the average hypothesis;
    ``time`` counts steps, one per example and epoch; ``squared_length`` is NaN if examples were forgotten.
    """

    encoding: Encoding
    positions: np.ndarray
    weights: np.ndarray
    moments: np.ndarray
    time: int = 0
    squared_length: float = 0.0


class PerceptronTraining:
    """Passes of a perceptron over a batch, starting from the hypothesis of earlier batches.

    At most `budget` examples are remembered: the one whose last mistake is oldest is forgotten. ``weights`` and
    ``moments`` have a row for each example of the earlier hypothesis, then one for each of the batch. ``least`` is the
    smallest margin of an example at its turn in the last epoch, ``longest`` the largest squared length of a hypothesis;
    ``impossible`` tells whether a squared length was negative, which no kernel allows.
    """

    def __init__(
        self,
        examples: EncodedExamples,
        y: np.ndarray,
        rule: Rule,
        before: Hypothesis | None = None,
        budget: int | None = None,
    ) -> None:
        self.examples, self.y, self.rule, self.before, self.budget = examples, y, rule, before, budget
        self.weights, self.moments = np.zeros((len(y), *rule.outputs)), np.zeros((len(y), *rule.outputs))
        self.n_before, self.time, self.squared_length = 0, 0, 0.0
        if before is not None:
            self.n_before, self.time, self.squared_length = len(before.positions), before.time, before.squared_length
            self.weights = np.concatenate([before.weights, self.weights])
            self.moments = np.concatenate([before.moments, self.moments])
        self.order = dict.fromkeys(range(self.n_before))  # rows with a weight, by the time of their last mistake
        self.longest = self.least = 0.0
        self.mistakes: list[int] = []
        self.impossible = False
        self.turn = EXAMPLES_IN_TURN if examples.cheap and budget is None else 1

    def run(self, epochs: int, until_clean: bool = False) -> PerceptronTraining:
        """Pass over the batch several times; after a clean epoch nothing changes any more."""
        for epoch in range(1, epochs + 1):
            self._epoch()
            if self.clean:
                left = 0 if until_clean else epochs - epoch
                self.mistakes += [0] * left
                self.time += len(self.y) * left
                break
            left = EXPECTED_EPOCHS if until_clean else epochs - 1
            if epoch == 1 and left * len(self.order) >= len(self.y) and self.examples.gram_fits():
                self.examples.compute_gram()  # less work than the remaining epochs
        return self

    @property
    def clean(self) -> bool:
        """Whether the last epoch changed nothing."""
        return self.mistakes[-1] == 0

    @property
    def margin(self) -> float | None:
        """The margin of the hypothesis on the batch in feature space, if the last epoch shows it."""
        known = self.clean and self.least > 0 and 0 < self.squared_length < np.inf
        return self.least / float(np.sqrt(self.squared_length)) if known else None

    def remembered(self) -> tuple[np.ndarray, np.ndarray]:
        """Return which rows of `before` are still remembered, and which examples of the batch."""
        old, new = self._split(np.array(list(self.order), np.intp))
        return old, np.sort(new) if self.budget is None else new

    def _split(self, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Split rows of the weights into rows of `before` and examples of the batch."""
        return which[which < self.n_before], which[which >= self.n_before] - self.n_before

    def _epoch(self) -> None:
        self.mistakes.append(0)
        self.least = np.inf
        size = SCORED_EXAMPLES if self.budget is None else SCORED_UNDER_BUDGET
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, len(self.y), size):
                self._chunk(slice(start, min(start + size, len(self.y))))
        self.time += len(self.y)

    def _chunk(self, part: slice) -> None:
        """Process the examples of one chunk."""
        scores, y, position = self._scores(part, np.array(list(self.order), np.intp)), self.y[part], 0
        while True:
            wrong = self.rule.wrong(scores[position:], y[position:])
            if not wrong.any():
                break
            first = position + int(wrong.argmax())
            position = min(first + self.turn, len(scores))
            self._take_turns(part, slice(first, position), scores)
        self.least = min(self.least, float(self.rule.margins(check_finite(scores), y).min()))

    def _scores(self, part: slice, which: np.ndarray) -> np.ndarray:
        """Return what some rows of the weights contribute to the scores of consecutive examples."""
        old, new = self._split(which)
        scores = self.examples.scores(part, new, self.weights[self.n_before + new])
        if not len(old):
            return scores
        assert self.before is not None
        encoding = self.before.encoding if len(old) == self.n_before else rows(self.before.encoding, old)
        return scores + self.examples.scores_against(part, encoding, self.before.positions[old], self.weights[old])

    def _take_turns(self, part: slice, turns: slice, scores: np.ndarray) -> None:
        """Process some examples of a chunk in turn, and update the scores of the later ones."""
        here, later = (
            slice(part.start + turns.start, part.start + turns.stop),
            slice(part.start + turns.stop, part.stop),
        )
        K = self.examples.square(here)
        which, steps = self.rule.learn(K, self.y[here], scores[turns])
        self._update(here.start + which, steps, scores[turns][which], K.diagonal()[which])
        scores[turns.stop :] += self.examples.scores(later, here.start + which, steps)
        while self.budget is not None and len(self.order) > self.budget:
            oldest = next(iter(self.order))
            scores[turns.stop :] -= self._scores(later, np.array([oldest]))
            del self.order[oldest]
            self.weights[oldest] = self.moments[oldest] = 0.0
            self.squared_length = np.nan

    def _update(self, which: np.ndarray, steps: np.ndarray, scores: np.ndarray, diagonal: np.ndarray) -> None:
        """Add steps to the weights, and record the length of the hypothesis after each."""
        self.mistakes[-1] += len(which)
        self.weights[self.n_before + which] += steps
        self.moments[self.n_before + which] += (steps.T * (self.time + which)).T
        for i in (self.n_before + which).tolist():
            self.order.pop(i, None)
            self.order[i] = None
        lengths = self.squared_length + np.cumsum(lengthening(steps, scores, diagonal.astype(np.float64)))
        self.squared_length, self.longest = float(lengths[-1]), max(self.longest, float(lengths.max()))
        self.impossible = self.impossible or bool(min(lengths.min(), diagonal.min()) < 0)


def lengthening(steps: np.ndarray, scores: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """Return how much each step increases the squared length of the hypothesis: 2 <w, s x> + |s x|^2."""
    along, squared = steps * scores, steps * steps
    if steps.ndim == 2:
        along, squared = along.sum(axis=1), squared.sum(axis=1)
    return np.asarray(2.0 * along + squared * diagonal)


def check_finite(scores: np.ndarray) -> np.ndarray:
    """Return scores; raise ValueError if one overflowed."""
    if not np.isfinite(scores).all():
        raise ValueError(
            "the kernel's values are so large that their sums overflow: divide the kernel by a constant, k / 1e100, "
            "or use k.normalized()"
        )
    return scores
