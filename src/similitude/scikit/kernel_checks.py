"""Checks of a kernel before a fit: whether it is one, by proof or on a sample, and the precision that it needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import Blocks, Encoding, as_numpy
from similitude.compute.engines import Engine
from similitude.similarity import Similarity
from similitude.support import NotAKernelError
from similitude.validity import Validity, check_gram, stored_witness

CHECKED_OBJECTS = 500
"""Largest number of objects whose Gram matrix is checked when a kernel has no proof."""


def proven(k: Similarity) -> Validity | None:
    """Return the verdict VALID if the similarity is proven to be a kernel, else None."""
    proof = k.proof()
    if proof.holds:
        return Validity("VALID", proof)
    return None


def demand_valid(validity: Validity, advice: str = "use repair(...) first") -> Validity:
    """Return the verdict; raise NotAKernelError with the witness if it is INVALID."""
    proof = validity.proof
    witness = validity.witness
    if validity.verdict == "INVALID":
        reason = ""
        if witness is not None and not witness.indices and not proof.premises:  # it is not one whatever the data are
            reason = f" ({proof.reason})"
        raise NotAKernelError(
            f"{proof.similarity} is not a kernel, and a kernel is needed here: {advice}{reason}.", witness
        )
    return validity


def refuse_known(k: Similarity) -> None:
    """Raise NotAKernelError if a known counterexample refutes the similarity, whatever the data are."""
    if k.proven:
        return
    k.check_params()
    witness = stored_witness(k)
    if witness is not None:
        demand_valid(Validity("INVALID", k.proof(), witness))


def demand_kernel_on(
    k: Similarity, A: Encoding, objects: Any, positions: np.ndarray, n: int, engine: Engine
) -> Validity:
    """Return the verdict from the Gram matrix of some of n objects; raise NotAKernelError if there is a witness."""
    return demand_valid(check_gram(k, as_numpy(whole_gram(k, A, engine)), objects, positions, n))


def whole_gram(k: Similarity, A: Encoding, engine: Engine) -> Any:
    """Return the Gram matrix with both K(x, z) and K(z, x) computed, even if symmetry is claimed."""
    return Blocks(k, A, A, symmetric=False, engine=engine).whole()


def in_single_precision(kernel: Similarity, encoding: Encoding, tolerance: float) -> Encoding:
    """Return vectors in float32 if the kernel values of a sample then change by at most the tolerance."""
    if kernel.objects != "vectors" or getattr(encoding, "dtype", None) != np.float64:
        return encoding
    if np.abs(encoding).max() > 1e15:  # squared lengths could overflow in single precision
        return encoding
    single = encoding.astype(np.float32)
    some = np.unique(np.linspace(0, encoding.shape[0] - 1, 200).astype(int))
    exact = np.asarray(kernel.block(encoding[some], encoding[some]), float)
    rounded = np.asarray(kernel.block(single[some], single[some]), float)
    return single if np.abs(exact - rounded).max() <= tolerance else encoding
