"""The compiled loops over the rows of tables behind the signatures of their twins in ``reference_tables``."""

from typing import Any

import similitude.compute.loops._compiled as _compiled


def gower(out: Any, A: Any, B: Any) -> None:
    """See `reference_tables.gower`."""
    _compiled.gower(out, *A, *B)
