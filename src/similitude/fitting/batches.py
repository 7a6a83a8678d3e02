"""Rows from a source: a first pass counts them and draws a sample, a second one computes similarities."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import take
from similitude.compute.engines import EncodedBatch, Engine, with_progress
from similitude.data.sources import (
    Batch,
    FirstPass,
    Source,
    StableSample,
    batch_rows,
    check_sample_fits,
    errors_in_batch,
    read_ahead,
)
from similitude.evaluation import MOST_HELD_OUT
from similitude.fitting import limits
from similitude.fitting.passes import FeatureUnion, Marks, covering, features_of, sums_over
from similitude.fitting.targets import Targets
from similitude.fitting.training_set import Design, Sampling
from similitude.linear import Moments
from similitude.scikit import check_weights
from similitude.similarity import Similarity
from similitude.support import SourceError

Check = Callable[..., Any]
"""Validates the objects of a batch: ``check(objects, reset=first)``."""


@dataclass(frozen=True, eq=False)
class Sampled:
    """A sample of rows in memory.

    Attributes
    ----------
    objects, labels, weights
    weighted : bool
        Whether weights were given.
    sampling : Sampling
        How the sample was drawn, and all rows, if there are more.
    """

    objects: Any
    labels: np.ndarray
    weights: np.ndarray
    weighted: bool
    sampling: Sampling


def sample_source(
    source: Source, targets: Targets, check: Check, engine: Engine, n_landmarks: int | str, seed: int
) -> Sampled:
    """Validate and count all rows of a source in a first pass, and keep a sample of them.

    The size of batches follows from that of the first rows. If later ones are much longer, the pass begins again with
    smaller batches.
    """
    source.require_passes(2, "one that counts and draws a sample, one over the similarities")
    rows = source.batch_rows(engine.budget)
    while True:
        ends = StableSample(sample_size(n_landmarks), MOST_HELD_OUT, seed)
        seen = targets.copy()
        first_pass = FirstPass()
        try:
            n_rows, weighted = _look_at_all(source, rows, first_pass, ends, seen, check, engine)
            break
        except _LongRowsError as error:
            rows = error.affordable
    targets.absorb(seen)
    targets.close()
    if ends.n_seen == 0:
        raise ValueError("every weight is zero: there is nothing to learn from")
    everything = None
    if not ends.is_complete:
        everything = SourceRows(source, check, targets, seed, rows, ends.n_seen, n_rows, first_pass)
    sampling = Sampling(seed, ends.positions, ends.ranks, everything)
    return Sampled(ends.objects, ends.labels, ends.weights, weighted, sampling)


@dataclass(frozen=True)
class Announced:
    """Rows of which only the first were read: their number, or one more than was read if it is not known."""

    n: int
    known: bool

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.n


def first_rows(source: Source, targets: Targets, check: Check, engine: Engine, seed: int) -> Sampled:
    """Read the first rows of a source, to plan a fit to all of them."""
    wanted = min(limits.SAMPLE_ROWS, source.batch_rows(engine.budget))
    batch = next(source.batches(wanted))
    with errors_in_batch(batch):
        X = check(batch.objects, reset=True)
        weights = batch_weights(batch)
        labels, _ = targets.see(X, batch.labels, weights)
    n = len(batch)
    if source.n is not None:
        everything = None
        if source.n != n:
            everything = Announced(source.n, True)
    else:
        everything = None
        if not (n < wanted):
            everything = Announced(n + 1, False)
    sampling = Sampling(seed, np.arange(n), np.arange(n), everything)
    return Sampled(X, labels, weights, batch.weights is not None, sampling)


class _LongRowsError(Exception):
    """Rows are so long that a batch of them takes far more than its share of the memory budget."""

    def __init__(self, affordable: int) -> None:
        self.affordable = affordable


def _look_at_all(
    source: Source,
    rows: int,
    first_pass: FirstPass,
    ends: StableSample,
    targets: Targets,
    check: Check,
    engine: Engine,
) -> tuple[int, bool]:
    """Go over all rows in batches of `rows`; return their number, and whether they have weights."""
    n_rows = 0
    weighted = False
    for batch in prefetched(first_pass.recorded(source.batches(rows)), source.n, engine):
        with errors_in_batch(batch):
            X = check(batch.objects, reset=batch.start == 0)
            weights = batch_weights(batch)
            weighted = batch.weights is not None
            labels, counted = targets.see(X, batch.labels, weights)
        affordable = batch_rows(X, engine.budget)
        if 2 * affordable < rows:
            raise _LongRowsError(affordable)
        which = np.flatnonzero(counted)
        if len(which):
            some = X if len(which) == len(batch) else take(X, which)
            ends.add(some, labels[which], weights[which], batch.start + which)
            check_sample_fits(len(ends.positions), X, engine.budget)
        n_rows = batch.stop
    return n_rows, weighted


def sample_size(n_landmarks: int | str) -> int:
    """Return how many rows choices are made on: at least as many as there are landmarks."""
    if n_landmarks == "auto":
        return limits.SAMPLE_ROWS
    return max(limits.SAMPLE_ROWS, int(n_landmarks))


@dataclass(frozen=True, eq=False)
class SourceRows:
    """All rows of a source, validated and encoded batch by batch.

    Attributes
    ----------
    source : Source
    check : callable
        Validates the objects of a batch.
    targets : Targets
    seed : int
        Of the random order.
    rows : int
        Of a batch.
    n, n_rows : int
        Rows with a weight, and all rows.
    first_pass : FirstPass
        The rows of the first pass, which every other must give again.
    """

    source: Source
    check: Check
    targets: Targets
    seed: int
    rows: int
    n: int
    n_rows: int
    first_pass: FirstPass

    def batches(self, similarities: Sequence[Similarity], start: int) -> Iterator[EncodedBatch]:
        """Yield all rows from one on as ``(encodings, targets, weights)``, prefetching the next batch."""
        return read_ahead(self._encoded(similarities, start))

    def _encoded(self, similarities: Sequence[Similarity], start: int) -> Iterator[EncodedBatch]:
        stop = start
        for batch in self.first_pass.compared(self.source.batches(self.rows, start)):
            with errors_in_batch(batch):
                X = self.check(batch.objects, reset=False)
                Y, weights = self.targets.read(batch.labels, batch_weights(batch))
                encodings = tuple(k.encode_checked(X, "X") for k in similarities)
            stop = batch.stop
            yield EncodedBatch((encodings, Y, weights), batch.start, stop)
        if stop != self.n_rows:
            raise SourceError(f"the first pass gave {self.n_rows:,} rows and the next {stop:,}: it must give the same")

    def sums(
        self,
        similarities: Sequence[Similarity],
        union: FeatureUnion,
        held_out: np.ndarray,
        engine: Engine,
        size: int,
        marks: Marks,
    ) -> Moments:
        """Return the sums over the features of all rows except those held out, by position, in one pass."""

        def kept(start: int) -> Iterator[EncodedBatch]:
            for batch in self.batches(similarities, start):
                encodings, Y, weights = batch.encoding
                weights = np.array(weights)  # a copy: they may be the user's own
                weights[held_out[(held_out >= batch.start) & (held_out < batch.stop)] - batch.start] = 0.0
                yield replace(batch, encoding=(encodings, Y, weights))

        return sums_over(kept, union, self.n_rows, engine, size, covering(marks, self.first_pass.digest()))

    def features(self, similarities: Sequence[Similarity], union: FeatureUnion, engine: Engine, size: int) -> Design:
        """Return features, targets and weights of all rows with a weight, in random order."""
        logging.getLogger("similitude").info("this loss or penalty needs a further pass over the similarities")
        parts = []
        quiet = engine.without_progress()
        for batch in self.batches(similarities, 0):
            encodings, Y, weights = batch.encoding
            parts.append((features_of(union, encodings, quiet, size), Y, weights))
        F, Y, weights = (np.concatenate(one) for one in zip(*parts, strict=True))
        order = Sampling(self.seed).order(np.flatnonzero(weights > 0))
        return F[order], Y[order], weights[order]


def batches_to_predict(source: Source, width: int | None, engine: Engine) -> Iterator[Batch]:
    """Yield the batches of a source whose objects are to be predicted; width: of vectors, if they are vectors."""
    rows = batch_rows([None] if width is None else np.empty((1, width)), engine.budget)
    return prefetched(source.batches(rows), source.n, engine)


def prefetched(batches: Iterator[Batch], n: int | None, engine: Engine) -> Iterator[Batch]:
    """Yield batches, prefetching the next one, and show progress if the engine does."""
    return with_progress(read_ahead(batches), engine.progress, n, len, unit="rows")


def batch_weights(batch: Batch) -> np.ndarray:
    """Return the weights of a batch; unlike those of all rows, they may all be zero."""
    if batch.weights is not None and not batch.weights.any():
        return np.zeros(len(batch))
    return check_weights(batch.weights, len(batch))
