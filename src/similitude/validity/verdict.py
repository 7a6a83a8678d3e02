"""check_kernel: VALID with a proof, INVALID with a counterexample, or UNKNOWN with a record of the search."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import Blocks, as_objects, check_objects, count, rows, take
from similitude.similarity import (
    Node,
    Normalized,
    Precomputed,
    Proof,
    Similarity,
    Symmetrized,
    as_similarity,
    budgeted,
    calls_per_pair,
)
from similitude.support import (
    BudgetError,
    Result,
    bullets,
    check_choice,
    generator,
    joined,
    notes,
    paragraph,
    shortened,
    tag,
)
from similitude.validity.elimination import (
    Tolerance,
    Witness,
    asymmetric_pair,
    negative_direction,
    smallest_negative_set,
)
from similitude.validity.search import search

VALID = "VALID"
INVALID = "INVALID"
UNKNOWN = "UNKNOWN"
KNOWN = "These objects are a known counterexample, not part of the data."

SAMPLE_SIZES = {"normal": 1000, "high": 4000}
"""The largest number of objects whose whole Gram matrix is examined, by effort."""


@dataclass(frozen=True)
class Validity(Result):
    """Whether a similarity is a kernel.

    Attributes
    ----------
    verdict : str
        VALID (proven), INVALID (refuted) or UNKNOWN (neither).
    proof : Proof
        The tree of reasons, or the nodes at which it fails.
    witness : Witness or None
        The counterexample.
    asymmetry : float or None
        The largest ``|K(x, z) - K(z, x)|`` on the sample.
    min_eigenvalue : float or None
        The smallest eigenvalue of the sample's Gram matrix.
    effort : str
        What was examined.
    remark : str
        Where the witness comes from, if not from the sample; otherwise empty.
    """

    verdict: str
    proof: Proof
    witness: Witness | None = None
    asymmetry: float | None = None
    min_eigenvalue: float | None = None
    effort: str = "the algebra of kernels, no data needed"
    remark: str = ""

    def in_short(self) -> str:
        """Return the reason for the verdict in a few words."""
        if self.verdict == VALID:
            return "proven"
        if self.witness is not None:
            return self.witness.in_short()
        return "no counterexample found, no proof"

    def why(self) -> str:
        """Return the proof, the counterexample, or a record of the search, without the name of the similarity."""
        if self.verdict == VALID:
            return self.proof.tree()
        if self.witness is not None:
            return f"{self.witness}\n{self.remark}".rstrip()
        found = f"No counterexample was found, and no proof. Examined: {self.effort}."
        if self.min_eigenvalue is None:
            return found
        return f"{found} The smallest eigenvalue there is {self.min_eigenvalue:.4g}."

    def __str__(self) -> str:
        if self.verdict == VALID:
            return f"VALID: {self.proof}"
        if self.verdict == INVALID:
            return f"INVALID: {self.proof.similarity} is not a kernel. {self.why()}"
        return f"UNKNOWN: {self.proof.similarity} may or may not be a kernel. {self.why()} {self.proof}"

    def html_parts(self) -> Sequence[object]:
        """Return the verdict, and the proof, the counterexample, or a record of the search."""
        said = {VALID: "is a kernel", INVALID: "is not a kernel", UNKNOWN: "may or may not be a kernel"}[self.verdict]
        title = joined(tag(self.verdict), f" {shortened(self.proof.similarity)} {said}")
        if self.verdict == VALID:
            return title, bullets([self.proof.html_tree()])
        if self.witness is not None:
            claim, *rest = self.witness.html_parts()
            return title, paragraph(claim), *rest, notes([self.remark] if self.remark else [])
        return title, paragraph(self.why()), *[paragraph(part) for part in self.proof.html_parts()]


def check_kernel(
    similarity: Any,
    X: Any = None,
    *,
    effort: str = "normal",
    mutate: Callable[..., Any] | None = None,
    max_calls: int | None = None,
    random_state: Any = None,
) -> Validity:
    r"""Tell whether a similarity is a kernel: prove it, refute it, or report what was examined.

    The algebra is asked for a proof first. Without one, a counterexample is sought: as few objects :math:`x_i` as
    possible with weights :math:`c` such that :math:`\sum_{ij} c_i c_j K(x_i, x_j) < 0` (Balcan, lecture notes 10-315,
    Theorem 2), on the sample, then among the objects on which the similarity is known not to be a kernel
    (`Similarity.counterexamples`), then by local search beyond the sample. One or two objects are found whenever they
    suffice, also three among 500 objects (or with high effort); otherwise objects are removed from the sample as long
    as the smallest eigenvalue stays negative. Among a dozen objects the set is the smallest.

    Parameters
    ----------
    similarity : Similarity, str, callable or array
        See `as_similarity`.
    X : sequence of objects, optional
        A sample. Not needed for a proof or a known counterexample, for a matrix (all its indices), or for a similarity
        of vectors (a random sample in the plane). Of more than 1,000 objects (4,000 with high effort) a random sample
        is taken.
    effort : {"normal", "high"}
        High: larger samples, all triples of objects, ten times the search.
    mutate : callable, optional
        ``mutate(x, rng)`` or ``mutate(x)`` returns a changed object, for a search among strings, graphs, ….
    max_calls : int, optional
        The most calls of your own function. The sample is so small that all its pairs are within the budget, and the
        search beyond it ends when the budget is spent.
    random_state : int, optional
        Seed for sampling and search.

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
    check_choice("effort", effort, SAMPLE_SIZES)
    k.check_params()
    proof = k.proof()
    if proof.holds:
        return Validity(VALID, proof)
    if mutate is not None and not callable(mutate):
        raise TypeError(f"mutate must be a function of an object, got {type(mutate).__name__}")
    rng = generator(random_state)
    if X is None:
        witness = stored_witness(k)
        if witness is not None:
            return Validity(INVALID, proof, witness, effort="a known counterexample", remark=KNOWN)
        X = _default_sample(k, rng)
    if X is None:
        return Validity(UNKNOWN, proof, effort="the algebra of kernels only; pass objects X to examine more")
    with budgeted(max_calls):
        limit = _affordable(k, SAMPLE_SIZES[effort], max_calls)
        return _examine(k, proof, _SampledObjects.of(X, limit, rng), effort, mutate, rng)


