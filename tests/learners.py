"""One list of learners, estimators and maps: small settings of every public class, for the tests that try them all."""

from similitude import SimilarityClassifier, SimilarityOrdinalClassifier, SimilarityRegressor
from similitude.checks.estimators import check_largest_score_wins
from similitude.kernels import Cosine
from similitude.learners import (
    AlignmentVote,
    KernelKMeans,
    KernelOneClassSVM,
    KernelPerceptron,
    KernelRanker,
    KernelRidge,
    KernelRidgeClassifier,
    KernelSGDSVC,
    KernelSVC,
    KernelSVR,
    KreinSVC,
    MarginPerceptron,
    OnlineKernelClassifier,
    OnlineKernelRegressor,
    RepresenterClassifier,
    RepresenterRegressor,
    SeparatorLP,
    SimilarityDensityClusters,
    SimilarityIndex,
    SimilarityKMedoids,
    SimilarityKNeighborsClassifier,
    SimilarityKNeighborsRegressor,
    SimilarityLinkage,
    SimilarityNovelty,
    SimilarityVote,
    SpectralClusters,
    WeakSimilarityVote,
)
from similitude.maps import (
    CompactMap,
    FourierMap,
    KernelPCA,
    LandmarkMap,
    PolynomialSketchMap,
    ProjectionMap,
    SpectralEmbedding,
)

CLASSIFIERS = [
    SimilarityClassifier(),
    KernelPerceptron(epochs=2),
    MarginPerceptron(),
    KernelSVC(),
    KreinSVC(),
    KernelSGDSVC(n_iter=100),
    RepresenterClassifier(),
    KernelRidgeClassifier(),
    SimilarityKNeighborsClassifier(n_neighbors=3),
    SimilarityVote(),
    AlignmentVote(),
    WeakSimilarityVote(random_state=1),
    SimilarityOrdinalClassifier(),
    OnlineKernelClassifier(budget=50),
]
REGRESSORS = [
    SimilarityRegressor(),
    KernelSVR(),
    KernelRanker(),
    OnlineKernelRegressor(budget=50),
    RepresenterRegressor(),
    KernelRidge(),
    SimilarityKNeighborsRegressor(n_neighbors=3),
]
CLUSTERERS = [
    KernelKMeans(n_clusters=3),
    SimilarityKMedoids(n_clusters=2),
    SpectralClusters(n_clusters=2),
    SimilarityLinkage(),
    SimilarityDensityClusters(),
]
DETECTORS = [KernelOneClassSVM(), SimilarityNovelty()]
INDEXES = [SimilarityIndex()]
"""What is searched in: it predicts nothing. Its tests are in test_similarity_index.py."""

OF_VECTORS = [SeparatorLP()]
"""Learners without a similarity. Scikit-learn's checks of SeparatorLP are in test_separator.py: most fit data that
cannot be separated."""

MAPS = [LandmarkMap(), ProjectionMap(), CompactMap(n_components=2)]
EMBEDDINGS = [KernelPCA(), SpectralEmbedding()]
"""Maps without landmarks."""

MAPS_OF_VECTORS = [
    FourierMap(n_components=20),
    FourierMap(n_components=20, kind="plain"),
    FourierMap(n_components=20, kind="structured"),
    PolynomialSketchMap(n_components=20),
    PolynomialSketchMap(Cosine(), n_components=20),
]
NEGATIVE = ("indices", "rows")
"""Kinds of objects whose similarity in the market may be negative, which SpectralClusters refuses."""

SKIPPED = {WeakSimilarityVote: [check_largest_score_wins], SimilarityOrdinalClassifier: [check_largest_score_wins]}
"""Checks of the contract that a learner cannot keep: answers by chance, and medians, need not be the most probable."""

MEDIAN = "the median of the grades is predicted, not the most probable one"
BY_CHANCE = "answers are drawn by chance: they need not be those of largest probability"
TO_TOLERANCE = (
    "the solution is exact to tol = 1e-3 only; tests with smaller ones are in test_svm.py and test_novelty.py"
)
DRAWN = "landmarks are drawn among the examples, and a repeated example changes the draw; see the tests of weights"
SEEDED = "seeds are drawn among the examples, and a repeated or reordered example changes the draw"
WEIGHTS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
EXPECTED_FAILURES = {
    SimilarityClassifier: dict.fromkeys(WEIGHTS, DRAWN),
    SimilarityRegressor: dict.fromkeys(WEIGHTS, DRAWN),
    SimilarityOrdinalClassifier: {**dict.fromkeys(WEIGHTS, DRAWN), "check_classifiers_train": MEDIAN},
    KernelSVC: dict.fromkeys(WEIGHTS, TO_TOLERANCE),
    KernelSVR: dict.fromkeys(WEIGHTS, TO_TOLERANCE),
    KreinSVC: dict.fromkeys(WEIGHTS, TO_TOLERANCE),
    KernelOneClassSVM: dict.fromkeys(WEIGHTS, TO_TOLERANCE),
    KernelKMeans: dict.fromkeys(WEIGHTS, SEEDED),
    WeakSimilarityVote: {"check_classifiers_train": BY_CHANCE},
}
"""Checks of scikit-learn that an estimator fails by design, and why."""


def with_similarity(learner, similarity):
    """Return the learner with another similarity, under whichever name it takes one."""
    role = "kernel" if hasattr(learner, "kernel") else "similarity"
    return type(learner)(**{**learner.get_params(deep=False), role: similarity})
