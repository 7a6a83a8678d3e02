"""CompactMap: a projection onto landmarks, then a random projection to few dimensions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from similitude.compute.engines import Engine
from similitude.landmarks import COMPACT, DEFAULT, Ask, LandmarkFeatures, Landmarks, at_most
from similitude.maps.projection import ProjectionMap
from similitude.maps.sketches import SKETCH_KINDS, Sketch
from similitude.similarity import Similarity
from similitude.support import NONE, Guarantee, brief, check_integer, generator
from similitude.theory import bounds


class CompactMap(ProjectionMap):
    r"""Few features for any kernel: :class:`ProjectionMap`, then a random projection of its features.

    :math:`F(x) = A F_1(x) / \sqrt{d}`, with :math:`F_1` the projection onto landmarks for :math:`\epsilon / 2` and
    :math:`\delta / 2`, and A a random matrix. If the classes are separable with margin :math:`\gamma`, then
    :math:`d = O(\frac{1}{\gamma^2} \ln\frac{1}{\epsilon\delta})` features keep, with probability :math:`1 - \delta`,
    a separator of error at most :math:`\epsilon` at margin :math:`\gamma / 4`. (Balcan, Blum and Vempala, "On
    Kernels, Margins, and Low-dimensional Mappings", Theorem 3, which prints "at most" for "at least".) Of vectors
    with the linear kernel, or of the explicit features of another, it is the random projection of Johnson and
    Lindenstrauss.

    Parameters
    ----------
    kernel : Similarity, str or callable
        One that is not PSD on the landmarks is refused with its witness.
    n_components : int, optional
        The number of features d. Default: what `epsilon` and `margin` ask for if that is fewer than the rank of the
        first stage, which otherwise stays as it is; without them 100.
    n_landmarks : int, optional
        Landmarks of the first stage. Default: what `epsilon` and `margin` ask for, or else 100, of X at most.
    projection : {"gaussian", "sign", "sparse", "hadamard"}
        The entries of A: normal, plus or minus one, mostly zero, or a subsampled randomized Hadamard transform. The
        theorem speaks of the first two.
    epsilon, margin, delta, landmarks, landmark_indices, max_calls, random_state, engine
        See :class:`LandmarkMap`.

    Attributes
    ----------
    sketch_ : Sketch or None
        The second stage, stored as its seed; None where the first stage needs none.
    landmarks_, landmark_indices_, kernel_, factor_, rank_, validity_, guarantee_, calls_
        See :class:`ProjectionMap`.

    Examples
    --------
    >>> from similitude.data.datasets import iris
    >>> from similitude.maps import CompactMap
    >>> X, y = iris()
    >>> CompactMap(n_landmarks=80, n_components=10).fit_transform(X).shape
    (150, 10)
    """

    _promise = COMPACT
    _counts_landmarks = "n_landmarks"

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        n_components: int | None = None,
        n_landmarks: int | None = None,
        projection: str = "gaussian",
        epsilon: float | None = None,
        margin: float | None = None,
        delta: float | None = None,
        landmarks: Any = "uniform",
        landmark_indices: Any = None,
        max_calls: int | None = None,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        super().__init__(
            kernel,
            n_components=n_components,
            epsilon=epsilon,
            margin=margin,
            delta=delta,
            landmarks=landmarks,
            landmark_indices=landmark_indices,
            max_calls=max_calls,
            random_state=random_state,
            engine=engine,
        )
        self.n_landmarks = n_landmarks
        self.projection = projection

    def _check_params(self) -> Ask:
        if self.projection not in SKETCH_KINDS:
            raise ValueError(f"projection must be one of {', '.join(SKETCH_KINDS)}, got {brief(self.projection)}")
        if self.n_components is not None:
            check_integer("n_components", self.n_components, otherwise="None")
        return super()._check_params()

    def _learn(self, k: Similarity, chosen: Landmarks, ask: Ask) -> LandmarkFeatures:
        features = super()._learn(k, chosen, ask)
        drawn = int(self.guarantee_.numbers["landmarks_drawn"])
        self.n_features_out_ = self._dimension(ask)
        self.sketch_ = None
        if self.n_features_out_ < self.rank_:
            seed = int(generator(self.random_state).integers(2**63))
            self.sketch_ = Sketch(self.projection, self.rank_, self.n_features_out_, seed)
        self.guarantee_ = self._promised(k, ask, drawn)
        return features

    def _dimension(self, ask: Ask) -> int:
        if self.n_components is not None:
            return at_most("n_components", self.n_components, self.rank_, f"the rank {self.rank_:,} of the landmarks")
        if ask.margin is None:
            return min(self.rank_, DEFAULT)
        return min(self.rank_, bounds.compact_dimension(ask.epsilon, ask.margin, ask.delta))

    def _promised(self, k: Similarity, ask: Ask, drawn: int) -> Guarantee:
        """Return what both stages together promise; a first stage left as it is keeps more than the theorem asks."""
        made = self._promise.made(ask, drawn, self._premises(k))
        if self.sketch_ is None or "margin" not in made.numbers:
            return made
        epsilon, margin, delta = (made.numbers[name] for name in ("epsilon", "margin", "delta"))
        asked = bounds.compact_dimension(epsilon, margin, delta)
        numbers = {
            **made.numbers,
            "features": float(self.n_features_out_),
            "features_theorem": float(asked),
            "features_practical": float(bounds.compact_dimension(epsilon, margin, delta, practical=True)),
        }
        if made.grade != NONE and self.n_features_out_ < asked:
            few = f"the theorem asks for {asked:,} features, not {self.n_features_out_:,}"
            return Guarantee.none(few, made.theorem, numbers)
        if made.grade != NONE and self.projection in ("sparse", "hadamard"):
            other = f"the theorem is about normal or plus-or-minus-one entries, not projection={self.projection!r}"
            return Guarantee.none(other, made.theorem, numbers)
        return replace(made, numbers=numbers)

    def _prepared(self, dtype: np.dtype) -> LandmarkFeatures:
        """Return the features, both stages after the kernel being one matrix: U^-1 A' / sqrt(d)."""
        if self.sketch_ is None:
            return super()._prepared(dtype)
        if dtype not in self._ready:
            from scipy.linalg import solve_triangular

            matrix = solve_triangular(self.factor_, self.sketch_.matrix().T, check_finite=False)
            self._ready[dtype] = replace(self._features, factor=None, matrix=matrix.astype(dtype, copy=False))
        return self._ready[dtype]
