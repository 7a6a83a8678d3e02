"""The spectrum kernel in an ONNX graph: the vocabulary of the landmarks, counted in new texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from similitude.export.graph import Graph, Tensor
from similitude.kernels import Spectrum

NO_LETTER = "<pad>"
"""What fills up shorter texts: no letter, since it has several."""


def substring_products(graph: Graph, k: Spectrum, X: Tensor, objects: Any) -> tuple[Tensor, Callable[[], Tensor]]:
    """Add the spectrum kernel of new texts and landmarks; return it, and what adds that of texts with themselves.

    ONNX Runtime splits texts into letters, and counts the substrings that landmarks have; others add nothing to the
    products. In the similarity of a text to itself all of its substrings count, which are compared with each other.
    """
    letters = graph.node(
        "Tokenizer", X, domain="com.microsoft", mark=0, mincharnum=1, pad_value=NO_LETTER, separators=[""]
    )
    lengths = range(1, int(k.p) + 1) if k.blended else (int(k.p),)
    table = k.feature_table(objects)
    counts = np.asarray(table.rows.toarray(), dtype=np.float64)
    terms = []
    for length in lengths:
        which = [j for j, key in enumerate(table.keys) if len(key) == length]
        if which:
            found = _counts(graph, letters, [table.keys[j] for j in which], length)
            found = found if k.counts else found.node("Min", 1.0)
            terms.append(found @ (counts[:, which] * _weights(k, [table.keys[j] for j in which])).T.copy())
    block = graph.sum(terms) if terms else graph.constant(np.zeros((1, len(counts))))
    return block, lambda: graph.sum([_with_themselves(graph, k, letters, length) for length in lengths])


def _weights(k: Spectrum, keys: list[str]) -> np.ndarray:
    """Return the weights of substrings."""
    given: Any = k.weights or {}
    return np.array([float(given.get(key, k.default_weight if k.weights is not None else 1.0)) for key in keys])


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
