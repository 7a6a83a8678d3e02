"""to_onnx: a fitted model as an ONNX graph."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from similitude.compute import as_objects, take
from similitude.estimators import SimilarityClassifier, SimilarityRegressor, fitted_parts
from similitude.export.graph import Functions, Graph, Tensor
from similitude.export.similarities import NotExportableError, column_names, compared, refuse_unknown
from similitude.learners import (
    KernelPerceptron,
    KernelRidge,
    KernelRidgeClassifier,
    KernelSGDSVC,
    KernelSVC,
    KernelSVR,
    MarginPerceptron,
)
from similitude.similarity import SYMMETRIC, Similarity
from similitude.support import brief


def to_onnx(model: Any) -> Any:
    """Return a fitted model as an ONNX graph, which ONNX Runtime computes without Python.

    The graph has one input ``X``: an array of float64 with a row per object, or an array of texts for a model of
    strings. Its outputs are ``predictions``; for classes also ``scores``, as ``decision_function`` gives them, and
    ``probabilities`` where the model has ``predict_proba``. All is computed in float64. Inputs are not checked: NaN
    gives NaN, unless the model was fitted to a table with missing cells.

    Models of vectors with kernels that are formulas, of columns of numbers (:class:`~similitude.kernels.Tabular`), and
    of strings with :class:`~similitude.kernels.Spectrum` are exported, as are sums, products, powers and normalized
    forms of these kernels; graphs for strings use operators of ONNX Runtime. Needs the package ``onnx``.

    Parameters
    ----------
    model : SimilarityClassifier, SimilarityRegressor, KernelRidge, KernelRidgeClassifier, KernelSVC, KernelSVR, \
