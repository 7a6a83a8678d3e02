"""The closed list of types that a saved model may hold, with the attributes that each may have.

A type is stored under its name and looked up here, never imported by what a file says. A class that moves keeps its
name; a class that gains, loses or renames an attribute asks for a new minor version of the format and a line in
`UPGRADES`, so that older files still load.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

Attributes = dict[str, Any]


class Type(NamedTuple):
    """Where a class is now, and the attributes that its objects may have."""

    module: str
    attributes: frozenset[str]


UPGRADES: dict[str, tuple[tuple[tuple[int, int], Callable[[Attributes], Attributes]], ...]] = {}
"""By the name of a type: the last version of the format before a change, and what brings its attributes up to date."""

TABLE = """
data.datasets.Atoms: labels masses
data.datasets.FewObjects: labels masses points similarities
data.datasets.LowerBound: alpha inside labels n_bits
data.datasets.Paper: authors keywords title year
estimators.classifier.SimilarityClassifier: _model _stream _temperature class_weight classes_ engine feature_names_in_
    guarantee_ held_out_error_ intercept_ lam_ landmark_curve_ landmark_indices landmark_indices_ landmarks landmarks_
    loss loss_ n_features_in_ n_landmarks n_similarity_calls_ notes_ penalty penalty_ random_state representation_
    side similarity similarity_ unlabeled
estimators.explanation.Explanation: contributions intercept landmarks positions prediction score similarities
estimators.landmark_count.LandmarkCurve: grade high level low reason x y
estimators.model.LandmarkModel: parts
estimators.model.WeightedLandmarks: features weights
estimators.partial_fit.Stream: features held_out sums
estimators.regressor.SimilarityRegressor: _model _one_output _stream constant_error_ engine feature_names_in_
    guarantee_ held_out_error_ intercept_ lam_ landmark_curve_ landmark_indices landmark_indices_ landmarks landmarks_
    loss loss_ n_features_in_ n_landmarks n_similarity_calls_ notes_ penalty penalty_ random_state representation_
    side similarity similarity_ unlabeled
goodness.assessment.Goodness: alignment centered_alignment classes_ hardest hinge left_out margin n notes p_value
    scale sizes strong used weak weighted witnesses
goodness.certificates.HingeGoodness: fitted grade high level low x y
goodness.certificates.WeightedGoodness: credit error error_at_gap fits fitted grade high landmarks level low n_choice
    n_fitted n_held_out vote_error weights x y
goodness.class_means.WeakGoodness: balanced classes_ gamma grade high level low means
goodness.gaps.StrongGoodness: gaps grade high level low x y
goodness.margins.Margin: _model bias classes_ coefficients gap intercept normalized support validity value
goodness.margins.MarginCurve: band_high band_low grade high level low n x y
goodness.permutation.PermutationTest: grade high level low permutations statistic value
goodness.separability.Separability: error error_at_margin n reason support validity value
goodness.sizes.Size: delta epsilon gamma needed theorem used what
kernels.edit.Edit:
kernels.gower.Gower: ranges strict
kernels.graphs.Graphlet: connected mode p
kernels.graphs.ShortestPath:
kernels.graphs.WeisfeilerLehman: iterations
kernels.radial.Gaussian: sigma
kernels.radial.Laplace: norm sigma squared_scale
kernels.radial.Matern: length nu
kernels.radial.RationalQuadratic: alpha length
kernels.series.DTW: sigma window
kernels.series.GlobalAlignment: sigma
kernels.series.WarpingDistance: window
kernels.sets.Intersection:
kernels.sets.Jaccard:
kernels.sets.SharesAny:
kernels.strings.Gapped: g m
kernels.strings.Mismatch: alphabet m p
kernels.strings.Spectrum: blended counts p
kernels.tables.Columns: columns how schema
kernels.values.Equal:
kernels.values.OrMissing: alike k
kernels.values.Ordinal: order
kernels.vectors.Cosine:
kernels.vectors.HistogramIntersection:
kernels.vectors.Linear:
kernels.vectors.Polynomial: coef0 degree scale
kernels.vectors.Sigmoid: coef0 scale
landmarks.features.LandmarkFeatures: factor landmarks leading matrix normalized scale side similarity
landmarks.landmarks.Landmarks: encoding labels objects positions rule
landmarks.representation.Representation: name normalized reason side
landmarks.reservoir.Reservoir: objects positions rng seen size
learners.clusters.KernelKMeans: _lengths _sklearn_output_config _support center_norms_ dual_coef_ engine
    feature_names_in_ inertia_ kernel kernel_ labels_ max_iter n_clusters n_features_in_ n_init n_iter_ n_landmarks
    notes_ random_state solver_ support_ support_objects_ tol validity_
