"""Validation of objects as an estimator does it, detached from the estimator: for batches and for workers."""

from __future__ import annotations

import copy
from typing import Any

from similitude.compute.engines import LocalEngine
from similitude.scikit.estimator import SimilarityEstimator


class InputCheck:
    """Validate objects as an estimator does; called as ``check(objects, reset=first)``, with the memory of one worker.

    The parameters of the estimator are not needed afterwards.
    """

    def __init__(self, estimator: SimilarityEstimator, memory: int | str) -> None:
        self._estimator: Any = copy.copy(estimator)
        self._estimator.engine = LocalEngine(threads=1, memory=memory)
        for name in {"landmarks", "unlabeled"} & set(vars(self._estimator)):
            setattr(self._estimator, name, None)

    def __call__(self, X: Any, *, reset: bool) -> Any:
        """Return the validated objects; `reset` for the first batch, which fixes the number of features."""
        return self._estimator._checked(X, reset=reset)

    @property
    def engine(self) -> LocalEngine:
        """The engine of one worker."""
        engine: LocalEngine = self._estimator.engine
        return engine

    @property
    def attributes(self) -> dict[str, Any]:
        """What validation found: ``n_features_in_`` and ``feature_names_in_``."""
        known = vars(self._estimator)
        return {name: known[name] for name in ("n_features_in_", "feature_names_in_") if name in known}

    def copy(self) -> InputCheck:
        """Return a copy that remembers its own first batch."""
        made = copy.copy(self)
        made._estimator = copy.copy(self._estimator)
        return made
