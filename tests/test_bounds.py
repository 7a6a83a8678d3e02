"""Sizes and bounds against the tables of the theory, exact tails, and small experiments."""

import importlib
import inspect
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, chi2

from similitude import bounds
from similitude.bounds import (
    combined_margin,
    compact_dimension,
    consistent_sample,
    hinge_error,
    johnson_lindenstrauss,
    kernel_as_similarity,
    landmarks,
    margin_perceptron_sample,
    margin_perceptron_updates,
    perceptron_mistakes,
    practical_landmarks,
    reasonable_landmarks,
    separable_sample,
    similarity_landmarks,
    votes,
    weak_votes,
)
from similitude.theory.intervals import clopper_pearson


@pytest.mark.parametrize(
    ("gamma", "epsilon", "delta", "n"),
    [
        (0.5, 0.1, 0.05, 560),
        (0.2, 0.1, 0.05, 2240),
        (0.1, 0.1, 0.05, 8240),
        (0.1, 0.05, 0.05, 16480),
        (0.05, 0.05, 0.05, 64480),
        (0.1, 0.01, 0.01, 83685),
        (0.05, 0.01, 0.01, 323685),
    ],
)
def test_landmarks(gamma, epsilon, delta, n):
    assert landmarks(epsilon, gamma, delta) == landmarks(epsilon, gamma, delta, alpha=0) == n


def test_landmarks_of_an_imperfect_separator():
    assert landmarks(0.1, 0.2, 0.025) == 2296
    assert landmarks(0.1, 0.2, 0.05, alpha=0.1) == 2700


def test_practical_landmarks():
    sizes = [practical_landmarks(0.1, 0.2), practical_landmarks(0.1, 0.1), practical_landmarks(0.05, 0.1)]
    assert sizes == [125, 500, 1000]


def test_compact_dimension():
    assert compact_dimension(0.1, 0.2, 0.05) == 225235
    assert compact_dimension(0.1, 0.2, 0.05, practical=True) == 1060
    assert [
        compact_dimension(epsilon, gamma, delta, practical=True)
        for epsilon, gamma, delta in [(0.1, 0.5, 0.05), (0.2, 0.3, 0.1), (0.3, 0.2, 0.1)]
    ] == [170, 348, 702]


def test_johnson_lindenstrauss():
    assert [johnson_lindenstrauss(e, 0.01) for e in (0.1, 0.25, 0.5)] == [2355, 453, 170]


def test_samples_for_a_consistent_learner():
    assert separable_sample(0.001, 0.05) == 50
    assert separable_sample(0.1, 0.3) == 3  # 0.3 / 0.1 is 2.9999999999999996
    assert separable_sample(0.5, 0.1) == 0
    assert consistent_sample(10, 0.1, 0.05) == math.ceil(800 * math.log2(130)) == 5618
    assert consistent_sample(1, 0.5, 1e-9) == math.ceil(8 * math.log2(2e9)) == 248


@pytest.mark.parametrize(
    ("gamma", "ours", "printed", "two_sided"),
    [(0.2, 600, 369, 1476), (0.1, 2397, 1476, 5903), (0.05, 9587, 5903, 23609)],
)
def test_votes(gamma, ours, printed, two_sided):
    assert votes(gamma, 0.05) == ours
    assert votes(gamma, 0.05, as_printed=True) == printed
    assert math.ceil(16 / gamma**2 * math.log(2 / 0.05)) == two_sided > ours > printed


def test_similarity_landmarks():
    assert similarity_landmarks(0.1, 0.05) == 9587
    assert similarity_landmarks(0.1, 0.05, as_printed=True) == 5903


def test_reasonable_landmarks():
    assert reasonable_landmarks(0.5, 0.4, 0.25, 0.05) == 2974
    printed = 2 / 0.5 * (1 + 16 / 0.1**2) * math.log(2 / 0.05)
    assert reasonable_landmarks(0.5, 0.4, 0.25, 0.05, as_printed=True) == math.ceil(printed)
    n = math.ceil((1 + math.sqrt(2 * math.log(40))) ** 2 / 0.1**2)
    assert binom.cdf(n - 1, 2974, 0.5) < 0.025


