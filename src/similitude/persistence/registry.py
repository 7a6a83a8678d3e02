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
data.datasets.shipped: Paper
data.datasets.similarities: FewObjects
data.datasets.toys: Atoms LowerBound
estimators.classifier: SimilarityClassifier
estimators.explanation: Explanation
estimators.landmark_count: LandmarkCurve
estimators.regressor: SimilarityRegressor
estimators.streams: Model Stream
goodness.assessment: Goodness
goodness.certificates: HingeGoodness WeightedGoodness
goodness.class_means: WeakGoodness
goodness.gaps: StrongGoodness
goodness.margins: Margin MarginCurve
goodness.permutation: PermutationTest
goodness.separability: Separability
goodness.sizes: Size
kernels.edit: Edit
kernels.gower: Gower
kernels.graphs: Graphlet ShortestPath WeisfeilerLehman
kernels.radial: Gaussian Laplace Matern RationalQuadratic
kernels.series: DTW GlobalAlignment WarpingDistance
kernels.sets: Intersection Jaccard SharesAny
kernels.strings: Gapped Mismatch Spectrum
kernels.tables: Columns
kernels.values: Equal OrMissing Ordinal
kernels.vectors: Cosine HistogramIntersection Linear Polynomial Sigmoid
landmarks.chosen_landmarks: Chosen
landmarks.features: Coordinates View Weighted
landmarks.representation: Representation
landmarks.reservoir: Reservoir
learners.clusters: KernelKMeans
learners.largest_margin: LargestMargin
learners.losses: EpsilonInsensitive Hinge Huber Logistic Quantile Squared SquaredHinge
learners.margin_perceptron: MarginPerceptron
learners.mistake_bounds: MistakeBound
learners.nearest: Lengths
learners.neighbors: SimilarityKNeighborsClassifier SimilarityKNeighborsRegressor
learners.own_loss: OwnLoss
learners.perceptron: KernelPerceptron
learners.perceptron_memory: Growing Joined Memory
learners.regularizers: Norm OwnRegularizer SquaredNorm
learners.representer: RepresenterClassifier RepresenterRegressor
learners.ridge: KernelRidge KernelRidgeClassifier
learners.search: Certificate
learners.separator: SeparatorLP
learners.sgd: KernelSGDSVC
learners.svm: KernelSVC KernelSVR
learners.votes.means: AlignmentVote SimilarityVote
learners.votes.weak: WeakSimilarityVote
linear.moments: Moments
maps.compact: CompactMap
maps.fourier: FourierMap Waves
maps.frequencies: Matrix Structured
maps.landmarks: LandmarkMap
maps.polynomial_sketch: Form PolynomialSketchMap TensorSketch
maps.projection: ProjectionMap
maps.sketches: Sketch
selection.side_by_side: SideBySide
selection.tables: Row Selection
similarity.adapters: FromBlocks FromPairs Precomputed
similarity.algebra: Absolute Exponential Maximum Minimum Power Product Scaled Shifted Sum
similarity.claims: Proof
similarity.wrappers: Normalized Pullback Symmetrized
support.results: Curve Estimate Guarantee
validity.repaired: RaisedDiagonal Repaired
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


def is_registered(cls: type) -> bool:
    """Tell whether a class is in the list."""
    return class_of(cls.__name__) is cls
