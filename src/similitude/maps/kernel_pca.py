"""KernelPCA: principal components in the feature space of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from similitude.compute import Blocks, Encoding, as_numpy, check_fits, check_objects, is_sparse, itemsize, take
from similitude.compute.engines import Engine, one_scipy_thread
from similitude.maps.eigenpairs import (
    CenteredGram,
    Eigenpairs,
    centered_gram,
    eigenpairs_of_matrix,
    flipped,
    is_dense,
    leading_eigenpairs,
)
from similitude.scikit import (
    CHECKED_OBJECTS,
    FLOAT_DTYPES,
    SimilarityEstimator,
    all_or_nothing,
    demand_valid,
    in_single_precision,
    proven,
    refuse_known,
    tensors_for_tensors,
)
from similitude.similarity import Similarity, as_similarity
from similitude.support import Guarantee, NotAKernelError, check_integer, check_positive, generator
from similitude.validity import check_gram


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SimilarityEstimator):
    r"""Principal components in the feature space of a kernel.

    With the centered Gram matrix :math:`\tilde K = H K H`, :math:`H = I - \frac1n 1 1^\top`, and its leading
    eigenpairs :math:`\tilde K v_k = \lambda_k v_k`, component k of x is
    :math:`\lambda_k^{-1/2} \sum_i v_{ki} \tilde K(x, x_i)`. (Schölkopf, Smola and Müller, "Nonlinear Component Analysis
    as a Kernel Eigenvalue Problem", 1998.) The signs are those of scikit-learn: the largest entry of each eigenvector
    is positive. Up to 2,000 objects, or if more than an eighth of all components are wanted, LAPACK decomposes the
    matrix. Of more objects a block Krylov method finds the leading eigenpairs to the tolerance; for kernels of vectors
    it computes tiles of K anew for each product, most of them in single precision, and never stores the matrix. For so
    many objects that even this is slow, ``make_pipeline(ProjectionMap(...), PCA(...))`` is kernel PCA on landmarks.

    Parameters
    ----------
    kernel : Similarity, str or callable
        Must be PSD; a similarity whose Gram matrix has a negative eigenvalue beyond rounding is refused.
    n_components : int
        At most the number of objects. Components of eigenvalue 0 are 0.
    tol : float
        The largest :math:`|\tilde K v - \lambda v| / \lambda_1` of an eigenpair of more than 2,000 objects.
    fit_inverse_transform : bool
        Learn a map from components back to vectors, for `inverse_transform`: as in scikit-learn, kernel ridge
        regression with the same kernel on the components (Bakir, Weston and Schölkopf, "Learning to Find Pre-Images",
        2003). It needs a Gram matrix in memory.
    alpha : float
        The penalty of that regression.
    random_state : int, optional
        Chooses the objects with which the Krylov method starts.
    engine : Engine, optional

    Attributes
    ----------
    eigenvalues_, eigenvectors_ : array
        Of the centered Gram matrix, from the largest on; eigenvectors are columns of length 1.
    explained_variance_ratio_ : array
        The share of each component in the variance of the objects in the feature space.
    residual_ : float
        The largest :math:`|\tilde K v - \lambda v| / \lambda_1`; 0 if LAPACK found the eigenpairs.
    row_means_ : array
        The means of the rows of K.
    support_objects_ : sequence
        The objects that it was fitted to, which new ones are compared with.
    dual_coef_, X_transformed_fit_ : array
        The regression from components to vectors; only with `fit_inverse_transform`.
    kernel_, validity_
        The kernel with data-dependent parameters resolved, and the verdict on it.

    Examples
    --------
    >>> from similitude.maps import KernelPCA
    >>> plane = KernelPCA("linear").fit([[0.0, 0.0, 1.0], [2.0, 0.0, 1.0], [0.0, 4.0, 1.0], [2.0, 4.0, 1.0]])
    >>> abs(plane.transform([[1.0, 2.0, 1.0], [1.0, 5.0, 1.0]]).round(6))
    array([[0., 0.],
           [3., 0.]])
    >>> plane.explained_variance_ratio_
    array([0.8, 0.2])
    """

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        n_components: int = 2,
        tol: float = 1e-6,
        fit_inverse_transform: bool = False,
        alpha: float = 1.0,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.tol = tol
        self.fit_inverse_transform = fit_inverse_transform
        self.alpha = alpha
        self.random_state = random_state
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> KernelPCA:
        """Find the principal components of objects.

        Parameters
        ----------
        X : sequence of objects
        y : ignored
        """
        X = self._checked(X, reset=True)
        self._check_params(X)
        if not self._precomputed:
            refuse_known(as_similarity(self.kernel))
        given = X
        k, X, A = self._start(X, self.random_state)
        with self._engine.linear_algebra(f"kernel PCA of {check_objects(X):,} objects"), one_scipy_thread:
            found = self._eigenpairs(k, X, A)
        self._set_components(found, k, X, A)
        if self.fit_inverse_transform:  # kernel ridge regression from components to vectors
            self.X_transformed_fit_ = self.eigenvectors_ * np.sqrt(self.eigenvalues_)
            C = k.encode(self.X_transformed_fit_)
            K = as_numpy(k.blocks(C, engine=self._engine).whole()).astype(np.float64, copy=False)
            K[np.diag_indices(len(K))] += self.alpha
            self.dual_coef_ = solve(K, as_numpy(given), assume_a="pos", overwrite_a=True, check_finite=False)
        return self

    def _check_params(self, X: Any) -> None:
        """Validate parameters before the first kernel call."""
        n = check_objects(X)
        d = check_integer("n_components", self.n_components)
        if n < 2:
            raise ValueError("principal components need at least two objects, got n_samples = 1")
        if d > n:
            raise ValueError(f"n_components = {d} is more than there are objects (n_samples = {n})")
        check_positive("tol", self.tol)
        if self.fit_inverse_transform:
            check_positive("alpha", self.alpha)
            if self._kind() != "vectors" or is_sparse(X):
                raise ValueError("only dense vectors can be found from components: fit_inverse_transform must be False")
            check_fits(n, n, 8, self._engine)

    def _eigenpairs(self, k: Similarity, X: Any, A: Encoding) -> Eigenpairs:
        """Return the leading eigenpairs of the centered Gram matrix; set ``validity_`` and ``row_means_``."""
        n = check_objects(X)
        d = self.n_components
        validity = proven(k)
        rng = generator(self.random_state)
        if validity is not None:
            self.validity_ = validity
            if k.objects == "vectors" and not k.hints.heavy and not is_dense(n, d):
                # products are rough if single precision changes no value by more than this share of the largest
                tolerance = 1e-5 * float(np.abs(as_numpy(k.diagonal(A))).max())
                gram = CenteredGram(k, A, in_single_precision(k, A, tolerance), self._engine)
                found = leading_eigenpairs(gram, d, self.tol, rng)
                self.row_means_ = gram.row_means
                return found
        check_fits(2 * n, n, 8, self._engine)
        K = as_numpy(Blocks(k, A, A, validity is not None, self._engine).whole())
        if validity is None:
            some = np.sort(generator(self.random_state).permutation(n)[:CHECKED_OBJECTS])
            self.validity_ = demand_valid(check_gram(k, K[np.ix_(some, some)], take(X, some), some, n))
        K = K.astype(np.float64, copy=False)
        if validity is None:
            K = 0.5 * K + 0.5 * K.T
        self.row_means_ = K.mean(axis=0)
        centered = centered_gram(K, self.row_means_)
        del K
        return eigenpairs_of_matrix(centered, d, self.tol, rng, every=validity is None)

    def _set_components(self, found: Eigenpairs, k: Similarity, X: Any, A: Encoding) -> None:
        """Set the fitted attributes; refuse a matrix with a negative eigenvalue that is too large for rounding."""
        largest = float(np.abs(found.values).max())
        # the largest shares that rounding leaves: of a negative eigenvalue, and of one that is 0, as in scikit-learn
        negative, zero = {4: (1e-4, 2e-7), 8: (1e-8, 1e-12)}[itemsize(A)]
        if found.smallest < -negative * largest:
            raise NotAKernelError(
                f"{k!r} is not a kernel: the centered Gram matrix has an eigenvalue of {found.smallest:.6g} or less, "
                f"and {largest:.6g} is the largest; use repair(...) first, or LandmarkMap, which takes any similarity."
            )
        values = np.where(found.values > zero * largest, found.values, 0.0)
        self.eigenvalues_ = values
        self.eigenvectors_ = flipped(found.vectors)
        self.residual_ = found.residual
        self.explained_variance_ratio_ = values
        if values.any():
            total = as_numpy(k.diagonal(A)).astype(np.float64, copy=False).sum() - self.row_means_.sum()
            self.explained_variance_ratio_ = np.minimum(values / total, 1.0)
        else:
            self.notes_.append("all objects are the same to this kernel: every component is 0")
        self.guarantee_ = Guarantee.none(
            "no other features of the same number keep more variance, but the margin may be lost"
        )
        self.support_objects_ = X
        self._support = A
        self._axes = self.eigenvectors_ / np.sqrt(np.where(values > 0, values, np.inf))

    @tensors_for_tensors
    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Find the principal components of objects, and return those of each; see `fit`."""
        self.fit(X, y)
        return self.eigenvectors_ * np.sqrt(self.eigenvalues_)

    @tensors_for_tensors
    def transform(self, X: Any) -> np.ndarray:
        """Return the components of every object, of shape (n, n_components)."""
        k, A = self._ask(X)
        products = as_numpy(k.blocks(A, self._support, self._engine).times(self._axes))
        return products.astype(np.float64, copy=False) - self.row_means_ @ self._axes

    @tensors_for_tensors
    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return vectors whose components are near those given; see `fit_inverse_transform`.

        Parameters
        ----------
        X : array of shape (n, n_components)
        """
        check_is_fitted(self)
        if not self.fit_inverse_transform:
            raise ValueError("inverse_transform needs KernelPCA(fit_inverse_transform=True)")
        C = np.asarray(as_numpy(X), dtype=FLOAT_DTYPES[0])
        if C.ndim != 2 or C.shape[1] != self.n_components:
            raise ValueError(f"X has shape {C.shape}, expected {self.n_components} components in each row")
        k: Similarity = self.kernel_
        known = k.encode(self.X_transformed_fit_)
        return as_numpy(k.blocks(k.encode(C), known, self._engine).times(self.dual_coef_))

    @property
    def _n_features_out(self) -> int:
        return self.n_components
