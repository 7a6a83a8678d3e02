"""Comparing values that should be equal, here and in a new process."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def tolerance(values: np.ndarray) -> float:
    """Return the relative difference that the precision of the values allows."""
    return 1e-4 if values.dtype == np.float32 else 1e-8


def same(what: str, a: Any, b: Any) -> None:
    """Check that two arrays agree: numbers up to rounding, labels exactly."""
    a = np.asarray(a)
    b = np.asarray(b)
    assert a.shape == b.shape, f"{what} differ: shapes {a.shape} and {b.shape}"
    if "f" not in (a.dtype.kind, b.dtype.kind):
        assert (a == b).all(), f"{what} differ"
        return
    gap = np.abs(a.astype(float) - b.astype(float))
    allowed = max(tolerance(a), tolerance(b)) * max(float(np.abs(b.astype(float)).max(initial=0.0)), 1e-300)
    if gap.max(initial=0.0) > allowed:
        place = tuple(int(position) for position in np.unravel_index(gap.argmax(), gap.shape))
        raise AssertionError(f"{what} differ at {place}: {a[place]!r} and {b[place]!r}")


_PROGRAM = """
import pickle, sys
with open(sys.argv[1], "rb") as call:
    function, arguments = pickle.load(call)
with open(sys.argv[2], "wb") as result:
    pickle.dump(function(*arguments), result)
"""


def in_new_process(function: Callable[..., Any], *arguments: Any, what: str) -> Any:
    """Return the result of a call in a new process with another hash seed; `what` names it in an error."""
    import cloudpickle

    seed = "1" if os.environ.get("PYTHONHASHSEED") == "0" else "0"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with tempfile.TemporaryDirectory() as folder:
        call = Path(folder, "call")
        result = Path(folder, "result")
        call.write_bytes(cloudpickle.dumps((function, arguments)))
        command = [sys.executable, "-c", _PROGRAM, str(call), str(result)]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert run.returncode == 0, f"a new process could not use {what}:\n{run.stderr}"
        return pickle.loads(result.read_bytes())
