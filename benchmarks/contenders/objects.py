"""Who learns from objects of any kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.nouns import OURS, Contender
from benchmarks.tasks.objects import FULL
from similitude.kernels import GlobalAlignment, Spectrum, WeisfeilerLehman

KERNELS: dict[str, Callable[[], Any]] = {
    "weisfeiler_lehman": lambda: WeisfeilerLehman(3).normalized(),
    "global_alignment": GlobalAlignment,
    "blended": lambda: Spectrum(4, blended=True).normalized(),
}


class Ours(Contender):
    name = OURS

    def landmarks_accuracy(self, X, y, folds, kernel):
        from similitude import SimilarityClassifier

        def predicted(train: np.ndarray, test: np.ndarray) -> np.ndarray:
            model = SimilarityClassifier(KERNELS[kernel](), random_state=0).fit([X[i] for i in train], y[train])
            return model.predict([X[i] for i in test])

        return [predicted(train, test) for train, test in folds]


class WholeGram(Contender):
    """C, and the width of a kernel that has one, by five folds of the training part."""

    name = FULL

    def landmarks_accuracy(self, X, y, folds, kernel):
        grams = {(): KERNELS[kernel]().gram(X)} if kernel != "global_alignment" else None
        return [
            self._predicted(list((grams or self._widths(X, train)).values()), y, train, test) for train, test in folds
        ]

    @staticmethod
    def _widths(X: Any, train: np.ndarray) -> dict[float, np.ndarray]:
        default = GlobalAlignment().resolve([X[i] for i in train]).sigma
        return {share: GlobalAlignment(share * default).gram(X) for share in (0.25, 0.5, 1.0, 2.0, 4.0)}

    @staticmethod
    def _predicted(grams: list[np.ndarray], y: np.ndarray, train: np.ndarray, test: np.ndarray) -> np.ndarray:
        from sklearn.model_selection import GridSearchCV, StratifiedKFold
        from sklearn.svm import SVC

        inner = StratifiedKFold(5, shuffle=True, random_state=0)
        searches = [
            GridSearchCV(SVC(kernel="precomputed"), {"C": [0.1, 1.0, 10.0, 100.0, 1000.0]}, cv=inner).fit(
                K[np.ix_(train, train)], y[train]
            )
            for K in grams
        ]
        best = max(range(len(grams)), key=lambda i: searches[i].best_score_)
        return searches[best].predict(grams[best][np.ix_(test, train)])
