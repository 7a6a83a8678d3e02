"""Which similarities have weights to learn, and the problem of learning them on pilot rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from similitude.compute import take
from similitude.kernel_learning.feature_problem import WEIGHABLE, FeatureProblem
from similitude.kernel_learning.part_problem import PartProblem, columns_problem, gower_problem, sum_problem, terms_of
from similitude.kernels import Columns, Gower, Jaccard
from similitude.similarity import Normalized, Pullback, Scaled, Similarity, Sum, image


def has_weights(k: Similarity) -> bool:
    """Tell whether a similarity has weights of features, columns or terms, rather than a metric."""
    return isinstance(_base(k), (*WEIGHABLE, Gower, Columns)) or (type(k) in (Sum, Scaled) and len(terms_of(k)) > 1)


def _base(k: Similarity) -> Similarity:
    """Return what was normalized or pulled back."""
    return _base(k.k) if type(k) in (Normalized, Pullback) else k  # type: ignore[attr-defined]


def check_weighable(k: Similarity) -> None:
    """Refuse weights that are fixed already, and factors below zero, before anything is computed."""
    k.check_params()
    base: Any = _base(k)
    if isinstance(base, WEIGHABLE):
        if getattr(base, "attributes", None) is not None:
            raise TypeError(f"{base!r} compares attributes of nodes: it has no weights that could be learned")
        if base.weights is not None and not isinstance(base.weights, str):
            raise ValueError(f"{base!r} has weights already: give the kernel without them, or with weights='idf'")
        if isinstance(base, Jaccard) and isinstance(k, Normalized):
            raise TypeError(f"{k!r} is {base!r}, which has K(x, x) = 1: leave .normalized() out")
    elif isinstance(base, (Gower, Columns)) and base is not k:
        raise TypeError(f"learn_kernel learns the weights of {base!r}, not of {k!r}")
    elif isinstance(base, (Sum, Scaled)) and any(factor < 0 for factor, _ in terms_of(base)):
        raise ValueError(f"{base!r} has a negative factor: weights of a sum that is learned must be >= 0")


def weight_problem(k: Similarity, X: Any, order: np.ndarray, random_state: Any) -> FeatureProblem | PartProblem:
    """Return the problem of learning the weights of a similarity on the rows of X in this order."""
    if isinstance(k, Gower):
        return gower_problem(k, X, order)
    if isinstance(k, Columns):
        return columns_problem(k, X, order)
    if isinstance(k, (Sum, Scaled)):
        return sum_problem(terms_of(k), X, order, random_state)
    base, objects, whole = _unwrapped(k, take(X, order))
    cosine = isinstance(base, Normalized)
    inner: Any = base.k if isinstance(base, Normalized) else base
    return FeatureProblem(inner, cosine, objects, inner.feature_table(objects), whole)


def _unwrapped(k: Similarity, X: Any) -> tuple[Similarity, Any, Callable[[Similarity], Similarity]]:
    """Return what was pulled back, the images of the objects, and a function that pulls a similarity back again."""
    if not isinstance(k, Pullback):
        return k, X, lambda made: made
    inner, objects, whole = _unwrapped(k.k, image(k.f, X, k.batched))
    return inner, objects, lambda made: Pullback(whole(made), k.f, k.batched)
