"""A perceptron's walk through a batch of examples: scores by tiles, turns one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute.blocks import Blocks, BlockTask
from similitude.compute.encodings import Encoding, count, itemsize, rows, take
from similitude.compute.engines import Engine
from similitude.learners.perceptron_memory import Memory
from similitude.learners.perceptron_rules import Rule
from similitude.similarity import Similarity
from similitude.support.errors import PairError

CHUNK = 4096
"""Examples whose scores are computed at once, as tiles."""

BUDGETED_CHUNK = 512
"""The same where objects are forgotten, for each one that goes changes all scores ahead."""

TURNS = 128
"""Examples after a mistake that take their turns in one pass over the kernel among them."""

ONE_BLOCK = 2**17
"""Values of a cheap kernel up to which a block is computed at once, for tiles and threads would cost more."""

UNTIL_CLEAN = 20
"""Epochs that a walk until a clean one is expected to take, for planning."""


@dataclass
class Examples:
    """Encoded examples and the kernel among them.

    Attributes
    ----------
    lengths : array, optional
        Divide K(x, z) by these of x and of z.
    gram : array, optional
        All of K, where it was worth computing once.
    """

    kernel: Similarity
    encoding: Encoding
    engine: Engine
    lengths: np.ndarray | None = None
    gram: np.ndarray | None = None

    def __len__(self) -> int:
        return count(self.encoding)

    @property
    def cheap(self) -> bool:
        """Whether a value of the kernel costs less than the calls around it."""
        return self.kernel.hints.threadsafe and self.kernel.objects in ("vectors", "indices")

    def square(self, part: slice) -> np.ndarray:
        """Return K among consecutive examples, few enough for one block."""
        if self.gram is not None:
            return self.gram[part, part]
        few = rows(self.encoding, part)
        with naming_pairs(part.start, np.arange(part.start, part.stop)):
            K = np.asarray(BlockTask(self.kernel)(few, few))
        return K if self.lengths is None else K / self.lengths[part, None] / self.lengths[part]

    def scores(self, part: slice, which: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the weighted sum of similarities to some of the examples, for consecutive ones."""
        if self.gram is not None:
            return np.asarray(self.gram[part, which] @ weights)
        if self.lengths is not None:
            weights = (weights.T / self.lengths[which]).T
        scores = self.against(part, rows(self.encoding, which), which, weights)
        return scores if self.lengths is None else (scores.T / self.lengths[part]).T

    def against(self, part: slice, others: Encoding, positions: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the weighted sum of similarities to other objects, which errors name by their positions."""
        if not len(positions) or part.start == part.stop:
            return np.zeros((part.stop - part.start, *weights.shape[1:]))
        some = rows(self.encoding, part)
        with naming_pairs(part.start, positions):
            if self.cheap and (part.stop - part.start) * len(positions) <= ONE_BLOCK:
                return np.asarray(np.asarray(BlockTask(self.kernel)(some, others)) @ weights)
            return Blocks(self.kernel, some, others, engine=self.engine, itemsize=itemsize(some)).times(weights)

    def diagonal(self) -> np.ndarray:
        """Return K(x, x)."""
        if self.gram is not None:
            return self.gram.diagonal()
        values = np.asarray(self.kernel.diagonal(self.encoding))
        return values if self.lengths is None else values / self.lengths**2

    def compute_gram(self) -> None:
        """Compute all of K, once."""
        self.gram = np.asarray(self.kernel.blocks(self.encoding, engine=self.engine).whole())
        if self.lengths is not None:
            self.gram /= self.lengths[:, None]
            self.gram /= self.lengths

    def gram_fits(self) -> bool:
        """Tell whether all of K takes half of the memory budget at most."""
        return 2 * len(self) ** 2 * itemsize(self.encoding) <= self.engine.budget


@contextmanager
def naming_pairs(start: int, positions: np.ndarray) -> Iterator[None]:
    """Let an error name its pair by positions among all examples."""
    try:
        yield
    except PairError as error:
        raise PairError(start + error.i, int(positions[error.j]), error.problem) from error.__cause__


class Walk:
    """What a perceptron learns from a batch, before anybody else sees it.

    Parameters
    ----------
    examples : Examples
    y : array
        Their targets, as the rule takes them.
    rule : Rule
    memory : Memory, optional
        What it remembers already; not changed until `commit`.
    budget : int, optional
        Objects at most that it remembers; the one whose last mistake is oldest goes.

    Attributes
    ----------
    weights, moments : array
        One row per example, as in `Memory`.
    mistakes : list of int
        Per epoch.
    least : float
        The smallest margin at an example's turn in the last epoch.
    squared_length, longest : float
        Of the hypothesis now, and of the longest one so far, in feature space.
    impossible : bool
        Whether a squared length was negative, which no kernel allows.
    """

    def __init__(
        self, examples: Examples, y: np.ndarray, rule: Rule, memory: Memory | None = None, budget: int | None = None
    ) -> None:
        self.examples, self.y, self.rule, self.memory, self.budget = examples, y, rule, memory, budget
        self.weights, self.moments = np.zeros((len(y), *rule.outputs)), np.zeros((len(y), *rule.outputs))
        self.remembered = dict.fromkeys(~i for i in range(len(memory))) if memory is not None else {}
        self.time = memory.time if memory is not None else 0
        self.squared_length = memory.squared_length if memory is not None else 0.0
        self.longest = self.least = 0.0
        self.mistakes: list[int] = []
        self.impossible = False
        self.turns = TURNS if examples.cheap and budget is None else 1

    def run(self, epochs: int) -> Walk:
        """Walk through the batch several times; after a clean epoch nothing changes any more."""
        for epoch in range(1, epochs + 1):
            self._epoch()
            if self.mistakes[-1] == 0:
                self.mistakes += [0] * (epochs - epoch)
                self.time += len(self.y) * (epochs - epoch)
                break
            if epoch == 1:
                self._plan(epochs - 1)
        return self

    def run_until_clean(self, most: int) -> Walk:
        """Walk until an epoch is clean, `most` times at most."""
        while len(self.mistakes) < most and (not self.mistakes or self.mistakes[-1]):
            self._epoch()
            if len(self.mistakes) == 1:
                self._plan(UNTIL_CLEAN)
        return self

    @property
    def clean(self) -> bool:
        """Whether the last epoch changed nothing."""
        return self.mistakes[-1] == 0

    @property
    def margin(self) -> float | None:
        """The margin in feature space that the hypothesis has on the batch, if the last epoch shows it."""
        known = self.clean and self.least > 0 and 0 < self.squared_length < np.inf
        return self.least / float(np.sqrt(self.squared_length)) if known else None

    def commit(self, memory: Memory, objects: Any) -> None:
        """Put what was learned into a memory, which is empty or the one it started from."""
        kept = np.array([~i for i in self.remembered if i < 0], np.intp)
        new = np.array([i for i in self.remembered if i >= 0], np.intp)
        new = np.sort(new) if self.budget is None else new
        pieces = take(objects, new), rows(self.examples.encoding, new)
        memory.keep(kept)
        memory.add(self.examples.kernel, *pieces, memory.seen + new, self.weights[new], self.moments[new])
        memory.seen += len(self.y)
        memory.time, memory.squared_length = self.time, self.squared_length

    def _plan(self, epochs: int) -> None:
        """Compute all of K where that is less work than the epochs ahead."""
        if epochs * len(self.remembered) >= len(self.y) and self.examples.gram_fits():
            self.examples.compute_gram()

    def _epoch(self) -> None:
        self.mistakes.append(0)
        self.least = np.inf
        with np.errstate(over="ignore", invalid="ignore"):
            chunk = CHUNK if self.budget is None else BUDGETED_CHUNK
            for start in range(0, len(self.y), chunk):
                self._chunk(slice(start, min(start + chunk, len(self.y))))
        self.time += len(self.y)

    def _chunk(self, part: slice) -> None:
        """Let the examples of one chunk take their turns; afterwards scores are what they were at each turn."""
        scores, y, position = self._scores(part), self.y[part], 0
        while True:
            ahead = self.rule.wrong(scores[position:], y[position:])
            if not ahead.any():
                break
            first = position + int(ahead.argmax())
            position = min(first + self.turns, len(scores))
            self._take_turns(part, slice(first, position), scores)
        self.least = min(self.least, float(self.rule.margins(check_finite(scores), y).min()))

    def _scores(self, part: slice) -> np.ndarray:
        new = np.array([i for i in self.remembered if i >= 0], np.intp)
        scores = self.examples.scores(part, new, self.weights[new])
        if self.memory is None or len(new) == len(self.remembered):
            return scores
        old = np.array([~i for i in self.remembered if i < 0], np.intp)
        every = len(old) == len(self.memory)
        encoding = self.memory.encoding.rows if every else rows(self.memory.encoding.rows, old)
        positions = self.memory.positions.rows[old]
        return scores + self.examples.against(part, encoding, positions, self.memory.weights.rows[old])

    def _take_turns(self, part: slice, turns: slice, scores: np.ndarray) -> None:
        here = slice(part.start + turns.start, part.start + turns.stop)
        K = self.examples.square(here)
        which, steps = self.rule.learn(K, self.y[here], scores[turns])
        self._learn(here.start + which, steps, scores[turns][which], K.diagonal()[which])
        later = slice(here.stop, part.stop)
        scores[turns.stop :] += self.examples.scores(later, here.start + which, steps)
        while self.budget is not None and len(self.remembered) > self.budget:
            scores[turns.stop :] -= self._forget_oldest(later)

    def _learn(self, which: np.ndarray, steps: np.ndarray, scores: np.ndarray, diagonal: np.ndarray) -> None:
        """Note the mistakes, and the length of the hypothesis after each."""
        self.mistakes[-1] += len(which)
        self.weights[which] += steps
        self.moments[which] += (steps.T * (self.time + which)).T
        for i in which.tolist():
            self.remembered.pop(i, None)
            self.remembered[i] = None
        lengths = self.squared_length + np.cumsum(lengthening(steps, scores, diagonal.astype(np.float64)))
        self.squared_length, self.longest = float(lengths[-1]), max(self.longest, float(lengths.max()))
        self.impossible = self.impossible or bool(min(lengths.min(), diagonal.min()) < 0)

    def _forget_oldest(self, later: slice) -> np.ndarray:
        """Forget one object, and return what it gave to later scores."""
        i = next(iter(self.remembered))
        del self.remembered[i]
        self.squared_length = np.nan
        if i < 0:
            assert self.memory is not None
            one = np.array([~i])
            encoding, weights = rows(self.memory.encoding.rows, one), self.memory.weights.rows[one]
            return self.examples.against(later, encoding, self.memory.positions.rows[one], weights)
        given = self.examples.scores(later, np.array([i]), self.weights[[i]])
        self.weights[i] = self.moments[i] = 0.0
        return given


def lengthening(steps: np.ndarray, scores: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """Return by how much each step makes the squared length of the hypothesis grow: 2 <w, s x> + |s x|^2."""
    along, squared = steps * scores, steps * steps
    if steps.ndim == 2:
        along, squared = along.sum(axis=1), squared.sum(axis=1)
    return np.asarray(2.0 * along + squared * diagonal)


def check_finite(scores: np.ndarray) -> np.ndarray:
    """Return scores; refuse those that overflowed."""
    if not np.isfinite(scores).all():
        raise ValueError(
            "the kernel's values are so large that their sums overflow: divide the kernel by a constant, k / 1e100, "
            "or use k.normalized()"
        )
    return scores
