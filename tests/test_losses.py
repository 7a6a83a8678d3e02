"""Losses: values by hand, derivatives by differences, conjugates by search, and what is refused."""

import contextlib
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone

from similitude.learners.losses import (
    LOSSES,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Loss,
    OwnLoss,
    Quantile,
    Squared,
    SquaredHinge,
)
from similitude.learners.representer import Norm, OwnRegularizer, SquaredNorm
from similitude.learners.representer.minimization import Envelope, as_regularizer
from similitude.linear.losses import MultinomialLogistic, SmoothQuantile, softmax, weighted_quantile
from similitude.linear.own_loss import as_loss, check_convex

BUILT_IN = [
    Hinge(),
    SquaredHinge(),
    Logistic(),
    Squared(),
    Huber(),
    Huber(0.3),
    Quantile(),
    Quantile(0.9),
    EpsilonInsensitive(),
    EpsilonInsensitive(0.0),
]
by_name = pytest.mark.parametrize("loss", BUILT_IN, ids=repr)
numbers = st.floats(-5, 5).map(lambda x: round(x, 3))


def target(loss, y):
    return (1.0 if y >= 0 else -1.0) if loss.for_labels else y


def one(function, y, f):
    return float(function(np.array([y]), np.array([f]))[0])


def absolute(y, f):
    return np.abs(y - f)


def log_cosh(y, f):
    return np.log(np.cosh(y - f))


# What they are.


def naive(loss, y, f):
    """The formulas as in books, on Python floats."""
    if isinstance(loss, Hinge):
        return max(0.0, 1 - y * f)
    if isinstance(loss, SquaredHinge):
        return max(0.0, 1 - y * f) ** 2
    if isinstance(loss, Logistic):
        return math.log(1 + math.exp(-y * f))
    if isinstance(loss, Squared):
        return (y - f) ** 2
    r = y - f
    if isinstance(loss, Huber):
        return r * r / 2 if abs(r) <= loss.delta else loss.delta * (abs(r) - loss.delta / 2)
    if isinstance(loss, Quantile):
        return loss.tau * r if r >= 0 else (loss.tau - 1) * r
    return max(0.0, abs(r) - loss.epsilon)


@by_name
@settings(max_examples=50, deadline=None)
@given(y=numbers, f=numbers)
def test_values_are_those_of_the_books(loss, y, f):
    y = target(loss, y)
    assert one(loss.value, y, f) == pytest.approx(naive(loss, y, f), rel=1e-12, abs=1e-12)


@by_name
@settings(max_examples=50, deadline=None)
@given(y=numbers, f=numbers, g=numbers)
def test_derivatives_are_slopes_of_lines_below(loss, y, f, g):
    y = target(loss, y)
    line = one(loss.value, y, f) + one(loss.derivative, y, f) * (g - f)
    assert one(loss.value, y, g) >= line - 1e-12


@pytest.mark.parametrize("loss", [loss for loss in BUILT_IN if loss.smooth], ids=repr)
@settings(max_examples=50, deadline=None)
@given(y=numbers, f=numbers)
def test_second_derivatives_are_differences_of_first_ones(loss, y, f):
    y, h = target(loss, y), 1e-6
    kinks = {SquaredHinge: [1 / y if y else 0], Huber: [y - getattr(loss, "delta", 0), y + getattr(loss, "delta", 0)]}
    if any(abs(f - kink) < 1e-3 for kink in kinks.get(type(loss), [])):
        return
    slope = (one(loss.derivative, y, f + h) - one(loss.derivative, y, f - h)) / (2 * h)
    assert one(loss.second_derivative, y, f) == pytest.approx(slope, abs=1e-6)


def sought_conjugate(loss, y, g):
    scores = np.linspace(-40, 40, 80_001)
    return (g * scores - loss.value(np.full_like(scores, y), scores)).max()


