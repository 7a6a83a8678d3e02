"""The map contract: a scikit-learn transformer from objects to a few features, and what it promises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from similitude.compute.blocks import Blocks, check_fits
from similitude.compute.engines.distributed import is_spread, own_engine
from similitude.data.sources import Source, about, in_partition, looks_like_source, objects_in, opened, read_ahead
from similitude.landmarks.partitions import for_workers
from similitude.scikit import SimilarityEstimator, tensors_for_tensors
from similitude.support.results import Guarantee


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SimilarityEstimator):
    """A map from objects to features.

    A subclass writes ``fit``, which sets ``guarantee_`` and ``n_features_out_``, and `features`.
    """

    guarantee_: Guarantee
    n_features_out_: int
    _takes_tensors = True

    def features(self, X: Any) -> Blocks:
        """Return the features of X as strips of rows, for what never needs them all at once."""
        raise NotImplementedError

    @tensors_for_tensors
    def transform(self, X: Any) -> Any:
        """Return the features of every object.

        Parameters
        ----------
        X : sequence of objects, or source
            Of a source (see :class:`similitude.sources.Source`) the features must fit into the memory budget; of a
            dask collection they come as a lazy array.

        Returns
        -------
        array of shape (n, d)
        """
        if is_spread(X):
            return self._lazily(X)
        if self._precomputed or not looks_like_source(X):
            return self.features(X).whole()
        check_is_fitted(self)
        source = X if isinstance(X, Source) else Source(X)
        if source.n is not None:
            check_fits(source.n, self.n_features_out_, 4, self._engine)
        parts, n = [], 0
        for part in self.transform_batches(source):
            n += len(part)
            check_fits(n, self.n_features_out_, part.dtype.itemsize, self._engine)
            parts.append(part)
        return np.concatenate(parts)

    def _lazily(self, X: Any) -> Any:
        """Return the features of a collection as a lazy array."""
        check_is_fitted(self)
        engine = own_engine(self._engine)
        helper = for_workers(self, engine.memory)
        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        return engine.lazily(_transformed, helper, X, np.empty((1, self.n_features_out_), dtype))

    def transform_batches(self, X: Any) -> Iterator[Any]:
        """Yield the features of a source batch after batch, however many rows it has.

        Parameters
        ----------
        X : source
        """
        check_is_fitted(self)
        source = X if isinstance(X, Source) else Source(X)
        rows = max(1, min(65_536, self._engine.budget // (64 * self.n_features_out_)))
        for batch in read_ahead(source.batches(rows)):
            with about(batch):
                found = self.features(batch.objects)
            yield np.asarray(found.whole())

    @property
    def _n_features_out(self) -> int:
        return self.n_features_out_


def _transformed(fitted: FeatureMap, number: int, objects: Any) -> np.ndarray:
    """Return the features of a partition, which may be empty."""
    with in_partition(number):
        if opened(objects) is None:
            return np.empty((0, fitted.n_features_out_))
        return np.asarray(fitted.features(objects_in(objects)).whole())
