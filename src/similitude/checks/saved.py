"""The test kit for saved models: a loaded model predicts as the original does, in this process and in a new one."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from similitude.checks.comparing import in_new_process
from similitude.persistence import functions_of, load, model_bytes, save
from similitude.similarity import Similarity


def check_saved(model: Any, X: Any = None) -> None:
    """Check that a model comes back from a file as it was, in this process and in a new one.

    Saving it twice gives the same bytes, the loaded model would be saved as the same bytes again, and predictions,
    probabilities, scores, features or similarities are equal bit for bit. Functions and classes that the model needs
    are passed as they are.

    Parameters
    ----------
    model : estimator, Similarity or result
        Fitted, if it can be.
    X : sequence of objects, optional
        The objects to predict.

    Raises
    ------
    AssertionError
        If something differs; the message names it.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.checks import check_saved
    >>> from similitude.learners import KernelRidge
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> check_saved(KernelRidge().fit(X, [0.0, 1.0, 4.0, 16.0]), X)
    """
    functions = functions_of(model)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model.sim")
        save(model, file)
        assert file.read_bytes() == model_bytes(model), "saving twice gave different bytes"
        expected = {name: model_bytes(values) for name, values in answers(model, X).items()}
        here = answers_from(file, X, functions)
        elsewhere = in_new_process(answers_from, file, X, functions, what="the saved model")
        for name, values in expected.items():
            assert here.get(name) == values, f"{name} of the loaded model differs here"
            assert elsewhere.get(name) == values, f"{name} of the loaded model differs in a new process"


def answers_from(file: Path, X: Any, functions: dict[str, Any]) -> dict[str, bytes]:
    """Load a model, check that it would be saved as it was, and return its answers as bytes."""
    model = load(file, functions=functions)
    assert model_bytes(model) == file.read_bytes(), "the loaded model would be saved as different bytes"
    return {name: model_bytes(values) for name, values in answers(model, X).items()}


def answers(model: Any, X: Any) -> dict[str, Any]:
    """Return everything that a model computes for some objects, by the names of its methods."""
    if X is None:
        return {}
    if isinstance(model, Similarity):
        k = model.resolve(X)
        return {"cross": k.cross(X, X), "diag": k.diag(X)}
    methods = ("predict", "predict_proba", "decision_function", "transform")
    return {name: getattr(model, name)(X) for name in methods if hasattr(model, name)}
