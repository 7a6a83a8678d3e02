"""Attribution: what each part of an object adds to its prediction, shown in the object itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from similitude.compute import as_objects, is_sparse, is_table
from similitude.relevance.additive import Additive, WeightedSum, additive
from similitude.relevance.drawings import drawing_of, text_of
from similitude.relevance.parts import Parts, as_row, kind_of_object, occluded, parts_of, usual_values
from similitude.support import Html, Result, written


@dataclass(frozen=True, eq=False)
class Attribution(Result):
    """What each part of an object adds to its prediction.

    Attributes
    ----------
    prediction : label or number
    against : label or None
        The class that the predicted one is compared with; None for numbers.
    score : float
        That of the predicted class against the other one, or the number.
    parts : list of str
        The parts in words: letters, columns, items, nodes and edges, segments.
    values : array of float
        What each part adds to the score: positive values speak for the predicted class, or for a larger number.
    base : float or None
        With the values it sums to the score, if the values add up; otherwise None.
    how : {"features", "occlusion"}
        ``features``: by explicit features of the kernel, which are sums over parts. ``occlusion``: the score less that
        of the object without the part; such values need not add up.
    kind : str
        The kind of the object.
    places : list
        Where each part is: a position, a name, an item, a node or a pair of nodes, a start and an end.
    object : object
    """

    prediction: Any
    against: Any
    score: float
    parts: list[str]
    values: np.ndarray
    base: float | None
    how: str
    kind: str
    places: list[Any]
    object: Any

    @property
    def order(self) -> np.ndarray:
        """The parts by their number, those with the largest values first."""
        return np.argsort(-np.abs(self.values), kind="stable")

    @property
    def title(self) -> str:
        """The prediction, its score, and how values were found."""
        compared = f" against {written(self.against)}" * (self.against is not None)
        how = "what is lost without each part; parts may stand in for each other"
        if self.base is not None:
            how = f"base {self.base:+.4g} and the parts sum to it"
        return f"{written(self.prediction)}{compared}: score {self.score:.4g}; {how}"

    def __str__(self) -> str:
        return f"{self.title}\n{text_of(self)}"

    def html_parts(self) -> Sequence[object]:
        """Return the object with its parts colored by what they add."""
        return self.title, Html(f'<div style="--c0:#2563a8;--c1:#c2410c">{drawing_of(self)}</div>')


def attribution(model: Any, x: Any, *, output: int = 0, names: Sequence[str] | None = None) -> Attribution:
    r"""Return what each part of one object adds to its prediction.

    Parts are the letters of a string, the columns of a vector or of a row of a table, the items of a set, the nodes and
    edges of a graph, and segments of a series.

    If the similarity is a sum over parts, :math:`K(x, z) = \sum_p k_p(x, z)`, so is the score
    :math:`b + \sum_l a_l K(x, l)`, and each part gets its exact term: the values and the base sum to the score. This is
    so for `Spectrum`, `Intersection`, `Linear`, `Columns` by mean or sum, `Gower`, `WeisfeilerLehman`, and for their
    sums, multiples and normalized forms. The value of a cell is that beyond the average of the landmarks.

    For any other similarity, a part gets the score less that of the object without it (occlusion): a letter is replaced
    by one that occurs in no text, an item, node or edge removed, a segment of a series straightened, and a cell
    replaced by its usual value among the landmarks.

    Parameters
    ----------
    model : estimator
        Fitted: a `SimilarityClassifier`, `SimilarityRegressor`, or any learner that has ``decision_function`` or
        ``predict``.
    x : object
        One object; not a sequence of objects.
    output : int
        Which output, if the model predicts several numbers.
    names : sequence of str, optional
        Of the columns of vectors; by default those that the model was fitted to, or numbers.

    Returns
    -------
    Attribution
        It prints itself in the object, and draws itself in notebooks: colored letters, nodes, curve.

    Examples
    --------
    >>> from similitude import SimilarityClassifier, attribution
    >>> from similitude.kernels import Spectrum
    >>> words = ["kernel", "kernels", "kerning", "margin", "margins", "marginal"]
    >>> model = SimilarityClassifier(Spectrum(2), random_state=0).fit(words, ["k", "k", "k", "m", "m", "m"])
    >>> found = attribution(model, "kern")
    >>> found.prediction, found.parts, found.how
    ('k', ['k', 'e', 'r', 'n'], 'features')
    >>> bool(abs(found.base + found.values.sum() - found.score) < 1e-9)
    True
    """
    (found,) = attributions(model, [x], output=output, names=names)
    return found


def attributions(
    model: Any, objects: Sequence[Any], *, output: int = 0, names: Sequence[str] | None = None
) -> list[Attribution]:
    """Return the attributions of several objects; landmarks are prepared once for all of them."""
    check_is_fitted(model)
    similarity = getattr(model, "similarity_", getattr(model, "kernel_", None))
    several = similarity if isinstance(similarity, list) else [similarity]
    kinds = {getattr(one, "objects", "any") for one in several} - {"any"}
    kind = kinds.pop() if kinds else kind_of_object(objects[0])
    if similarity is None or isinstance(similarity, str) or kind == "indices":
        raise TypeError("attribution needs objects: a model of a precomputed matrix knows only their positions")
    landmarks = getattr(model, "landmarks_", None)
    named = names or getattr(model, "feature_names_in_", None)
    parts = [parts_of(kind, x, named) for x in objects]
    like = landmarks if is_table(landmarks) else None  # of a table, predictions take one like it
    explained = _explained(model, collection(kind, list(objects), like), output)
    same_direction: dict[bytes, list[int]] = {}
    for i, (_, _, _, direction) in enumerate(explained):
        same_direction.setdefault(direction.tobytes(), []).append(i)

    def attributed(i: int, values: np.ndarray, base: float | None, how: str) -> Attribution:
        n = len(values)
        prediction, against, score, _ = explained[i]
        names = parts[i].names[:n]
        places = parts[i].places[:n]
        return Attribution(prediction, against, score, names, values, base, how, kind, places, objects[i])

    found: dict[int, Attribution] = {}
    for which in same_direction.values():
        some = [objects[i] for i in which], [parts[i] for i in which]
        added = _by_features(model, several, *some, landmarks, explained[which[0]][-1])
        if added is None:
            continue
        for i, values, base in zip(which, *added, strict=True):
            score = explained[i][2]
            if abs(base + values.sum() - score) <= 1e-6 * (1.0 + np.abs(values).sum()):
                if kind == "graphs":  # edges have nothing
                    values = values[: parts[i].object.nodes]
                found[i] = attributed(i, values, score - float(values.sum()), "features")
    left = [i for i in range(len(objects)) if i not in found]
    usual = None
    if left and kind in ("vectors", "table"):
        if landmarks is None:
            raise TypeError("the usual values of cells are those of landmarks: the model has none")
        of_several = isinstance(landmarks, list) and landmarks and hasattr(landmarks[0], "shape")
        usual = usual_values(kind, landmarks[0] if of_several else landmarks)
    for i in left:
        lost = np.zeros(0)
        if parts[i].places:
            without = collection(kind, occluded(parts[i], usual), like)
            _, _, score, direction = explained[i]
            lost = score - _scores_of(model, without) @ direction
        found[i] = attributed(i, lost, None, "occlusion")
    return [found[i] for i in range(len(objects))]


def _scores_of(model: Any, X: Any) -> np.ndarray:
    """Return the scores of a model, one column per output."""
    found = np.asarray((model.decision_function if hasattr(model, "classes_") else model.predict)(X))
    return found.reshape(len(found), -1)


def _explained(model: Any, X: Any, output: int) -> list[tuple[Any, Any, float, np.ndarray]]:
    """Return predictions, the classes they are compared with, and scores along directions among outputs."""
    scores = _scores_of(model, X)
    k = scores.shape[1]
    if not hasattr(model, "classes_"):
        return [(value, None, value, np.eye(k)[output]) for value in scores[:, output].tolist()]
    names = np.asarray(model.classes_).tolist()
    found: list[tuple[Any, Any, float, np.ndarray]] = []
    for row in scores:
        if k == 1:
            decided = int(row[0] >= 0)
            other = 1 - decided
            direction = np.array([1.0 if decided else -1.0])
        else:
            decided, other = np.argsort(-row, kind="stable")[:2].tolist()
            direction = np.eye(k)[decided] - np.eye(k)[other]
        found.append((names[decided], names[other], float(row @ direction), direction))
    return found


def collection(kind: str, objects: list[Any], like: Any = None) -> Any:
    """Return objects as a model takes them: an array of vectors, a data frame like another one, or a list."""
    if kind == "vectors":
        if is_table(objects[0]):
            return objects[0]
        if is_sparse(objects[0]):
            from scipy.sparse import vstack

            return vstack(objects, format="csr")
        return np.array([np.asarray(one, dtype=float).ravel() for one in objects])
    if kind == "table":
        rows = [as_row(one) for one in objects]
        if is_table(like) and hasattr(like, "iloc"):
            made = type(like)(rows, columns=list(like.columns))
            return made.astype({name: like[name].dtype for name in like.columns if like[name].dtype.name == "category"})
        return rows
    return objects


def _by_features(
    model: Any, similarities: list[Any], objects: list[Any], parts: list[Parts], sets: Any, direction: np.ndarray
) -> Additive | None:
    """Return what the parts of each object add, and the bases, by explicit features; None without sums over parts."""
    weights = getattr(model, "landmark_weights_", None)
    known: Any = getattr(model, "representation_", None)
    if weights is None or sets is None:
        return None
    if not isinstance(weights, list):
        if not len(weights) and len(sets):  # a frugal fit: scores are no weighted sums of similarities
            return None
        weights = [weights]
        sets = [sets]
    if any([one.normalized or one.side != "left" for one in (known if isinstance(known, tuple) else [known])]):
        return None
    n = len(objects)
    cells = parts[0].kind in ("vectors", "table") and not is_sparse(objects[0])
    values = [np.zeros(len(one.places)) for one in parts]
    bases = np.full(n, float(np.asarray(model.intercept_) @ direction))
    for k, those, W in zip(similarities, sets, weights, strict=True):
        if not len(W):
            continue
        some = list(as_objects(those))
        compared = some[:: -(-len(some) // 100)] if cells else []
        total = WeightedSum([*objects, *compared], [*parts, *parts[:1] * len(compared)], some, W @ direction)
        found = additive(k, total)
        if found is None:
            return None
        average = np.mean(found[0][n:], axis=0) if compared else 0.0
        values = [own + added - average for own, added in zip(values, found[0], strict=False)]
        bases += found[1][:n] + np.sum(average)
    return values, bases