def test_combined_margin():
    assert combined_margin(0.4, 4) == pytest.approx(0.05)
    assert combined_margin(0.1, 4, norm=0.5) == pytest.approx(0.025)
    for n in range(1, 50):
        assert combined_margin(0.4, n, norm=float(np.linalg.norm(np.full(n, 1 / n)))) == pytest.approx(0.1)


def test_weak_votes():
    assert weak_votes(0.5, 0.1) == 148


def test_hinge_error():
    assert hinge_error(0.0, 1.0, 0.01) == pytest.approx(0.05)
    assert hinge_error(0.1, 0.2, 0.1) == pytest.approx(0.2 * 21)
    assert hinge_error(0.1, 0.2, 0.01, definition=4) == pytest.approx(0.2 + 0.21)


def test_perceptrons():
    assert perceptron_mistakes(1, 1) == 1
    assert perceptron_mistakes(2.0, 0.3) == 44
    assert [margin_perceptron_updates(gamma) for gamma in (1, 0.5, 0.1, 0.05)] == [3, 12, 300, 1200]


def test_a_kernel_as_a_similarity():
    error, gap = kernel_as_similarity(0, 0.1, 0.1 * 0.1 / 16)
    assert error == pytest.approx(0.1)
    assert gap == pytest.approx(1.0e-6, rel=0.03)
    assert margin_perceptron_sample(0.1, 0.000625, 0.000625, as_printed=True) == round(1 / (2 * gap)) == 491805
    assert 5e13 < similarity_landmarks(gap, 0.05) < 2e14


@pytest.mark.parametrize("n", [*range(1, 200), 10_000, 123_456])
def test_whole_numbers_survive_rounding(n):
    assert perceptron_mistakes(1.0, 1 / math.sqrt(n)) == n
    assert perceptron_mistakes(math.sqrt(n), 1.0) == n
    assert margin_perceptron_updates(math.sqrt(3 / (n + 2))) == n + 2
    assert practical_landmarks(0.5 / (n + 1), 1.0) == n + 1
    assert practical_landmarks(0.5, 1 / math.sqrt(n)) == n
    assert separable_sample(0.5 / n, 0.5) == n


SIZES = {
    landmarks: ("epsilon", "gamma", "delta"),
    practical_landmarks: ("epsilon", "gamma"),
    compact_dimension: ("epsilon", "gamma", "delta"),
    johnson_lindenstrauss: ("failure",),
    consistent_sample: ("epsilon", "delta"),
    votes: ("gamma", "delta"),
    similarity_landmarks: ("gamma", "delta"),
    weak_votes: ("gamma", "delta"),
    reasonable_landmarks: ("tau", "gamma", "epsilon", "delta"),
    margin_perceptron_updates: ("gamma",),
    margin_perceptron_sample: ("gamma", "accuracy", "delta"),
}
"""Functions that never fall when one of these parameters does."""

USUAL = {
    "epsilon": 0.1,
    "gamma": 0.2,
    "delta": 0.05,
    "alpha": 0.1,
    "distortion": 0.1,
    "failure": 0.01,
    "error": 0.01,
    "accuracy": 0.1,
    "dimension": 5,
    "n_similarities": 4,
    "norm": 0.5,
    "tau": 0.5,
    "radius": 1.0,
}
SWITCHES = {"as_printed": True, "practical": True, "definition": 4}
PUBLIC = [getattr(bounds, name) for name in bounds.__all__]
share = st.floats(1e-6, 1.0, exclude_max=True)


def arguments(function, **changes):
    names = [name for name in inspect.signature(function).parameters if name in USUAL]
    return {name: USUAL[name] for name in names} | changes


