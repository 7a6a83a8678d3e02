"""Who compares strings."""

from __future__ import annotations

import numpy as np

from benchmarks.nouns import OURS, Contender
from benchmarks.tasks.strings import THRESHOLD
from similitude.engines import current_engine
from similitude.kernels import Aligned, Edit, Gapped, Spectrum, Subsequence, Words

ROWS = 2000
"""Rows of a matrix that are held at once."""

ROUNDING = 1e-6
"""Below the threshold by this much, no float32 is lost by rounding."""

CUTOFF_SLACK = 1e-3
"""A score_cutoff of exactly the threshold, or 1e-9 less, leaves out some pairs whose similarity is the threshold."""


class Ours(Contender):
    name = OURS

    def spectrum(self, X, p):
        return Spectrum(p).gram(X)

    def words(self, X):
        return Words().gram(X)

    def subsequences(self, X, p):
        return Subsequence(p).normalized().gram(X)

    def aligned(self, X):
        return Aligned().gram(X)

    def levenshtein(self, X):
        return Edit().distances(X)

    def edit_costs(self, X):
        return Edit((2, 2, 3)).distances(X)

    def duplicates(self, X):
        from similitude.learners import SimilarityIndex

        i, j, _ = SimilarityIndex(Edit(), method="exact").fit(X).pairs(THRESHOLD)
        return np.column_stack([i, j])

    def string_learning(self, X, y, new, truth, kernel):
        from similitude.learners import KernelSVC

        k, C = (Gapped(8, 2), 1.0) if kernel == "gapped" else (Spectrum(4, blended=True), 10.0)
        return KernelSVC(k.normalized(), C=C).fit(X, y).decision_function(new)

    def promoters(self, X, y):
        from similitude.learners import KernelSVC

        labels = []
        for i, x in enumerate(X):
            model = KernelSVC(Spectrum(4).normalized()).fit(X[:i] + X[i + 1 :], np.delete(y, i))
            labels.append(model.predict([x])[0])
        return np.array(labels)


class ScikitLearn(Contender):
    def spectrum(self, X, p):
        from sklearn.feature_extraction.text import CountVectorizer

        counts = CountVectorizer(analyzer="char", ngram_range=(p, p), binary=True, lowercase=False).fit_transform(X)
        return (counts @ counts.T).toarray()

    def words(self, X):
        from sklearn.feature_extraction.text import TfidfVectorizer

        values = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\w+").fit_transform(X)
        return (values @ values.T).toarray()


class RapidFuzz(Contender):
    name = "rapidfuzz"
    packages = ("rapidfuzz.distance", "rapidfuzz.process")

    def levenshtein(self, X):
        from rapidfuzz.distance import Levenshtein

        return self.library.cdist(X, X, scorer=Levenshtein.distance, workers=current_engine().threads)

    def edit_costs(self, X):
        from rapidfuzz.distance import Levenshtein

        options = {"weights": (2, 2, 3)}
        return self.library.cdist(
            X, X, scorer=Levenshtein.distance, scorer_kwargs=options, workers=current_engine().threads
        )

    def duplicates(self, X):
        from rapidfuzz.distance import Levenshtein

        found, scorer = [], Levenshtein.normalized_similarity
        for first in range(0, len(X), ROWS):
            some = X[first : first + ROWS]
            K = self.library.cdist(
                some, X[first:], scorer=scorer, score_cutoff=THRESHOLD - CUTOFF_SLACK, dtype=np.float32
            )
            i, j = np.nonzero(K >= THRESHOLD - ROUNDING)
            found.append(first + np.column_stack([i, j])[j > i])
        return np.concatenate(found)


class Strkernels(Contender):
    """It sums over subsequences of 1 to p letters, so that its values are others: as much work, compared by time."""

    name = "strkernels"
    packages = ("strkernels",)

    def subsequences(self, X, p):
        return self.library.SubsequenceStringKernel(maxlen=p, ssk_lambda=0.5)(X, X)


class Biopython(Contender):
    name = "biopython"
    packages = ("Bio.Align",)

    def aligned(self, X):
        aligner = self.library.PairwiseAligner(mode="local")
        aligner.substitution_matrix = self.library.substitution_matrices.load("BLOSUM62")
        aligner.open_gap_score, aligner.extend_gap_score = -11, -1
        K = np.empty((len(X), len(X)))
        for i, x in enumerate(X):
            for j in range(i + 1):
                K[i, j] = K[j, i] = aligner.score(x, X[j])
        return K