def _affordable(k: Similarity, most: int, max_calls: int | None) -> int:
    """Return how many objects can all be compared with each other and themselves within a budget of calls."""
    if max_calls is None or not calls_per_pair(k):
        return most
    n = math.isqrt(max_calls // calls_per_pair(k))
    n -= n * (n + 1) * calls_per_pair(k) > max_calls
    if n < 2:
        needed = 6 * calls_per_pair(k)
        raise BudgetError(f"max_calls = {max_calls} does not suffice to compare two objects: {needed} calls are needed")
    return min(n, most)


def _default_sample(k: Similarity, rng: np.random.Generator) -> Any:
    """Return the indices of the first matrix inside k, random vectors in the plane, or None."""
    if isinstance(k, Precomputed):
        return range(min(k.M.shape))
    of_parts = (_default_sample(part, rng) for part in k.parts() if part.objects == "indices")
    return next(filter(None, of_parts), rng.standard_normal((60, 2)) if k.objects == "vectors" else None)


@dataclass(frozen=True)
class _SampledObjects:
    """Some of the objects, and their positions among all of them."""

    objects: Any
    positions: np.ndarray
    out_of: int

    @classmethod
    def of(cls, X: Any, limit: int, rng: np.random.Generator) -> _SampledObjects:
        n = check_objects(X)
        if n <= limit:
            return cls(X, np.arange(n), n)
        positions = np.sort(rng.choice(n, limit, replace=False))
        return cls(take(X, positions), positions, n)

    def __str__(self) -> str:
        n = len(self.positions)
        return f"all pairs of {f'{n:,} of ' * (n < self.out_of)}{self.out_of:,} objects"

    def precision(self, K: np.ndarray) -> float:
        """Return eps of the coarsest precision of values and objects."""
        first = as_objects(take(self.objects, np.array([0])))[0]
        names = (str(getattr(thing, "dtype", "")).rsplit(".", 1)[-1] for thing in (K, self.objects, first))
        eps = {"float16": 2.0**-10, "float32": 2.0**-23}
        return max(eps.get(name, 2.0**-52) for name in names)


def _examine(
    k: Similarity,
    proof: Proof,
    sample: _SampledObjects,
    effort: str,
    mutate: Callable[..., Any] | None,
    rng: np.random.Generator,
) -> Validity:
    try:
        k, values = _gram(k, sample.objects, rng)
    except ValueError:
        refuted = _refuted_base(k, proof, sample, rng)
        if refuted is None:
            raise
        return refuted
    seen = _or_stored(k, _evaluated(k, proof, sample, values, effort == "high"))
    if seen.verdict != UNKNOWN:
        return seen
    try:
        objects, gram, searched = search(k, sample.objects, mutate, effort, rng)
    except BudgetError:
        return replace(seen, effort=f"{sample}, and a search beyond them until the budget of calls was spent")
    seen = replace(seen, effort=f"{sample}, {searched}")
    if gram is None:
        return seen
    tolerance = Tolerance.of(values, sample.precision(values))
    few = smallest_negative_set(gram, tolerance, scan_triples=True)
    if few is None:
        return seen
    witness = _witness(gram, few, objects, None, tolerance)
    return replace(seen, verdict=INVALID, witness=witness, remark="The objects were found by search.")


def _gram(k: Similarity, objects: Any, rng: Any = None) -> tuple[Similarity, np.ndarray]:
    """Return the similarity resolved on the objects, and the values of all ordered pairs."""
    k, A = k.prepare(objects, rng)
    return k, np.asarray(Blocks(k, A, rows(A, slice(0, count(A)))).whole())  # two encodings: symmetry is not assumed


def _refuted_base(k: Similarity, proof: Proof, sample: _SampledObjects, rng: np.random.Generator) -> Validity | None:
    """Return INVALID if a similarity inside k cannot be normalized on the sample because it is not a kernel."""
    for base in _normalized_parts(k):
        base, values = _gram(base, sample.objects, rng)
        found = _evaluated(base, proof, sample, values, scan=False)
        if found.verdict == INVALID and values.diagonal().min() <= 0:
            remark = f"The values are those of {base!r}, whose normalized form is not defined for all objects of X."
            return replace(found, remark=remark)
    return None


def _normalized_parts(k: Similarity) -> Iterator[Similarity]:
    """Yield the similarities that are normalized inside k, on the same objects as k."""
    if isinstance(k, Normalized):
        yield k.k
    if isinstance(k, (Node, Normalized, Symmetrized)):
        for part in k.parts():
            yield from _normalized_parts(part)


def stored_witness(k: Similarity) -> Witness | None:
    """Return a witness among the counterexamples that a similarity states; None if it is not refuted there."""
    examples = k.counterexamples()
    if not examples or (k.parts() and k.unresolved()):
        return None  # parameters of parts are still to be fixed from data
    for objects in examples:
        try:
            with np.errstate(all="ignore"):
                resolved, values = _gram(k, objects)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            continue  # not objects of k as a whole, or too large for floating-point numbers
        n = len(objects)
        witness = _evaluated(resolved, k.proof(), _SampledObjects(objects, np.arange(n), n), values, scan=True).witness
        if witness is not None:
            return replace(witness, indices=())
    return None


def _or_stored(k: Similarity, seen: Validity) -> Validity:
    """Return the verdict, or INVALID if it is UNKNOWN and a known counterexample refutes the similarity."""
    if seen.verdict == UNKNOWN and (witness := stored_witness(k)):
        return replace(seen, verdict=INVALID, witness=witness, remark=KNOWN)
    return seen


def check_gram(
    similarity: Similarity, values: np.ndarray, objects: Any, positions: np.ndarray, out_of: int
) -> Validity:
    """Return the verdict from K(x_i, x_j) of all ordered pairs of objects at positions, and known counterexamples."""
    sample = _SampledObjects(objects, positions, out_of)
    return _or_stored(similarity, _evaluated(similarity, similarity.proof(), sample, values, scan=False))


def _evaluated(k: Similarity, proof: Proof, sample: _SampledObjects, values: np.ndarray, scan: bool) -> Validity:
    """Look for a counterexample in the Gram matrix of a sample; with `scan` among all triples."""
    K = values.astype(np.float64)
    tolerance = Tolerance.of(values, sample.precision(values))
    asymmetry, pair = asymmetric_pair(K, tolerance)
    found = Validity(UNKNOWN, proof, asymmetry=asymmetry, effort=str(sample))
    if pair is not None:
        witness = _witness(K, np.array(pair), sample.objects, sample.positions, None)
        return replace(found, verdict=INVALID, witness=witness)
    K = (K + K.T) / 2
    smallest = float(np.linalg.eigvalsh(K)[0])
    found = replace(found, min_eigenvalue=smallest)
    few = smallest_negative_set(K, tolerance, scan or len(K) <= 500)  # triples of more take long
    if few is not None:
        witness = _witness(K, few, sample.objects, sample.positions, tolerance)
        return replace(found, verdict=INVALID, witness=witness)
    rounding = 4 * len(K) * float(np.finfo(np.float64).eps) * float(np.linalg.norm(K))
    if type(k) is Precomputed and len(K) == max(k.M.shape) and asymmetry <= rounding < smallest:
        reason = f"all of its objects were checked: the smallest eigenvalue is {smallest:.4g}, above rounding"
        return replace(found, verdict=VALID, proof=Proof(repr(k), True, reason))
    return found


def _witness(
    K: np.ndarray, chosen: np.ndarray, objects: Any, positions: np.ndarray | None, tolerance: Tolerance | None
) -> Witness:
    """Return the chosen objects as a witness; without a tolerance, of asymmetry."""
    gram = K[np.ix_(chosen, chosen)]
    few = tuple(as_objects(take(objects, chosen)))
    indices = () if positions is None else tuple(positions[chosen].tolist())
    direction = tolerance and negative_direction(gram, tolerance)
    if not direction:
        return Witness(indices, few, (), float(gram[0, 1] - gram[1, 0]), gram)
    a, value = direction
    return Witness(indices, few, tuple(a.tolist()), value, gram)