def switches(function):
    return [{}, *({name: SWITCHES[name]} for name in inspect.signature(function).parameters if name in SWITCHES)]


CALLS = [(function, options) for function in PUBLIC for options in switches(function)]


def test_every_bound_is_public_and_nothing_else():
    written = {
        name
        for name, value in vars(importlib.import_module("similitude.theory.bounds")).items()
        if inspect.isfunction(value) and value.__module__ == "similitude.theory.bounds"
    }
    assert {name for name in written if not name.startswith("_")} == set(bounds.__all__)
    assert bounds.__all__ == sorted(bounds.__all__)


@given(data=st.data(), pair=st.tuples(share, share), alpha=st.sampled_from([0.0, 0.3]))
@pytest.mark.parametrize("function", SIZES)
def test_asking_for_more_never_takes_less(function, data, pair, alpha):
    name = data.draw(st.sampled_from(SIZES[function]))
    options = data.draw(st.sampled_from(switches(function)))
    rest = {other: data.draw(share) for other in SIZES[function]} | ({"alpha": alpha} if function is landmarks else {})
    sizes = [function(**arguments(function, **rest | {name: value}), **options) for value in sorted(pair)]
    assert all(type(size) is int and size >= 1 for size in sizes)
    assert sizes[0] >= sizes[1]


@given(epsilon=share, gamma=share, delta=share, pair=st.tuples(share, share))
def test_more_noise_never_takes_fewer_landmarks(epsilon, gamma, delta, pair):
    sizes = [landmarks(epsilon, gamma, delta, alpha) for alpha in (0, *sorted(pair))]
    assert sizes == sorted(sizes)


@given(pair=st.tuples(share, share), fixed=share)
def test_order_of_the_other_bounds(pair, fixed):
    low, high = sorted(pair)
    assert separable_sample(low, fixed) >= separable_sample(high, fixed)
    assert separable_sample(fixed, low) <= separable_sample(fixed, high)
    assert perceptron_mistakes(1.0, low) >= perceptron_mistakes(1.0, high)
    assert combined_margin(low, 3) <= combined_margin(high, 3)
    assert hinge_error(fixed, low, 0.05) >= hinge_error(fixed, high, 0.05)
    assert hinge_error(low, 0.1, fixed) <= hinge_error(high, 0.1, fixed)
    few, many = kernel_as_similarity(0.0, fixed, low), kernel_as_similarity(0.0, fixed, high)
    assert few[0] <= many[0] and few[1] <= many[1]


@given(gamma=share, delta=st.floats(1e-6, 0.4))
def test_the_printed_sizes_are_the_smaller_ones(gamma, delta):
    assert votes(gamma, delta, as_printed=True) <= votes(gamma, delta)
    assert similarity_landmarks(gamma, delta, as_printed=True) <= similarity_landmarks(gamma, delta)
    assert margin_perceptron_sample(gamma, 0.1, delta, as_printed=True) <= margin_perceptron_sample(gamma, 0.1, delta)


@pytest.mark.parametrize("bad", [0.0, -0.1, 2.5, math.nan, math.inf, -math.inf, "0.1", None, True, False, [0.1], 1j])
@pytest.mark.parametrize(("function", "options"), CALLS)
def test_bad_numbers_are_refused_by_name(function, options, bad):
    for name in arguments(function):
        allowed = (name in ("alpha", "epsilon") and bad == 0.0) or (name == "radius" and bad == 2.5)
        if allowed and type(bad) is float:
            continue
        with pytest.raises(ValueError, match=f"^{name} must be an? (positive number|number|integer).*got ") as caught:
            function(**arguments(function, **{name: bad}), **options)
        assert str(caught.value).endswith(f"got {bad!r}")


