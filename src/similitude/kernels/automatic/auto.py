"""Auto: the similarity that suits the objects, decided when it is resolved on them."""

from __future__ import annotations

from typing import Any

from similitude.compute import Encoding
from similitude.kernels.automatic.families import default_similarity
from similitude.similarity import PSD, SYMMETRIC, Similarity
from similitude.support import UnresolvedError


class Auto(Similarity):
    """The similarity that suits the objects: it is chosen by what they look like when it is resolved on them.

    Vectors have a Gaussian kernel, data frames with categories or missing values one of standardized columns and
    indicators, strings shared substrings and windows with gaps, series alignments, graphs subtrees, sets the share of
    common elements, and records with several of these in their columns the mean over columns. Each is a kernel. No
    labels are used: `SimilarityClassifier` and `SimilarityRegressor`, whose default is ``similarity="auto"``, try
    several similarities of the kind.

    Examples
    --------
    >>> from similitude.kernels import Auto
    >>> Auto().resolve([{"red", "round"}, {"red"}])
    Jaccard()
    >>> Auto().gram([[0.0, 1.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """

    claims = frozenset({SYMMETRIC, PSD})
    reason = "for every kind of objects it is a kernel that is proven"

    def unresolved(self) -> list[str]:
        """Return that the similarity itself is to be chosen."""
        return ["similarity"]

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Similarity:
        """Return the similarity for objects such as these, resolved on them."""
        return default_similarity(X).resolve(X, random_state, sample_weight)

    def block(self, A: Encoding, B: Encoding) -> Any:
        """Refuse: it is not known yet which similarity it is."""
        raise UnresolvedError("Auto() stands for a similarity that is chosen on objects: use Auto().resolve(X)")
