"""The similarity contract as a test kit."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from similitude.checks.comparing import in_new_process, same, tolerance
from similitude.compute import as_matrix, as_objects, check_objects, count, is_sparse, rows, take
from similitude.similarity import BOUNDED, PSD, SYMMETRIC, UNIT_DIAGONAL, Similarity, check_claims
from similitude.support import digest

OBJECT_KINDS = ("vectors", "strings", "graphs", "series", "sets", "table", "indices", "any")
"""The kinds of objects that a similarity may declare."""


def check_similarity(similarity: Similarity, objects: Any) -> None:
    """Check that a similarity keeps its contract on some objects.

    The Gram matrix agrees with pairs, with ``cross`` and with ``diag``; encodings can be sliced; resolving twice
    changes nothing; the claims hold; precision and array namespace are kept; the parameters make an equal similarity;
    another process with another hash seed gives the same values; and inputs are not changed.

    Parameters
    ----------
    similarity : Similarity
    objects : sequence
        A few objects; of more than 12 the first 12 are used.

    Raises
    ------
    AssertionError
        If a check fails; the message says what was found.

    Examples
    --------
    >>> from similitude.checks import check_similarity
    >>> from similitude.kernels import Gaussian
    >>> check_similarity(Gaussian(), [[0., 1.], [2., 0.], [1., 1.]])
    """
    assert isinstance(similarity, Similarity), f"expected a Similarity, got {type(similarity).__name__}"
    X = take(objects, np.arange(min(check_objects(objects), 12)))  # which are compared pair by pair
    check_values(similarity, X)
    check_precision_is_kept(similarity, X)
    check_params_round_trip(similarity, X)
    check_inputs_unchanged(similarity, X)
    check_other_process(similarity, X)


def check_values(k: Similarity, X: Any) -> None:
    """Check that gram has the values of pairs, crosses, diagonals and blocks, and that the claims hold for them."""
    before = k.fingerprint()
    resolved = k.resolve(X)
    K = np.asarray(k.gram(X))
    singles = as_objects(as_matrix(X) if k.objects == "vectors" else X)
    same("gram and pairs", K, np.array([[resolved(x, z) for z in singles] for x in singles]))
    some = np.arange(len(K))[::-2]
    same("cross(X, X) and gram(X)", np.asarray(resolved.cross(X, copy.copy(X))), K)
    same("cross(some rows, X) and gram(X)", np.asarray(resolved.cross(take(X, some), X)), K[some])
    same("diag and the diagonal of gram", np.asarray(k.diag(X)), K.diagonal())
    A = resolved.encode(X)
    n = check_objects(X)
    assert count(A) == n, f"encode gave {count(A)} encoded objects for {n} objects"
    first = slice(0, (n + 1) // 2)
    part = np.asarray(resolved.block(rows(A, first), rows(A, some)))
    same("a block of sliced encodings and the part of gram", part, K[first][:, some])
    alone = resolved.encode(take(X, some))
    same("objects encoded alone and together", np.asarray(resolved.block(alone, A)), K[some])
    assert not resolved.unresolved(), f"resolve left {resolved.unresolved()} of {k!r} unresolved"
    assert resolved.resolve(X) == resolved, f"resolving {resolved!r} again changed it"
    assert k.fingerprint() == before, f"resolve changed {k!r} itself"
    same("gram before and after resolve", np.asarray(resolved.gram(X)), K)
    assert k.objects in OBJECT_KINDS, f"objects is {k.objects!r}, expected one of {', '.join(OBJECT_KINDS)}"
    claims = check_claims(k.claims)
    K = np.asarray(resolved.block(A, rows(A, slice(0, n))))
    scale = float(np.abs(K).max(initial=0.0))
    allowed = tolerance(K)
    if SYMMETRIC in claims:
        same("K and its transpose, claimed SYMMETRIC,", K, K.T)
    if PSD in claims:
        smallest = float(np.linalg.eigvalsh(K.astype(float))[0])
        assert smallest >= -allowed * max(scale, 1e-300) * len(K), f"claimed PSD, smallest eigenvalue {smallest:.4g}"
    if UNIT_DIAGONAL in claims:
        same("the diagonal and 1, claimed UNIT_DIAGONAL,", K.diagonal(), np.ones(len(K)))
    if BOUNDED in claims:
        assert scale <= 1 + allowed, f"claimed BOUNDED by 1, found {scale:.6g}"


def check_precision_is_kept(k: Similarity, X: Any) -> None:
    """Check that a similarity of vectors returns the precision and the array namespace of its input."""
    if k.objects != "vectors" or not k.hints.threadsafe:
        return
    resolved = k.resolve(X)
    X = as_matrix(X)
    X = X.toarray() if is_sparse(X) else np.asarray(X)
    for dtype in (np.float32, np.float64):
        found = resolved.gram(X.astype(dtype)).dtype
        assert found == dtype, f"{np.dtype(dtype)} vectors gave {found} values"
        found = resolved.diag(X.astype(dtype)).dtype
        assert found == dtype, f"{np.dtype(dtype)} vectors gave a {found} diagonal"
    torch = sys.modules.get("torch")
    if torch is not None and resolved.hints.on_tensors:
        tensor = torch.asarray(X.astype(np.float32))
        values = resolved.gram(tensor)
        assert isinstance(values, torch.Tensor) and values.dtype == torch.float32, f"tensors gave {type(values)}"
        same("values of tensors and of arrays", np.asarray(values), resolved.gram(X.astype(np.float32)))


def check_params_round_trip(k: Similarity, X: Any) -> None:
    """Check that the constructor stores its parameters unchanged, and that they make an equal similarity."""
    params = k.get_params(deep=False)
    again = type(k)(**params)
    assert again == k, f"{type(k).__name__}(**k.get_params()) is {again!r}, not {k!r}"
    for name, value in again.get_params(deep=False).items():
        assert value is params[name] or digest(value) == digest(params[name]), f"the constructor changed {name}"
    assert again.set_params(**params) is again, "set_params must return the object itself"
    assert again.fingerprint() == k.fingerprint(), "equal similarities have different fingerprints"


def check_other_process(k: Similarity, X: Any) -> None:
    """Check that a pickled copy gives the same values, here and in a new process with another hash seed."""
    import cloudpickle

    here = np.asarray(k.gram(X))
    same("values before and after pickling", np.asarray(pickle.loads(cloudpickle.dumps(k)).gram(X)), here)
    same("values here and in another process", grams_elsewhere([(k, X)])[0], here)


def grams_elsewhere(pickled: Sequence[tuple[Similarity, Any]]) -> list[Any]:
    """Return the Gram matrices of some similarities on their objects, computed by one new process."""
    what = ", ".join(f"the pickled {k!r}" for k, _ in pickled)
    return in_new_process(lambda pairs: [np.asarray(k.gram(X)) for k, X in pairs], pickled, what=what)


def check_inputs_unchanged(k: Similarity, X: Any) -> None:
    """Check that neither objects nor encodings nor the similarity are changed by computing with them."""
    import cloudpickle

    if isinstance(X, np.ndarray):
        X = X.copy()
        X.setflags(write=False)
    k = copy.copy(k)
    before = cloudpickle.dumps(X)
    own = set(vars(k))
    resolved, A = k.prepare(X)
    encoded = cloudpickle.dumps(A)
    resolved.block(A, A)
    resolved.diagonal(A)
    k.gram(X)
    assert cloudpickle.dumps(X) == before, "the objects were changed"
    assert cloudpickle.dumps(A) == encoded, "block or diagonal changed its encoded input"
    for name in sorted(vars(k).keys() - own):
        is_cache = isinstance(getattr(type(k), name, None), cached_property)
        assert is_cache, f"computing gave the similarity the new attribute {name}"
