"""ProjectionMap: the orthogonal projection of feature space onto the span of landmarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute.blocks import Blocks, BlockTask, check_fits
from similitude.compute.encodings import (
    Encoding,
    as_numpy,
    count,
    in_precision,
    itemsize,
    moved,
    namespace,
    take,
    tensor_in,
)
from similitude.compute.engines import Engine
from similitude.landmarks.chosen_landmarks import Chosen
from similitude.landmarks.sizes import WIDE, Ask
from similitude.landmarks.triangular import Factor, factorize, solve_rows, solver
from similitude.maps.landmarks import LandmarkedMap
from similitude.scikit import CHECKED_OBJECTS, demand_valid, whole_gram
from similitude.similarity import Similarity
from similitude.validity import Validity, check_gram

ADVICE = "LandmarkMap takes any similarity, or use repair(...) first"


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
        The number of landmarks. Default: what `epsilon` and `margin` ask for, or else 100, of X at most.
    epsilon, margin, delta, landmarks, landmark_indices, random_state, engine
        See :class:`LandmarkMap`.

    Attributes
    ----------
    landmarks_, landmark_indices_
        The landmarks that were kept, and their positions in X.
    kernel_ : Similarity
        With what data had to fix.
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
        kernel: Any = "gaussian",
        *,
        n_components: int | None = None,
        epsilon: float | None = None,
        margin: float | None = None,
        delta: float | None = None,
        landmarks: Any = "uniform",
        landmark_indices: Any = None,
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
        self.random_state = random_state
        self.engine = engine

    def _learn(self, k: Similarity, chosen: Chosen, ask: Ask) -> Chosen:
        factor = self._factorize(k, chosen)
        self.factor_, self.rank_ = factor.U, len(factor.pivots)
        self.n_features_out_ = self.rank_
        self.guarantee_ = self._promise.made(ask, count(chosen.encoding), self._why_not())
        self._ready: dict[np.dtype, np.ndarray] = {}  # made from the factor when asked for, never pickled
        return chosen.only(factor.pivots)

    def _factorize(self, k: Similarity, chosen: Chosen) -> Factor:
        """Return the factor of the landmarks' Gram matrix, computed in float64; refuse an indefinite one."""
        m = count(chosen.encoding)
        check_fits(m, m, 8, self._engine)
        M = self._landmark_gram(k, chosen)
        largest = float(M.diagonal().max())
        # Below this a squared length is rounding: that of the factorization, or that of K(x, l) in single precision.
        single = float(np.finfo(np.float32).eps) if itemsize(chosen.encoding) == 4 else 0.0
        precision = max(m * float(np.finfo(np.float64).eps), single)
        factor = factorize(M, precision * max(largest, 0.0))
        if factor.residual > 16 * precision * float(np.abs(M).max(initial=0.0)):
            self.validity_ = demand_valid(self._examined(k, M, chosen, np.arange(m)), ADVICE)
        if not len(factor.pivots):
            raise ValueError(f"K(l, l) = 0 for every landmark under {k!r}: there is nothing to project on")
        return factor

    def _landmark_gram(self, k: Similarity, chosen: Chosen) -> np.ndarray:
        """Return the Gram matrix of the landmarks in float64, and look at it where the kernel has no proof."""
        A, proof = in_double(k, chosen), k.proof()
        if proof.holds:
            self.validity_ = Validity("VALID", proof, effort="the algebra of kernels, no data needed")
            return as_numpy(k.blocks(A, engine=self._engine).whole()).astype(np.float64, copy=False)
        M = as_numpy(whole_gram(k, A, self._engine)).astype(np.float64, copy=False)
        self.validity_ = demand_valid(self._examined(k, M, chosen, np.arange(len(M))[:CHECKED_OBJECTS]), ADVICE)
        return (M + M.T) / 2

    def _examined(self, k: Similarity, M: np.ndarray, chosen: Chosen, some: np.ndarray) -> Any:
        """Return the verdict on the kernel by some of its landmarks."""
        positions = some if chosen.positions is None else chosen.positions[some]
        out_of = int(positions.max()) + 1 if self._precomputed else len(M)
        return check_gram(k, M[np.ix_(some, some)], take(chosen.objects, some), positions, out_of)

    def features(self, X: Any) -> Blocks:
        """Return the features as strips of rows."""
        k, A = self._ask(X)
        dtype = np.dtype(np.float32 if itemsize(A) == 4 else np.float64)
        against = Against(self.n_features_out_, self._landmarks, self._weights(dtype))
        return Blocks(self._mapped(k), A, against, engine=self._engine, itemsize=dtype.itemsize, whole_rows=True)

    def _mapped(self, k: Similarity) -> Any:
        return Projected(k)

    def _weights(self, dtype: np.dtype) -> np.ndarray:
        """Return what the similarities are solved with or multiplied by, made once for each precision."""
        if dtype not in self._ready:
            self._ready[dtype] = self._make_weights(dtype)
        return self._ready[dtype]

    def _make_weights(self, dtype: np.dtype) -> np.ndarray:
        return solver(self.factor_, dtype)


def in_double(k: Similarity, chosen: Chosen) -> Encoding:
    """Return the landmarks' encoding in float64 where they are vectors in another precision."""
    if k.objects != "vectors" or itemsize(chosen.encoding) == 8:
        return chosen.encoding
    return k.encode(in_precision(chosen.objects, namespace(chosen.objects).float64))


@dataclass(frozen=True)
class Against:
    """What every row is mapped with: landmarks and weights, as an encoding that is never cut."""

    width: int
    landmarks: Encoding
    weights: np.ndarray

    def __len__(self) -> int:
        return self.width

    def __getitem__(self, which: Any) -> Against:
        return self

    def movable(self) -> bool:
        """Tell that a device can hold it."""
        return True

    def moved(self, move: Callable[[Any], Any]) -> Against:
        """Return the same with its arrays passed through `move`."""
        return Against(self.width, moved(self.landmarks, move), move(self.weights))


@dataclass(frozen=True)
class Projected:
    """A kernel followed by the triangular solve that makes its values features."""

    kernel: Similarity

    @property
    def threadsafe(self) -> bool:
        """As the kernel is."""
        return self.kernel.threadsafe

    def works_on_tensors(self) -> bool:
        """Tell whether a device can run it."""
        return self.kernel.works_on_tensors()

    def is_finite(self) -> bool:
        """Tell that the features need no check: the kernel's values have been looked at."""
        return True

    def block(self, A: Encoding, B: Against, out: Any = None) -> Any:
        """Return the features of the encoded objects."""
        task, T = BlockTask(self.kernel), B.weights
        if tensor_in(A) is not None:
            return solve_rows(in_precision(task(A, B.landmarks), T.dtype), T)
        K = np.empty((count(A), len(B)), T.dtype) if out is None else out
        if task.fills:
            task(A, B.landmarks, K)
        else:
            K[...] = task(A, B.landmarks)
        return solve_rows(K, T)
