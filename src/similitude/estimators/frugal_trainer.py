"""Fits that count calls: `max_calls`, `calls_`, and frugal fits where a user's function may be costly."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from similitude.compute.engines import Display, display_for
from similitude.estimators.early_stops import EarlyStops
from similitude.estimators.prediction import LandmarkPredictor
from similitude.fitting import RIDGE, Cascade, FrugalTask, Judged, Sampling, check_memory, fit_frugally
from similitude.landmarks import Representation
from similitude.similarity import (
    SYMMETRIC,
    Calls,
    Meter,
    Similarity,
    calls_per_pair,
    check_max_calls,
    cost_per_call,
    is_counted,
    may_be_costly,
    metered,
    progress_line,
)
from similitude.support import Guarantee, generator, pairs_at

CALLS_PER_ROW, FURTHER_CALLS = 40, 10_000
"""The most calls of a frugal fit without `max_calls`: these for each row, and some more."""

THOROUGH_PER_ROW = 100
"""Up to this many calls for each row, and some more, a fit that compares all rows with each other is not too costly."""


class FrugalTrainer(LandmarkPredictor):
    """Counts the calls of a fit, and fits frugally where a user's function would be called too often otherwise."""

    max_calls: int | None
    calls_: Calls
    _meter: Meter

    def _check_params(self) -> None:
        super()._check_params()
        check_max_calls(self.max_calls, self._engine)

    @contextmanager
    def _counting(self) -> Iterator[None]:
        """Count the calls inside of the context, refuse those beyond the budget, and keep the count."""
        display = display_for(self._engine.progress)
        meter = Meter(self.max_calls, None if display is None else functools.partial(_show, display))
        self._meter = meter
        try:
            with metered(meter):
                yield
        finally:
            del self._meter
            if display is not None:
                display.end()
        if not self._precomputed:
            self._keep_calls(meter)

    def _keep_calls(self, meter: Meter) -> None:
        given = self.similarity_ if isinstance(self.similarity_, list) else [self.similarity_]
        counted = [k for k in given if is_counted(k)]
        if not counted:
            self.calls_ = Calls.of(meter, None, 0.0, 0)
            return
        frugal = isinstance(self._model, Cascade)  # which counts directions one by one
        most = self.n_similarity_calls_ * (1 if frugal else _sides(self)) * calls_per_pair(counted[0])
        mean = self._mean_calls if frugal else float(most)
        self.calls_ = Calls.of(meter, cost_per_call(counted[0]), mean, most)
        if meter.spent:
            self.notes_ = [*self.notes_, f"calls of your function: {self.calls_}"]

    def early_stops(self, X: Any) -> EarlyStops:
        """Predict objects, and return after how many landmarks each prediction stopped, and on what ground.

        A stop is PROVEN if the similarity claims bounds (``BOUNDED``, or a kernel with ``UNIT_DIAGONAL``) and no values
        within them could change the class that comparing with all landmarks gives. It is an ESTIMATE otherwise.

        Parameters
        ----------
        X : sequence of objects

        Returns
        -------
        EarlyStops
        """
        check_is_fitted(self)
        model, encodings = self._asked(X)
        if not isinstance(model, Cascade):
            raise ValueError("predictions stop early after frugal fits only: this model compares with all landmarks")
        _, walk = model.scored(encodings[0])
        return EarlyStops(walk.calls, model.stages[-1].n, walk.settled, model.values.grade, model.values.reason)

    def _budget(self, k: Similarity, n: int, later: int) -> int | None:
        """Return the most calls of a frugal fit; None if a thorough fit costs no more than is allowed."""
        rounds = 1.5 if SYMMETRIC in k.claims else 3.0  # both directions, and landmarks with each other
        thorough = rounds * n * (n + later) * calls_per_pair(k)
        if self.max_calls is not None:
            return None if not is_counted(k) or thorough <= self.max_calls else self.max_calls
        costly = may_be_costly(k) and thorough > THOROUGH_PER_ROW * n + FURTHER_CALLS
        return CALLS_PER_ROW * n * calls_per_pair(k) + FURTHER_CALLS if costly else None

    def _fit_frugally(
        self, X: Any, Y: np.ndarray, weights: np.ndarray, labels: np.ndarray | None, sampling: Sampling
    ) -> Callable[[], Judged] | None:
        """Fit a cascade if all pairs would cost too much and nothing else is asked for; otherwise None."""
        plain = self._objective() == RIDGE and self.n_landmarks == "auto" and self.unlabeled is None
        chosen = isinstance(self.landmarks, str) and self.landmarks == "auto" and self.landmark_indices is None
        if self._precomputed or not plain or not chosen or sampling.all_rows is not None:
            return None
        similarities, weighted = self._similarities(), np.flatnonzero(weights > 0)
        if len(similarities) > 1 or similarities[0].unresolved():
            return None
        budget = self._budget(similarities[0], len(weighted), sampling.later)
        if budget is None:
            return None
        order = sampling.order(weighted)
        check_memory(len(order), self._engine.budget)
        k, A = similarities[0].prepare(X, self.random_state)
        rng = generator(self.random_state)
        task = FrugalTask(X, k, A, Y, weights, labels, order, self.side, budget, self._meter, rng, later=sampling.later)
        with pairs_at(sampling.places, sampling.places):
            fit = fit_frugally(task)
        self.loss_, self.penalty_, self.lam_ = *RIDGE, fit.trial.lam
        self.landmark_curve_, self.learned_, self.similarity_ = fit.curve, None, k
        self._note_engine([k])
        landmarks = fit.model.features.landmarks.relocated(sampling.places)
        self._model = replace(fit.model, features=replace(fit.model.features, landmarks=landmarks))
        self._influence, self._mean_calls, self.intercept_ = fit.influence, fit.calls, np.zeros(Y.shape[1])
        self.landmarks_, self.landmark_indices_ = landmarks.objects, landmarks.positions
        self.n_similarity_calls_ = len(landmarks)
        reason = f"a function that may be costly is compared with few landmarks; {fit.symmetry}"
        self.representation_ = Representation("similarities", reason, fit.model.features.side)
        self.guarantee_ = Guarantee.none(
            "landmarks were chosen by labels, the theorems are about landmarks drawn blindly"
        )
        self.notes_ = [*self.notes_, _note(self.max_calls is not None, len(order), len(fit.learned) + len(fit.judges))]
        self._calibrate(fit.left_out, Y[fit.learned], weights[fit.learned])
        return lambda: Judged(fit.trial, Y[fit.judges], weights[fit.judges])


def _note(asked: bool, n: int, used: int) -> str:
    why = "max_calls is less than comparing all rows takes" if asked else "a function of pairs may be costly"
    cheap = "" if asked else "; if it is cheap, FromPairs(f, cost=0) says so and all rows are compared"
    some = "" if used == n else f" {used:,} of {n:,} rows were used."
    return f"{why}: few landmarks were chosen, and predictions stop as soon as they are certain{cheap}.{some}"


def _sides(model: LandmarkPredictor) -> int:
    representations = model.representation_ if isinstance(model.representation_, tuple) else (model.representation_,)
    return 2 if any(one.side == "both" for one in representations) else 1


def _show(display: Display, meter: Meter) -> None:
    """Show how many calls were made."""
    display.update(meter.spent, meter.limit, lambda: progress_line(meter))
