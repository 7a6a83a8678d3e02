"""A map of all objects in the plane: kernel principal components, or neighbors kept together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from similitude.compute import as_objects, take
from similitude.report.findings.columns import ColumnFinding
from similitude.report.findings.gram_matrix import GramSample
from similitude.report.findings.held_out import HeldOutPredictions
from similitude.report.findings.inputs import Inputs
from similitude.support import Result, check_choice, pairs_at

PCA = "pca"
NEIGHBORS = "neighbors"
EMBEDDINGS = {PCA: "kernel principal components", NEIGHBORS: "t-SNE, which keeps near objects near"}
"""How objects are placed."""


Coloring = tuple[str, np.ndarray, tuple[str, ...], bool]
"""A name, the level of each object, -1 where it is unknown, the names of the levels, and whether they are ordered."""


@dataclass(frozen=True, eq=False)
class ObjectMap(Result):
    """Objects in the plane."""

    indices: np.ndarray  # positions in X
    x: np.ndarray
    y: np.ndarray
    method: str  # one of EMBEDDINGS
    explained: float | None  # by principal components: the share of the centered variance along the two axes
    labels: list[Any]
    predicted: list[Any]  # of held-out objects; None for objects that the model was fitted to
    error: np.ndarray  # of held-out objects: 1 where the class is wrong, or predicted minus true; NaN for others
    objects: list[Any] = field(repr=False)
    colorings: list[Coloring] = field(repr=False)  # by label, by error, by column

    def __str__(self) -> str:
        share = "" if self.explained is None else f", {100 * self.explained:.0f} % of the variance"
        return f"{len(self.indices):,} objects, by {EMBEDDINGS[self.method]}{share}"


def object_map(
    inputs: Inputs,
    gram: GramSample,
    predictions: HeldOutPredictions,
    columns: Sequence[ColumnFinding],
    method: str = PCA,
) -> ObjectMap:
    """Place objects in the plane: those of the Gram matrix's sample by it, others by their similarities to some of it.

    The principal axes are the leading eigenvectors of the centered Gram matrix (Schölkopf, Smola and Müller, 1998); an
    object is projected onto them by its similarities to the objects that span them. A similarity that is not a kernel
    is symmetrized, and its axes are those of the largest eigenvalues.
    """
    check_choice("embedding", method, tuple(EMBEDDINGS))
    explained = None
    if method == NEIGHBORS:
        indices, places = _neighbors(gram, inputs.seed)
    else:
        indices, places, explained = _principal(inputs, gram)
    at = np.full(inputs.n, -1)
    at[predictions.tested] = np.arange(len(predictions.tested))
    held_out = at[indices] >= 0
    own = predictions.mean_scores[at[indices]]
    if inputs.of_classes:
        own = own.argmax(axis=1)
        error = own != inputs.codes[indices]
        own = inputs.classes[own]
    else:
        error = own - inputs.y[indices]
    predicted = [value if known else None for value, known in zip(own.tolist(), held_out, strict=True)]
    error = np.where(held_out, error, np.nan)
    objects = as_objects(take(inputs.X, indices))
    if inputs.of_classes:
        classes = tuple(map(str, inputs.classes.tolist()))
        wrong = np.where(held_out, error, -1).astype(int)
        codes = inputs.codes[indices].astype(float)
        colorings = [_by_category("class", codes, classes), ("error", wrong, ("right", "wrong"), False)]
    else:
        colorings = [_by_number("number to predict", inputs.y[indices]), _by_number("size of the error", np.abs(error))]
    for one in sorted((one for one in columns if one.is_feature), key=lambda one: -one.weight)[:30]:
        values = one.values[indices]
        colorings.append(_by_category(one.name, values, one.names) if one.names else _by_number(one.name, values))
    labels = inputs.y[indices].tolist()
    x, y = places.T
    return ObjectMap(indices, x, y, method, explained, labels, predicted, error, objects, colorings)


def _by_category(name: str, codes: np.ndarray, names: tuple[str, ...]) -> Coloring:
    """Return a coloring by category; of many, the last color stands for all others."""
    kept = names if len(names) <= 10 else (*names[:9], "others")
    levels = np.where(np.isnan(codes), -1, np.minimum(np.nan_to_num(codes), len(kept) - 1)).astype(int)
    return name, levels, kept, False


def _by_number(name: str, values: np.ndarray) -> Coloring:
    """Return a coloring by eight equal ranges of numbers; the outermost five per cent have the outermost colors."""
    known = values[np.isfinite(values)]
    low, high = np.quantile(known, [0.05, 0.95]) if len(known) else (0.0, 1.0)
    edges = np.linspace(low, high, 9)
    levels = np.searchsorted(edges[1:-1], np.nan_to_num(values), side="right")
    names = tuple(f"{a:.3g} to {b:.3g}" for a, b in pairwise(edges.tolist()))
    return name, np.where(np.isfinite(values), levels, -1), names, True


def _principal(inputs: Inputs, gram: GramSample) -> tuple[np.ndarray, np.ndarray, float]:
    """Return positions of objects, their two coordinates, and the share of the variance of the sample."""
    some = np.linspace(0, len(gram.indices) - 1, min(200, len(gram.indices))).astype(int)
    base = gram.indices[some]
    K = gram.matrix[np.ix_(some, some)].astype(np.float64)
    K = (K + K.T) / 2
    means = K.mean(axis=0)
    values, vectors = np.linalg.eigh(K - means - means[:, None] + means.mean())
    positive = np.maximum(values, 0.0)
    axes = vectors[:, -1:-3:-1] / np.sqrt(np.maximum(values[-1:-3:-1], 1e-12 * max(float(values[-1]), 1e-300)))
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])
    indices = inputs.sample(10_000)
    others = np.setdiff1d(indices, gram.indices)
    positions = np.concatenate([gram.indices, others])
    crossed = gram.matrix[:, some].astype(np.float64)
    if len(others):
        with pairs_at(others, base):
            more = inputs.resolved.cross(take(inputs.X, others), take(inputs.X, base))
        crossed = np.vstack([crossed, np.asarray(more, dtype=np.float64)])
    crossed -= crossed.mean(axis=1, keepdims=True) + means - means.mean()
    total = float(positive.sum())
    order = np.argsort(positions)
    return positions[order], (crossed @ axes)[order], float(positive[-2:].sum()) / total if total else 0.0


def _neighbors(gram: GramSample, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return positions of the sample, and coordinates that keep neighbors together."""
    from sklearn.manifold import TSNE

    K = (gram.matrix + gram.matrix.T).astype(np.float64) / 2
    lengths = K.diagonal()
    distances = np.sqrt(np.maximum(lengths + lengths[:, None] - 2 * K, 0.0))
    np.fill_diagonal(distances, 0.0)
    perplexity = min(30.0, (len(K) - 1) / 3)
    embedding = TSNE(metric="precomputed", init="random", perplexity=perplexity, random_state=seed)
    return gram.indices, np.asarray(embedding.fit_transform(distances), dtype=np.float64)
