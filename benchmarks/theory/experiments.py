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
    good_kernels,
    guarantees,
    landmarks,
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
)
