"""KernelOneClassSVM: the support of a distribution by a support vector machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import check_objects
from similitude.compute.engines import Engine, one_blas_thread
from similitude.learners.kernel_learner import ScoreOutliers
from similitude.learners.svm.dual import solve_one_class
from similitude.learners.svm.svc import BaseSVM
from similitude.scikit import all_or_nothing, check_weights, tensors_for_tensors
from similitude.support import check_number, check_positive


class KernelOneClassSVM(ScoreOutliers, BaseSVM):
    r"""A one-class support vector machine, which finds objects unlike most of the training objects.

    Separates the training objects from the origin of the feature space,
    :math:`\min_{w, \rho, \xi} \frac12 |w|^2 - \nu n \rho + \sum_i \xi_i` with
    :math:`\langle w, \phi(x_i)\rangle \ge \rho - \xi_i` and :math:`\xi_i \ge 0`, by its dual
    :math:`\min_a \frac12 a^\top K a` with :math:`0 \le a_i \le 1`, :math:`\sum_i a_i = \nu n`. At most the share
    :math:`\nu` of the training objects are outliers, and at least that share are support objects, up to the tolerance.
    (Schölkopf, Platt, Shawe-Taylor, Smola and Williamson, "Estimating the Support of a High-Dimensional Distribution",
    2001.) The conventions are those of ``sklearn.svm.OneClassSVM``, the solver is that of :class:`KernelSVC`.
    For similarities that are not kernels, and for a false alarm rate on new objects, see :class:`SimilarityNovelty`.

    Parameters
    ----------
    kernel : Similarity, str or callable
        Must be PSD.
    nu : float
        In (0, 1].
    tol : float
        Tolerance of the optimality conditions. From 1e-5 on, kernel values of vectors are computed in single precision
        if a sample shows that this is accurate enough.
    engine : Engine, optional

    Attributes
    ----------
    support_, support_objects_, dual_coef_
        Positions of the support objects in X, the objects, and their coefficients a.
    offset_ : float
        :math:`\rho`; the score of an object is sum_j dual_coef_j K(x, support_j), and it is an outlier if that is less.
    objective_ : float
        The minimized function of the dual.
    n_iter_, precision_
        Rounds of the solver, and the precision of the kernel values in it.
    kernel_, validity_
        The kernel with data-dependent parameters resolved, and the verdict on it.

    Examples
    --------
    >>> from similitude.learners import KernelOneClassSVM
    >>> words = ["banana", "bandana", "cabana", "ananas", "savanna", "cabala"]
    >>> model = KernelOneClassSVM("spectrum(2)", nu=0.2).fit(words)
    >>> model.predict(["cabanas", "xylophone"])
    array([ 1, -1])
    """

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        nu: float = 0.5,
        tol: float = 1e-3,
        engine: Engine | None = None,
    ) -> None:
        self.kernel = kernel
        self.nu = nu
        self.tol = tol
        self.engine = engine

    @all_or_nothing
    @one_blas_thread  # its other threads would wait busily beside those of the engine
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelOneClassSVM:
        """Fit to objects.

        Parameters
        ----------
        X : sequence of objects
        y : ignored
        sample_weight : sequence of float, optional
            The largest coefficient of each object; an integer is the same as repetition.
        """
        check_positive("tol", self.tol)
        nu = check_number("nu", self.nu, "(0, 1]")
        X = self._checked(X, reset=True)
        n = check_objects(X)
        weights = check_weights(sample_weight, n)
        k, X, A = self._start(X, sample_weight=sample_weight, kernel=True)
        # Rounding errors of the values add up like the square root of their number.
        K = self._rows(k, A, np.full(n, np.sqrt(weights.sum())))
        beta, residual, intercept, self.n_iter_ = solve_one_class(K, weights, nu, self.tol)
        self._keep(X, A, beta)
        self.offset_ = -intercept
        self.objective_ = -0.5 * float(beta @ residual)
        return self

    @tensors_for_tensors
    def score_samples(self, X: Any) -> np.ndarray:
        """Return the score of each object: the lower, the more unlike the training objects."""
        return self._weighted(X)