@pytest.mark.parametrize("loss", [SquaredHinge(), Squared()], ids=repr)
@settings(max_examples=30, deadline=None)
@given(y=numbers, f=numbers)
def test_conjugates_are_the_largest_gap_below_a_line(loss, y, f):
    y = target(loss, y)
    g = one(loss.derivative, y, f)
    assert one(loss.conjugate, y, g) == pytest.approx(sought_conjugate(loss, y, g), abs=1e-5)
    assert one(loss.conjugate, y, g) == pytest.approx(g * f - one(loss.value, y, f), abs=1e-9)  # Fenchel and Young


def test_conjugates_are_infinite_where_no_line_lies_below():
    assert one(SquaredHinge().conjugate, 1.0, 7.0) == np.inf


@pytest.mark.parametrize("loss", [loss for loss in BUILT_IN if loss.pieces(np.ones(1))], ids=repr)
@settings(max_examples=30, deadline=None)
@given(y=numbers, f=numbers)
def test_pieces_give_the_conjugate(loss, y, f):
    y = target(loss, y)
    g = one(loss.derivative, y, f)
    left, total = -g, 0.0
    for where, low, high in loss.pieces(np.array([y])):
        part = float(np.clip(left, low[0], high[0]))
        left -= part
        total += where[0] * part
    assert left == pytest.approx(0, abs=1e-12)
    assert sought_conjugate(loss, y, g) == pytest.approx(-total, abs=1e-5)


def test_the_logistic_loss_does_not_overflow():
    assert one(Logistic().value, -1.0, 1e6) == 1e6
    assert one(Logistic().value, 1.0, 1e6) == 0
    assert one(Logistic().derivative, 1.0, -1e6) == -1


# Names, parameters, manners.


def test_losses_by_name():
    assert set(LOSSES) == {
        "hinge",
        "squared_hinge",
        "logistic",
        "squared",
        "huber",
        "quantile",
        "epsilon_insensitive",
    }
    assert as_loss("quantile") == Quantile(0.5) and as_loss(Huber(2.0)) == Huber(2.0)
    assert clone(Quantile(0.3)) == Quantile(0.3) and pickle.loads(pickle.dumps(Huber(2.0))) == Huber(2.0)
    assert Quantile(0.3).set_params(tau=0.4).get_params() == {"tau": 0.4}


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        ("hing", "did you mean 'hinge'"),
        ("nothing like it", "known: "),
        (Quantile(1.0), "tau must be"),
        (Quantile("half"), "tau must be"),
        (Huber(0.0), "delta must be"),
        (Huber(True), "delta must be"),
        (EpsilonInsensitive(-0.1), "epsilon must be"),
        (EpsilonInsensitive(float("nan")), "epsilon must be"),
    ],
)
def test_bad_parameters_are_refused(loss, words):
    with pytest.raises(ValueError, match=words):
        as_loss(loss)


@pytest.mark.parametrize("loss", [None, 3, Hinge, (absolute,), (absolute, 3), (absolute,) * 4, (absolute, absolute, 3)])
def test_what_is_no_loss_is_refused(loss):
    with pytest.raises(TypeError, match="loss"):
        as_loss(loss)


# A loss that the user brings.


class LogCosh:
    def value(self, y, f):
        return log_cosh(y, f)

    def derivative(self, y, f):
        return np.tanh(f - y)


def test_own_losses_are_objects_or_functions():
    y, f = np.array([0.0, 1.0]), np.array([1.0, 3.0])
    for given_loss in (LogCosh(), (log_cosh, lambda y, f: np.tanh(f - y))):
        loss = as_loss(given_loss)
        assert not loss.smooth and np.allclose(loss.value(y, f), np.log(np.cosh([1, 2])))
        check_convex(loss, y)
    smooth = as_loss((log_cosh, lambda y, f: np.tanh(f - y), lambda y, f: np.cosh(f - y) ** -2.0))
    assert smooth.smooth and np.allclose(smooth.second_derivative(y, f), np.cosh([1, 2]) ** -2.0)
    assert pickle.loads(pickle.dumps(smooth)).value(y, f)[0] == smooth.value(y, f)[0]


