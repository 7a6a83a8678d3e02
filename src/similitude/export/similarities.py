"""Similarities as parts of an ONNX graph: new objects are encoded and compared with the landmarks of a model."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from similitude.compute import as_numpy, is_sparse, loops
from similitude.export.graph import Functions, Graph, Tensor
from similitude.kernels import (
    Cosine,
    Gaussian,
    HistogramIntersection,
    Laplace,
    Linear,
    Matern,
    Partitioned,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Spectrum,
    Tabular,
)
from similitude.similarity import (
    Absolute,
    Exponential,
    Maximum,
    Minimum,
    Node,
    Normalized,
    Power,
    Product,
    Scaled,
    Shifted,
    Sum,
)

VECTORS = (Cosine, Gaussian, HistogramIntersection, Laplace, Linear, Matern, Polynomial, RationalQuadratic, Sigmoid)
LEAVES = (*VECTORS, Spectrum, Tabular, Partitioned)
COMPOSED_KERNELS = (Absolute, Exponential, Maximum, Minimum, Power, Product, Scaled, Shifted, Sum)


Compared = tuple[Tensor, Callable[[], Tensor]]
"""The similarities of new objects, one per row, to the landmarks, and what adds those to themselves, as one column."""


class NotExportableError(TypeError):
    """A model or a similarity that ONNX has no operators for, or that is not exported."""


def compared(graph: Graph, k: Any, X: Tensor, objects: Any) -> Compared:
    """Add the similarities of new objects X to the landmarks, which are as the user gave them."""
    kind = type(k)  # a subclass may compute something else
    if kind in VECTORS:
        return _vectors(graph, k, X, objects)
    if kind in COMPOSED_KERNELS:
        return _combined(graph, k, X, objects)
    if kind is Normalized:
        return _normalized(graph, k, X, objects)
    if kind is Spectrum:
        return _substring_products(graph, k, X, objects)
    if kind is Tabular:
        return compared(graph, k.k, _features(graph, k, X, column_names(objects)), k.features(objects))
    return _partitioned(graph, k, X, objects)


def refuse_unknown(k: Any) -> None:
    """Raise NotExportableError if a similarity, or a part of it, is not exported."""
    if type(k) not in (*LEAVES, *COMPOSED_KERNELS, Normalized):
        names = ", ".join(sorted(one.__name__ for one in LEAVES))
        raise NotExportableError(f"{k!r} has no export to ONNX; these have, and what is composed of them: {names}")
    for part in k.parts():
        refuse_unknown(part)


def _vectors(graph: Graph, k: Any, X: Tensor, objects: Any) -> Compared:
    """Add a kernel of vectors: a sum over features for each pair, and a function of it."""
    form = k.form()
    if not isinstance(form, tuple):
        raise NotExportableError(f"{k!r} has no closed form: Matern is exported with nu = 0.5, 1.5, 2.5 and inf")
    A = _encoded(graph, k, X)
    B = _landmark_vectors(k, objects)
    sums = A @ B.T.copy() if k.sums == "product" else _sums(graph, A, B, k.sums, root=form[0] == "laplace")

    def diagonal() -> Tensor:
        if k.sums == "smaller":
            return A.row_sums()
        weights = A if k.sums == "product" else 0.0
        return loops.formula(Functions, (A * weights).row_sums(), *form)

    return loops.formula(Functions, sums, *form), diagonal


def _landmark_vectors(k: Any, objects: Any) -> np.ndarray:
    """Return landmarks as a kernel encodes them, in float64; sparse ones too are written out."""
    encoded = k.encode(objects)
    return np.asarray(encoded.toarray() if is_sparse(encoded) else as_numpy(encoded), dtype=np.float64)


def _encoded(graph: Graph, k: Any, X: Tensor) -> Tensor:
    """Return vectors as a kernel encodes them: under its metric, or of length 1."""
    if type(k) is Cosine:
        squares = (X * X).row_sums()
        return X / Functions.sqrt(graph.node("Where", squares.node("Greater", 0.0), squares, np.float64(1.0)))
    metric = getattr(k, "metric", None)
    return _mapped(X, metric if metric is None else np.asarray(metric, dtype=np.float64))


def _sums(graph: Graph, A: Tensor, B: np.ndarray, sums: str, root: bool) -> Tensor:
    """Add sums over features: of many features by a product, except where a root would magnify its rounding."""
    if sums == "squared_difference" and B.shape[1] > 32 and not root:  # fewer are summed one by one, as in the library
        center = B.mean(axis=0)
        left = A - center
        right = B - center
        both = (left * left).row_sums() + np.einsum("ij,ij->i", right, right)
        return Functions.maximum(both - left @ (2.0 * right).T.copy(), graph.constant(np.float64(0.0)))
    terms = []
    for j in range(B.shape[1]):
        column = A.columns(j, j + 1)
        entries = graph.constant(B[None, :, j])
        difference = column - entries
        if sums == "smaller":
            terms.append(Functions.minimum(column, entries))
        elif sums == "squared_difference":
            terms.append(difference * difference)
        else:
            terms.append(abs(difference))
    return graph.sum(terms)


def _combined(graph: Graph, k: Node, X: Tensor, objects: Any) -> Compared:
    """Add a sum, a product, a power, … of the parts."""
    parts = [compared(graph, part, X, objects) for part in k.parts()]
    if not parts:
        raise NotExportableError(f"{k!r} is a constant: export the other parts of the model alone")
    blocks, diagonals = zip(*parts, strict=True)
    return k.combine(*blocks), lambda: k.combine(*(diagonal() for diagonal in diagonals))


def _normalized(graph: Graph, k: Normalized, X: Tensor, objects: Any) -> Compared:
    """Add a similarity divided by the roots of those of both objects to themselves; 0 where one of these is 0."""
    block, diagonal = compared(graph, k.k, X, objects)
    _, theirs = k.encode(objects)
    size = diagonal()
    positive = size.node("Greater", 0.0)
    ours = graph.node("Where", positive, graph.constant(1.0) / Functions.sqrt(size), np.float64(0.0))
    one = graph.node("Where", positive, np.float64(1.0), np.float64(0.0))
    return block * ours * np.asarray(theirs, dtype=np.float64)[None, :], lambda: one


def _partitioned(graph: Graph, k: Partitioned, X: Tensor, objects: Any) -> Compared:
    """Add the kernel within cells; between cells it is zero."""
    encoded = _landmark_vectors(k.k, objects)
    theirs = k.cells(encoded)
    directions, thresholds = (np.asarray(one, dtype=np.float64) for one in (k.directions, k.thresholds))
    A = _encoded(graph, k.k, X)
    beyond = (A @ directions.T.copy() - thresholds).node("Greater", 0.0)
    plain = k.k.with_params(metric=None)
    parts = []
    for cell in np.unique(theirs):
        T = None if k.metrics is None else np.asarray(k.metrics, dtype=np.float64)[cell]
        within, _ = compared(graph, plain, _mapped(A, T), _mapped(encoded[theirs == cell], T))
        mark = _in_cell(graph, beyond, int(cell), len(thresholds))
        parts.append(within * graph.node("Cast", mark, to=graph.onnx.TensorProto.DOUBLE))
    order = np.argsort(theirs, kind="stable")
    block = graph.node("Concat", *parts, axis=1).node("Gather", np.argsort(order), axis=1)
    return block, lambda: compared(graph, k.k, X, objects[:1])[1]()


def _mapped(A: Any, T: np.ndarray | None) -> Any:
    """Return vectors under a linear map: a matrix, or the factors of the columns."""
    if T is None:
        return A
    return A * T if T.ndim == 1 else A @ T


def _in_cell(graph: Graph, beyond: Tensor, cell: int, nodes: int) -> Tensor:
    """Return whether vectors lie in a cell of the tree, given on which side of each node they lie, as one column."""
    place = cell + nodes
    marks = []
    while place:
        parent = (place - 1) // 2
        side = beyond.columns(parent, parent + 1)
        marks.append(side if place == 2 * parent + 2 else side.node("Not"))
        place = parent
    if not marks:
        return graph.node("Or", beyond, beyond.node("Not"))
    return reduce(lambda found, mark: found.node("And", mark), marks)


def column_names(objects: Any) -> list[Any]:
    """Return the names of the columns of a table; none for an array."""
    return list(getattr(objects, "columns", ()))


def _features(graph: Graph, k: Tabular, X: Tensor, names: list[Any]) -> Tensor:
    """Return columns of numbers as the table's features: standardized, with their ranks, and marks of missing cells."""
    columns: Any = k.columns
    specs = enumerate(columns) if isinstance(columns, list) else ((names.index(j), columns[j]) for j in columns or {})
    found: list[Tensor] = []
    for j, spec in specs:
        if spec["kind"] != "number":
            name = names[j] if names else j
            raise NotExportableError(f"column {name!r} holds no numbers: tables whose columns all do are exported")
        column = X.columns(j, j + 1)
        missing = column.node("IsNaN")
        numbers = graph.node("Where", missing, np.float64(spec["fill"]), column)
        limited = numbers
        if spec.get("limits"):
            limited = numbers.node("Clip", *map(float, spec["limits"]))
        found.append((limited - float(spec["center"])) * float(spec["scale"]))
        if spec["knots"] is not None:
            found.append(_interpolated(graph, numbers, *(np.asarray(one, float) for one in spec["knots"])))
        if spec["missing"]:
            found.append(graph.node("Cast", missing, to=graph.onnx.TensorProto.DOUBLE))
    return graph.node("Concat", *found, axis=1)


