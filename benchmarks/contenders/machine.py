"""Who learns from similarities to landmarks, and who repairs an indefinite similarity instead."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.nouns import OURS, Contender
from similitude.kernels import Gaussian


class Ours(Contender):
    name = OURS

    def machine(self, X, y, new, truth, sigma, m):
        from similitude import SimilarityClassifier

        return SimilarityClassifier(Gaussian(sigma), n_landmarks=m).fit(X, y).predict(new)

    def machine_defaults(self, X, y, new, truth):
        from similitude import SimilarityClassifier

        return SimilarityClassifier().fit(X, y).predict(new)

    def machine_indefinite(self, M, train, test, y, truth):
        from similitude import SimilarityClassifier

        known = M[np.ix_(test, train)].any() and M[np.ix_(train, test)].any()  # K(train, new) is not always given
        from similitude import Precomputed

        side = "auto" if known else "left"
        return SimilarityClassifier(Precomputed(M), side=side).fit(train, y[train]).predict(test)


class ScikitLearn(Contender):
    name = "scikit-learn"

    def machine(self, X, y, new, truth, sigma, m):
        from sklearn.kernel_approximation import Nystroem
        from sklearn.linear_model import RidgeClassifierCV
        from sklearn.pipeline import make_pipeline

        features = Nystroem(gamma=0.5 / sigma**2, n_components=m, random_state=0)
        return make_pipeline(features, RidgeClassifierCV(alphas=np.logspace(-4, 2, 7))).fit(X, y).predict(new)

    def machine_defaults(self, X, y, new, truth):
        from sklearn.model_selection import GridSearchCV
        from sklearn.svm import SVC

        grid = {"C": [1.0, 10.0, 100.0], "gamma": (np.array([0.25, 1.0, 4.0]) / X.shape[1]).tolist()}
        return GridSearchCV(SVC(), grid, cv=3).fit(X, y).predict(new)


class Repaired(Contender):
    """A support vector machine on the nearest thing to a kernel."""

    def repaired(self, values: np.ndarray) -> np.ndarray:
        """Return what becomes of the eigenvalues."""
        raise NotImplementedError

    def machine_indefinite(self, M, train, test, y, truth):
        from sklearn.model_selection import GridSearchCV
        from sklearn.svm import SVC

        S = M[np.ix_(train, train)]
        values, V = np.linalg.eigh((S + S.T) / 2)
        known = np.abs(values) > 1e-10 * np.abs(values).max()
        after = self.repaired(values)
        change = (V[:, known] * (after[known] / values[known])) @ V[:, known].T
        K, new = (V * after) @ V.T, M[np.ix_(test, train)] @ change
        grid = {"C": (10.0 ** np.arange(-2, 4) / np.diag(K).mean()).tolist()}
        return GridSearchCV(SVC(kernel="precomputed"), grid, cv=5).fit(K, y[train]).predict(new)


class Clip(Repaired):
    name = "clip"

    def repaired(self, values: np.ndarray) -> np.ndarray:
        return np.maximum(values, 0.0)


class Flip(Repaired):
    name = "flip"

    def repaired(self, values: np.ndarray) -> np.ndarray:
        return np.abs(values)


class Square(Repaired):
    name = "square"

    def repaired(self, values: np.ndarray) -> np.ndarray:
        return values**2


class Shift(Contender):
    """A support vector machine on the similarity with a larger diagonal; new rows stay as they are."""

    name = "shift"

    def machine_indefinite(self, M, train, test, y, truth):
        from sklearn.model_selection import GridSearchCV
        from sklearn.svm import SVC

        S = M[np.ix_(train, train)]
        S = (S + S.T) / 2
        K = S + max(0.0, -float(np.linalg.eigvalsh(S)[0])) * np.eye(len(S))
        grid = {"C": (10.0 ** np.arange(-2, 4) / np.diag(K).mean()).tolist()}
        model = GridSearchCV(SVC(kernel="precomputed"), grid, cv=5).fit(K, y[train])
        return model.predict(M[np.ix_(test, train)])


class Neighbors(Contender):
    """The most similar examples; how many is chosen by leave-one-out."""

    name = "neighbors"

    def machine_indefinite(self, M, train, test, y, truth):
        S = M[np.ix_(train, train)].copy()
        np.fill_diagonal(S, -np.inf)
        labels = y[train]
        best = max((1, 3, 5, 9, 15), key=lambda k: float(np.mean(self._vote(S, labels, k) == labels)))
        return self._vote(M[np.ix_(test, train)], labels, best)

    @staticmethod
    def _vote(S: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
        nearest: Any = np.argsort(-S, axis=1, kind="stable")[:, :k]
        return np.array([np.bincount(labels[row]).argmax() for row in nearest])


class Gemm(Contender):
    """Products with as many operations as the kernel, the projection and the normal equations take."""

    name = "NumPy GEMM"
    is_limit = True

    def machine(self, X, y, new, truth, sigma, m):
        half, last = np.ones((m, m // 2), X.dtype), 0.0
        for start in range(0, len(X), 2048):
            K = X[start : start + 2048] @ X[:m].T
            last += float((K @ half)[0, 0]) + float((K.T @ K[:, : m // 2])[0, 0])
        return last
