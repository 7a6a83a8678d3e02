"""The closed list of classes that a saved model may contain.

A class is stored by its name and looked up here; a file never says what to import. A class that moves keeps its name.
A class that renames or drops an attribute after a release asks for a new minor version of the format and a line in
`UPGRADES`, so that older files still load.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

Attributes = dict[str, Any]

UPGRADES: dict[str, tuple[tuple[tuple[int, int], Callable[[Attributes], Attributes]], ...]] = {}
"""By the name of a class: the last version of the format before a change, and a function that updates attributes."""

TABLE = """
data.datasets.hard_for_maps: Atoms LowerBound
data.datasets.real_data: Paper
data.datasets.toy_similarities: FewObjects
estimators.classifier: SimilarityClassifier
estimators.explanation: Explanation
estimators.landmark_count: LandmarkCurve
estimators.model: LandmarkModel WeightedLandmarks
estimators.partial_fit: Stream
estimators.regressor: SimilarityRegressor
goodness.assessment: Goodness
goodness.class_means: WeakGoodness
goodness.gaps: StrongGoodness
goodness.margins: Margin MarginCurve
goodness.permutation: PermutationTest
goodness.sample_sizes: Size
goodness.separability: Separability
goodness.weighted: HingeGoodness WeightedGoodness
kernels.graphs.kernels: Graphlet ShortestPath WeisfeilerLehman
kernels.series.alignment: DTW GlobalAlignment WarpingDistance
kernels.sets.overlap: Intersection Jaccard SharesAny
kernels.strings.edit: Edit
kernels.strings.substrings: Gapped Mismatch Spectrum
kernels.tables.columns: Columns
kernels.tables.gower: Gower
kernels.tables.values: Equal OrMissing Ordinal
kernels.vectors.products: Cosine HistogramIntersection Linear Polynomial Sigmoid
kernels.vectors.radial: Gaussian Laplace Matern RationalQuadratic
landmarks.features: LandmarkFeatures Landmarks
landmarks.projection: Representation
landmarks.reservoir: Reservoir
learners.clusters: KernelKMeans
learners.neighbor_search: SquaredLengths
learners.neighbors: SimilarityKNeighborsClassifier SimilarityKNeighborsRegressor
learners.perceptron.kernel_perceptron: KernelPerceptron
learners.perceptron.margin_perceptron: MarginPerceptron
learners.perceptron.mistake_bounds: MistakeBound
learners.representer.estimators: RepresenterClassifier RepresenterRegressor
learners.representer.regularizers: Norm Optimality OwnRegularizer SquaredNorm
learners.ridge: KernelRidge KernelRidgeClassifier
learners.separator: SeparatorLP
learners.svm.largest_margin: LargestMargin
learners.svm.sgd: KernelSGDSVC
learners.svm.svc: KernelSVC KreinSVC
learners.svm.svr: KernelSVR
learners.votes.similarity_vote: AlignmentVote SimilarityVote
learners.votes.weak_vote: WeakSimilarityVote
linear.losses: EpsilonInsensitive Hinge Huber Logistic Quantile Squared SquaredHinge
linear.moments: Moments
linear.own_loss: OwnLoss
maps.compact: CompactMap
maps.fourier: FourierMap Waves
maps.frequencies: Matrix Structured
maps.landmark: LandmarkMap
maps.polynomial_sketch: Form PolynomialSketchMap TensorSketch
maps.projection: ProjectionMap
maps.sketches: Sketch
selection.selection_result: Row Selection
selection.side_by_side: SideBySide
similarity.adapters: FromBlocks FromPairs Precomputed
similarity.algebra: Absolute Exponential Maximum Minimum Power Product Scaled Shifted Sum
similarity.claims: Proof
similarity.wrappers: Normalized Pullback Symmetrized
support.results: Curve Estimate Guarantee
validity.spectral_repair: RaisedDiagonal Repaired
validity.verdict: Validity
validity.witness: Witness
"""
"""The classes by their modules, as ``python tests/saved_types.py`` writes them."""

MODULES: dict[str, str] = {}
for _line in TABLE.replace("\n    ", " ").strip().split("\n"):
    _module, _, _names = _line.partition(":")
    MODULES.update(dict.fromkeys(_names.split(), f"similitude.{_module}"))


def class_of(name: Any) -> Any:
    """Return the class of the list with a name; None for any other name."""
    if not isinstance(name, str) or name not in MODULES:
        return None
    return getattr(importlib.import_module(MODULES[name]), name)
