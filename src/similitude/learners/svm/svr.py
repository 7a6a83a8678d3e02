"""KernelSVR: support vector regression with a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from similitude.compute.engines import Engine, one_blas_thread
from similitude.learners.svm.dual import solve_svr
from similitude.learners.svm.svc import BaseSVM
from similitude.scikit import all_or_nothing, check_targets, check_weights, tensors_for_tensors
from similitude.support import check_flag, check_nonnegative


class KernelSVR(RegressorMixin, BaseSVM):
    r"""Support vector regression, solved exactly by its dual.

    Minimizes :math:`\frac12 |w|^2 + C \sum_i \max(0, |y_i - \langle w, \phi(x_i)\rangle - b| - \epsilon)`, with
    the same solver as :class:`KernelSVC`.

    Parameters
    ----------
    kernel : Similarity, str or callable
        Must be PSD.
    C, lam, fit_intercept, tol, engine
        See :class:`KernelSVC`.
    epsilon : float
        Errors up to this cost nothing.

    Attributes
    ----------
    support_, support_objects_, dual_coef_, intercept_, objective_, dual_gap_, precision_, kernel_, validity_
        See :class:`KernelSVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.learners import KernelSVR
    >>> X = np.linspace(0, 3, 30)[:, None]
    >>> model = KernelSVR(C=100.0, epsilon=0.01).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.02)
    True
    """

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        C: float = 1.0,
        lam: float | None = None,
        epsilon: float = 0.1,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        engine: Engine | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.lam = lam
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.engine = engine

    @all_or_nothing
    @one_blas_thread  # its other threads would wait busily beside those of the engine
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelSVR:
        """Fit to objects and their targets.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of float
        sample_weight : sequence of float, optional
            Multiplies C for each example.
        """
        epsilon = check_nonnegative("epsilon", self.epsilon)
        check_flag("fit_intercept", self.fit_intercept)
        X = self._checked(X, reset=True)
        y = check_targets(self, X, y)
        if y.ndim == 2 and y.shape[1] > 1:
            raise ValueError(
                f"y should be a 1d array, got an array of shape {y.shape} instead: "
                "sklearn.multioutput.MultiOutputRegressor(KernelSVR()) fits one model for each column"
            )
        y = column_or_1d(y, warn=True)
        costs = self._costs(check_weights(sample_weight, len(y)))
        k, X, A = self._start(X, sample_weight=sample_weight, kernel=True)
        svm = solve_svr(self._rows(k, A, costs), y, costs, epsilon, self.fit_intercept, self.tol)
        self._set_figures([svm])
        self._keep(X, A, svm.coefficients)
        return self

    @tensors_for_tensors
    def predict(self, X: Any) -> np.ndarray:
        """Return the prediction for each object."""
        return self._weighted(X) + self.intercept_
