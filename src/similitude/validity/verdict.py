"""The verdict: VALID with its proof, INVALID with its witness, or UNKNOWN with what was tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.adapters import Precomputed, as_similarity
from similitude.blocks import Blocks
from similitude.encodings import as_objects, check_objects, take
from similitude.randomness import generator
from similitude.results import Result
from similitude.similarity import Proof, Similarity
from similitude.validity.search import search
from similitude.validity.witness import (
    Witness,
    asymmetric_pair,
    entry_tolerance,
    negative_direction,
    smallest_negative_set,
)

VALID, INVALID, UNKNOWN = "VALID", "INVALID", "UNKNOWN"

SAMPLE = {"normal": 1000, "high": 4000}
"""Objects at most whose whole Gram matrix is looked at, by effort."""

SCAN_LIMIT = 500
"""Objects up to which all triples are scanned at normal effort."""


@dataclass(frozen=True)
class Validity(Result):
    """Whether a similarity is a kernel.

    Attributes
    ----------
    verdict : str
        VALID (proven), INVALID (refuted) or UNKNOWN (neither).
    proof : Proof
        The tree of reasons, or where it ends.
    witness : Witness or None
        The counterexample.
    asymmetry : float or None
        The largest |K(x, z) - K(z, x)| on the sample.
    min_eigenvalue : float or None
        The smallest eigenvalue of the sample's Gram matrix.
    effort : str
        What was looked at.
    """

    verdict: str
    proof: Proof
    witness: Witness | None = None
    asymmetry: float | None = None
    min_eigenvalue: float | None = None
    effort: str = ""

    def in_short(self) -> str:
        """Return the reason for the verdict in a few words."""
        if self.verdict == VALID:
            return "proven"
        return self.witness.in_short() if self.witness is not None else "no counterexample found, no proof"

    def why(self) -> str:
        """Return the proof, the counterexample, or what was tried, without the name of the similarity."""
        if self.verdict == VALID:
            return self.proof.tree()
        if self.witness is not None:
            return str(self.witness)
        seen = (
            f" The smallest eigenvalue there is {self.min_eigenvalue:.4g}." if self.min_eigenvalue is not None else ""
        )
        return f"No counterexample was found, and no proof. Looked at: {self.effort}.{seen}"

    def __str__(self) -> str:
        if self.verdict == VALID:
            return f"VALID: {self.proof}"
        if self.verdict == INVALID:
            return f"INVALID: {self.proof.similarity} is not a kernel. {self.why()}"
        return f"UNKNOWN: {self.proof.similarity} may or may not be a kernel. {self.why()} {self.proof}"


def check_kernel(
    similarity: Any,
    X: Any = None,
    *,
    effort: str = "normal",
    mutate: Callable[..., Any] | None = None,
    random_state: Any = None,
) -> Validity:
    r"""Tell whether a similarity is a kernel: prove it, refute it, or say what was tried.

    The algebra is asked first. Without a proof, a counterexample is sought: objects :math:`x_i` and weights
    :math:`a` with :math:`\sum_{ij} a_i a_j K(x_i, x_j) < 0` (Balcan, lecture notes 10-315, Theorem 2), as few
    objects as possible: one, two, three, … on the sample, then by local search beyond it.

    Parameters
    ----------
    similarity : Similarity, str, callable or array
        See `as_similarity`.
    X : sequence of objects, optional
        A sample. Not needed for a proof, for a matrix (all its indices), or for a similarity of vectors (a random
        sample in the plane). Of more than 1,000 objects (4,000 with high effort) a random sample is taken.
    effort : {"normal", "high"}
        High: larger samples, every triple of objects, ten times the search.
    mutate : callable, optional
        ``mutate(x, rng)`` or ``mutate(x)`` returns a changed object, for a search among strings, graphs, ….
    random_state : int, optional
        Seed of sampling and search.

    Returns
    -------
    Validity

    Examples
    --------
    >>> from similitude import check_kernel
    >>> from similitude.kernels import Gaussian, Linear
    >>> check_kernel(Gaussian() * (Linear() + 1)).verdict
    'VALID'
    >>> documents = [{"Ann", "Bob"}, {"Bob", "Cid"}, {"Cid", "Dee"}]
    >>> print(check_kernel(lambda x, z: float(bool(x & z)), documents).witness.indices)
    (0, 1, 2)
    """
    k = as_similarity(similarity)
    if effort not in SAMPLE:
        raise ValueError(f"effort must be 'normal' or 'high', got {effort!r}")
    k.check_params()
    proof = k.proof()
    if proof.holds:
        return Validity(VALID, proof, effort="the algebra of kernels, no data needed")
    rng = generator(random_state)
    X = _default_sample(k, rng) if X is None else X
    if X is None:
        return Validity(UNKNOWN, proof, effort="the algebra of kernels only; pass objects X to look further")
    positions, sample = _sample(X, SAMPLE[effort], rng)
    return _examine(k, proof, positions, sample, check_objects(X), effort, mutate, rng)


def _default_sample(k: Similarity, rng: np.random.Generator) -> Any:
    if isinstance(k, Precomputed):
        return range(min(k.M.shape))
    return rng.standard_normal((60, 2)) if k.objects == "vectors" else None


def _sample(X: Any, limit: int, rng: np.random.Generator) -> tuple[np.ndarray, Any]:
    n = check_objects(X)
    if n <= limit:
        return np.arange(n), X
    positions = np.sort(rng.choice(n, limit, replace=False))
    return positions, take(X, positions)


def _examine(
    k: Similarity,
    proof: Proof,
    positions: np.ndarray,
    sample: Any,
    n: int,
    effort: str,
    mutate: Callable[..., Any] | None,
    rng: np.random.Generator,
) -> Validity:
    k, A = k.prepare(sample, rng)
    K = np.asarray(Blocks(k, A).whole())
    looked_at = f"all pairs of {f'{len(K):,} of ' if len(K) < n else ''}{n:,} objects"
    asymmetry, pair = asymmetric_pair(K)
    if pair is not None:
        witness = _witness(K, pair, positions, sample, symmetric=False)
        return Validity(INVALID, proof, witness, asymmetry, None, looked_at)
    tolerance = entry_tolerance(K)
    smallest, lowest = _lowest(K)
    scan = effort == "high" or len(K) <= SCAN_LIMIT
    found = smallest_negative_set(K, lowest, tolerance, scan)
    if found is not None:
        return Validity(INVALID, proof, _witness(K, found, positions, sample), asymmetry, smallest, looked_at)
    if isinstance(k, Precomputed) and len(K) == max(k.M.shape) and smallest > _rounding(K):
        return Validity(VALID, _checked_whole(k, smallest), None, asymmetry, smallest, looked_at)
    beyond = search(k, sample, mutate, effort, rng)
    looked_at = f"{looked_at}, {beyond.effort}"
    if beyond.gram is not None:
        few = smallest_negative_set(beyond.gram, _lowest(beyond.gram)[1], tolerance, True)
        if few is not None:
            witness = _witness(beyond.gram, few, None, beyond.objects)
            return Validity(INVALID, proof, witness, asymmetry, smallest, looked_at)
    return Validity(UNKNOWN, proof, None, asymmetry, smallest, looked_at)


def _rounding(K: np.ndarray) -> float:
    """Return how far below zero rounding may push the smallest eigenvalue of a PSD matrix."""
    of_entries = max(entry_tolerance(K), 4 * len(K) * float(np.finfo(K.dtype).eps)) * float(np.abs(K).max())
    of_eigenvalues = 4 * len(K) * float(np.finfo(np.float64).eps) * float(np.linalg.norm(K.astype(np.float64)))
    return max(of_entries, of_eigenvalues)


def _lowest(K: np.ndarray) -> tuple[float, np.ndarray | None]:
    """Return the smallest eigenvalue, and its eigenvector where it is negative beyond rounding."""
    from scipy.linalg import eigh

    values, vectors = eigh(K.astype(np.float64), subset_by_index=[0, 0], overwrite_a=True, check_finite=False)
    return float(values[0]), (vectors[:, 0] if values[0] < -_rounding(K) else None)


def _witness(K: np.ndarray, chosen: Any, positions: np.ndarray | None, sample: Any, symmetric: bool = True) -> Witness:
    chosen = np.asarray(chosen)
    gram = K[np.ix_(chosen, chosen)].astype(np.float64)
    objects = tuple(as_objects(take(sample, chosen)))
    indices = () if positions is None else tuple(int(i) for i in positions[chosen])
    direction = negative_direction(K[np.ix_(chosen, chosen)], entry_tolerance(K)) if symmetric else None
    if direction is None:
        return Witness(indices, objects, (), float(gram[0, 1] - gram[1, 0]), gram)
    a, value = direction
    return Witness(indices, objects, tuple(float(weight) for weight in a), value, gram)


def _checked_whole(k: Precomputed, smallest: float) -> Proof:
    reason = (
        f"all of its {k.M.shape[0]:,} objects were checked: the smallest eigenvalue is {smallest:.4g}, above rounding"
    )
    return Proof(repr(k), True, reason)
