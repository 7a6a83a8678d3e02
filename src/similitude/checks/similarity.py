"""The similarity contract as a test kit."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from similitude.checks.comparing import array, same, tolerance
from similitude.compute import as_matrix, as_objects, check_objects, count, is_sparse, rows, take
from similitude.similarity import BOUNDED, PSD, SYMMETRIC, UNIT_DIAGONAL, Similarity, check_claims
from similitude.support.fingerprints import digest

KINDS = ("vectors", "strings", "graphs", "series", "sets", "table", "indices", "any")
"""What a similarity may say that it takes."""

LARGEST_SAMPLE = 12
"""Objects at most that are compared pair by pair."""


def check_similarity(similarity: Similarity, objects: Any) -> None:
    """Check that a similarity keeps its contract on some objects.

    Gram equals pairs, cross equals Gram, diag equals the diagonal, encodings can be sliced, resolving twice changes
    nothing, claims hold, precision and array namespace are kept, parameters make the round trip, another process
    with another hash seed gives the same values, and inputs are left as they were.

    Parameters
    ----------
    similarity : Similarity
        The one to check.
    objects : sequence
        A few objects of the kind it takes; of more than 12 the first 12 are used.

    Raises
    ------
    AssertionError
        Naming the check that failed and what was found.

    Examples
    --------
    >>> from similitude.checks import check_similarity
    >>> from similitude.kernels import Gaussian
    >>> check_similarity(Gaussian(), [[0., 1.], [2., 0.], [1., 1.]])
    """
    assert isinstance(similarity, Similarity), f"expected a Similarity, got {type(similarity).__name__}"
    X = take(objects, np.arange(min(check_objects(objects), LARGEST_SAMPLE)))
    for check in SIMILARITY_CHECKS:
        check(similarity, X)


def check_gram_equals_pairs(k: Similarity, X: Any) -> None:
    """Check that k.gram(X)[i, j] is k(x_i, x_j)."""
    resolved, K = k.resolve(X), array(k.gram(X))
    singles = as_objects(as_matrix(X) if k.objects == "vectors" else X)
    pairs = np.array([[resolved(x, z) for z in singles] for x in singles])
    same("gram and pairs", K, pairs)


def check_cross_equals_gram(k: Similarity, X: Any) -> None:
    """Check that cross(X, X) and cross of parts of X give the Gram matrix and its parts."""
    resolved, K = k.resolve(X), array(k.gram(X))
    some = np.arange(len(K))[::-2]
    same("cross(X, X) and gram(X)", array(resolved.cross(X, copy.copy(X))), K)
    same("cross(part, X) and gram(X)", array(resolved.cross(take(X, some), X)), K[some])


def check_diag_equals_diagonal(k: Similarity, X: Any) -> None:
    """Check that diag(X) is the diagonal of gram(X)."""
    same("diag and the diagonal of gram", array(k.diag(X)), array(k.gram(X)).diagonal())


def check_encoding_slices(k: Similarity, X: Any) -> None:
    """Check that an encoding is counted, sliced, and a pure function of each object."""
    resolved, A = k.prepare(X)
    n, K = check_objects(X), array(k.gram(X))
    assert count(A) == n, f"encode gave {count(A)} encoded objects for {n} objects"
    first, some = slice(0, (n + 1) // 2), np.arange(n)[::-2]
    part = array(resolved.block(rows(A, first), rows(A, some)))
    same("a block of sliced encodings and the part of gram", part, K[first][:, some])
    alone = resolved.encode(take(X, some))
    same("objects encoded alone and together", array(resolved.block(alone, A)), K[some])


def check_resolve_is_idempotent(k: Similarity, X: Any) -> None:
    """Check that resolve fixes everything, once, and leaves the original as it was."""
    before = k.fingerprint()
    once = k.resolve(X)
    assert not once.unresolved(), f"resolve left {once.unresolved()} of {k!r} open"
    assert once.resolve(X) == once, f"resolving {once!r} again changed it"
    assert k.fingerprint() == before, f"resolve changed {k!r} itself"
    same("gram before and after resolve", array(once.gram(X)), array(k.gram(X)))


def check_claims_hold(k: Similarity, X: Any) -> None:
    """Check every claim on the sample, and that the kind of objects is one of those that are known."""
    assert k.objects in KINDS, f"objects is {k.objects!r}, expected one of {', '.join(KINDS)}"
    claims = check_claims(k.claims)
    resolved, A = k.prepare(X)
    K = array(resolved.block(A, rows(A, slice(0, count(A)))))
    scale, allowed = float(np.abs(K).max(initial=0.0)), tolerance(K)
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
    """Check that a similarity of vectors returns the precision and the array namespace that it is given."""
    if k.objects != "vectors" or not k.hints.threadsafe:
        return
    resolved, X = k.resolve(X), as_matrix(X)
    X = X.toarray() if is_sparse(X) else np.asarray(X)
    for dtype in (np.float32, np.float64):
        found = resolved.gram(X.astype(dtype)).dtype
        assert found == dtype, f"{np.dtype(dtype)} vectors gave {found} values"
        diagonal = resolved.diag(X.astype(dtype)).dtype
        assert diagonal == dtype, f"{np.dtype(dtype)} vectors gave a {diagonal} diagonal"
    torch = sys.modules.get("torch")
    if torch is not None:
        tensor = torch.asarray(X.astype(np.float32))
        values = resolved.gram(tensor)
        assert isinstance(values, torch.Tensor) and values.dtype == torch.float32, f"tensors gave {type(values)}"
        same("values of tensors and of arrays", array(values), resolved.gram(X.astype(np.float32)))


def check_params_round_trip(k: Similarity, X: Any) -> None:
    """Check that the constructor stores its parameters, and that they make an equal similarity."""
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

    here = array(k.gram(X))
    same("values before and after pickling", array(pickle.loads(cloudpickle.dumps(k)).gram(X)), here)
    same("values here and in another process", grams_elsewhere([(k, X)])[0], here)


def grams_elsewhere(pickled: Sequence[tuple[Similarity, Any]]) -> list[Any]:
    """Return the Gram matrix of each similarity and its objects by one new process with another hash seed."""
    import cloudpickle

    seed = "1" if os.environ.get("PYTHONHASHSEED") == "0" else "0"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with tempfile.TemporaryDirectory() as folder:
        given, answer = Path(folder, "given"), Path(folder, "answer.npz")
        given.write_bytes(cloudpickle.dumps(pickled))
        command = [sys.executable, "-c", _OTHER_PROCESS, str(given), str(answer)]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        names = ", ".join(repr(k) for k, _ in pickled)
        assert run.returncode == 0, f"another process could not use the pickled {names}:\n{run.stderr}"
        with np.load(answer) as grams:
            return list(grams.values())


_OTHER_PROCESS = """
import pickle, sys, numpy
with open(sys.argv[1], "rb") as given:
    numpy.savez(sys.argv[2], *[numpy.asarray(k.gram(X)) for k, X in pickle.load(given)])
