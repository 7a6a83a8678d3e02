"""LandmarkMap, and what all maps with landmarks share: how many landmarks, how they are chosen, streams."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from similitude.compute import Blocks, Encoding, as_numpy, check_objects, count, rows, take
from similitude.compute.engines import Engine
from similitude.landmarks import (
    AMONG_ALL,
    DEFAULT,
    GIVEN,
    SEPARABLE,
    Ask,
    LandmarkFeatures,
    Landmarks,
    Pool,
    Promise,
    Reservoir,
    at_most,
    check_positions,
    choose,
    choose_among_all,
    describe_choice,
    fixed_beforehand,
    independent_landmarks,
    is_kernel,
    refuse_function,
    rounding_of,
    sided,
)
from similitude.maps.feature_map import MAX_FITTED_ROWS, FeatureMap, FitSample
from similitude.scikit import all_or_nothing, whole_gram
from similitude.similarity import (
    Calls,
    Meter,
    Precomputed,
    Similarity,
    as_similarity,
    calls_taken,
    check_max_calls,
    metered,
)
from similitude.support import NONE, Premise, brief, check_integer, generator


class LandmarkedMap(FeatureMap):
    """A map that compares objects with landmarks. A subclass writes `_learn` and `features`."""

    _promise: Promise
    _counts_landmarks = "n_components"
    landmarks: Any
    epsilon: float | None
    margin: float | None
    delta: float | None
    max_calls: int | None
    calls_: Calls
    _features: LandmarkFeatures

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Any:
        """Choose landmarks among X.

        Parameters
        ----------
        X : sequence of objects, source or Dask collection
            For ``"precomputed"`` the square matrix of their similarities. Of a source (see
            :class:`similitude.sources.Source`) or a collection, landmarks are chosen from a uniform sample of 20,000
            rows; the rules ``kmeans++`` and ``rpcholesky`` choose from all rows of a collection. ``notes_`` says so.
        y : sequence of labels, optional
            Only used by ``landmarks="stratified"``.
        """
        ask = self._check_params()
        if self.max_calls is not None:
            check_max_calls(self.max_calls, self._engine)
        with metered(Meter(self.max_calls)) as meter, self._sampled(X, y) as given:
            X = self._checked(given.objects, reset=True)
            if given.labels is not None:
                check_consistent_length(X, given.labels)
            k, X, A = self._start(X, self.random_state)
            chosen = self._choose(k, X, A, ask, given)
            self.__dict__.pop("_reservoir", None)
            self._finish(k, chosen, ask)
        self.calls_ = calls_taken(meter, k, self._features.n_similarities)
        return self

    def _choose(self, k: Similarity, X: Any, A: Encoding, ask: Ask, given: FitSample) -> Landmarks:
        """Return the landmarks, with their positions in what the user gave."""
        rule = self._rule
        if rule is None:
            return self._given(k, X, A, ask).relocated(given.places)
        if given.collection is not None:
            n = given.collection.n_rows
            self.notes_.append(describe_choice(rule, MAX_FITTED_ROWS, n))
            if n > MAX_FITTED_ROWS and rule in AMONG_ALL:
                objects, places = choose_among_all(rule, k, given.collection, self._number(ask, n))
                return Landmarks(objects, places, k.encode_checked(objects, "X"), rule=rule)
        labels = None
        if rule == "stratified" and given.labels is not None:
            labels = column_or_1d(given.labels)
        n = count(A)
        pool = Pool(k, A, self._engine, labels, generator(self.random_state), X)
        if given.n_rows is not None and given.n_rows > n:
            sample = f"a uniform sample of {n:,} of {given.n_rows:,} rows"
            self.notes_.append(f"landmarks={rule!r} chose among {sample}; in memory it chooses among all")
        positions = choose(rule, pool, self._number(ask, n))
        places = positions if given.places is None else given.places[positions]
        return Landmarks(take(X, positions), places, rows(A, positions), rule=rule)

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any = None) -> Any:
        """Look at a batch of a stream: the landmarks are a uniform sample of all objects seen so far.

        Data-dependent parameters of the kernel, such as ``sigma="median"``, are resolved on the current landmarks.

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
        return self._finish(k, Landmarks(objects, self._reservoir.positions, A), ask)

    def _finish(self, k: Similarity, chosen: Landmarks, ask: Ask) -> Any:
        self._features = self._learn(k, chosen, ask)
        if isinstance(k, Precomputed):
            self._features = self._features.with_similarity(None)
        self.landmarks_ = self._features.landmarks.objects
        self.landmark_indices_ = self._features.landmarks.positions
        return self

    def _learn(self, k: Similarity, chosen: Landmarks, ask: Ask) -> LandmarkFeatures:
        """Set the fitted attributes and return the features."""
        raise NotImplementedError

    def _asked(self, X: Any) -> tuple[LandmarkFeatures, Encoding]:
        """Return the features and the encoding of new objects."""
        k, A = self._ask(X)
        features = self._features
        return (features.with_similarity(k) if isinstance(k, Precomputed) else features), A

    @property
    def _rule(self) -> str | None:
        """The rule that chooses landmarks; None if the user names them."""
        named = self.landmark_indices is not None or not isinstance(self.landmarks, str)
        return None if named else str(self.landmarks)

    def _check_params(self) -> Ask:
        """Refuse contradictions before the first kernel call."""
        if not isinstance(self.landmarks, str):
            refuse_function(self.landmarks)
            if self.landmark_indices is not None:
                raise ValueError("give the landmarks themselves or their landmark_indices, not both")
            if self._precomputed:
                raise ValueError("with a precomputed matrix landmarks are columns: name them by landmark_indices")
        return Ask.of(self.epsilon, self.margin, self.delta)

    def _n_wanted(self, ask: Ask) -> int | None:
        """Return how many landmarks were asked for, by number or by theorem; None if neither was."""
        given = getattr(self, self._counts_landmarks)
        if given is not None:
            wanted = check_integer(self._counts_landmarks, given, otherwise="None")
            return wanted // 2 if getattr(self, "side", "left") == "both" else wanted
        return None if ask.margin is None else self._promise.landmarks(ask, ask.margin)

    def _number(self, ask: Ask, n: int) -> int:
        """Return how many of n objects become landmarks."""
        wanted = self._n_wanted(ask)
        if wanted is None:
            return min(n, DEFAULT)
        if wanted <= n:
            return wanted
        return at_most(self._counts_landmarks, wanted, n, f"the {n:,} objects of X")

    def _given(self, k: Similarity, X: Any, A: Encoding, ask: Ask) -> Landmarks:
        """Return the landmarks that the user named."""
        if self.landmark_indices is None:
            try:
                objects = self._checked(self.landmarks, reset=False)
                chosen = Landmarks(objects, None, k.encode_checked(objects, "landmarks"))
            except (TypeError, ValueError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(f"landmarks: {error}") from error
        else:
            positions = check_positions(self.landmark_indices, check_objects(X))
            chosen = Landmarks(take(X, positions), positions, rows(A, positions))
        name = self._counts_landmarks
        wanted = self._n_wanted(ask)
        if getattr(self, name) is not None and wanted != len(chosen):
            raise ValueError(f"{name} asks for {wanted} landmarks but {len(chosen)} were given: leave it out")
        return chosen

    def _premises(self, k: Similarity) -> list[Premise]:
        """Return the premises that do not depend on values of the similarity."""
        given = k if self._precomputed else as_similarity(getattr(self, self._role))
        return [fixed_beforehand([given]), independent_landmarks(self._rule or GIVEN)]


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
        The number of features: as many landmarks, or half as many with ``side="both"``. Default: the landmarks that
        `epsilon` and `margin` ask for, or else 100, and no more than there are objects.
    epsilon, margin, delta : float, optional
        The error and the margin of the theorem, and the probability of failure (0.05).
    landmarks : str or sequence of objects
        A rule (``uniform stratified kmeans++ rpcholesky leverage diverse``), or the objects themselves.
    landmark_indices : sequence of int, optional
        Positions in X to use instead of a rule.
    side : {"left", "right", "both"}
        K(x, l), K(l, x), or both side by side: they differ if the similarity is not symmetric.
    max_calls : int, optional
        The most calls of your own function in ``fit``; one more raises BudgetError before it is made.
    random_state : int, optional
    engine : Engine, optional

    Attributes
    ----------
    landmarks_, landmark_indices_
        The landmarks, and their positions in X (in the stream; None for objects that are not rows of X).
    similarity_ : Similarity
        With data-dependent parameters resolved.
    guarantee_ : Guarantee
        What the theorem promises, under which assumption.
    rank_ : int
        The number of landmarks.
    calls_ : Calls
        The calls of your own function in ``fit``, and those for each object in ``transform``.
    notes_ : list of str
        For a source or a Dask collection, from which of its rows the landmarks were chosen.

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
        similarity: Any = "auto",
        *,
        n_components: int | None = None,
        epsilon: float | None = None,
        margin: float | None = None,
        delta: float | None = None,
        landmarks: Any = "uniform",
        landmark_indices: Any = None,
        side: str = "left",
        max_calls: int | None = None,
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
        self.max_calls = max_calls
        self.random_state = random_state
        self.engine = engine

    def _check_params(self) -> Ask:
        if self.side not in ("left", "right", "both"):
            raise ValueError(f"side must be 'left', 'right' or 'both', got {brief(self.side)}")
        if self.side != "left" and self._precomputed:
            raise ValueError("K(new, train) holds no K(train, new): with a precomputed matrix side must be 'left'")
        d = self.n_components
        if self.side == "both" and d is not None and check_integer("n_components", d, otherwise="None") % 2:
            raise ValueError(f"side='both' gives two features for each landmark: n_components must be even, got {d}")
        return super()._check_params()

    def _learn(self, k: Similarity, chosen: Landmarks, ask: Ask) -> LandmarkFeatures:
        features = LandmarkFeatures(k, chosen, self.side)
        self.rank_ = len(chosen)
        self.n_features_out_ = self.rank_ * (2 if self.side == "both" else 1)
        premises: list[Premise] = []
        self.guarantee_ = self._promise.made(ask, self.rank_, premises)
        if self.guarantee_.grade != NONE:
            premises = self._premises(k)
            if all(one.state != "contradicted" for one in premises):
                premises.append(self._examined(k, chosen))
            self.guarantee_ = self._promise.made(ask, self.rank_, premises)
        return features

    def _examined(self, k: Similarity, chosen: Landmarks) -> Premise:
        """Return whether the similarity is a kernel, by proof or on some of the landmarks."""
        # most landmarks whose Gram matrix is examined before a guarantee for a kernel is stated
        some = chosen.only(np.arange(min(100, len(chosen))))
        M = None if k.proven else as_numpy(whole_gram(k, some.encoding, self._engine))
        return is_kernel(k, M, 0.0 if M is None else rounding_of(M, M.dtype == np.float32))

    def features(self, X: Any) -> Blocks:
        """Return the similarities to the landmarks in blocks."""
        features, A = self._asked(X)
        like, columns = sided(features.similarity, features.landmarks.encoding, self.side)
        return Blocks(like, A, columns, engine=self._engine)
