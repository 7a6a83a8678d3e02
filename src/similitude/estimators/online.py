"""Learning batch by batch: the first batch decides landmarks and scale, all batches add to the moments."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute.encodings import itemsize
from similitude.estimators.products import MANY
from similitude.estimators.streams import MOST_HELD_OUT, Stream, mapped
from similitude.landmarks.features import Together
from similitude.linear import Moments, Trial
from similitude.support.randomness import generator

HELD_OUT = 0.2
"""The part of a batch that is held out."""


def next_batch(
    machine: Any, X: Any, Y: np.ndarray, weights: np.ndarray, sample_weight: Any, labels: np.ndarray | None
) -> tuple[Trial, np.ndarray]:
    """Learn from a batch, and return how all examples held out so far fare, with their targets."""
    if machine._precomputed:
        raise ValueError("a stream has no matrix of all pairs: partial_fit needs objects in X")
    if machine.loss not in ("auto", "squared") or machine.penalty != "l2":
        raise ValueError(
            f"loss={machine.loss!r} with penalty={machine.penalty!r} goes over the examples several times: "
            "partial_fit needs loss='squared' and penalty='l2'"
        )
    if not hasattr(machine, "_so_far"):
        if machine.n_landmarks != "auto" and machine.n_landmarks >= MANY:
            raise ValueError(f"a stream gathers moments of features: give partial_fit fewer than {MANY:,} landmarks")
        if len(Y) < 2:
            raise ValueError("the first batch of a stream decides landmarks and scale: it needs two examples at least")
        fitted = machine._train(X, Y, weights, sample_weight, labels)
        machine._so_far = Stream()
        machine._coordinates = fitted.coordinates
    stream, coordinates = machine._so_far, machine._coordinates
    encodings = tuple(one.view.similarity._encoded(X, "X") for one in coordinates)
    size = max(itemsize(A) for A in encodings)
    together = Together.of(coordinates, np.float32 if size == 4 else np.float64)
    F = mapped(together, encodings, machine._engine, size)
    held = _held(weights, stream, machine.random_state)
    stream = stream.copy()
    stream.learn(Moments.of(F[~held], Y[~held], weights[~held]))
    stream.hold(F[held], Y[held], weights[held])
    linear, trial, _ = stream.solve()
    machine._so_far = stream
    machine._set_linear(coordinates, linear)
    machine.lam_ = trial.lam
    return trial, stream.held_targets()


def _held(weights: np.ndarray, stream: Stream, random_state: Any) -> np.ndarray:
    """Return which examples of a batch are held out: of those with a weight a fifth, at first one or more."""
    held = np.zeros(len(weights), dtype=bool)
    counted = np.flatnonzero(weights > 0)
    if stream.n_held < MOST_HELD_OUT:
        number = max(1 if stream.n_held == 0 else 0, round(HELD_OUT * len(counted)))
        held[generator(random_state).permutation(counted)[:number]] = len(counted) > 1
    return held