"""


def check_inputs_unchanged(k: Similarity, X: Any) -> None:
    """Check that neither objects nor encodings are changed by looking at them."""
    import cloudpickle

    if isinstance(X, np.ndarray):
        X = X.copy()
        X.setflags(write=False)
    k = copy.copy(k)
    before, own = cloudpickle.dumps(X), sorted(vars(k))
    resolved, A = k.prepare(X)
    encoded = cloudpickle.dumps(A)
    resolved.block(A, A)
    resolved.diagonal(A)
    k.gram(X)
    assert cloudpickle.dumps(X) == before, "the objects were changed"
    assert cloudpickle.dumps(A) == encoded, "block or diagonal changed its encoded input"
    grown = sorted(
        name for name in vars(k) if name not in own and not isinstance(getattr(type(k), name, None), cached_property)
    )
    assert not grown, f"looking at objects gave the similarity the new attribute {grown[0]}"


SIMILARITY_CHECKS: tuple[Callable[[Similarity, Any], None], ...] = (
    check_gram_equals_pairs,
    check_cross_equals_gram,
    check_diag_equals_diagonal,
    check_encoding_slices,
    check_resolve_is_idempotent,
    check_claims_hold,
    check_precision_is_kept,
    check_params_round_trip,
    check_inputs_unchanged,
    check_other_process,
)