@pytest.mark.parametrize(("function", "options"), CALLS)
def test_ends_of_the_ranges(function, options):
    for name in set(arguments(function)) & {"epsilon", "delta", "alpha", "distortion", "failure", "error", "accuracy"}:
        with pytest.raises(ValueError, match=rf"^{name} must be a number in [(\[]0, 1\), got 1$"):
            function(**arguments(function, **{name: 1}), **options)
    if function in (hinge_error, kernel_as_similarity):
        function(**arguments(function, epsilon=0), **options)
    elif "epsilon" in arguments(function):
        with pytest.raises(ValueError, match=r"^epsilon must be a number in \(0, 1\), got 0$"):
            function(**arguments(function, epsilon=0), **options)
    if "gamma" in arguments(function):
        function(**arguments(function, gamma=1), **options)


def test_other_ranges():
    with pytest.raises(ValueError, match=r"^gamma must be a number in \(0, radius\] = \(0, 1.0\], got 1.1"):
        perceptron_mistakes(1.0, 1.1)
    assert perceptron_mistakes(1.0, 1.0 + 1e-15) == 1
    for norm in (0.4, 0.4999, 1.0001):
        with pytest.raises(ValueError, match=rf"^norm must be a number in .* = \[0.5, 1\], got {norm}$"):
            combined_margin(0.1, 4, norm=norm)
    assert combined_margin(0.1, 4, norm=0.5 - 1e-12) == pytest.approx(0.025)
    for bad in (2, "3", None, True):
        with pytest.raises(ValueError, match=r"^definition must be 3 or 4, got "):
            hinge_error(0.1, 0.1, 0.1, definition=bad)


@pytest.mark.parametrize(("function", "options"), CALLS)
def test_numbers_of_numpy_give_python_numbers(function, options):
    expected = function(**arguments(function), **options)
    found = function(**{name: np.asarray(value)[()] for name, value in arguments(function).items()}, **options)
    assert found == expected
    assert type(found) is type(expected)
    halves = {name: 0.5 for name in arguments(function) if name not in ("dimension", "n_similarities")}
    singles = {name: np.float32(0.5) for name in halves}
    assert function(**arguments(function, **singles), **options) == function(**arguments(function, **halves), **options)


def test_tiny_numbers_overflow_cleanly():
    tiny = 5e-324
    assert landmarks(0.1, 0.2, tiny, alpha=0.1) > landmarks(0.1, 0.2, tiny) > 60_000
    for call in (
        lambda: votes(tiny, 0.1),
        lambda: johnson_lindenstrauss(1e-200, 0.1),
        lambda: landmarks(tiny, 0.1, 0.1),
    ):
        with pytest.raises(OverflowError):
            call()


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize(("epsilon", "gamma", "delta"), [(0.1, 0.2, 0.05), (0.9, 1.0, 0.9), (0.5, 0.9, 0.001)])
def test_enough_landmarks_are_good_ones(epsilon, gamma, delta, alpha):
    n, needed = landmarks(epsilon, gamma, delta, alpha), landmarks(epsilon, gamma, delta / 2)
    assert binom.cdf(needed - 1, n, 1 - alpha) <= delta / 2


