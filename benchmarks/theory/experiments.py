"""All experiments, in the order of the sources. A new one: write it in the module of its theorem, or a new module."""

from __future__ import annotations

from benchmarks.theory import (
    agnostic,
    blind,
    by_hand,
    calibration,
    compact,
    coverage,
    derived,
    distances,
    every_guarantee,
    good_kernels,
    guarantees,
    guarantees_of_landmarks,
    landmarks,
    new_rows,
    noise,
    perceptrons,
    samples,
    similarity_maps,
    spheres,
    tightness,
    voting,
)
from benchmarks.theory.nouns import Experiment

ALL: tuple[Experiment, ...] = (
    *landmarks.EXPERIMENTS,
    *noise.EXPERIMENTS,
    *spheres.EXPERIMENTS,
    *distances.EXPERIMENTS,
    *compact.EXPERIMENTS,
    *samples.EXPERIMENTS,
    *blind.EXPERIMENTS,
    *perceptrons.EXPERIMENTS,
    *voting.EXPERIMENTS,
    *similarity_maps.EXPERIMENTS,
    *agnostic.EXPERIMENTS,
    *good_kernels.EXPERIMENTS,
    *coverage.EXPERIMENTS,
    *calibration.EXPERIMENTS,
    *tightness.EXPERIMENTS,
    *derived.EXPERIMENTS,
    *by_hand.EXPERIMENTS,
    *guarantees.EXPERIMENTS,
    *guarantees_of_landmarks.EXPERIMENTS,
    *every_guarantee.EXPERIMENTS,
    *new_rows.EXPERIMENTS,
)
