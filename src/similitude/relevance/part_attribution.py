"""Attribution: what each part of an object adds to its prediction, shown in the object itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from similitude.compute import as_objects, is_sparse, is_table
from similitude.relevance.additive import additive
from similitude.relevance.drawings import html_of, text_of
from similitude.relevance.parts import Parts, as_row, kind_of, occluded, parts_of, usual_values
from similitude.support import Result

INEXACT = 1e-6
"""By how much a sum over parts may differ from the score, by rounding of large weights that cancel."""

MOST_AVERAGED = 100
"""Landmarks that the values of cells are compared with."""

Score = Callable[[list[Any]], np.ndarray]
"""The explained score of each of some objects."""


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
        compared = "" if self.against is None else f" against {self.against!r}"
        how = (
            f"base {self.base:+.4g} and the parts sum to it"
            if self.base is not None
            else "what is lost without each part; parts may stand in for each other"
        )
        return f"{self.prediction!r}{compared}: score {self.score:.4g}; {how}"

    def __str__(self) -> str:
        return f"{self.title}\n{text_of(self)}"

    def _repr_html_(self) -> str:
        return html_of(self)


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
    check_is_fitted(model)
    similarity = getattr(model, "similarity_", getattr(model, "kernel_", None))
    several = similarity if isinstance(similarity, list) else [similarity]
    kinds = {getattr(one, "objects", "any") for one in several} - {"any"}
    kind = kinds.pop() if kinds else kind_of(x)
    if similarity is None or isinstance(similarity, str) or kind == "indices":
        raise TypeError("attribution needs objects: a model of a precomputed matrix knows only their positions")
    landmarks = getattr(model, "landmarks_", None)
    parts = parts_of(kind, x, names if names else getattr(model, "feature_names_in_", None))
    score, prediction, against, direction = _explained(model, parts, landmarks, x, output)
    value = float(score([x])[0])
    found = _by_features(model, several, x, parts, landmarks, direction)
    if found is not None and abs(found[1] + found[0].sum() - value) <= INEXACT * (1.0 + np.abs(found[0]).sum()):
        values, n = found[0], parts.object.nodes if kind == "graphs" else len(parts.places)
        base = value - float(values.sum())  # but for rounding, the one that was found
        return Attribution(
            prediction, against, value, parts.names[:n], values[:n], base, "features", kind, parts.places[:n], x
        )
    usual = None if kind not in ("vectors", "table") else usual_values(kind, _first(landmarks))
    values = value - score(occluded(parts, usual)) if parts.places else np.empty(0)
    return Attribution(prediction, against, value, parts.names, values, None, "occlusion", kind, parts.places, x)


def _first(landmarks: Any) -> Any:
    """Return the landmarks of the first of several similarities."""
    if landmarks is None:
        raise TypeError("the usual values of cells are those of landmarks: the model has none")
    return landmarks[0] if isinstance(landmarks, list) and landmarks and hasattr(landmarks[0], "shape") else landmarks


def _explained(model: Any, parts: Parts, landmarks: Any, x: Any, output: int) -> tuple[Score, Any, Any, np.ndarray]:
    """Return the score to explain, the prediction, the class compared with, and the direction among outputs."""

    def collected(objects: list[Any]) -> Any:
        return collection(parts.kind, objects, _like(model, landmarks))

    if not hasattr(model, "classes_"):
        single = np.asarray(model.predict(collected([x])))
        k = 1 if single.ndim == 1 else single.shape[1]
        direction = (np.arange(k) == output).astype(float)
        return (
            lambda objects: np.asarray(model.predict(collected(objects))).reshape(len(objects), k) @ direction,
            float(single.reshape(1, k)[0, output]),
            None,
            direction,
        )
    scores = np.asarray(model.decision_function(collected([x])))
    if scores.ndim == 1:
        direction = np.array([1.0 if scores[0] >= 0 else -1.0])
        decided = int(scores[0] >= 0)
        other = 1 - decided
    else:
        decided, other = (int(i) for i in np.argsort(-scores[0], kind="stable")[:2])
        direction = np.zeros(scores.shape[1])
        direction[[decided, other]] = 1.0, -1.0
    return (
        lambda objects: np.asarray(model.decision_function(collected(objects))).reshape(len(objects), -1) @ direction,
        model.classes_[decided].item() if hasattr(model.classes_[decided], "item") else model.classes_[decided],
        model.classes_[other].item() if hasattr(model.classes_[other], "item") else model.classes_[other],
        direction,
    )


def _like(model: Any, landmarks: Any) -> Any:
    """Return a table like the one that the model was fitted to, if it was one."""
    names = getattr(model, "feature_names_in_", None)
    return landmarks if is_table(landmarks) else names


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
    model: Any, similarities: list[Any], x: Any, parts: Parts, landmarks: Any, direction: np.ndarray
) -> tuple[np.ndarray, float] | None:
    """Return what parts add, and the base, by explicit features; None if the model is no sum over parts."""
    weights, representation = getattr(model, "landmark_weights_", None), getattr(model, "representation_", None)
    if weights is None or landmarks is None:
        return None
    alone = not isinstance(weights, list)
    weights = [weights] if alone else weights
    sets = [landmarks] if alone else landmarks
    known: Any = representation if isinstance(representation, tuple) else [representation]
    if any([one.normalized or one.side != "left" for one in known]):
        return None
    values, base = np.zeros(len(parts.places)), float(np.asarray(model.intercept_) @ direction)
    for k, objects, W in zip(similarities, sets, weights, strict=True):
        if not len(W):
            continue
        some = list(as_objects(objects))
        cells = parts.kind in ("vectors", "table") and not is_sparse(x)
        compared = some[:: -(-len(some) // MOST_AVERAGED)] if cells else []
        found = additive(k, [x, *compared], parts, some, W @ direction)
        if found is None:
            return None
        average = found[0][1:].mean(axis=0) if compared else np.zeros(len(values))
        values = values + found[0][0] - average
        base += float(found[1][0] + average.sum())
    return values, base
