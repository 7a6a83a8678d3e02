"""Contract 3: a map is a scikit-learn transformer from objects to a few explicit features, with a guarantee."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from similitude.compute import Blocks, check_fits, in_memory, is_distributed
from similitude.compute.engines import LocalEngine, distributed_engine
from similitude.data.sources import (
    Source,
    StableSample,
    check_sample_fits,
    errors_in_batch,
    errors_in_partition,
    looks_like_source,
    partition_objects,
    partition_source,
    read_ahead,
)
from similitude.landmarks import Collection, RowReader
from similitude.scikit import InputCheck, SimilarityEstimator, tensors_for_tensors
from similitude.support import Guarantee, generator

MAX_FITTED_ROWS = 20_000
"""Most rows of a source or a collection that a map is fitted to."""


@dataclass(frozen=True, eq=False)
class FitSample:
    """Objects and labels that a map is fitted to.

    Attributes
    ----------
    objects, labels
    places : array of int, or None
        Their positions in the source or collection they were drawn from; None if they are all of X.
    collection : Collection or None
        The collection they were drawn from.
    n_rows : int or None
        The number of rows of the source they were drawn from.
    """

    objects: Any
    labels: Any
    places: np.ndarray | None = None
    collection: Collection | None = None
    n_rows: int | None = None


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SimilarityEstimator):
    """A map from objects to features.

    A subclass writes ``fit``, which sets ``guarantee_`` and ``n_features_out_``, and `features`.
    """

    guarantee_: Guarantee
    n_features_out_: int
    landmark_indices: Any = None
    random_state: Any = None
    _takes_tensors = True

    def features(self, X: Any) -> Blocks:
        """Return the features of X in blocks of rows, for code that never needs all of them at once."""
        raise NotImplementedError

    @tensors_for_tensors
    def transform(self, X: Any) -> Any:
        """Return the features of every object.

        Parameters
        ----------
        X : sequence of objects, or source
            The features of a source (see :class:`similitude.sources.Source`) must fit into the memory budget; those
            of a Dask collection come as a lazy array.

        Returns
        -------
        array of shape (n, d)
        """
        if in_memory(X):
            return self.features(X).whole()
        if is_distributed(X):
            return self._transform_lazily(X)
        if self._precomputed or not looks_like_source(X):
            return self.features(X).whole()
        check_is_fitted(self)
        source = X if isinstance(X, Source) else Source(X)
        if source.n is not None:
            check_fits(source.n, self.n_features_out_, 4, self._engine)
        parts = []
        n = 0
        for part in self.transform_batches(source):
            n += len(part)
            check_fits(n, self.n_features_out_, part.dtype.itemsize, self._engine)
            parts.append(part)
        return np.concatenate(parts)

    def _transform_lazily(self, X: Any) -> Any:
        """Return the features of a collection as a lazy array."""
        check_is_fitted(self)
        engine = distributed_engine(self._engine)
        helper = copy.copy(self)
        helper.engine = LocalEngine(threads=1, memory=engine.memory)
        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        return engine.lazy_array(_transform_partition, helper, X, np.empty((1, self.n_features_out_), dtype))

    def transform_batches(self, X: Any) -> Iterator[Any]:
        """Yield the features of a source batch by batch, however many rows it has.

        Parameters
        ----------
        X : source
        """
        check_is_fitted(self)
        source = X if isinstance(X, Source) else Source(X)
        rows = max(1, min(65_536, self._engine.budget // (64 * self.n_features_out_)))
        for batch in read_ahead(source.batches(rows)):
            with errors_in_batch(batch):
                found = self.features(batch.objects)
            yield np.asarray(found.whole())

    @property
    def _n_features_out(self) -> int:
        return self.n_features_out_

    # What a map is fitted to.

    @contextmanager
    def _sampled(self, X: Any, y: Any = None) -> Iterator[FitSample]:
        """Yield what the map is fitted to: X in memory, or a uniform sample of a source or a collection.

        The workers of a collection stay connected until the fit ends.
        """
        if in_memory(X) or self._precomputed:
            yield FitSample(X, y)
            return
        in_partitions = is_distributed(X)
        by_position = self.landmark_indices is not None
        if not (in_partitions or looks_like_source(X)) or (by_position and isinstance(X, np.memmap)):
            yield FitSample(X, y)
            return
        if by_position:
            raise ValueError(
                f"landmark_indices are positions in memory: for a {'collection' if in_partitions else 'source'} give "
                f"the landmarks themselves"
            )
        seed = int(generator(self.random_state).integers(2**63))
        if in_partitions:
            with distributed_engine(self._engine).session():
                yield self._sample_of_collection(X, y, seed)
        else:
            yield self._sample_of_source(X, y, seed)

    def _sample_of_source(self, X: Any, y: Any, seed: int) -> FitSample:
        source = X if isinstance(X, Source) else Source(X, y)
        source.require_passes(2, "one to see how large rows are, one to draw a sample")
        ends = StableSample(MAX_FITTED_ROWS, 0, seed)
        budget = self._engine.budget
        labeled = False
        for batch in read_ahead(source.batches(source.batch_rows(budget))):
            with errors_in_batch(batch):
                Z = self._checked(batch.objects, reset=batch.start == 0)
            places = np.arange(batch.start, batch.stop)
            labeled = batch.labels is not None
            ends.add(Z, batch.labels if labeled else places, np.ones(len(batch)), places)
            check_sample_fits(len(ends.positions), Z, budget)
        return FitSample(ends.objects, ends.labels if labeled else None, ends.positions, n_rows=ends.n_seen)

    def _sample_of_collection(self, X: Any, y: Any, seed: int) -> FitSample:
        """Look at all partitions, then draw the rows with the smallest keys."""
        engine = distributed_engine(self._engine)
        columns = engine.partitions(X, y)
        collection = Collection.of(engine, columns, RowReader(InputCheck(self, engine.memory)), seed)
        self.__dict__.update(collection.inputs)
        objects, labels, _, places, _ = collection.sample(MAX_FITTED_ROWS, 0)
        return FitSample(objects, None if y is None else labels, places, collection)


def _transform_partition(fitted: FeatureMap, number: int, objects: Any) -> np.ndarray:
    """Return the features of a partition, which may be empty."""
    with errors_in_partition(number):
        if partition_source(objects) is None:
            return np.empty((0, fitted.n_features_out_))
        return np.asarray(fitted.features(partition_objects(objects)).whole())
