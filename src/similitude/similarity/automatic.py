"""Auto: the similarity that suits the objects, decided when it is resolved on them."""

from __future__ import annotations

from typing import Any

from similitude.compute import Encoding
from similitude.similarity.claims import PSD, SYMMETRIC
from similitude.similarity.contract import Similarity
from similitude.support import UnresolvedError, check_choice


class Auto(Similarity):
    """The similarity that suits the objects: it is chosen by what they look like when it is resolved on them.

    Vectors have a Gaussian kernel, data frames with categories or missing values one of standardized columns and
    indicators, strings shared substrings and windows with gaps or words, series random convolutions, graphs refined
    labels, sets the share of common elements, and records with several of these in their columns the mean over columns.
    Each is a kernel. No labels are used: `SimilarityClassifier` and `SimilarityRegressor`, whose default it is, try
    several similarities of the kind.

    Parameters
    ----------
    kind : str, optional
        ``vectors``, ``table``, ``records``, ``strings``, ``sets``, ``series`` or ``graphs``, if that cannot be seen
        from the objects: rows of an array are vectors, unless ``Auto(kind="series")`` says that they are series.

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

    def __init__(self, kind: str | None = None) -> None:
        self.kind = kind

    @property
    def objects(self) -> str:
        """The kind of objects, if it was given."""
        return self.kind or "any"

    def check_params(self) -> None:
        """Validate the kind."""
        from similitude.kernels import FAMILIES  # loads all kernels

        if self.kind is not None:
            check_choice("kind", self.kind, tuple(FAMILIES))

    def unresolved(self) -> list[str]:
        """Return that the similarity itself is to be chosen."""
        return ["similarity"]

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Similarity:
        """Return the similarity for objects such as these, resolved on them."""
        from similitude.kernels import default_similarity  # loads all kernels

        return default_similarity(X, self.kind).resolve(X, random_state, sample_weight)

    def block(self, A: Encoding, B: Encoding) -> Any:
        """Refuse: it is not known yet which similarity it is."""
        raise UnresolvedError("Auto() stands for a similarity that is chosen on objects: use Auto().resolve(X)")
