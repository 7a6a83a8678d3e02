"""LandmarkMap, and what every map with landmarks shares: their number, their choice, their place in a stream."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from similitude.compute.blocks import Blocks
from similitude.compute.encodings import Encoding, check_objects, count, itemsize, rows, take
from similitude.compute.engines import Engine
from similitude.landmarks.chosen_landmarks import Chosen, faced
from similitude.landmarks.distributed import AMONG_ALL, choose_among_all, looked_at
from similitude.landmarks.reservoir import Reservoir
from similitude.landmarks.rules import Pool, choose
from similitude.landmarks.sizes import DEFAULT, SEPARABLE, Ask, Promise, at_most, positive_whole
from similitude.maps.base import FeatureMap
from similitude.maps.sampling import SAMPLE, Sampled, connected, sampled
from similitude.scikit import all_or_nothing
from similitude.similarity import Similarity
from similitude.support.randomness import generator


class LandmarkedMap(FeatureMap):
    """A map that compares an object with landmarks. A subclass writes ``_learn`` and ``features``."""

    _promise: Promise
    _counts_landmarks = "n_components"
    landmarks: Any
    landmark_indices: Any
    epsilon: float | None
    margin: float | None
    delta: float | None
    random_state: Any

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Any:
        """Choose landmarks among X.

        Parameters
        ----------
        X : sequence of objects, source or dask collection
            For ``"precomputed"`` the square matrix of their similarities. Of a source (see
            :class:`similitude.sources.Source`) or a collection landmarks are chosen among a uniform sample of 20,000
            rows; by the rules ``kmeans++`` and ``rpcholesky`` among all rows of a collection. Its ``notes_`` says so.
        y : sequence of labels, optional
            Used by ``landmarks="stratified"`` alone.
        """
        ask = self._check_params()
        with connected(self, X):
            given = sampled(self, X, y)
            X, y = self._checked(given.objects, reset=True), given.labels
            if y is not None:
                check_consistent_length(X, y)
            labels = column_or_1d(y) if y is not None and self._rule == "stratified" else None
            k, X, A = self._start(X, self.random_state)
            chosen = self._chosen(k, X, A, labels, ask, given)
            self.__dict__.pop("_reservoir", None)
            return self._finish(k, chosen, ask)

    def _chosen(
        self, k: Similarity, X: Any, A: Encoding, labels: np.ndarray | None, ask: Ask, given: Sampled
    ) -> Chosen:
        """Return the landmarks, with their positions in what was given; of a collection say what was looked at."""
        n = None if given.whole is None else int(given.whole.sizes.sum())
        if n is not None and self._rule is not None:
            self.notes_.append(looked_at(self._rule, SAMPLE, n))
        if given.whole is not None and n is not None and n > SAMPLE and self._rule in AMONG_ALL:
            objects, places = choose_among_all(self._rule, k, given.whole, self._number(ask, n))
            return Chosen(objects, k._encoded(objects, "X"), places)
        chosen = self._choose(k, X, A, labels, ask)
        if given.places is None or chosen.positions is None:
            return chosen
        return replace(chosen, positions=given.places[chosen.positions])

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any = None) -> Any:
        """Look at a batch of a stream: the landmarks are a fair sample of all that has been seen.

        What a kernel leaves open, such as ``sigma="median"``, is fixed on the landmarks of the moment.

        Parameters
        ----------
        X : sequence of objects
        y : ignored
        """
        ask = self._check_params()
        if self._precomputed or self._rule != "uniform":
            raise ValueError("a stream is sampled uniformly: partial_fit needs landmarks='uniform' and objects in X")
        first = not hasattr(self, "_reservoir")
        X = self._checked(X, reset=first)
        if first:
            self._reservoir = Reservoir(self._n_wanted(ask) or DEFAULT, generator(self.random_state))
        self._reservoir.add(X)
        k, objects, A = self._start(self._reservoir.objects, self.random_state)
        return self._finish(k, Chosen(objects, A, self._reservoir.positions), ask)

    def _finish(self, k: Similarity, chosen: Chosen, ask: Ask) -> Any:
        kept = self._learn(k, chosen, ask)
        self.landmarks_, self.landmark_indices_ = kept.objects, kept.positions
        self._landmarks = kept.encoding
        return self

    def _learn(self, k: Similarity, chosen: Chosen, ask: Ask) -> Chosen:
        """Set the fitted attributes and return the landmarks that are kept."""
        raise NotImplementedError

    @property
    def _rule(self) -> str | None:
        """The rule by which landmarks are chosen; None where the user names them."""
        named = self.landmark_indices is not None or not isinstance(self.landmarks, str)
        return None if named else str(self.landmarks)

    def _check_params(self) -> Ask:
        """Refuse contradictions, before the first kernel call."""
        if self.landmark_indices is not None and not isinstance(self.landmarks, str):
            raise ValueError("give the landmarks themselves or their landmark_indices, not both")
        if self._precomputed and not isinstance(self.landmarks, str):
            raise ValueError("with a precomputed matrix landmarks are columns: name them by landmark_indices")
        return Ask.of(self.epsilon, self.margin, self.delta)

    def _n_wanted(self, ask: Ask) -> int | None:
        """Return how many landmarks were asked for, by number or by theorem; None where nothing was said."""
        given = getattr(self, self._counts_landmarks)
        if given is not None:
            return positive_whole(self._counts_landmarks, given)
        return self._promise.landmarks(ask) if ask.complete else None

    def _choose(self, k: Similarity, X: Any, A: Encoding, labels: np.ndarray | None, ask: Ask) -> Chosen:
        name = self._counts_landmarks
        if self._rule is None:
            chosen, wanted = self._own(k, X, A), self._n_wanted(ask)
            if getattr(self, name) is not None and wanted != count(chosen.encoding):
                raise ValueError(f"{name} = {wanted} but {count(chosen.encoding)} landmarks were given: leave it out")
            return chosen
        pool = Pool(k, A, self._engine, labels, generator(self.random_state), X)
        positions = choose(self._rule, pool, self._number(ask, len(pool)))
        return Chosen(take(X, positions), rows(A, positions), positions)

    def _number(self, ask: Ask, n: int) -> int:
        """Return how many of n objects become landmarks."""
        wanted, of = self._n_wanted(ask), f"the {n:,} objects of X"
        return min(n, DEFAULT) if wanted is None else at_most(self._counts_landmarks, wanted, n, of)

    def _own(self, k: Similarity, X: Any, A: Encoding) -> Chosen:
        """Return the landmarks that the user named."""
        if self.landmark_indices is None:
            try:
                objects = self._checked(self.landmarks, reset=False)
                return Chosen(objects, k._encoded(objects, "landmarks"), None)
            except ValueError as error:
                raise ValueError(f"landmarks: {error}") from error
        n, positions = check_objects(X), np.asarray(self.landmark_indices)
        if positions.ndim != 1 or not len(positions) or positions.dtype.kind not in "iu":
            raise ValueError(f"landmark_indices must be a list of positions in X, got {self.landmark_indices!r}")
        outside = positions[(positions < -n) | (positions >= n)]
        if len(outside):
            raise IndexError(f"landmark_indices holds {outside[0]}, X has {n:,} objects")
        positions = positions % n
        return Chosen(take(X, positions), rows(A, positions), positions)

    def _why_not(self) -> str | None:
        """Return why the theorem does not speak of these landmarks; None where they may be independent draws."""
        if self._rule in (None, "uniform"):
            return None
        return f"the theorem is about independent draws, these landmarks were chosen by the rule {self._rule!r}"

    def __getstate__(self) -> Any:
        return {name: {} if name == "_ready" else value for name, value in super().__getstate__().items()}


class LandmarkMap(LandmarkedMap):
    r"""Similarities to a few landmarks as features, :math:`F(x) = (K(x, l_1), \dots, K(x, l_d))`.

    Any similarity will do, PSD or not, symmetric or not. If it is a kernel under which the classes are separable
    with margin :math:`\gamma`, then :math:`d \ge \frac{8}{\epsilon}[\frac{1}{\gamma^2} + \ln\frac{1}{\delta}]`
    landmarks drawn from the distribution leave, with probability :math:`1 - \delta`, a linear separator of the
    features with error at most :math:`\epsilon`; its margin may be small. (Balcan, Blum and Vempala, "On Kernels,
    Margins, and Low-dimensional Mappings", section 3, Lemma 1.)

    Parameters
    ----------
    similarity : Similarity, str or callable
        ``"precomputed"``: X is the matrix K(train, train), then K(new, train), and landmarks are columns.
    n_components : int, optional
        The number of landmarks. Default: what `epsilon` and `margin` ask for, or else 100, of X at most.
    epsilon, margin, delta : float, optional
        The error and the margin of the theorem, and the probability of failure (0.05).
    landmarks : str or sequence of objects
        A rule (``uniform stratified kmeans++ rpcholesky leverage diverse``), or the objects themselves.
    landmark_indices : sequence of int, optional
        Positions in X to use instead of a rule.
    side : {"left", "right", "both"}
        K(x, l), K(l, x), or both one after the other: they differ where the similarity is not symmetric.
    random_state : int, optional
    engine : Engine, optional

    Attributes
    ----------
    landmarks_, landmark_indices_
        The landmarks, and their positions in X (in the stream; None for objects of your own).
    similarity_ : Similarity
        With what data had to fix.
    guarantee_ : Guarantee
        What the theorem promises, under which assumption.
    rank_ : int
        The number of landmarks.
    notes_ : list of str
        Of a dask collection: among which of its rows landmarks were chosen.

    Examples
    --------
    >>> from similitude.maps import LandmarkMap
    >>> LandmarkMap("linear", landmarks=[[1., 0.], [1., 1.]]).fit([[0., 1.]]).transform([[2., 3.]])
    array([[2., 5.]])
    >>> words = LandmarkMap(lambda s, t: len(set(s) & set(t)), landmark_indices=[0, 1])
    >>> words.fit_transform(["kernel", "margin", "map"])
    array([[5., 2.],
           [2., 6.],
           [0., 2.]])
    """

    _promise = SEPARABLE

    def __init__(
        self,
        similarity: Any = "gaussian",
        *,
        n_components: int | None = None,
        epsilon: float | None = None,
        margin: float | None = None,
        delta: float | None = None,
        landmarks: Any = "uniform",
        landmark_indices: Any = None,
        side: str = "left",
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.similarity = similarity
        self.n_components = n_components
        self.epsilon = epsilon
        self.margin = margin
        self.delta = delta
        self.landmarks = landmarks
        self.landmark_indices = landmark_indices
        self.side = side
        self.random_state = random_state
        self.engine = engine

    def _check_params(self) -> Ask:
        if self.side not in ("left", "right", "both"):
            raise ValueError(f"side must be 'left', 'right' or 'both', got {self.side!r}")
        if self._precomputed and self.side != "left":
            raise ValueError("K(new, train) holds no K(train, new): with a precomputed matrix side must be 'left'")
        return super()._check_params()

    def _learn(self, k: Similarity, chosen: Chosen, ask: Ask) -> Chosen:
        self.rank_ = count(chosen.encoding)
        self.n_features_out_ = self.rank_ * (2 if self.side == "both" else 1)
        self.guarantee_ = self._promise.made(ask, self.rank_, self._why_not())
        return chosen

    def features(self, X: Any) -> Blocks:
        """Return the similarities to the landmarks as tiles."""
        k, A = self._ask(X)
        like, columns = faced(k, self._landmarks, self.side)
        return Blocks(like, A, columns, engine=self._engine, itemsize=itemsize(A))
