"""SimilarityIndex: the most similar objects, close pairs and duplicates, for any similarity."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.utils.validation import check_is_fitted

from similitude.compute import Blocks, Encoding, as_numpy, check_objects, count, rows
from similitude.compute.engines import Engine
from similitude.learners.kernel_learner import check_at_most
from similitude.learners.limits import GRAPH_NEIGHBORS, SHORT_LIST, TRIAL_OBJECTS
from similitude.learners.neighbors.graph import NeighborDescent, NeighborGraph
from similitude.learners.neighbors.tiles import BoundedSearch, nearest_in_tiles
from similitude.scikit import SimilarityEstimator, all_or_nothing, tensors_for_tensors
from similitude.similarity import SYMMETRIC, Similarity, calls_per_pair
from similitude.support import check_choice, check_number, generator

FOLLOWS = ("_search", "_own_graph")
"""Attributes that follow from the others: they are computed when needed, and not saved."""


class SimilarityIndex(SimilarityEstimator):
    """Search among objects by any similarity: the most similar ones, close pairs and duplicates.

    A similarity may have bounds (see `similitude.Similarity.bounds`), as `Edit`, `Jaccard`, `DTW` and kernels of the
    distance of long vectors have. A search then evaluates only pairs whose bound says that they may matter, and is
    exact; if the bounds say too little, it evaluates the most promising 1.5 % for a new query and is approximate.
    Without bounds all pairs are evaluated; for a function of your own and more than 2,000 objects, and where bounds
    are too weak even for that list, a graph of near neighbors is built, and a search goes from neighbor to neighbor.

    The graph is built from at most 2 % of all pairs (100 for each object, if that is more; both similarities of a pair
    count, unless they are claimed to be equal). First neighbors are objects whose similarities to random landmarks are
    alike, then neighbors of neighbors are tried. Where nearly all similarities are 0, landmarks tell little, and
    many neighbors are missed. So the exact neighbors of 10 objects are kept from the graph while it is built, and
    `reason_` says how many of them it found. If bounds say too little, the neighbors of the indexed objects themselves
    are found in the same way, from those with the largest bounds.

    Parameters
    ----------
    similarity : Similarity, str or callable
        Need be neither a kernel nor symmetric; the query comes first. ``"precomputed"`` is not supported: use
        ``Precomputed(M)`` on indices.
    method : {"auto", "exact", "approximate"}
        How `nearest` searches. ``"auto"``: exact if there are at most 2,000 objects, or if the similarity is one of the
        library and no bounds are known, or if the bounds leave at most 2 % of the pairs in a trial with 20 objects.
    random_state : int, Generator or None
        Seed of the trial and of the graph.
    engine : Engine, optional

    Attributes
    ----------
    support_objects_, n_samples_fit_
        The indexed objects and their number.
    similarity_ : Similarity
        With data-dependent parameters resolved.
    exact_ : bool
        Whether `nearest` is exact. `pairs` and `duplicates` always are.
    method_ : {"all pairs", "bounds", "short list", "graph"}
        How `nearest` searches: all pairs are evaluated; those that bounds leave; of these the most promising ones (for
        the indexed objects themselves, a graph that starts with these); or those met in a graph of neighbors.
    reason_ : str
        Why this way.
    n_evaluated_ : int
        Number of pairs whose similarity was computed so far: by `fit`, and by all searches since.

    Examples
    --------
    >>> from similitude.kernels import Edit
    >>> from similitude.learners import SimilarityIndex
    >>> index = SimilarityIndex(Edit()).fit(["kernel", "kernels", "colonel", "sieve"])
    >>> indices, values = index.nearest(["kernell", "steve"], 1)
    >>> indices.ravel(), values.ravel().round(2)
    (array([0, 3]), array([0.86, 0.8 ]))
    >>> index.duplicates(0.8)
    [array([0, 1])]
    """

    _graph: NeighborGraph | None
    _own_graph: NeighborGraph

    def __init__(
        self, similarity: Any = "auto", *, method: str = "auto", random_state: Any = None, engine: Engine | None = None
    ) -> None:
        self.similarity = similarity
        self.method = method
        self.random_state = random_state
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> SimilarityIndex:
        """Index objects.

        Parameters
        ----------
        X : sequence of objects
        y : ignored
        """
        check_choice("method", self.method, ("auto", "exact", "approximate"))
        if self._precomputed:
            raise ValueError("similarity='precomputed' has no objects to index: use Precomputed(M) on indices")
        X = self._checked(X, reset=True)
        n = check_objects(X)
        k, X, A = self._start(X, self.random_state)
        self.support_objects_ = X
        self.n_samples_fit_ = n
        self.n_evaluated_ = 0
        self._support = A
        self._graph = None
        for name in FOLLOWS:
            self.__dict__.pop(name, None)
        self.method_, self.reason_ = self._chosen(k, A, n)
        self.exact_ = self.method_ in ("all pairs", "bounds")
        return self

    @property
    def _bounded(self) -> BoundedSearch | None:
        """The objects with their bounds, if there are any; not saved."""
        if "_search" not in self.__dict__:
            bounds = self.similarity_.bounds(self._support)
            self._search = None
            if bounds is not None:
                self._search = BoundedSearch(self.similarity_, self._support, bounds, self._engine)
        return self._search

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without what follows from the others."""
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in FOLLOWS}

    def _chosen(self, k: Similarity, A: Encoding, n: int) -> tuple[str, str]:
        """Return how to search, and why."""
        exact = self.method == "exact" or (self.method == "auto" and n <= 2000)  # few enough
        if self._bounded is not None:
            if exact:
                return "bounds", "bounds: only pairs that may matter are evaluated"
            return self._by_trial(self._bounded, A, n)
        if exact or n <= 2 or (self.method == "auto" and not calls_per_pair(k)):
            return "all pairs", "all pairs: the similarity has no bounds"
        return self._with_graph(k, A, n, "the similarity has no bounds")

    def _with_graph(self, k: Similarity, A: Encoding, n: int, why: str) -> tuple[str, str]:
        """Build a graph from landmarks, and say how many neighbors it found."""
        built = NeighborDescent(k, A, generator(self.random_state), spent=self.n_evaluated_)
        self._graph = built.graph()
        self.n_evaluated_ += built.n_evaluated
        share = built.n_evaluated / (n * (n - 1) / (2 - built.both_ways))
        built_from = f"a graph of neighbors, built from {share:.2%} of all pairs"
        found = f"it found {built.recall:.1%} of the nearest of {len(built.held)} objects with known neighbors"
        return "graph", f"{built_from}: {why}; {found}"

    def _by_trial(self, search: BoundedSearch, A: Encoding, n: int) -> tuple[str, str]:
        """Choose between all pairs that bounds leave and a short list."""
        drawn = np.sort(generator(self.random_state).permutation(n)[:TRIAL_OBJECTS])
        trial = rows(A, drawn)
        wanted = min(10, n - 1)
        exact, _, evaluated = search.nearest(trial, wanted, drawn)
        share = evaluated / (len(drawn) * n)
        self.n_evaluated_ += evaluated
        left = f"bounds leave {share:.2%} of the pairs in a trial with {len(drawn)} objects"
        if self.method == "auto" and share <= 0.02:  # worth an exact result
            return "bounds", left
        short, _, evaluated = search.nearest(trial, wanted, drawn, self._short_list(wanted))
        self.n_evaluated_ += evaluated
        recall = float(np.mean([np.isin(a, b).mean() for a, b in zip(exact, short, strict=True)]))
        reason = f"{left}; the {SHORT_LIST:.1%} with the largest bounds hold {recall:.1%} of the {wanted} nearest"
        if recall < 0.75:  # bounds say too little
            return self._with_graph(self.similarity_, A, n, reason)
        return "short list", reason

    def _short_list(self, wanted: int) -> int:
        return max(wanted, int(SHORT_LIST * self.n_samples_fit_))

    @tensors_for_tensors
    def nearest(self, Q: Any = None, k: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """Return the most similar objects of each query, most similar first, ties by index.

        Parameters
        ----------
        Q : sequence of objects, optional
            Default: the indexed objects, each without itself.
        k : int
            The number of objects to return for each query.

        Returns
        -------
        indices : array of shape (n, k)
        values : array of shape (n, k)
            s(query, object).
        """
        check_is_fitted(self)
        n = self.n_samples_fit_
        k = check_at_most("k", k, n, without_itself=Q is None)
        if Q is None:
            which, values, evaluated = self._nearest(self._support, k, np.arange(n))
        else:
            which, values, evaluated = self._nearest(self._ask(Q)[1], k, None)
        self.n_evaluated_ += evaluated
        return which, values

    def _nearest(self, A: Encoding, wanted: int, own: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the nearest objects of encoded queries, their similarities, and the number of pairs evaluated."""
        k: Similarity = self.similarity_
        graph = self._graph
        evaluated = 0
        if own is not None and graph is None and not self.exact_ and wanted <= min(GRAPH_NEIGHBORS, len(own) - 1):
            graph, evaluated = self._among_themselves()
        if graph is not None and own is not None and wanted <= graph.size:
            return graph.which[:, :wanted], graph.values[:, :wanted], evaluated
        if graph is not None:
            return graph.nearest(k, A, self._support, wanted, own)
        if self._bounded is not None:
            most = None
            if not self.exact_:
                most = self._short_list(wanted)
            return self._bounded.nearest(A, wanted, own, most)
        blocks = Blocks(k, A, self._support, engine=self._engine)
        far, which = nearest_in_tiles(
            blocks, count(A), wanted, lambda values, columns: -as_numpy(values).astype(np.float64), own is not None
        )
        return which, -far, count(A) * (self.n_samples_fit_ - (own is not None))

    def _among_themselves(self) -> tuple[NeighborGraph, int]:
        """Return a graph that starts with the largest bounds, built once, and how many pairs it took now."""
        if "_own_graph" in self.__dict__:
            return self._own_graph, 0
        spent = TRIAL_OBJECTS * self.n_samples_fit_
        rng = generator(self.random_state)
        self._own_graph = NeighborDescent(self.similarity_, self._support, rng, self._bounded, spent).graph()
        return self._own_graph, self._own_graph.n_evaluated

    def pairs(self, threshold: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return all pairs of indexed objects with a similarity of at least a threshold, by i and j.

        The similarity must claim to be symmetric; ``k.symmetrized()`` is.

        Parameters
        ----------
        threshold : float

        Returns
        -------
        i, j : array of int
            Positions of both objects, i < j.
        values : array
            Their similarities.
        """
        check_is_fitted(self)
        threshold = check_number("threshold", threshold)
        k: Similarity = self.similarity_
        if SYMMETRIC not in k.claims:
            raise ValueError(
                f"{k!r} does not claim to be symmetric, so a pair may have two similarities: use k.symmetrized(), or "
                f"state what you know by FromPairs(f, claims=['SYMMETRIC'])"
            )
        found = []
        for i, j, values, evaluated in self._close_pairs(k, threshold):
            self.n_evaluated_ += evaluated
            found.append((i, j, values))
        i, j, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.lexsort((j, i))
        return i[order], j[order], values[order]

    def _close_pairs(self, k: Similarity, threshold: float) -> Any:
        """Yield the pairs of each tile and the number of pairs that were evaluated."""
        if self._bounded is not None:
            yield from self._bounded.pairs(threshold)
            return
        A = self._support
        with closing(Blocks(k, A, None, True, self._engine).tiles()) as tiles:
            for (down, right), given in tiles:
                values = as_numpy(given)
                once = np.arange(down.start, down.stop)[:, None] < np.arange(right.start, right.stop)
                i, j = np.nonzero((values >= threshold) & once)
                yield i + down.start, j + right.start, values[i, j].astype(np.float64), int(once.sum())

    def duplicates(self, threshold: float) -> list[np.ndarray]:
        """Return groups of at least two objects that are linked by similarities of at least a threshold.

        Two objects are in one group if a chain of such pairs leads from one to the other (single linkage).

        Parameters
        ----------
        threshold : float

        Returns
        -------
        groups : list of arrays of int
            Positions of the objects, in order; groups are ordered by their first object.
        """
        i, j, _ = self.pairs(threshold)
        n = self.n_samples_fit_
        links = coo_array((np.ones(len(i), bool), (i, j)), shape=(n, n))
        labels = connected_components(links, directed=False)[1]
        order = np.argsort(labels, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
        return sorted((group for group in groups if len(group) > 1), key=lambda group: int(group[0]))