def test_own_losses_may_subclass():
    class Absolute(Loss):
        def value(self, y, f):
            return np.abs(y - f)

        def derivative(self, y, f):
            return np.sign(f - y)

    loss = Absolute()
    assert as_loss(loss) is loss and loss.pieces(np.ones(1)) is None
    check_convex(loss, np.linspace(-1, 1, 7))
    for write in ("second_derivative", "conjugate"):
        with pytest.raises(NotImplementedError):
            getattr(loss, write)(np.ones(1), np.ones(1))
    with pytest.raises(NotImplementedError):
        Loss().value(np.ones(1), np.ones(1))
    with pytest.raises(NotImplementedError):
        Loss().derivative(np.ones(1), np.ones(1))


@pytest.mark.parametrize(("bound", "accepted"), [(3.2, True), (2.9, False)])
def test_losses_are_tried_on_scores_up_to_three_times_the_targets(bound, accepted):
    def value(y, f):
        return np.where(np.abs(f) < bound, absolute(y, f), np.inf)

    with contextlib.nullcontext() if accepted else pytest.raises(ValueError, match="not finite for scores within 3"):
        check_convex(OwnLoss((value, lambda y, f: np.sign(f - y))), np.array([-1.0, 0.5, 1.0]))


@pytest.mark.parametrize(
    ("value", "derivative", "words"),
    [
        (lambda y, f: np.sqrt(np.abs(y - f)), lambda y, f: np.sign(f - y), "does not match|not convex"),
        (lambda y, f: np.minimum(1, (y - f) ** 2), lambda y, f: np.where(abs(f - y) < 1, 2 * (f - y), 0), "not convex"),
        (absolute, lambda y, f: np.sign(y - f), "not convex"),
        (absolute, lambda y, f: 3 * np.sign(f - y), "does not match"),
        (lambda y, f: absolute(y, f) - 1, lambda y, f: np.sign(f - y), "negative"),
        (lambda y, f: absolute(y, f) * np.inf, lambda y, f: np.sign(f - y), "not finite"),
        (lambda y, f: 1.0, lambda y, f: np.sign(f - y), "shape"),
    ],
)
def test_what_is_not_convex_is_refused(value, derivative, words):
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=words):
        check_convex(OwnLoss((value, derivative)), np.array([-1.0, 0.5, 1.0]))


# Envelopes.


@settings(max_examples=30, deadline=None)
@given(y=numbers, f=numbers, width=st.floats(0.01, 10), slope=st.floats(-1, 1))
def test_the_envelope_is_the_least_sum(y, f, width, slope):
    loss = as_loss((absolute, lambda y, f: np.sign(f - y)))
    envelope = Envelope(loss, width, np.array([slope]))
    shifted = f + width * slope
    scores = np.append(np.linspace(-20, 20, 40_001), [y, shifted])
    sought = (np.abs(y - scores) + (shifted - scores) ** 2 / (2 * width)).min()
    assert one(envelope.value, y, f) == pytest.approx(sought, abs=1e-6 / width)
    away = np.clip((shifted - y) / width, -1, 1)  # the derivative of the Huber function
    assert one(envelope.derivative, y, f) == pytest.approx(away, abs=1e-9)
    curvature = one(envelope.second_derivative, y, f)
    if abs(abs(shifted - y) - width) > 1e-3:
        assert curvature == pytest.approx(1 / width if abs(shifted - y) < width else 0.0, rel=1e-3, abs=1e-9)


def test_the_envelope_of_a_steep_loss_is_found():
    steep = as_loss((lambda y, f: np.exp(-y * f), lambda y, f: -y * np.exp(-y * f)))
    z = Envelope(steep, 1.0, np.zeros(1)).nearest(np.ones(1), np.array([-50.0]))
    assert z[0] - np.exp(-z[0]) == pytest.approx(-50.0)


# Regularizers.


def test_regularizers_by_name_and_of_users():
    assert as_regularizer("norm") == Norm() and as_regularizer("squared_norm") == SquaredNorm()
    assert as_regularizer(Norm()) == Norm()
    assert (SquaredNorm().value(3.0), SquaredNorm().derivative(3.0)) == (9.0, 6.0)
    own = as_regularizer((lambda s: s**4, lambda s: 4 * s**3))
    assert own.value(2.0) == 16.0 and own.derivative(2.0) == 32.0 and own.convex is None
    assert pickle.loads(pickle.dumps(own)).value(2.0) == 16.0