@pytest.mark.parametrize(("epsilon", "gamma"), [(0.1, 0.2), (0.1, 0.1), (0.05, 0.1)])
def test_landmarks_on_a_hard_problem(epsilon, gamma):
    """One common atom and many rare ones, all orthogonal: an atom not drawn is mapped to zero, an error."""
    rare, delta, runs = round(1 / gamma**2) - 1, 0.05, 400
    masses = np.array([1 - 2 * epsilon, *np.full(rare, 2 * epsilon / rare)])
    rng = np.random.default_rng(0)

    def failures(n):
        return np.mean((rng.multinomial(n, masses, size=runs) == 0) @ masses > epsilon)

    n = landmarks(epsilon, gamma, delta)
    assert failures(n) == 0
    assert failures(practical_landmarks(epsilon, gamma)) <= delta
    assert failures(n // 64) > 0.95


@pytest.mark.parametrize("distortion", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("failure", [0.5, 0.01, 1e-6])
def test_projections_keep_distances(distortion, failure):
    """For normal entries the projected squared length is a chi-squared variable."""
    k = johnson_lindenstrauss(distortion, failure)
    assert chi2.cdf(k * (1 - distortion), k) + chi2.sf(k * (1 + distortion), k) <= failure


@pytest.mark.parametrize("cosine", [-1.0, -0.5, 0.0, 0.5, 1.0])
def test_projections_keep_cosines(cosine):
    gamma = 1.0
    d = compact_dimension(0.9, gamma, 0.9)
    pairs = np.random.default_rng(0).standard_normal((50, 2, d))
    w, x = pairs[:, 0], cosine * pairs[:, 0] + math.sqrt(1 - cosine**2) * pairs[:, 1]
    found = (w * x).sum(1) / np.linalg.norm(w, axis=1) / np.linalg.norm(x, axis=1)
    assert np.abs(found - cosine).max() < gamma / 4


@given(gamma=st.floats(1e-3, 1.0), cosine=st.floats(-1.0, 1.0), signs=st.tuples(*[st.sampled_from([-1, 1])] * 3))
def test_three_lengths_keep_a_cosine(gamma, cosine, signs):
    """The step from lengths to cosines, at the worst lengths."""
    e = gamma / (16 + gamma)
    w, x, difference = (1 + e * s for s in signs)
    product = (w + x - difference * (2 - 2 * cosine)) / 2
    assert abs(product / math.sqrt(w * x) - cosine) <= gamma / 4 + 1e-12


@given(error=st.floats(1e-6, 0.5), delta=share)
def test_separable_samples_are_separable(error, delta):
    assert (1 - error) ** separable_sample(error, delta) >= 1 - delta - 1e-12


def signs(rng, mean, size):
    """Return sums of `size` signs of the given mean, as a mean, for many draws."""
    return 2 * rng.binomial(size, (1 + mean) / 2, size=20_000) / size - 1


@pytest.mark.parametrize(("gamma", "delta"), [(0.2, 0.05), (0.5, 0.2), (1.0, 0.5)])
def test_votes_and_landmarks_on_a_problem_that_fails_all_at_once(gamma, delta):
    """K(x, x') = l(x) s(x') with signs s of mean ±gamma/2: every object has the gap gamma and sees the same draw."""
    rng = np.random.default_rng(0)

    def gaps(m):
        return signs(rng, gamma / 2, m) - signs(rng, -gamma / 2, m)

    assert np.mean(gaps(votes(gamma, delta)) <= 0) <= delta
    assert np.mean(gaps(votes(gamma, delta) // 64 + 1) <= 0) > delta**2
    d = similarity_landmarks(gamma, delta)
    assert np.mean(d * gaps(d) / (2 * d) < gamma / 4) <= delta


def test_weak_votes_on_the_line():
    """K = x x', three quarters of each class at its own end: the gap is 1/2."""
    rng, m = np.random.default_rng(0), weak_votes(0.5, 0.1)
    errors = 0.5 - (signs(rng, 0.5, m) - signs(rng, -0.5, m)) / 8
    assert np.mean(errors) == pytest.approx(0.5 - 0.5 / 4, abs=0.002)
    assert np.mean(errors > 0.5 - 0.5 / 8) <= 0.1


def three_directions(gamma, delta, rng):
    """Return each direction's mass, its gap by weights (0, 1, 1/2), and its hinge loss by drawn landmarks."""
    angles = np.deg2rad([150, 30, -30])
    K, y, w = np.cos(angles[:, None] - angles), np.array([1, 1, -1]), np.array([0.0, 1.0, 0.5])
    gap = y * ((K * w) @ [0.5, 0.5, -1.0])
    d = similarity_landmarks(gamma, delta)
    left = rng.binomial(d, 0.5)
    score = ((K * w) @ [left, d - left, -d]) * 2 / (d * gamma)
    return np.array([0.25, 0.25, 0.5]), gap, np.maximum(0, 1 - y * score)


@pytest.mark.parametrize("gamma", [0.25, 0.26, 0.28, 0.3])
def test_hinge_loss_on_three_directions(gamma):
    rng, delta = np.random.default_rng(0), 0.01
    for _ in range(50):
        mass, gap, loss = three_directions(gamma, delta, rng)
        assert gap == pytest.approx(0.25)
        shortfall = max(0.0, mass @ np.maximum(gamma - gap, 0) / gamma - 1e-12)
        assert mass @ loss <= hinge_error(shortfall, gamma, delta, definition=4)
        if gamma == 0.25:
            assert mass @ loss <= hinge_error(0, gamma, delta)


@pytest.mark.parametrize(("gamma", "accuracy", "delta"), [(0.1, 0.1, 0.05), (0.2, 0.1, 0.05), (0.9, 0.5, 0.3)])
def test_a_sample_has_all_updates(gamma, accuracy, delta):
    missed = margin_perceptron_updates(gamma) - 1
    assert binom.cdf(missed, margin_perceptron_sample(gamma, accuracy, delta), accuracy) <= delta


def test_the_printed_sample_often_misses_some_updates():
    assert binom.cdf(299, margin_perceptron_sample(0.1, 0.1, 0.05, as_printed=True), 0.1) > 0.4


def run_perceptron(X, y, threshold, strict, epochs=1):
    """Return the number of updates and the longest w."""
    w, updates, longest = np.zeros(X.shape[1]), 0, 0.0
    for _ in range(epochs):
        for x, label in zip(X, y, strict=True):
            score = label * (w @ x)
            if score < threshold or (score == threshold and not strict):
                w, updates = w + label * x, updates + 1
                longest = max(longest, float(np.linalg.norm(w)))
    return updates, longest


@pytest.mark.parametrize("n", [1, 2, 3, 7, 16])
def test_orthogonal_examples_attain_the_mistake_bound(n):
    y = np.where(np.arange(n) % 2, -1, 1)
    assert run_perceptron(np.eye(n), y, 0, strict=False)[0] == n == perceptron_mistakes(1.0, 1 / math.sqrt(n))


def test_a_tiny_problem():
    X, y = np.array([(1, 0), (0, 1), (-1, 0), (0.6, 0.8), (0.8, -0.6)]), np.array([1, 1, -1, 1, 1])
    assert run_perceptron(X, y, 0, strict=False) == (2, pytest.approx(math.sqrt(2)))
    updates, longest = run_perceptron(X, y, 1, strict=True, epochs=20)
    assert (updates, longest) == (6, pytest.approx(3.1623, abs=1e-4))


@pytest.mark.parametrize("seed", range(20))
def test_perceptrons_keep_their_bounds(seed):
    rng = np.random.default_rng(seed)
    w = np.eye(5)[0]
    X = rng.standard_normal((100, 5))
    X = X[np.abs(X[:, 0]) > 0.2 * np.linalg.norm(X, axis=1)]
    y = np.sign(X @ w)
    radius, margin = np.linalg.norm(X, axis=1).max(), np.abs(X @ w).min()
    assert run_perceptron(X, y, 0, strict=False, epochs=20)[0] <= perceptron_mistakes(radius, margin)
    units = X / np.linalg.norm(X, axis=1, keepdims=True)
    gamma = np.abs(units @ w).min()
    updates, longest = run_perceptron(units, y, 1, strict=True, epochs=20)
    assert updates <= margin_perceptron_updates(gamma)
    assert longest <= 3 / gamma


def test_intervals_of_none_and_of_all():
    low, high = clopper_pearson([0, 5, 10], 10)
    assert low[0] == 0.0 and high[2] == 1.0
    assert 0 < low[1] < 0.5 < high[1] < 1 and math.isclose(high[0], 1 - low[2])
    assert math.isclose(high[0], 1 - 0.025**0.1)
