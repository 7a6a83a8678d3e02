"""Rows from a source: a first pass counts them and draws a sample, a second one computes similarities."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import take
from similitude.compute.engines import Batched, Engine, with_progress
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
from similitude.fitting import limits
from similitude.fitting.passes import FeatureUnion, Marks, covering, features_of, sums_over
from similitude.fitting.targets import Targets
from similitude.fitting.training_set import Design, Sampling
from similitude.landmarks import RowReader, batch_weights
from similitude.linear import Moments
from similitude.support import SourceError


@dataclass(frozen=True, eq=False)
class Sampled:
    """A sample of rows in memory."""

    objects: Any
    labels: np.ndarray
    weights: np.ndarray
    weighted: bool  # whether weights were given
    sampling: Sampling  # how the sample was drawn, and all rows, if there are more


def sample_source(
    source: Source, targets: Targets, check: Any, engine: Engine, n_landmarks: int | str, seed: int
) -> Sampled:
    """Validate and count all rows of a source in a first pass, and keep a sample of them.

    The size of batches follows from that of the first rows. If later ones are much longer, the pass begins again with
    smaller batches. Objects are validated by ``check(objects, reset=first)``.
    """
    source.require_passes(2, "one that counts and draws a sample, one over the similarities")
    affordable = source.batch_rows(engine.budget)
    rows = sys.maxsize
    while 2 * affordable < rows:
        rows = affordable
        ends = StableSample(*limits.rows_sampled(n_landmarks), seed)
        reader = RowReader(check, targets.copy())
        first_pass = FirstPass()
        n_rows = 0
        weighted = False
        for batch in prefetched(first_pass.recorded(source.batches(rows)), source.n, engine):
            with errors_in_batch(batch):
                X = check(batch.objects, reset=batch.start == 0)
                labels, weights, counted = reader.see(X, batch)
            affordable = batch_rows(X, engine.budget)
            if 2 * affordable < rows:
                break
            weighted = batch.weights is not None
            which = np.flatnonzero(counted)
            if len(which):
                some = X if len(which) == len(batch) else take(X, which)
                ends.add(some, labels[which], weights[which], batch.start + which)
                check_sample_fits(len(ends.positions), X, engine.budget)
            n_rows = batch.stop
    targets.absorb(reader.targets)
    targets.close()
    if ends.n_seen == 0:
        raise ValueError("every weight is zero: there is nothing to learn from")
    everything = None
    if not ends.is_complete:
        everything = SourceRows(source, RowReader(check, targets), seed, rows, ends.n_seen, n_rows, first_pass)
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


def first_rows(source: Source, targets: Targets, check: Any, engine: Engine, seed: int) -> Sampled:
    """Read the first rows of a source, to plan a fit to all of them."""
    wanted = min(limits.rows_sampled("auto")[0], source.batch_rows(engine.budget))
    batch = next(source.batches(wanted))
    with errors_in_batch(batch):
        X = check(batch.objects, reset=True)
        labels, weights, _ = RowReader(check, targets).see(X, batch)
    n = len(batch)
    is_all = n < wanted if source.n is None else n == source.n
    everything = None if is_all else Announced(source.n or n + 1, source.n is not None)
    sampling = Sampling(seed, np.arange(n), np.arange(n), everything)
    return Sampled(X, labels, weights, batch.weights is not None, sampling)


@dataclass(frozen=True, eq=False)
class SourceRows:
    """All rows of a source, validated and encoded batch by batch."""

    source: Source
    reader: RowReader
    seed: int  # of the random order
    rows: int  # of a batch
    n: int  # rows with a weight
    n_rows: int
    first_pass: FirstPass  # the rows, which every other pass must give again

    def batches(self, union: FeatureUnion, start: int = 0) -> Iterator[Batched]:
        """Yield all rows from one on as ``(encodings, targets, weights)``, prefetching the next batch."""
        return read_ahead(self._encoded(union, start))

    def _encoded(self, union: FeatureUnion, start: int) -> Iterator[Batched]:
        stop = start
        for batch in self.first_pass.compared(self.source.batches(self.rows, start)):
            with errors_in_batch(batch):
                X = self.reader.check(batch.objects, reset=False)
                Y, weights = self.reader.targets.read(batch.labels, batch_weights(batch))
                encodings = tuple(k.encode_checked(X, "X") for k in union.similarities)
            stop = batch.stop
            yield (encodings, Y, weights), batch.start, stop
        if stop != self.n_rows:
            raise SourceError(f"the first pass gave {self.n_rows:,} rows and the next {stop:,}: it must give the same")

    def sums(self, union: FeatureUnion, held_out: np.ndarray, engine: Engine, marks: Marks) -> Moments:
        """Return the sums over the features of all rows except those held out, by position, in one pass."""

        def kept(start: int) -> Iterator[Batched]:
            for (encodings, Y, given), begin, end in self.batches(union, start):
                weights = np.array(given)  # a copy: they may be the user's own
                weights[held_out[(held_out >= begin) & (held_out < end)] - begin] = 0.0
                yield (encodings, Y, weights), begin, end

        return sums_over(kept, union, self.n_rows, engine, covering(marks, self.first_pass.digest()))

    def features(self, union: FeatureUnion, engine: Engine) -> Design:
        """Return features, targets and weights of all rows with a weight, in random order."""
        logging.getLogger("similitude").info("this loss or penalty needs a further pass over the similarities")
        return in_random_order(self.designs(union, engine.without_progress()), self.seed)

    def designs(self, union: FeatureUnion, engine: Engine) -> Iterator[Design]:
        """Yield features, targets and weights of the rows with a weight, batch by batch."""
        for (encodings, Y, weights), _, _ in self.batches(union):
            F = features_of(union, encodings, engine)
            yield F[weights > 0], Y[weights > 0], weights[weights > 0]


def in_random_order(designs: Iterable[Design], seed: int) -> Design:
    """Return the rows of batches, which all have a weight, in the random order of a seed."""
    F, Y, weights = map(np.concatenate, zip(*designs, strict=True))
    order = Sampling(seed).order(np.arange(len(weights)))
    return F[order], Y[order], weights[order]


def batches_to_predict(source: Source, width: int | None, engine: Engine) -> Iterator[Batch]:
    """Yield the batches of a source whose objects are to be predicted; width: of vectors, if they are vectors."""
    rows = batch_rows([None] if width is None else np.empty((1, width)), engine.budget)
    return prefetched(source.batches(rows), source.n, engine)


def prefetched(batches: Iterator[Batch], n: int | None, engine: Engine) -> Iterator[Batch]:
    """Yield batches, prefetching the next one, and show progress if the engine does."""
    return with_progress(read_ahead(batches), engine.progress, n, len, unit="rows")
