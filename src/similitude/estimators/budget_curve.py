"""cost_curve: how accuracy grows with the number of calls of a costly similarity, from one frugal fit."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from similitude.compute import check_objects
from similitude.fitting import FrugalTask, calls_allowed, class_numbers, decided, fit_frugally
from similitude.scikit import class_codes, encode_labels, read_labels
from similitude.similarity import as_similarity, budgeted, calls_per_pair, cost_per_call
from similitude.support import HELD_OUT, Curve, generator
from similitude.theory import LEVEL, clopper_pearson


@dataclass(frozen=True)
class CostCurve(Curve):
    """Accuracy on held-out rows by the number of calls that a fit makes.

    Attributes
    ----------
    x : array
        Calls to fit.
    y, low, high : array
        The share of held-out rows that are classified correctly, with intervals of Clopper and Pearson.
    level, grade
    landmarks : array of int
        Landmarks after each stage.
    per_prediction : array
        Mean calls of a prediction.
    cost : float or None
        The cost of a call, if the function states one.
    majority : float
        The share of the most frequent class.
    """

    landmarks: np.ndarray
    per_prediction: np.ndarray
    cost: float | None
    majority: float

    def __str__(self) -> str:
        money = self.cost is not None
        lines = [
            "     calls to fit  a prediction  landmarks  accuracy [95 %]" + ("        cost to fit" if money else "")
        ]
        for i, calls in enumerate(self.x):
            interval = f"[{self.low[i]:.3f}, {self.high[i]:.3f}]"
            line = (
                f"{calls:17,.0f}  {self.per_prediction[i]:12.1f}  {self.landmarks[i]:9,d}  {self.y[i]:.3f} {interval}"
            )
            lines.append(line + (f"  ${calls * (self.cost or 0):,.2f}" if money else ""))
        return "\n".join([*lines, f"always the most frequent class: {self.majority:.3f}"])

    def plot(self) -> Any:
        """Return a chart of accuracy by calls, which notebooks show and ``save`` writes as SVG, PNG or JSON.

        Returns
        -------
        similitude.report.render.chart.Chart
        """
        return import_module("similitude.report").figures.cost_curve(self)  # a room above this one


def cost_curve(similarity: Any, X: Any, y: Any, *, max_calls: int | None = None, random_state: Any = None) -> CostCurve:
    """Measure how accuracy grows with the calls of a fit, by one frugal fit whose stages are evaluated one by one.

    The fit is that of `SimilarityClassifier` with `max_calls`: landmarks are bought in stages. Three tenths of the rows
    take no part in it, and are predicted after every stage as new objects would be.

    Parameters
    ----------
    similarity : Similarity, str or callable
    X : sequence of objects
    y : sequence of labels
    max_calls : int, optional
        The most calls, evaluation included. Default: 40 for each row, and 10,000.
    random_state : int, optional

    Returns
    -------
    CostCurve
        It prints as a table, and ``curve.plot()`` draws it.

    Examples
    --------
    >>> from similitude import cost_curve
    >>> from similitude.datasets import promoters
    >>> genes, labels = promoters()
    >>> def agree(s, t):
    ...     return sum(a == b for a, b in zip(s, t)) / len(s)
    >>> curve = cost_curve(agree, genes, labels, max_calls=4_000, random_state=0)
    >>> bool(curve.x[-1] <= 4_000), bool(curve.y[-1] > curve.majority)
    (True, True)
    """
    k = as_similarity(similarity)
    n = check_objects(X)
    classes, numbers = encode_labels(read_labels(y, n))
    if len(classes) < 2:
        raise ValueError("cost_curve needs two classes at least")
    _, budget = calls_allowed(n, calls_per_pair(k), max_calls)
    rng = generator(random_state)
    with budgeted(max_calls) as meter:
        k, A = k.prepare(X, random_state)
        Y = class_codes(numbers, len(classes))
        order = rng.permutation(n)
        # the share of rows that evaluate: more than in a fit, because the curve is all that is asked for
        task = FrugalTask(X, k, A, Y, np.ones(n), numbers, order, "auto", budget, meter, rng, 0.3)
        fit, steps = fit_frugally(task)
    truth = class_numbers(fit.evaluate().Y)
    right = np.array([(decided(step.scores) == truth).sum() for step in steps])
    low, high = np.array([clopper_pearson(float(one), len(truth)) for one in right]).T
    return CostCurve(
        np.array([float(step.spent) for step in steps]),
        right / len(truth),
        low,
        high,
        LEVEL,
        HELD_OUT,
        np.array([step.n for step in steps]),
        np.array([step.calls for step in steps]),
        cost_per_call(k),
        float(np.bincount(truth).max()) / len(truth),
    )