learners.largest_margin.LargestMargin: _support bias classes_ dual_coef_ engine feature_names_in_ gap_ intercept_
    kernel kernel_ n_features_in_ normalized notes_ support_ support_objects_ validity_ value_
learners.losses.EpsilonInsensitive: epsilon
learners.losses.Hinge:
learners.losses.Huber: delta
learners.losses.Logistic:
learners.losses.Quantile: tau
learners.losses.Squared:
learners.losses.SquaredHinge:
learners.margin_perceptron.MarginPerceptron: _support classes_ converged_ dual_coef_ engine epochs feature_names_in_
    kernel kernel_ longest_ margin_ n_features_in_ n_iter_ notes_ support_ support_objects_ update_bound_ updates_
    validity_
learners.mistake_bounds.MistakeBound: grade margin radius reason value
learners.nearest.Lengths: eps equal values
learners.neighbors.SimilarityKNeighborsClassifier: _lengths _numbers _support classes_ dual_coef_ engine
    feature_names_in_ kernel kernel_ n_features_in_ n_neighbors n_samples_fit_ notes_ support_ support_objects_
    validity_ weights
learners.neighbors.SimilarityKNeighborsRegressor: _lengths _support _targets dual_coef_ engine feature_names_in_
    kernel kernel_ n_features_in_ n_neighbors n_samples_fit_ notes_ support_ support_objects_ validity_ weights
learners.own_loss.OwnLoss: given
learners.perceptron.KernelPerceptron: _memory average budget classes_ engine epochs feature_names_in_ kernel kernel_
    mistake_bound_ mistakes_per_epoch_ n_features_in_ notes_ tie validity_
learners.perceptron_memory.Growing: _end _room _size
learners.perceptron_memory.Joined: rows
learners.perceptron_memory.Memory: encoding moments objects positions seen squared_length time weights
learners.regularizers.Norm:
learners.regularizers.OwnRegularizer: given
learners.regularizers.SquaredNorm:
learners.representer.RepresenterClassifier: _support classes_ dual_coef_ engine feature_names_in_ kernel kernel_ lam
    loss max_iter n_features_in_ n_iter_ n_landmarks norm_ notes_ objective_ optimality_ random_state regularizer
    solver_ support_ support_objects_ tol validity_
learners.representer.RepresenterRegressor: _columns _support dual_coef_ engine feature_names_in_ kernel kernel_ lam
    loss max_iter n_features_in_ n_iter_ n_landmarks norm_ notes_ objective_ optimality_ random_state regularizer
    solver_ support_ support_objects_ tol validity_
learners.ridge.KernelRidge: _support dual_coef_ engine feature_names_in_ fit_intercept intercept_ kernel kernel_ lam
    lam_ lams_ loo_errors_ n_features_in_ notes_ support_ support_objects_ validity_
learners.ridge.KernelRidgeClassifier: _support class_weight classes_ dual_coef_ engine feature_names_in_ fit_intercept
    intercept_ kernel kernel_ lam lam_ lams_ loo_errors_ n_features_in_ notes_ support_ support_objects_ validity_
learners.search.Certificate: name tolerance value
learners.separator.SeparatorLP: classes_ coef_ feature_names_in_ fit_intercept intercept_ margin_ n_features_in_
learners.sgd.KernelSGDSVC: _support as_printed average beta_ classes_ dual_coef_ engine feature_names_in_ guarantee_
    kernel kernel_ lam n_features_in_ n_iter n_iter_ n_updates_ notes_ objective_ random_state suboptimality_
    suboptimality_bound_ support_ support_objects_ validity_
learners.svm.KernelSVC: C _support class_weight classes_ dual_coef_ dual_gap_ engine feature_names_in_ fit_intercept
    hard intercept_ kernel kernel_ krein lam margin_ n_features_in_ n_iter_ n_support_ notes_ objective_ precision_
    scale_ support_ support_objects_ tol validity_
learners.svm.KernelSVR: C _support dual_coef_ dual_gap_ engine epsilon feature_names_in_ fit_intercept intercept_
    kernel kernel_ lam margin_ n_features_in_ n_iter_ notes_ objective_ precision_ support_ support_objects_ tol
    validity_
