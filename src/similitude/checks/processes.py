"""Calling a function in a new process."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
        call, result = Path(folder, "call"), Path(folder, "result")
        call.write_bytes(cloudpickle.dumps((function, arguments)))
        command = [sys.executable, "-c", _PROGRAM, str(call), str(result)]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert run.returncode == 0, f"a new process could not use {what}:\n{run.stderr}"
        return pickle.loads(result.read_bytes())
