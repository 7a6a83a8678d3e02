"""Memory that was freed, but that the C library keeps for later."""

from __future__ import annotations

import ctypes
import sys


def give_back_freed() -> None:
    """Give freed memory back to the system, where the C library can.

    Objects that are read in a thread lie between others that are freed soon, and no other thread gets their places.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
