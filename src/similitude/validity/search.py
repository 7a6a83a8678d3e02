"""Local search for a counterexample beyond the sample: vectors are moved, other objects mutated."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from similitude.compute import as_objects, is_column, is_sparse, is_table
from similitude.similarity import Similarity

STARTS_AND_STEPS = {"normal": (3, 80), "high": (30, 400)}


def search(
    k: Similarity, X: Any, mutate: Callable[..., Any] | None, effort: str, rng: np.random.Generator
) -> tuple[Any, np.ndarray | None, str]:
    """Return at most five objects with a negative direction and their matrix, if any, and a sentence on the search."""
    if mutate is not None:
        move = _mutations(X, mutate, rng)
        kind = "mutated objects"
    else:
        matrix = _free_vectors(k, X)
        if isinstance(matrix, str):
            return None, None, f"no search beyond the sample ({matrix})"
        move = _moved_vectors(matrix, rng, np.ndim(X) == 2 or k.objects == "vectors")
        kind = "moved vectors"
    starts, steps = STARTS_AND_STEPS[effort]
    tried = 0
    # the largest number of objects in a searched set
    for size in range(1, 5 + 1):
        for _ in range(starts):
            tried += 1
            objects = move(lambda objects: _lowness(_gram(k, objects)), size, steps)
            gram = _gram(k, objects)
            # the magnitude of a negative eigenvalue, relative to the largest entry, that deserves a closer look
            if _lowness(gram) < -1e-7:
                return objects, gram, f"{tried} local searches over {kind}"
    return None, None, f"{tried} local searches over {kind} found none"


def _gram(k: Similarity, objects: Any) -> np.ndarray | None:
    """Return the Gram matrix, or None outside the domain of the function, where nothing can be shown."""
    try:
        encoded = k.encode(objects)
        with np.errstate(all="ignore"):
            gram = np.asarray(k.block(encoded, encoded), dtype=np.float64)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None
    return gram if np.isfinite(gram).all() else None


def _lowness(gram: np.ndarray | None) -> float:
    """Return the smallest eigenvalue of a Gram matrix relative to its largest entry; 1e6 if it is undefined."""
    if gram is None:
        return 1e6
    scale = float(np.abs(gram).max())
    return float(np.linalg.eigvalsh(gram.astype(np.float64) / scale)[0]) if scale > 0 else 0.0


Move = Callable[[Callable[[Any], float], int, int], Any]


def _mutations(X: Any, mutate: Callable[..., Any], rng: np.random.Generator) -> Move:
    try:
        parameters = list(inspect.signature(mutate).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    needed = [p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters]
    changed = (lambda x: mutate(x, rng)) if sum(needed) == 2 else mutate
    pool = as_objects(X)

    def climb(low: Callable[[Any], float], size: int, steps: int) -> Any:
        objects = [pool[i] for i in rng.choice(len(pool), size=min(size, len(pool)), replace=False)]
        value = low(objects)
        for _ in range(steps):
            place = int(rng.integers(len(objects)))
            trial = [*objects[:place], changed(objects[place]), *objects[place + 1 :]]
            trial_value = low(trial)
            if trial_value <= value:
                objects = trial
                value = trial_value
        return objects

    return climb


def _free_vectors(k: Similarity, X: Any) -> np.ndarray | str:
    """Return X as a matrix whose rows may be mixed, or why they may not."""
    if k.objects == "indices":
        return "there are no objects beyond the matrix"
    if is_table(X) or is_column(X) or is_sparse(X) or k.objects not in ("vectors", "any"):
        return "the objects are not dense vectors; mutate= says how to change one"
    try:
        matrix = np.asarray(X)
    except ValueError:
        matrix = np.empty(0, dtype=object)
    if matrix.dtype.kind != "f" or matrix.ndim not in (1, 2):
        return "the objects are not vectors of real numbers; mutate= says how to change one"
    if k.objects == "any" and matrix.ndim == 2 and not hasattr(X, "shape"):
        return "the objects are Python lists; mutate= says how to change one"
    matrix = matrix.reshape(len(matrix), -1)
    if k.objects == "any":
        sizes = np.stack([np.linalg.norm(matrix, axis=1), matrix.sum(axis=1)])
        constant = (np.ptp(sizes, axis=1) <= 1e-6 * np.abs(sizes).max(axis=1)).any()
        if (matrix == np.rint(matrix)).all() or (matrix.shape[1] > 1 and constant):
            return "the vectors look constrained (whole numbers, one norm or one sum); mutate= says how to change one"
    return matrix


def _moved_vectors(matrix: np.ndarray, rng: np.random.Generator, wants_rows: bool) -> Move:
    """Move points within the convex hull of a few sample points, which stays inside a convex domain."""

    def descend(value: Callable[[Any], float], size: int, steps: int) -> Any:
        from scipy.optimize import minimize

        corners = matrix[rng.integers(len(matrix), size=3)]

        def points(weights: np.ndarray) -> np.ndarray:
            shares = weights.reshape(size, 3) ** 2 + 1e-300
            mixed = ((shares / shares.sum(axis=1, keepdims=True)) @ corners).astype(matrix.dtype)
            return mixed if wants_rows else mixed[:, 0]

        first = rng.standard_normal(size * 3)
        best = minimize(lambda weights: value(points(weights)), first, method="Nelder-Mead", options={"maxfev": steps})
        return points(best.x)

    return descend