def _interpolated(graph: Graph, column: Tensor, at: np.ndarray, values: np.ndarray) -> Tensor:
    """Return a piecewise linear function, constant beyond its first and last knot."""
    limited = column.node("Clip", float(at[0]), float(at[-1]))
    steps = (limited - at[None, :-1]) / np.diff(at)[None, :]
    return (steps.node("Clip", 0.0, 1.0) * np.diff(values)[None, :]).row_sums() + float(values[0])


NO_LETTER = "<pad>"
"""What fills up shorter texts: no letter, since it has several."""


def _substring_products(graph: Graph, k: Spectrum, X: Tensor, objects: Any) -> Compared:
    """Add the spectrum kernel: ONNX Runtime splits texts into letters, and counts substrings that landmarks have."""
    letters = graph.node(
        "Tokenizer", X, domain="com.microsoft", mark=0, mincharnum=1, pad_value=NO_LETTER, separators=[""]
    )
    lengths = range(1, int(k.p) + 1) if k.blended else (int(k.p),)
    table = k.feature_table(objects)
    counts = np.asarray(table.rows.toarray(), dtype=np.float64)
    terms = []
    given: Any = k.weights or {}
    default = 1.0 if k.weights is None else k.default_weight
    for length in lengths:
        which = [j for j, key in enumerate(table.keys) if len(key) == length]
        if which:
            keys = [table.keys[j] for j in which]
            found = _counts(graph, letters, keys, length)
            found = found if k.counts else found.node("Min", 1.0)
            weights = np.array([float(given.get(key, default)) for key in keys])
            terms.append(found @ (counts[:, which] * weights).T.copy())
    block = graph.sum(terms) if terms else graph.constant(np.zeros((1, len(counts))))
    return block, lambda: graph.sum([_with_themselves(graph, k, letters, length) for length in lengths])


