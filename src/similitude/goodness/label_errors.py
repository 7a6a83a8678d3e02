"""Labels that look wrong: examples whose most similar examples nearly all share another label."""

from __future__ import annotations

import numpy as np


def suspicious_labels(K: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the examples whose labels look wrong, those with the lowest similarity to their class first.

    All but one of the k most similar examples share another label. k is 10; 20 or 30 if that label is so frequent that
    such a vote could be chance, with a probability above 0.01; and at most a fifth of the examples. K is divided by the
    geometric mean of self-similarities if these are positive, since large objects are not similar to all.
    """
    from scipy.stats import binom

    n = len(codes)
    sizes = K.diagonal()
    if (sizes > 0).all():
        K = K / np.sqrt(sizes * sizes[:, None])
    K = np.where(np.eye(n, dtype=bool), -np.inf, K)
    order = _most_similar(K, 30)
    found = np.zeros(n, dtype=bool)
    for label, share in enumerate(np.bincount(codes) / n):
        # unlikely among examples that are drawn regardless of similarity
        counts = [k for k in (10, 20, 30) if 5 * k <= n and binom.sf(k - 2, k, share) <= 0.01]
        if counts:
            votes = (codes[order[:, : counts[0]]] == label).sum(axis=1)
            found |= (codes != label) & (votes >= counts[0] - 1)
    suspects = np.flatnonzero(found)
    near = [K[i, (codes == codes[i]) & np.isfinite(K[i])] for i in suspects]
    return suspects[np.argsort([one.mean() if len(one) else -np.inf for one in near], kind="stable")]


def _most_similar(K: np.ndarray, most: int) -> np.ndarray:
    if K.shape[1] <= 2 * most:
        return np.argsort(-K, axis=1, kind="stable")[:, :most]
    least = np.partition(K, K.shape[1] - most, axis=1)[:, K.shape[1] - most]
    found = np.empty((len(K), most), dtype=np.intp)
    for i, row in enumerate(K):
        some = np.flatnonzero(row >= least[i])
        found[i] = some[np.argsort(-row[some], kind="stable")[:most]]
    return found
