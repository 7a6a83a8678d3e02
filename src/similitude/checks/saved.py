"""The kit for saved models: what comes back answers as what was saved, here and in a new process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from similitude.persistence import load, save
from similitude.persistence.model_files import functions_of, model_bytes
from similitude.similarity import Similarity

METHODS = ("predict", "predict_proba", "decision_function", "transform")


def check_saved(model: Any, X: Any = None) -> None:
    """Check that a model comes back from a file as it was, in this process and in a new one.

    Saving twice gives the same bytes, nothing in the file is pickled, what is loaded would be saved as the same bytes
    again, and predictions, probabilities, scores, features or similarities are equal bit for bit. Functions and
    classes that the model needs are handed over as they are.

    Parameters
    ----------
    model : estimator, Similarity or result
        Fitted, if it can be.
    X : sequence of objects, optional
        What the model is asked about.

    Raises
    ------
    AssertionError
        Naming what differs.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.checks import check_saved
    >>> from similitude.learners import KernelRidge
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> check_saved(KernelRidge().fit(X, [0.0, 1.0, 4.0, 16.0]), X)
    """
    functions = functions_of(model)
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "model.sim"
        save(model, file)
        assert file.read_bytes() == model_bytes(model), "saving twice gave different bytes"
        expected = {what: model_bytes(values) for what, values in answers(model, X).items()}
        _compare(expected, answers_from(file, X, functions), "here")
        _compare(expected, _in_a_new_process(file, X, functions), "in a new process")


def answers_from(file: Path, X: Any, functions: dict[str, Any]) -> dict[str, bytes]:
    """Load a model, check that it would be saved as it was, and return its answers as bytes."""
    model = load(file, functions=functions)
    assert model_bytes(model) == file.read_bytes(), "what was loaded would be saved as different bytes"
    return {what: model_bytes(values) for what, values in answers(model, X).items()}


def answers(model: Any, X: Any) -> dict[str, Any]:
    """Return all that a model says of objects."""
    if X is None:
        return {}
    if isinstance(model, Similarity):
        k = model.resolve(X)
        return {"cross": k.cross(X, X), "diag": k.diag(X)}
    return {name: getattr(model, name)(X) for name in METHODS if hasattr(model, name)}


def _compare(expected: dict[str, bytes], found: dict[str, bytes], where: str) -> None:
    for what, values in expected.items():
        assert found.get(what) == values, f"{what} of the loaded model differs {where}"


def _in_a_new_process(file: Path, X: Any, functions: dict[str, Any]) -> dict[str, bytes]:
    import pickle

    import cloudpickle

    given, answer = file.with_name("given"), file.with_name("answer")
    given.write_bytes(cloudpickle.dumps((file, X, functions)))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", _OTHER_PROCESS, str(given), str(answer)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"a new process could not use the file:\n{run.stderr}"
    answers: dict[str, bytes] = pickle.loads(answer.read_bytes())
    return answers


_OTHER_PROCESS = """
import pickle, sys
from similitude.checks.saved import answers_from
with open(sys.argv[1], "rb") as given:
    asked = pickle.load(given)
with open(sys.argv[2], "wb") as answer:
    pickle.dump(answers_from(*asked), answer)
"""
