"""The closed list of classes that a saved model may contain.

A class is stored by its name and looked up here; a file never says what to import. A class that moves keeps its name.
A class that renames or drops an attribute after a release asks for a new minor version of the format and a line in
`UPGRADES`, so that older files still load.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Attributes = dict[str, Any]

UPGRADES: dict[str, tuple[tuple[tuple[int, int], Callable[[Attributes], Attributes]], ...]] = {}
"""By the name of a class: the last version of the format before a change, and a function that updates attributes."""

TABLE = """
data.datasets.hard_for_maps: Atoms LowerBound
data.datasets.real_data: Paper
data.datasets.toy_similarities: FewObjects
estimators: CostCurve EarlyStops Explanation Explanations SimilarityClassifier SimilarityMultilabelClassifier
    SimilarityOrdinalClassifier SimilarityRegressor
fitting: BlendInfluence Cascade CascadeInfluence ClassCalibration ErrorCalibration GroupInfluence LandmarkCurve
    LandmarkModel Plan PlanStep Stream Uncertainty WeightedLandmarks
fitting.cascade: Stage
fitting.group_influence: ClassInfluence
fitting.influence: ExampleInfluence
fitting.profile_ridge: ProfileRidge
fitting.sizes: PairWork Sizes
fitting.uncertainty.landmark_variance: LandmarkVariance
fitting.uncertainty.ranked_scores: RankedScores
fitting.uncertainty.spread: Spread
fitting.value_range: ValueRange
goodness: Goodness Margin MarginCurve
goodness.class_means: WeakGoodness
goodness.gaps: StrongGoodness
goodness.permutation: PermutationTest
goodness.sample_sizes: Size
goodness.separability: Separability
goodness.weighted: HingeGoodness WeightedGoodness
hypotheses: DriftResult KernelFinding TellingObject TestResult
kernel_learning: Direction GradientImportance Learned LearnedSummary LearningStep Round
kernels: Aligned Columns Convolutions Cosine DTW Derivative ERP Edit Equal Gapped Gaussian GlobalAlignment Gower
    Graphlet HistogramIntersection Intersection Jaccard Laplace Linear LocalAlignment MSM Matern MeanOf Mismatch
    OrMissing Ordinal Partitioned Polynomial RandomWalk RationalQuadratic SharesAny ShortestPath Sigmoid Signature
    SoftDTW Spectrum Subsequence TWE Tabular WeisfeilerLehman WeisfeilerLehmanAssignment WeisfeilerLehmanEdges Words
kernels.series.elastic: ElasticDistance
landmarks: Groups LandmarkFeatures Landmarks Representation Reservoir
learners: AlignmentVote ClusterNumber KernelKMeans KernelOneClassSVM KernelPerceptron KernelRanker KernelRidge
    KernelRidgeClassifier KernelSGDSVC KernelSVC KernelSVR KreinSVC MarginPerceptron MistakeBound
    OnlineKernelClassifier OnlineKernelRegressor RepresenterClassifier RepresenterRegressor SeparatorLP
    SimilarityDensityClusters SimilarityIndex SimilarityKMedoids SimilarityKNeighborsClassifier
    SimilarityKNeighborsRegressor SimilarityLinkage SimilarityNovelty SimilarityVote SpectralClusters
    WeakSimilarityVote
learners.clusters.distances: Distances
learners.neighbors.graph: NeighborGraph
learners.neighbors.tiles: SquaredLengths
learners.representer.regularizers: Norm Optimality OwnRegularizer SquaredNorm
learners.svm.hard_margin: LargestMargin
linear: EpsilonInsensitive GroupMoments Hinge Huber Logistic Moments OwnLoss Quantile SmoothQuantile Squared
    SquaredHinge
maps: CompactMap FourierMap KernelPCA LandmarkMap PolynomialSketchMap ProjectionMap SpectralEmbedding
maps.fourier: Waves
maps.frequencies: Matrix Structured
maps.polynomial_sketch: Form TensorSketch
maps.sketches: Sketch
selection: Row Selection SideBySide
similarity: Absolute Auto Cached Calls Exponential FromBlocks FromPairs Learnable Maximum Minimum Normalized PairStore
    Power Precomputed Product Proof Pullback Scaled Shifted Sum Symmetrized
support: Curve Estimate Guarantee Premise
validity: Validity Witness
validity.spectral_repair: RaisedDiagonal Repaired
"""
"""The classes by the rooms or modules that export them, as ``python tests/saved_types.py`` writes them."""

MODULES: dict[str, str] = {}
for _line in TABLE.replace("\n    ", " ").strip().split("\n"):
    _module, _, _names = _line.partition(":")
    MODULES.update(dict.fromkeys(_names.split(), f"similitude.{_module}"))
