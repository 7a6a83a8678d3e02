"""Fitting to a source: a first pass that compares nothing and draws a sample, then one pass over the similarities."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from similitude.compute.encodings import itemsize, take
from similitude.compute.engines import Engine
from similitude.compute.engines.folding import Encoded
from similitude.compute.engines.progress import with_rows
from similitude.data.sources import PEEK, Batch, Ends, Source, about, batch_rows, check_sample, read_ahead
from similitude.estimators.order import Drawn, seed_of
from similitude.estimators.streams import MOST_HELD_OUT, mapped, one_pass, scored
from similitude.estimators.training import PILOT, Fitted, Marks
from similitude.landmarks.features import Together
from similitude.learners.kernel_learner import check_weights
from similitude.linear import Moments
from similitude.similarity import Similarity
from similitude.support.errors import SourceError


class Targets(Protocol):
    """What reads the labels or targets of batches."""

    def see(self, X: Any, y: Any, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Look at a batch in the first pass; return its labels, and which have a weight."""

    def close(self) -> None:
        """Settle what depends on all labels."""

    def numbers(self, y: np.ndarray) -> np.ndarray | None:
        """Return class numbers, where there are classes."""

    def read(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return targets as columns, and weights times those of the classes."""

    def absorb(self, other: Any) -> None:
        """Take over what another saw of further batches."""

    def on_worker(self, machine: Any) -> Targets:
        """Return a copy for the copy of the machine on a worker."""


def fit_source(machine: Any, source: Source) -> Fitted:
    """Fit a machine to a source; its targets are read by ``machine._reading()``."""
    check_streamable(machine, source)
    targets: Targets = machine._reading()
    rows = batch_rows(next(source.batches(PEEK)).objects, machine._engine.budget)
    ends, n_rows, weighted = first_pass(machine, source, targets, rows)
    rest = None if ends.everything else Streamed(machine, source, targets, ends.seed, rows, ends.seen, n_rows)
    Y, weights = targets.read(ends.labels, ends.weights)
    given = ends.weights if weighted else None
    drawn = Drawn(ends.seed, ends.positions, ends.ranks, rest)
    fitted: Fitted = machine._train(ends.objects, Y, weights, given, targets.numbers(ends.labels), drawn)
    return fitted


def first_pass(machine: Any, source: Source, targets: Targets, rows: int) -> tuple[Ends, int, bool]:
    """Check and count all rows and keep a sample of them; return it, their number, and whether they have weights."""
    engine: Engine = machine._engine
    size = PILOT if machine.n_landmarks == "auto" else max(PILOT, int(machine.n_landmarks))
    ends, n_rows, weighted = Ends(size, MOST_HELD_OUT, seed_of(machine.random_state)), 0, False
    for batch in _read(source.batches(rows), source.n, engine):
        with about(batch):
            X = machine._checked(batch.objects, reset=batch.start == 0)
            weights, weighted = weights_of(batch), batch.weights is not None
            labels, counted = targets.see(X, batch.labels, weights)
        which = np.flatnonzero(counted)
        if len(which):
            some = X if len(which) == len(batch) else take(X, which)
            ends.add(some, labels[which], weights[which], batch.start + which)
            check_sample(ends, X, engine.budget)
        n_rows = batch.stop
    targets.close()
    if ends.seen == 0:
        raise ValueError("every weight is zero: there is nothing to learn from")
    return ends, n_rows, weighted


@dataclass(frozen=True, eq=False)
class Streamed:
    """All rows of a source, checked and encoded batch by batch.

    Attributes
    ----------
    machine, source, targets
    seed : int
        Of the random order.
    rows : int
        Of a batch.
    n, n_rows : int
        How many rows have a weight, and how many there are.
    """

    machine: Any
    source: Source
    targets: Targets
    seed: int
    rows: int
    n: int
    n_rows: int

    def batches(self, similarities: Sequence[Similarity], start: int) -> Iterator[Encoded]:
        """Yield all rows from one on as ``(encodings, targets, weights)``, the next batch being read meanwhile."""
        return read_ahead(self._encoded(similarities, start))

    def _encoded(self, similarities: Sequence[Similarity], start: int) -> Iterator[Encoded]:
        stop = start
        for batch in self.source.batches(self.rows, start):
            with about(batch):
                X = self.machine._checked(batch.objects, reset=False)
                Y, weights = self.targets.read(batch.labels, weights_of(batch))
                encodings = tuple(k._encoded(X, "X") for k in similarities)
            stop = batch.stop
            yield Encoded((encodings, Y, weights), batch.start, stop)
        if stop != self.n_rows:
            raise SourceError(f"the first pass gave {self.n_rows:,} rows and the next {stop:,}: it must give the same")

    def moments(
        self,
        similarities: Sequence[Similarity],
        together: Together,
        held: np.ndarray,
        engine: Engine,
        size: int,
        marks: Marks,
    ) -> Moments:
        """Return the moments of the features of all rows but those held out, by place, in one pass."""

        def kept(start: int) -> Iterator[Encoded]:
            for batch in self.batches(similarities, start):
                encodings, Y, weights = batch.encoding
                weights = np.array(weights)  # a copy: they may be the user's own
                weights[held[(held >= batch.start) & (held < batch.stop)] - batch.start] = 0.0
                yield replace(batch, encoding=(encodings, Y, weights))

        return one_pass(together, kept, self.n_rows, engine, size, marks)

    def features(
        self, similarities: Sequence[Similarity], together: Together, engine: Engine, size: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return features, targets and weights of all rows with a weight, in their random order."""
        logging.getLogger("similitude").info("loss=%r needs a further pass over the similarities", self.machine.loss)
        parts, quiet = [], engine.quiet()
        for batch in self.batches(similarities, 0):
            encodings, Y, weights = batch.encoding
            parts.append((mapped(together, encodings, quiet, size), Y, weights))
        F, Y, weights = (np.concatenate(one) for one in zip(*parts, strict=True))
        counted = np.flatnonzero(weights > 0)
        order = Drawn(self.seed).order(counted)
        return F[order], Y[order], weights[order]


def check_streamable(machine: Any, source: Source) -> None:
    """Refuse what needs all objects at hand, before the first batch is read."""
    source.demand_passes(2, "one that counts and draws a sample, one over the similarities")
    if machine.landmark_indices is not None:
        raise ValueError("landmark_indices are positions in memory: of a source give the landmarks themselves")


def objects_of(machine: Any, source: Source) -> Iterator[Batch]:
    """Yield the batches of a source whose objects are to be predicted."""
    width = getattr(machine, "n_features_in_", None)
    rows = batch_rows([None] if width is None else np.empty((1, width)), machine._engine.budget)
    return _read(source.batches(rows), source.n, machine._engine)


def scores_of(machine: Any, source: Source) -> np.ndarray:
    """Return the scores of all objects of a source, one column per output."""
    answer = None if source.n is None else np.empty((source.n, len(machine.intercept_)))
    parts = []
    for batch in objects_of(machine, source):
        with about(batch):
            model, encodings = machine._asked(batch.objects)
        scores = scored(model, encodings, machine._engine.quiet(), itemsize(encodings[0]))
        scores += machine.intercept_
        if answer is None:
            parts.append(scores)
        else:
            answer[batch.start : batch.stop] = scores
    return np.concatenate(parts) if answer is None else answer


def _read(batches: Iterator[Batch], n: int | None, engine: Engine) -> Iterator[Batch]:
    """Yield batches, the next one being read meanwhile, and show how far this is."""
    ahead = read_ahead(batches)
    return with_rows(ahead, len, 0, n) if engine.progress else ahead


def weights_of(batch: Batch) -> np.ndarray:
    """Return the weights of a batch, which may all be zero."""
    if batch.weights is not None and not batch.weights.any():
        return np.zeros(len(batch))
    return check_weights(batch.weights, len(batch))
