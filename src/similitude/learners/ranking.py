"""KernelRanker: which of two objects comes first, learned from grades or from pairs by least squares on a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from similitude.compute import as_numpy, check_objects
from similitude.compute.engines import Engine
from similitude.learners.kernel_learner import KernelLearner, Objects
from similitude.learners.limits import RANK_NEGLIGIBLE
from similitude.linear import some_eigen
from similitude.scikit import all_or_nothing, check_targets, tensors_for_tensors
from similitude.support import check_nonnegative, generator


class KernelRanker(KernelLearner):
    r"""Learn an order of objects from grades, or from pairs of which one comes first.

    The score :math:`f(x) = \langle w, \phi(x)\rangle` minimizes

    .. math:: \sum_{(i, j)} s_{ij} \bigl(t_{ij} - (f(x_i) - f(x_j))\bigr)^2 + \lambda\, u\, |w|^2 ,

    where u is the mean of :math:`|\phi(x_i) - \phi(x_j)|^2`. With grades y, all pairs of the same query are compared,
    :math:`t_{ij} = y_i - y_j`, each with the weight :math:`1 / n_q` for a query of :math:`n_q` objects; given pairs
    have :math:`t = 1`. (Pahikkala, Tsivtsivadze, Airola, Järvinen and Boberg, "An efficient algorithm for learning to
    rank from preference graphs", 2009.)

    Parameters
    ----------
    kernel : Similarity, str or callable
        Must be PSD.
    lam : float or "auto"
        The penalty, relative to the mean squared length of a comparison. ``"auto"``: of eleven, the one that puts the
        fewest pairs into the wrong order, by three folds of queries, or of rows where there is one query only.
    random_state : int, optional
        Seed of the folds.
    engine : Engine, optional

    Attributes
    ----------
    lam_ : float
    held_out_error_ : float
        With ``lam="auto"``: the share of pairs in the wrong order by models that have seen neither of the two. The
        penalty is chosen by the same pairs, so that it is slightly too small.
    support_, support_objects_, dual_coef_
        The score is sum_j dual_coef_j K(x, support_j).
    kernel_, validity_
        The kernel with data-dependent parameters resolved; whether it is known to be PSD.

    Examples
    --------
    >>> from similitude.learners import KernelRanker
    >>> dishes = ["plain soup", "good soup", "very good soup", "plain stew", "very good stew"]
    >>> model = KernelRanker("spectrum(3)", lam=1.0).fit(dishes, pairs=[(1, 0), (2, 1), (4, 3)])
    >>> bool(model.predict(["very good pie"]) > model.predict(["plain pie"]))
    True
    """

    def __init__(
        self, kernel: Any = "auto", *, lam: float | str = "auto", random_state: Any = None, engine: Engine | None = None
    ) -> None:
        self.kernel = kernel
        self.lam = lam
        self.random_state = random_state
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, *, qid: Any = None, pairs: Any = None) -> KernelRanker:
        """Learn from grades of objects, or from pairs of them.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of float, optional
            Grades: a larger one comes first.
        qid : sequence of labels, optional
            The query of each object; only grades of the same query are compared.
        pairs : array of int of shape (pairs, 2), optional
            Instead of grades: positions in X of two objects, of which the first comes first.
        """
        auto = isinstance(self.lam, str) and self.lam == "auto"
        if not auto:
            check_nonnegative("lam", self.lam, otherwise="'auto'")
        X = self._checked(X, reset=True)
        compared = self._compared(X, y, qid, pairs)
        k, X, A = self._start(X, None, None)
        objects = Objects(k, X, A, np.arange(compared.n), self._engine)
        with self._engine.linear_algebra(f"ranking {compared.n:,} objects"):
            gram, _, self.validity_ = objects.gram()
            K = as_numpy(gram)
            self.__dict__.pop("held_out_error_", None)
            if auto:
                self.lam_, self.held_out_error_ = _best_penalty(K, compared, self.random_state, objects)
            else:
                self.lam_ = float(self.lam)
            (coefficients,) = _solutions(K, compared, np.array([self.lam_]), objects)
        self._keep(X, A, coefficients)
        return self

    def _compared(self, X: Any, y: Any, qid: Any, pairs: Any) -> Grades | Pairs:
        """Return what is compared with what; refuse what compares nothing."""
        n = check_objects(X)
        if n < 2:
            raise ValueError("there is nothing to compare one object with, got n_samples = 1")
        if (y is None) == (pairs is None):
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, or pairs=, not both; the target y is None"
            )
        if pairs is not None:
            if qid is not None:
                raise ValueError("pairs say which objects are compared: leave qid out")
            return Pairs(n, _checked_pairs(pairs, n))
        y = check_targets(self, X, y)
        if y.ndim > 1:
            raise ValueError(f"y must hold one grade per object, got an array of shape {y.shape}")
        if qid is None:
            qid = np.zeros(n)
        check_consistent_length(X, qid)
        return Grades(y, np.asarray(qid))

    @tensors_for_tensors
    def predict(self, X: Any) -> np.ndarray:
        """Return the score of every object: larger ones come first. Only differences have a meaning.

        Parameters
        ----------
        X : sequence of objects
        """
        check_is_fitted(self)
        return self._weighted(X)

    def score(self, X: Any, y: Any, *, qid: Any = None) -> float:
        """Return the share of pairs with different grades, in the same query, whose order is right.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of float
        qid : sequence of labels, optional
        """
        compared = self._compared(X, y, qid, None)
        wrong, total = compared.misordered(as_numpy(self.predict(X)), np.ones(compared.n, dtype=bool))
        if not total:
            raise ValueError("no two objects of the same query have different grades: there is no order to compare")
        return 1.0 - wrong / total


class Grades:
    """Grades that are compared within queries: each with the mean of its query, which compares all pairs."""

    def __init__(self, y: np.ndarray, queries: np.ndarray) -> None:
        self.n = len(y)
        self.y = y
        self.groups = np.unique(queries, return_inverse=True)[1]
        self.units = self.groups  # what a fold holds as a whole: a query, or an object if there is only one
        if not self.groups.max(initial=0):
            self.units = np.arange(self.n)

    def among(self, some: np.ndarray) -> Grades:
        """Return the comparisons among some objects."""
        return Grades(self.y[some], self.groups[some])

    def differences(self, V: np.ndarray) -> np.ndarray:
        """Return V, with one row per object, less its mean over the query of each."""
        sums = np.zeros((self.groups.max() + 1, V.shape[1]))
        np.add.at(sums, self.groups, V)
        return np.asarray(V - (sums / np.bincount(self.groups)[:, None])[self.groups])

    def targets(self) -> np.ndarray:
        """Return the differences that are asked for."""
        return self.differences(self.y[:, None])[:, 0]

    def misordered(self, scores: np.ndarray, new: np.ndarray) -> tuple[float, int]:
        """Return how many pairs of new objects have the wrong order, of how many; ties of scores are half."""
        wrong = 0.0
        total = 0
        for group in np.unique(self.groups[new]):
            inside = np.flatnonzero((self.groups == group) & new)
            for place, i in enumerate(inside):
                order = np.sign(self.y[i] - self.y[inside[place + 1 :]])
                found = np.sign(scores[i] - scores[inside[place + 1 :]])
                wrong += float((np.abs(order - found) * (order != 0)).sum()) / 2
                total += int((order != 0).sum())
        return wrong, total


class Pairs:
    """Pairs of objects, the first of which comes first."""

    def __init__(self, n: int, places: np.ndarray) -> None:
        self.n = n
        self.places = places
        self.units = np.arange(n)  # a fold may hold any objects

    def among(self, some: np.ndarray) -> Pairs:
        """Return the pairs among some objects."""
        where = np.full(self.n, -1)
        where[some] = np.arange(len(some))
        moved = where[self.places]
        return Pairs(len(some), moved[(moved >= 0).all(axis=1)])

    def differences(self, V: np.ndarray) -> np.ndarray:
        """Return the first less the second row of V, for each pair."""
        return np.asarray(V[self.places[:, 0]] - V[self.places[:, 1]])

    def targets(self) -> np.ndarray:
        """Return 1 for each pair."""
        return np.ones(len(self.places))

    def misordered(self, scores: np.ndarray, new: np.ndarray) -> tuple[float, int]:
        """Return how many pairs of new objects have the wrong order, of how many; ties of scores are half."""
        asked = self.places[new[self.places].all(axis=1)]
        return float((1 - np.sign(scores[asked[:, 0]] - scores[asked[:, 1]])).sum()) / 2, len(asked)


def _checked_pairs(pairs: Any, n: int) -> np.ndarray:
    """Return pairs of positions; refuse an object compared with itself, and positions that are none."""
    places = np.asarray(pairs)
    if places.ndim != 2 or places.shape[1] != 2 or not len(places) or places.dtype.kind not in "iu":
        what = f"{places.dtype} of shape {places.shape}"
        raise ValueError(f"pairs must be integers of shape (pairs, 2), positions in X, got {what}")
    outside = np.flatnonzero(((places < 0) | (places >= n)).any(axis=1))
    if len(outside):
        raise ValueError(f"pair {outside[0]} is {places[outside[0]].tolist()}: positions in X are 0 to {n - 1}")
    same = np.flatnonzero(places[:, 0] == places[:, 1])
    if len(same):
        raise ValueError(f"pair {same[0]} compares object {places[same[0], 0]} with itself: leave it out")
    return places.astype(np.intp)


def _solutions(K: np.ndarray, compared: Grades | Pairs, lams: np.ndarray, objects: Objects | None) -> list[np.ndarray]:
    """Return the coefficients for each penalty: ridge regression of comparisons D in the coordinates R, K = R R'."""
    values, vectors = some_eigen(np.array(K, np.float64, order="F"), 0, len(K) - 1)
    if objects is not None and values[0] < -RANK_NEGLIGIBLE * max(values[-1], 0.0) * len(K):
        objects.refuse_negative(vectors[:, 0])
    kept = values > RANK_NEGLIGIBLE * max(values[-1], 0.0)
    roots = np.sqrt(values[kept])
    E = compared.differences(vectors[:, kept] * roots)
    squares, axes = some_eigen(E.T @ E, 0, E.shape[1] - 1)
    aimed = axes.T @ (E.T @ compared.targets())
    unit = float(squares.sum()) / max(1, len(E)) or 1.0
    divided = [aimed / np.maximum(squares + lam * unit, RANK_NEGLIGIBLE * unit) for lam in lams]
    return [vectors[:, kept] @ (axes @ one / roots) for one in divided]


def _best_penalty(K: np.ndarray, compared: Grades | Pairs, random_state: Any, objects: Objects) -> tuple[float, float]:
    """Return the penalty with the fewest pairs in the wrong order by folds, the larger of equal ones, and the share."""
    units = compared.units
    n_units = int(units.max()) + 1
    folds = min(3, n_units)
    fold = generator(random_state).permutation(n_units) % folds
    lams = 10.0 ** np.arange(3.0, -7.01, -1.0)  # relative to the mean squared length of a comparison
    wrong = np.zeros(len(lams))
    total = 0
    for which in range(folds):
        new = fold[units] == which
        train = np.flatnonzero(~new)
        inside = compared.among(train)
        scores: Any = np.zeros((len(wrong), compared.n))
        if len(inside.targets()):
            found = _solutions(K[np.ix_(train, train)], inside, lams, None)
            scores = [K[:, train] @ one for one in found]
        for place, one in enumerate(scores):
            missed, asked = compared.misordered(one, new)
            wrong[place] += missed
        total += asked
    if not total:
        raise ValueError("cannot cross-validate lam: no fold has a comparable pair, give lam")
    best = int(wrong.argmin())
    return float(lams[best]), float(wrong[best] / total)
