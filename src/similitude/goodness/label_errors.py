"""Labels that look wrong: examples whose most similar examples nearly all share another label."""

from __future__ import annotations

import numpy as np


def suspicious_labels(K: np.ndarray, codes: np.ndarray, own: np.ndarray | None = None) -> np.ndarray:
    """Return the positions of examples whose labels look wrong, those with the lowest similarity to their class first.

    All but one of the k most similar examples share another label. k is 10; 20 or 30 if that label is so frequent that
    such a vote could be chance, with a probability above 0.01; and at most a fifth of the examples.

    Parameters
    ----------
    K : array of shape (n, m)
        Similarities of n examples to m others, or of n examples to themselves: then they are divided by the geometric
        mean of self-similarities, if these are positive, since large objects are not similar to all.
    codes : array of int
        The class of each of the m examples.
    own : array of int, optional
        The class of each of the n examples; None if they are the same examples.

    Examples
    --------
    >>> x = np.concatenate([np.linspace(0, 1, 30), np.linspace(5, 6, 30)])
    >>> codes = np.repeat([0, 1], 30)
    >>> codes[7] = 1
    >>> suspicious_labels(-np.abs(x - x[:, None]), codes)
    array([7])
    """
    from scipy.stats import binom

    n = len(codes)
    shares = np.bincount(codes) / len(codes)
    others = K
    if own is None:
        own = codes
        sizes = K.diagonal()
        if (sizes > 0).all():
            K = K / np.sqrt(sizes * sizes[:, None])
        others = np.where(np.eye(n, dtype=bool), -np.inf, K)
    order = _most_similar(others, 30)
    found = np.zeros(len(own), dtype=bool)
    for label, share in enumerate(shares):
        # unlikely among examples that are drawn regardless of similarity
        counts = [k for k in (10, 20, 30) if 5 * k <= n and binom.sf(k - 2, k, share) <= 0.01]
        if counts:
            votes = (codes[order[:, : counts[0]]] == label).sum(axis=1)
            found |= (own != label) & (votes >= counts[0] - 1)
    suspects = np.flatnonzero(found)
    near = [others[i, (codes == own[i]) & np.isfinite(others[i])] for i in suspects]
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
