"""ProjectionMap: a kernel's feature space projected onto the span of landmarks; CompactMap: then to few dimensions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from similitude.compute import Blocks, as_numpy, check_fits, itemsize, take
from similitude.compute.engines import Engine
from similitude.landmarks import (
    COMPACT,
    DEFAULT,
    WIDE,
    Ask,
    Factor,
    FeatureBlocks,
    LandmarkFeatures,
    Landmarks,
    at_most,
    factorize,
    in_double,
)
from similitude.maps.landmark import LandmarkedMap
from similitude.maps.sketches import SKETCH_KINDS, Sketch
from similitude.scikit import CHECKED_OBJECTS, demand_valid
from similitude.similarity import Similarity
from similitude.support import NONE, Guarantee, Premise, check_choice, check_integer, generator
from similitude.theory import bounds
from similitude.validity import Validity, check_gram


class ProjectionMap(LandmarkedMap):
    r"""Project the feature space of a kernel onto the span of landmarks, in an orthonormal basis.

    With the Gram matrix of the landmarks :math:`M = U^\top U`, U upper triangular, the features solve
    :math:`U^\top F(x) = (K(x, l_1), \dots, K(x, l_d))`. Then :math:`F(x) \cdot F(l) = K(x, l)` for every landmark and
    :math:`|F(x)|^2 \le K(x, x)`. If the classes are separable with margin :math:`\gamma`, then
    :math:`\frac{8}{\epsilon}[\frac{1}{\gamma^2} + \ln\frac{1}{\delta}]` landmarks drawn from the distribution leave,
    with probability :math:`1 - \delta`, a separator of the features with error at most :math:`\epsilon` at margin
    :math:`\gamma / 2`. (Balcan, Blum and Vempala, "On Kernels, Margins, and Low-dimensional Mappings", section 4.1,
    Theorem 1.) Landmarks whose features depend on those of others add nothing and are dropped.

    Parameters
    ----------
    kernel : Similarity, str or callable
        One that is not PSD on the landmarks is refused with its witness.
    n_components : int, optional
        The number of landmarks. Default: what `epsilon` and `margin` ask for, or else 100, and no more than there are
        objects.
    epsilon, margin, delta, landmarks, landmark_indices, max_calls, random_state, engine
        See :class:`LandmarkMap`.

    Attributes
    ----------
    landmarks_, landmark_indices_
        The landmarks that were kept, and their positions in X.
    kernel_ : Similarity
        With data-dependent parameters resolved.
    factor_ : array of shape (rank, rank)
        U, in float64.
    rank_ : int
        The number of features.
    validity_ : Validity
        What is known of the kernel.
    guarantee_ : Guarantee
        What the theorem promises, under which assumption.

    Examples
    --------
    >>> from similitude.maps import ProjectionMap
    >>> m = ProjectionMap("linear", landmarks=[[1., 0., 0.], [1., 1., 0.]]).fit([[0., 0., 1.]])
    >>> m.transform([[2., 3., 4.]])
    array([[2., 3.]])
    """

    _promise = WIDE

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        n_components: int | None = None,
        epsilon: float | None = None,
        margin: float | None = None,
        delta: float | None = None,
        landmarks: Any = "uniform",
        landmark_indices: Any = None,
        max_calls: int | None = None,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.epsilon = epsilon
        self.margin = margin
        self.delta = delta
        self.landmarks = landmarks
        self.landmark_indices = landmark_indices
        self.max_calls = max_calls
        self.random_state = random_state
        self.engine = engine

    def _learn(self, k: Similarity, chosen: Landmarks, ask: Ask) -> LandmarkFeatures:
        factor = self._factorize(k, chosen)
        self.factor_ = factor.U
        self.rank_ = len(factor.pivots)
        self.n_features_out_ = self.rank_
        self.guarantee_ = self._promise.made(ask, len(chosen), self._premises(k))
        self._ready: dict[np.dtype, LandmarkFeatures] = {}  # prepared once for each precision, never pickled
        return LandmarkFeatures(k, chosen.only(factor.pivots), factor=factor.U)

    def _premises(self, k: Similarity) -> list[Premise]:
        found = str(self.validity_.effort) if k.proven else f"no counterexample: {self.validity_.effort}"
        kernel = Premise("the similarity is a kernel", "proven" if k.proven else "assumed", found)
        return [*super()._premises(k), kernel]

    def _factorize(self, k: Similarity, chosen: Landmarks) -> Factor:
        """Return the factor of the landmarks' Gram matrix, computed in float64; refuse an indefinite one."""
        m = len(chosen)
        check_fits(m, m, 8, self._engine)
        A = in_double(k, chosen)
        proof = k.proof()
        M = as_numpy(Blocks(k, A, A, proof.holds, self._engine).whole()).astype(np.float64, copy=False)
        if proof.holds:
            self.validity_ = Validity("VALID", proof, effort="the algebra of kernels, no data needed")
        else:
            self._examine(k, M, chosen, np.arange(m)[:CHECKED_OBJECTS])
        factor = factorize(M, itemsize(chosen.encoding) == 4)
        if factor.residual:
            self._examine(k, M, chosen, np.arange(m))
        if not len(factor.pivots):
            raise ValueError(f"K(l, l) = 0 for every landmark under {k!r}: there is nothing to project on")
        return factor

    def _examine(self, k: Similarity, M: np.ndarray, chosen: Landmarks, some: np.ndarray) -> None:
        """Refuse a similarity that is not a kernel on some of the landmarks."""
        positions = some if chosen.positions is None else chosen.positions[some]
        out_of = int(positions.max()) + 1 if self._precomputed else len(M)
        validity = check_gram(k, M[np.ix_(some, some)], take(chosen.objects, some), positions, out_of)
        self.validity_ = demand_valid(validity, "LandmarkMap takes any similarity, or use repair(...) first")

    def features(self, X: Any) -> Blocks:
        """Return the features in blocks of rows."""
        k, A = self._ask(X)
        dtype = np.dtype(f"float{8 * itemsize(A)}")
        mapped = self._prepared(dtype).with_similarity(k)
        return Blocks(FeatureBlocks(k), A, mapped, engine=self._engine, itemsize=dtype.itemsize, whole_rows=True)

    def _prepared(self, dtype: np.dtype) -> LandmarkFeatures:
        """Return the features prepared for a precision."""
        if dtype not in self._ready:
            self._ready[dtype] = self._features.ready(dtype)
        return self._ready[dtype]

    def __getstate__(self) -> Any:
        return {name: {} if name == "_ready" else value for name, value in super().__getstate__().items()}


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
        check_choice("projection", self.projection, SKETCH_KINDS)
        if self.n_components is not None:
            check_integer("n_components", self.n_components, otherwise="None")
        return super()._check_params()

    def _learn(self, k: Similarity, chosen: Landmarks, ask: Ask) -> LandmarkFeatures:
        features = super()._learn(k, chosen, ask)
        if self.n_components is not None:
            of_rank = f"the rank {self.rank_:,} of the landmarks"
            self.n_features_out_ = at_most("n_components", self.n_components, self.rank_, of_rank)
        else:
            wanted = DEFAULT if ask.margin is None else bounds.compact_dimension(ask.epsilon, ask.margin, ask.delta)
            self.n_features_out_ = min(self.rank_, wanted)
        self.sketch_ = None
        if self.n_features_out_ < self.rank_:
            seed = int(generator(self.random_state).integers(2**63))
            self.sketch_ = Sketch(self.projection, self.rank_, self.n_features_out_, seed)
            if "margin" in self.guarantee_.numbers:
                self.guarantee_ = self._promised(self.guarantee_)
        return features

    def _promised(self, made: Guarantee) -> Guarantee:
        """Return what both stages together promise; a first stage left as it is keeps more than the theorem asks."""
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
            matrix = solve_triangular(self.factor_, self.sketch_.matrix().T, check_finite=False)
            self._ready[dtype] = replace(self._features, factor=None, matrix=matrix.astype(dtype, copy=False))
        return self._ready[dtype]
