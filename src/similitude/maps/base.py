"""The map contract: a scikit-learn transformer from objects to a few features, and what it promises."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from similitude.blocks import Blocks
from similitude.estimators import SimilarityEstimator, tensors_for_tensors
from similitude.results import Guarantee


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
        X : sequence of objects

        Returns
        -------
        array of shape (n, d)
        """
        return self.features(X).whole()

    @property
    def _n_features_out(self) -> int:
        return self.n_features_out_
