"""The sample sizes and bounds of the theory, each a function of numbers alone."""

from similitude.theory import margin_perceptron_updates, perceptron_mistakes
from similitude.theory.bounds import (
    combined_margin,
    compact_dimension,
    consistent_sample,
    hinge_error,
    johnson_lindenstrauss,
    kernel_as_similarity,
    landmarks,
    margin_perceptron_sample,
    practical_landmarks,
    reasonable_landmarks,
    separable_sample,
    similarity_landmarks,
    votes,
    weak_votes,
)

__all__ = [
    "combined_margin",
    "compact_dimension",
    "consistent_sample",
    "hinge_error",
    "johnson_lindenstrauss",
    "kernel_as_similarity",
    "landmarks",
    "margin_perceptron_sample",
    "margin_perceptron_updates",
    "perceptron_mistakes",
    "practical_landmarks",
    "reasonable_landmarks",
    "separable_sample",
    "similarity_landmarks",
    "votes",
    "weak_votes",
]