@pytest.mark.parametrize("given_one", [3, Norm, (abs,), (abs, 3), (abs, abs, abs), None])
def test_what_is_no_regularizer_is_refused(given_one):
    with pytest.raises(TypeError, match="regularizer must be"):
        as_regularizer(given_one)


def test_regularizers_that_fall_or_explode_are_refused():
    with pytest.raises(ValueError, match="no regularizer called"):
        as_regularizer("l2")
    with pytest.raises(ValueError, match="non-decreasing"):
        OwnRegularizer((lambda s: -s, lambda s: -1.0)).derivative(1.0)
    with pytest.raises(ValueError, match="not a finite number"):
        OwnRegularizer((lambda s: float("inf"), lambda s: 1.0)).value(1.0)


# What solvers ask of a loss.


def draws(loss, n=30, outputs=3):
    """Targets, weights of which some are zero, scores and directions."""
    rng = np.random.default_rng(3)
    Y = np.sign(rng.standard_normal((n, outputs))) if loss.for_labels else rng.standard_normal((n, outputs))
    if loss.couples_outputs:
        Y = np.eye(outputs)[rng.integers(0, outputs, n)]
    s = rng.integers(0, 3, n).astype(float)
    return Y, s, rng.standard_normal((n, outputs)), rng.standard_normal((n, outputs))


LINES = [Squared(), SquaredHinge(), Logistic(), MultinomialLogistic(), SmoothQuantile(0.8, 0.3)]


@pytest.mark.parametrize("loss", LINES, ids=repr)
def test_the_best_constant_has_the_smallest_weighted_loss(loss):
    Y, s, _, _ = draws(loss)
    best = loss.best_constant(Y, s)

    def value(constant):
        return float((s @ loss.value(Y, np.tile(constant, (30, 1)))).sum())

    shift = 0.02 if isinstance(loss, SmoothQuantile) else 1e-5  # a quantile of the targets, not of the rounded loss
    loose = 2 * shift**2 * s.sum() + (2e-3 if isinstance(loss, (Logistic, MultinomialLogistic)) else 0.0)
    found = minimize(value, best, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-12, "maxiter": 2000})
    assert value(best) <= found.fun + loose * (30 if isinstance(loss, SmoothQuantile) else 1)
    if isinstance(loss, Logistic):
        share = s @ (Y > 0) / s.sum()
        np.testing.assert_allclose(best, np.log((share + 1e-3) / (1 - share + 1e-3)))
    if isinstance(loss, MultinomialLogistic):
        share = s @ Y / s.sum() + 1e-3
        np.testing.assert_allclose(best, np.log(share / share.sum()))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.75, 1.0])
def test_a_weighted_quantile_is_the_smallest_value_with_enough_weight_up_to_it(share):
    rng = np.random.default_rng(0)
    values, weights = rng.integers(0, 5, (20, 3)).astype(float), rng.integers(0, 3, 20).astype(float)
    found = weighted_quantile(values, weights, share)
    for j in range(3):
        enough = [v for v in sorted(values[:, j]) if weights[values[:, j] <= v].sum() >= share * weights.sum() - 1e-9]
        assert found[j] == enough[0]


def test_powers_of_scores_do_not_overflow():
    Z = np.array([[1e4, 1e4 - 1.0, -1e4], [0.0, 0.0, 0.0]])
    first = np.exp([0.0, -1.0]) / np.exp([0.0, -1.0]).sum()
    np.testing.assert_allclose(softmax(Z), [[*first, 0.0], [1 / 3] * 3])
    Y = np.eye(3)[[1, 2]]
    np.testing.assert_allclose(MultinomialLogistic().value(Y, Z)[:, 0], [-np.log(first[1]), np.log(3)], rtol=1e-9)
    np.testing.assert_allclose(MultinomialLogistic().second_derivative(Y, Z), softmax(Z) * (1 - softmax(Z)))
