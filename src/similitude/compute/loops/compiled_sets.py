"""The compiled loops over sets behind the signatures of their twins in ``reference_sets``."""

from typing import Any

import similitude.compute.loops._compiled as _compiled
from similitude.compute.loops.reference_sets import VALUES


def shared_bits(out: Any, A: Any, B: Any, a: Any, b: Any, value: str) -> None:
    """See `reference_sets.shared_bits`."""
    _compiled.shared_bits(out, A, B, a, b, VALUES.index(value))


def of_shared(out: Any, a: Any, b: Any, value: str) -> None:
    """See `reference_sets.of_shared`."""
    _compiled.of_shared(out, a, b, VALUES.index(value))