KernelSGDSVC, KernelPerceptron or MarginPerceptron
        Fitted.

    Returns
    -------
    onnx.ModelProto
        ``onnx.save(graph, "model.onnx")`` writes it to a file.

    Raises
    ------
    TypeError
        If there is no export of this model or its similarity; the error names those that have one.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude import SimilarityRegressor, to_onnx
    >>> X = np.linspace(0, 3, 50)[:, None]
    >>> graph = to_onnx(SimilarityRegressor(random_state=0).fit(X, np.sin(X[:, 0])))
    >>> [one.name for one in graph.graph.input], [one.name for one in graph.graph.output]
    (['X'], ['predictions'])
    """
    kind = type(model)
    if kind not in EXPORTS:
        names = ", ".join(sorted(one.__name__ for one in EXPORTS))
        raise NotExportableError(f"{kind.__name__} has no export to ONNX; these have: {names}")
    check_is_fitted(model)
    if getattr(model, "_precomputed", False):
        raise NotExportableError("the model was fitted to a precomputed matrix: there are no objects to compare with")
    try:
        graph = Graph()
    except ImportError:
        raise ImportError("to_onnx needs the package onnx: pip install onnx") from None
    scores = EXPORTS[kind](graph, model)
    if hasattr(model, "classes_"):
        _add_classes(graph, model, scores)
    elif np.ndim(model.predict(take(_landmarks(model), np.arange(1)))) == 1:
        graph.output("predictions", scores.node("Squeeze", np.array([1])), np.float64, None)
    else:
        graph.output("predictions", scores, np.float64, None, None)
    k = getattr(model, "similarity_", None) or model.kernel_
    return graph.model(f"{kind.__name__} of similitude, with {k!r}")


def _landmarks(model: Any) -> Any:
    """Return the objects that the model compares others with; of several similarities, those of the first."""
    if isinstance(model, (SimilarityClassifier, SimilarityRegressor)):
        (first, *_) = fitted_parts(model) or ()
        return first.features.landmarks.objects
    return model.support_objects_


def _input(graph: Graph, model: Any, similarities: list[Similarity]) -> Tensor:
    """Add the input: an array with as many columns as the landmarks have, or texts."""
    for k in similarities:
        refuse_unknown(k)
        if SYMMETRIC not in k.claims:
            raise NotExportableError(f"{k!r} is not symmetric: models of symmetric similarities are exported")
    if similarities[0].objects == "strings":
        if any(isinstance(one, bytes) for one in as_objects(_landmarks(model))):
            raise NotExportableError("the model was fitted to bytes: models of texts (str) are exported")
        return graph.input("X", str, None)
    width = len(column_names(_landmarks(model))) or int(model.n_features_in_)
    return graph.input("X", np.float64, None, width)


def _landmark_scores(graph: Graph, model: Any) -> Tensor:
    """Add the scores of SimilarityClassifier or SimilarityRegressor."""
    parts = fitted_parts(model)
    if parts is None:
        raise NotExportableError("a frugal fit asks for similarities one after the other: it has no export to ONNX")
    X = _input(graph, model, [part.features.similarity for part in parts])
    terms = []
    for part in parts:
        if not len(part.weights):
            continue
        features = part.features
        weights = np.asarray(part.weights, dtype=np.float64)
        K, _ = compared(graph, features.similarity, X, features.landmarks.objects)
        sides = weights.reshape(-1, len(features.landmarks), weights.shape[1])
        scores = K @ sides.sum(axis=0)
        if features.normalized:
            squares = (K * K).row_sums() * float(len(sides))
            scores = scores / Functions.sqrt(graph.node("Where", squares.node("Greater", 0.0), squares, np.float64(1)))
        terms.append(scores)
    if not terms:
        raise NotExportableError("the model is a constant: it has no landmark with a weight")
    return graph.sum(terms) + model.intercept_[None, :]


def _kernel_scores(graph: Graph, model: Any) -> Tensor:
    """Add the scores of a learner with a weighted sum of similarities to training objects, a column for each."""
    X = _input(graph, model, [model.kernel_])
    if not len(model.support_):
        raise NotExportableError("the model is a constant: it has no object with a weight")
    weights = np.asarray(model.dual_coef_, dtype=np.float64).reshape(len(model.support_), -1)
    K, _ = compared(graph, model.kernel_, X, model.support_objects_)
    return K @ weights + np.reshape(getattr(model, "intercept_", 0.0), (1, -1)).astype(np.float64)


def _add_classes(graph: Graph, model: Any, scores: Tensor) -> None:
    """Add scores, classes, and probabilities of models that have them."""
    classes = model.classes_
    dtype: Any = classes.dtype
    if dtype.kind in "OU" and all(isinstance(one, str) for one in classes.tolist()):
        dtype = str
    elif dtype.kind not in "biuf":
        raise NotExportableError(f"the classes are {brief(classes)}: ONNX takes numbers or texts as labels")
    if isinstance(model, KernelSVC) and len(classes) > 2:
        scores = _votes(graph, scores, len(classes))
    if len(classes) == 2:
        shown = scores.node("Squeeze", np.array([1]))
        shape: Any = ()
        number = graph.node("Cast", shown.node("GreaterOrEqual", 0.0), to=graph.onnx.TensorProto.INT64)
        scores = graph.node("Concat", scores * 0.0, scores, axis=1)
    else:
        shown = scores
        shape = (len(classes),)
        number = scores.node("ArgMax", axis=1, keepdims=0)
    graph.output("predictions", graph.constant(classes).node("Gather", number), dtype, None)
    graph.output("scores", shown, np.float64, None, *shape)
    scale = {SimilarityClassifier: "temperature_", KernelSVC: "scale_"}.get(type(model))
    if scale is not None:
        chances = (scores * float(getattr(model, scale))).node("Softmax", axis=1)
        graph.output("probabilities", chances, np.float64, None, len(classes))


def _votes(graph: Graph, scores: Tensor, n_classes: int) -> Tensor:
    """Return one score per class from one per pair: the number of votes, and less than half a vote for their size."""
    signs = np.array(
        [np.eye(n_classes)[second] - np.eye(n_classes)[first] for first, second in combinations(range(n_classes), 2)]
    )
    won = graph.node("Cast", scores.node("GreaterOrEqual", 0.0), to=graph.onnx.TensorProto.DOUBLE)
    votes = won @ signs + (signs < 0).sum(axis=0).astype(np.float64)[None, :]
    sums = scores @ signs
    return votes + sums / ((abs(sums) + 1.0) * 3.0)


EXPORTS: dict[type, Callable[[Graph, Any], Tensor]] = {
    SimilarityClassifier: _landmark_scores,
    SimilarityRegressor: _landmark_scores,
    KernelRidge: _kernel_scores,
    KernelSVR: _kernel_scores,
    KernelRidgeClassifier: _kernel_scores,
    KernelSVC: _kernel_scores,
    KernelSGDSVC: _kernel_scores,
    KernelPerceptron: _kernel_scores,
    MarginPerceptron: _kernel_scores,
}
"""What adds the scores of each kind of model to a graph."""
