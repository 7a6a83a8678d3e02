"""Influence of training rows that takes about as long as the fit: it is computed when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from similitude.fitting.group_influence import GroupInfluence


class DelayedInfluence:
    """The influence of groups of training rows, computed when a prediction is explained or the model is saved.

    Until then the function that computes it keeps the rows. A saved, pickled or copied model has the influence, and no
    rows.

    Parameters
    ----------
    base : array of shape (outputs,)
        What the influences are added to.
    compute : callable
        Returns the influence by the similarities to the landmarks.
    """

    def __init__(self, base: np.ndarray, compute: Callable[[], GroupInfluence]) -> None:
        self.base = base
        self._compute: Callable[[], GroupInfluence] | None = compute
        self._found: GroupInfluence | None = None

    @property
    def found(self) -> GroupInfluence:
        """The influence."""
        compute = self._compute
        if compute is not None:
            self._found, self._compute = compute(), None
        assert self._found is not None
        return self._found
