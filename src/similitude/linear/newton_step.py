r"""The last step of a fit: a Newton step, which is least squares, so that scores are sums over rows.

With scores :math:`f_i`, slopes :math:`g_i` and curvatures :math:`c_i` of the loss at a row, a Newton step minimizes
:math:`\sum_i s_i c_i (z_i - w^\top x_i - b)^2 + \sum_j p_j w_j^2` with the *working responses*
:math:`z_i = f_i - g_i / c_i`: ridge regression with weights :math:`s_i c_i`, which is linear in z (iteratively
reweighted least squares). For the squared loss z = y, and one step is the whole fit. The penalty
:math:`\lambda |w|^2` gives :math:`p_j = 2 \lambda`; the penalty :math:`\lambda \sum_j |w_j|` gives
:math:`p_j = \lambda / |w_j|` for the features that have weights, which is exact at the minimum.

Any curvature will do that bounds the loss from above where it matters: then the objective falls, and the step is still
least squares. For the squared hinge, rows a little beyond the margin also count, with their own scores as working
responses: the solver may have left all rows there. In multinomial logistic regression the outputs are coupled; the
probabilities themselves bound the curvature from above, and each output takes a step of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import as_numpy
from similitude.linear.features import Features
from similitude.linear.lapack import factorize, solve
from similitude.linear.losses import LOSSES, Loss, MultinomialLogistic, SquaredHinge, softmax
from similitude.linear.moments import LinearModel
from similitude.linear.weighted_loss import WeightedLoss


@dataclass(frozen=True, eq=False)
class NewtonStep:
    """A linear model as least squares on working responses, and what groups of rows add to it.

    The working weights and `sums` are rounded to single precision, so that they can be kept in half the space.
    """

    model: LinearModel  # after the step, or before it if the step would not lower the objective
    weights: np.ndarray
    sums: np.ndarray
    base: np.ndarray  # the weighted means of the working responses
    group_weights: np.ndarray  # what groups add to each output, (features, groups, outputs); with the base, the model
    group_constants: np.ndarray


def newton_step(
    loss: str | Loss,
    penalty: str,
    F: Any,
    Y: np.ndarray,
    weights: np.ndarray,
    model: LinearModel,
    lam: float,
    members: np.ndarray | None,
) -> NewtonStep:
    """Take a Newton step from a model that nearly minimizes its objective, and keep it if it lowers the objective.

    With ``penalty="l1"`` the model is kept in any case. `members`, of shape (n, groups), are 1 for the rows of a group;
    without them, of each output, the rows of its own class are the first group, and all others the second.
    """
    coupled = is_coupled(loss, Y.shape[1])
    data = WeightedLoss.of(LOSSES[loss]() if isinstance(loss, str) else loss, Y, weights)
    if coupled:
        data = WeightedLoss.of(MultinomialLogistic(), Y > 0, weights)
    features = Features(F, weights)
    scores = model.scores(F)
    sizes = np.sqrt((model.weights**2).sum(axis=1))
    used = np.arange(len(sizes))
    penalties = np.full(len(used), 2.0 * lam)
    if penalty == "l1":
        used = np.flatnonzero(sizes > 0)
        penalties = lam / sizes[used]
    groups = np.stack([Y > 0, Y <= 0], axis=1).astype(float)
    if members is not None:
        groups = np.broadcast_to(members[:, :, None], (*members.shape, Y.shape[1]))
    before = data.value(scores) + lam * float((sizes**2).sum())
    # how far beyond the margin rows count under the squared hinge; the next one is tried if a step does not help
    for slack in (0.1, 0.5, np.inf) if loss == "squared_hinge" else (0.0,):
        curvatures = _short(_curvatures(data, scores, slack))
        sums = _short(curvatures * scores - data.slopes(scores))
        base = sums.sum(axis=0) / curvatures.sum(axis=0)
        targets = sums - curvatures * base
        W, b = _of_groups(features, curvatures, targets, groups, used, penalties)
        if coupled:
            W = _centered(W, members is None)
            b = _centered(b, members is None)
            base = base - base.mean()
        after = LinearModel(W.sum(axis=1), b.sum(axis=0) + base, model.gap)
        if penalty == "l1":
            break
        # by how much the objective may rise, relative to itself: working weights and responses are rounded
        if data.value(after.scores(F)) + lam * float((after.weights**2).sum()) <= before * (1 + 1e-12):
            model = after
            break
    return NewtonStep(model, curvatures, sums, base, W, b)


def _curvatures(data: WeightedLoss, scores: np.ndarray, slack: float) -> np.ndarray:
    """Return the weighted curvature of each row and output, positive for some row of every output."""
    s = data.weights[:, None]
    if isinstance(data.loss, MultinomialLogistic):
        found = s * softmax(scores)
    elif isinstance(data.loss, SquaredHinge):
        margins = np.where(s > 0, data.targets * scores, np.inf)
        of_class = [margins.min(axis=0, initial=np.inf, where=data.targets == sign) for sign in (-1.0, 1.0)]
        least = np.where(data.targets > 0, of_class[1], of_class[0])
        return np.where(margins <= np.maximum(least, 1.0) + slack, 2.0 * s, 0.0)
    else:
        found = data.curvatures(scores)
    return np.maximum(found, 1e-9 * s)  # rows far beyond the margin keep finite working responses


def _short(array: np.ndarray) -> np.ndarray:
    """Round to single precision."""
    return array.astype(np.float32).astype(np.float64)


def _centered(added: np.ndarray, own_apart: bool) -> np.ndarray:
    """Make outputs, the last axis, sum to zero: in each group, or by the second one if the first is each one's own."""
    if not own_apart:
        return added - added.mean(axis=-1, keepdims=True)
    own = added[..., 0, :]
    others = added[..., 1, :]
    return np.stack([own, others - (own + others).mean(axis=-1, keepdims=True)], axis=-2)


def is_coupled(loss: str | Loss, outputs: int) -> bool:
    """Whether the outputs are those of multinomial logistic regression, which sum to zero."""
    return loss == "logistic" and outputs > 1


def _of_groups(
    features: Features,
    curvatures: np.ndarray,
    targets: np.ndarray,
    members: np.ndarray,
    used: np.ndarray,
    penalties: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and constants of least squares on the targets of each group, one output after the other."""
    d = features.F.shape[1]
    n_groups = members.shape[1]
    outputs = targets.shape[1]
    weights = np.zeros((d, n_groups, outputs))
    constants = np.zeros((n_groups, outputs))
    if not len(used):
        return weights, constants
    few = features if len(used) == d else features.columns(used)
    shift = few.placed(np.append(penalties, 0.0))
    for output in range(outputs):
        factor = factorize(few.hessian(few.placed(curvatures[:, output])), shift)
        R = members[:, :, output] * targets[:, output, None]
        V = as_numpy(solve(factor, few.combine(few.placed(R))))
        level = R.sum(axis=0) / curvatures[:, output].sum()  # by how much a group moves the mean of all scores
        weights[used, :, output] = V[:-1]
        constants[:, output] = V[-1] - as_numpy(few.mean) @ V[:-1] - level
    return weights, constants
