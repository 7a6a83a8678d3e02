"""Contract 3: a map is a transformer from objects to a few explicit features; LandmarkMap, and maps with landmarks."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from similitude.compute import (
    Blocks,
    Encoding,
    as_numpy,
    check_fits,
    check_objects,
    count,
    in_memory,
    is_distributed,
    rows,
    take,
)
from similitude.compute.engines import Engine, LocalEngine, distributed_engine
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
from similitude.landmarks import (
    AMONG_ALL,
    DEFAULT,
    GIVEN,
    SEPARABLE,
    Ask,
    Collection,
    LandmarkFeatures,
    Landmarks,
    Pool,
    Promise,
    Reservoir,
    RowReader,
    at_most,
    check_positions,
    choose,
    choose_among_all,
    describe_choice,
    fixed_beforehand,
    independent_landmarks,
    is_kernel,
    refuse_function,
    sided,
)
from similitude.scikit import InputCheck, SimilarityEstimator, all_or_nothing, tensors_for_tensors, whole_gram
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
from similitude.support import NONE, Guarantee, Premise, brief, check_integer, generator

MAX_FITTED_ROWS = 20_000
"""Most rows of a source or a collection that a map is fitted to."""


@dataclass(frozen=True, eq=False)
class FitSample:
    """Objects and labels that a map is fitted to."""

    objects: Any
    labels: Any
    places: np.ndarray | None = None  # in the source or collection they were drawn from; None if they are all of X
    collection: Collection | None = None
    n_rows: int | None = None  # of the source they were drawn from


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
        if in_memory(X) or self._precomputed or not (is_distributed(X) or looks_like_source(X)):
            return self.features(X).whole()
        check_is_fitted(self)
        if is_distributed(X):
            engine = distributed_engine(self._engine)
            helper = copy.copy(self)
            helper.engine = LocalEngine(threads=1, memory=engine.memory)
            dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
            return engine.lazy_array(_transform_partition, helper, X, np.empty((1, self.n_features_out_), dtype))
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
        by_position = self.landmark_indices is not None
        known = in_memory(X) or self._precomputed or (by_position and isinstance(X, np.memmap))
        in_partitions = not known and is_distributed(X)
        if known or not (in_partitions or looks_like_source(X)):
            yield FitSample(X, y)
            return
        if by_position:
            what = ("source", "collection")[in_partitions]
            raise ValueError(f"landmark_indices are positions in memory: for a {what} give the landmarks themselves")
        seed = int(generator(self.random_state).integers(2**63))
        if not in_partitions:
            yield self._sample_of_source(X if isinstance(X, Source) else Source(X, y), seed)
            return
        engine = distributed_engine(self._engine)
        with engine.session():
            reader = RowReader(InputCheck(self, engine.memory))
            collection = Collection.of(engine, engine.partitions(X, y), reader, seed)
            self.__dict__.update(collection.inputs)
            objects, labels, _, places, _ = collection.sample(MAX_FITTED_ROWS, 0)
            yield FitSample(objects, None if y is None else labels, places, collection)

    def _sample_of_source(self, source: Source, seed: int) -> FitSample:
        source.require_passes(2, "one to see how large rows are, one to draw a sample")
        ends = StableSample(MAX_FITTED_ROWS, 0, seed)
        budget = self._engine.budget
        for batch in read_ahead(source.batches(source.batch_rows(budget))):
            with errors_in_batch(batch):
                Z = self._checked(batch.objects, reset=batch.start == 0)
            places = np.arange(batch.start, batch.stop)
            ends.add(Z, places if batch.labels is None else batch.labels, np.ones(len(batch)), places)
            check_sample_fits(len(ends.positions), Z, budget)
        labels = None if batch.labels is None else ends.labels
        return FitSample(ends.objects, labels, ends.positions, n_rows=ends.n_seen)


def _transform_partition(fitted: FeatureMap, number: int, objects: Any) -> np.ndarray:
    """Return the features of a partition, which may be empty."""
    with errors_in_partition(number):
        if partition_source(objects) is None:
            return np.empty((0, fitted.n_features_out_))
        return np.asarray(fitted.features(partition_objects(objects)).whole())


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
        labels = given.labels
        if rule == "stratified" and labels is not None:
            labels = column_or_1d(labels)
        n = count(A)
        pool = Pool(k, A, self._engine, labels, generator(self.random_state), X)
        if given.n_rows is not None and given.n_rows > n:
            sample = f"a uniform sample of {n:,} of {given.n_rows:,} rows"
            self.notes_.append(f"landmarks={rule!r} chose among {sample}; in memory it chooses among all")
        positions = choose(rule, pool, self._number(ask, n))
        return Landmarks(take(X, positions), positions, rows(A, positions), rule=rule).relocated(given.places)

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
        self.n_features_out_ = features.n_similarities
        self.guarantee_ = self._promise.made(ask, self.rank_, [])
        if self.guarantee_.grade != NONE:
            premises = self._premises(k)
            if all(one.state != "contradicted" for one in premises):
                M = np.empty((0, 0))
                if not k.proven:
                    few = chosen.only(np.arange(min(100, len(chosen))))
                    M = as_numpy(whole_gram(k, few.encoding, self._engine))
                premises.append(is_kernel(k, M, M.dtype == np.float32))
            self.guarantee_ = self._promise.made(ask, self.rank_, premises)
        return features

    def features(self, X: Any) -> Blocks:
        """Return the similarities to the landmarks in blocks."""
        k, A = self._ask(X)
        like, columns = sided(k, self._features.landmarks.encoding, self.side)
        return Blocks(like, A, columns, engine=self._engine)
