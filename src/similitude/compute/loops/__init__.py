"""Inner loops, which take and return arrays; each exists twice, compiled and as a readable reference.

The compiled loops are used if they were built, for the best instruction set of the CPU. ``SIMILITUDE_LOOPS=reference``
selects the reference loops, ``SIMILITUDE_SIMD=baseline|avx2|avx512`` an instruction set.
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from similitude.compute.loops import reference
from similitude.compute.loops.arguments import CSR, BagArrays, Patterns, TermArrays, formula
from similitude.compute.loops.reference import *  # noqa: F403
from similitude.compute.loops.reference.bags import MOST_NEIGHBORS, words_near
from similitude.compute.loops.reference.graphs import refined_labels
from similitude.compute.loops.reference.series import convolved
from similitude.compute.loops.reference.strings import LONGEST_SUBSEQUENCE, SIZES_OF_FACTORS
from similitude.compute.loops.reference.tables import weighted_gower

if np.int_(0).itemsize < 8:
    raise ImportError(
        f"similitude counts with integers of 64 bits, but those of NumPy {np.__version__} have 32 on this system; "
        "on Windows they have 64 in NumPy 2 and later"
    )

WHY_REFERENCE = "SIMILITUDE_LOOPS=reference" if os.environ.get("SIMILITUDE_LOOPS") == "reference" else ""
if not WHY_REFERENCE:
    try:
        import similitude.compute.loops._compiled as _compiled
    except ImportError as error:
        WHY_REFERENCE = f"no compiled module: {error}"

COMPILED = not WHY_REFERENCE
IN_USE = f"reference ({WHY_REFERENCE})"
if COMPILED:
    globals().update({name: getattr(_compiled, name) for name in reference.LOOPS})
    if os.environ.get("SIMILITUDE_SIMD"):
        try:
            _compiled.choose(os.environ["SIMILITUDE_SIMD"])
        except ValueError as error:
            raise ValueError(f"SIMILITUDE_SIMD: {error}") from None
    IN_USE = f"compiled ({_compiled.in_use()})"


def apply_each(matrices: Sequence[np.ndarray], forms: Sequence[tuple[Any, ...]]) -> None:
    """Replace the entries of each matrix by a function of its own, in place; see `apply`."""
    for values, form in zip(matrices, forms, strict=True):
        apply(values, *form)  # noqa: F405
