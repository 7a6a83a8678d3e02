"""The closed list of classes that a saved model may contain.

A class is stored by its name and looked up here; a file never says what to import. A class that moves keeps its name.
"""

from __future__ import annotations

TABLE = """
data.datasets.real_data: Paper
data.datasets.toy_problems: Atoms FewObjects LowerBound
estimators: CostCurve EarlyStops Explanation Explanations SimilarityClassifier SimilarityMultilabelClassifier
    SimilarityOrdinalClassifier SimilarityRegressor
fitting: BlendInfluence Cascade CascadeInfluence ClassCalibration ErrorCalibration GroupInfluence LandmarkCurve
    LandmarkModel Plan PlanStep Stream Uncertainty WeightedLandmarks
fitting.calibration: RankedScores
fitting.cascade: Stage ValueRange
fitting.facts: PairWork Sizes
fitting.influence: ClassInfluence ExampleInfluence Groups
fitting.profile_ridge: ProfileRidge
fitting.spread: LandmarkVariance Spread
goodness: Goodness Margin MarginCurve
goodness.alignments: PermutationTest
goodness.assessment: Size
goodness.class_means: WeakGoodness
goodness.gaps: StrongGoodness
goodness.margins: Separability
goodness.weighted: HingeGoodness WeightedGoodness
hypotheses: DriftResult KernelFinding TellingObject TestResult
kernel_learning: Direction GradientImportance Learned LearnedSummary LearningStep Round
kernels: Aligned Columns Convolutions Cosine DTW Derivative ERP Edit Equal Gapped Gaussian GlobalAlignment Gower
    Graphlet HistogramIntersection Intersection Jaccard Laplace Linear LocalAlignment MSM Matern MeanOf Mismatch
    OrMissing Ordinal Partitioned Polynomial RandomWalk RationalQuadratic SharesAny ShortestPath Sigmoid Signature
    SoftDTW Spectrum Subsequence TWE Tabular WeisfeilerLehman WeisfeilerLehmanAssignment WeisfeilerLehmanEdges Words
kernels.series.elastic: ElasticDistance
landmarks: LandmarkFeatures Landmarks Representation Reservoir
learners: AlignmentVote ClusterNumber KernelKMeans KernelOneClassSVM KernelPerceptron KernelRanker KernelRidge
    KernelRidgeClassifier KernelSGDSVC KernelSVC KernelSVR KreinSVC MarginPerceptron MistakeBound
    OnlineKernelClassifier OnlineKernelRegressor RepresenterClassifier RepresenterRegressor SeparatorLP
    SimilarityDensityClusters SimilarityIndex SimilarityKMedoids SimilarityKNeighborsClassifier
    SimilarityKNeighborsRegressor SimilarityLinkage SimilarityNovelty SimilarityVote SpectralClusters
    WeakSimilarityVote
learners.clusters.distances: Distances
learners.neighbors.graph: NeighborGraph
learners.neighbors.tiles: SquaredLengths
learners.representer.minimization: Norm Optimality OwnRegularizer SquaredNorm
learners.svm.hard_margin: LargestMargin
linear: EpsilonInsensitive GroupMoments Hinge Huber Logistic Moments OwnLoss Quantile SmoothQuantile Squared
    SquaredHinge
maps: CompactMap FourierMap KernelPCA LandmarkMap PolynomialSketchMap ProjectionMap SpectralEmbedding
maps.fourier: Matrix Structured Waves
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