learners.votes.means.AlignmentVote: _support classes_ dual_coef_ engine feature_names_in_ guarantee_ n_features_in_
    notes_ similarity similarity_ support_ support_objects_ totals_ validity_
learners.votes.means.SimilarityVote: _support classes_ dual_coef_ engine feature_names_in_ guarantee_ n_features_in_
    notes_ similarity similarity_ support_ support_objects_ totals_ validity_ weights
learners.votes.weak.WeakSimilarityVote: _seed _support balanced class_similarities_ classes_ dual_coef_ engine
    feature_names_in_ gap_ guarantee_ n_features_in_ notes_ offsets_ random_state scale_ shrink_ similarity
    similarity_ support_ support_objects_ totals_ validity_
linear.moments.Moments: cross eps features gram targets weight
maps.compact.CompactMap: _features _ready _reservoir _sklearn_output_config delta engine epsilon factor_
    feature_names_in_ guarantee_ kernel kernel_ landmark_indices landmark_indices_ landmarks landmarks_ margin
    n_components n_features_in_ n_features_out_ n_landmarks notes_ projection random_state rank_ sketch_ validity_
maps.fourier.FourierMap: _sklearn_output_config engine feature_names_in_ guarantee_ kernel kernel_ kind n_components
    n_features_in_ n_features_out_ notes_ random_state waves_
maps.fourier.Waves: amplitude angles phase width
maps.frequencies.Matrix: weights
maps.frequencies.Structured: lengths signs size
maps.landmark.LandmarkMap: _features _reservoir _sklearn_output_config delta engine epsilon feature_names_in_
    guarantee_ landmark_indices landmark_indices_ landmarks landmarks_ margin n_components n_features_in_
    n_features_out_ notes_ random_state rank_ side similarity similarity_
maps.polynomial_sketch.Form: coef0 degree factor scale unit
maps.polynomial_sketch.PolynomialSketchMap: _sklearn_output_config engine feature_names_in_ guarantee_ kernel kernel_
    n_components n_features_in_ n_features_out_ notes_ random_state sketch_
maps.polynomial_sketch.TensorSketch: form signs sums width
maps.projection.ProjectionMap: _features _ready _reservoir _sklearn_output_config delta engine epsilon factor_
    feature_names_in_ guarantee_ kernel kernel_ landmark_indices landmark_indices_ landmarks landmarks_ margin
    n_components n_features_in_ n_features_out_ notes_ random_state rank_ validity_
maps.sketches.Sketch: kind n_in n_out seed
selection.side_by_side.SideBySide: landmarks similarities units
selection.tables.Row: as_good candidate difference error loss n_similarity_calls penalty representation seconds shared
    similarity
selection.tables.Selection: best folds landmark_indices n_examples n_similarity_calls notes table task
similarity.adapters.FromBlocks: _claims f objects
similarity.adapters.FromPairs: _claims f
similarity.adapters.Precomputed: M _claims
similarity.algebra.Absolute: k
similarity.algebra.Exponential: k
similarity.algebra.Maximum: _parts
similarity.algebra.Minimum: _parts
similarity.algebra.Power: exponent k
similarity.algebra.Product: _parts
similarity.algebra.Scaled: factor k
similarity.algebra.Shifted: constant k
similarity.algebra.Sum: _parts
similarity.claims.Proof: holds premises reason similarity
similarity.wrappers.Normalized: k
similarity.wrappers.Pullback: batched f k
similarity.wrappers.Symmetrized: k
support.results.Curve: grade high level low x y
support.results.Estimate: grade high level low value
support.results.Guarantee: assumption grade numbers statement theorem
validity.repaired.RaisedDiagonal: amount changes k
validity.repaired.Repaired: W changes k sample
validity.verdict.Validity: asymmetry effort min_eigenvalue proof verdict witness
validity.witness.Witness: coefficients gram indices objects value
"""
"""Classes and their attributes, as ``python tests/saved_types.py`` writes them."""

TYPES: dict[str, Type] = {}
for _line in TABLE.replace("\n    ", " ").split("\n")[1:-1]:
    _place, _, _attributes = _line.partition(":")
    _module, _, _name = _place.rpartition(".")
    TYPES[_name] = Type(_module, frozenset(_attributes.split()))


def class_of(name: str) -> Any:
    """Return the class that a name of the list stands for."""
    return getattr(importlib.import_module(f"similitude.{TYPES[name].module}"), name)