def _counts(graph: Graph, letters: Tensor, keys: list[str], length: int) -> Tensor:
    """Return how often each of some substrings of one length occurs in each text."""
    counted = graph.node(
        "TfIdfVectorizer",
        letters,
        mode="TF",
        min_gram_length=length,
        max_gram_length=length,
        max_skip_count=0,
        ngram_counts=[0] * length,
        ngram_indexes=list(range(len(keys))),
        pool_strings=[letter for key in keys for letter in key],
    )
    return graph.node("Cast", counted, to=graph.onnx.TensorProto.DOUBLE)


def _with_themselves(graph: Graph, k: Spectrum, letters: Tensor, length: int) -> Tensor:
    """Return the sum over pairs of equal substrings of each text, or over different substrings, by weight."""
    double = graph.onnx.TensorProto.DOUBLE
    n = letters.node("Shape", start=0, end=1)
    fill = graph.node(
        "Expand", np.array([[NO_LETTER]], dtype=object), graph.node("Concat", n, np.array([length]), axis=0)
    )
    padded = graph.node("Concat", letters, fill, axis=1)
    width = letters.node("Shape", start=1, end=2)

    def shifted(by: int) -> Tensor:
        ends = graph.node("Add", width, np.array([by]))
        return graph.node("Slice", padded, np.array([by]), ends, np.array([1]))

    windows = shifted(0)
    for by in range(1, length):
        windows = windows.node("StringConcat", shifted(by))
    whole = graph.node(
        "Cast", shifted(length - 1).node("Equal", np.array(NO_LETTER, dtype=object)).node("Not"), to=double
    )
    weight = whole
    if k.weights is not None:
        given: Any = k.weights
        looked_up = graph.node(
            "LabelEncoder",
            windows,
            domain="ai.onnx.ml",
            keys_strings=[*given, NO_LETTER],
            values_floats=[*map(float, given.values()), 0.0],
            default_float=float(k.default_weight),
        )
        weight = whole * graph.node("Cast", looked_up, to=double)
    equal = graph.node("Equal", windows.node("Unsqueeze", np.array([2])), windows.node("Unsqueeze", np.array([1])))
    pairs = graph.node("Cast", equal, to=double) * whole.node("Unsqueeze", np.array([1]))
    times = pairs.node("ReduceSum", np.array([2]), keepdims=0)
    once = times if k.counts else graph.constant(1.0) / times.node("Max", 1.0)
    return (weight * once).row_sums()
