"""Intervals of ``assess`` and the figures of guarantees, computed once more by loops over single examples and pairs.

The library computes leave-one-out values, variances and means over tuples with sums of matrices. Here they are written
as the definitions read, for samples small enough: a statistic without example i is computed from the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import permutations, product

import numpy as np

from benchmarks.theory.derived import largest, smallest
from benchmarks.theory.nouns import Experiment, Finding
from similitude.goodness.alignments import alignment, estimated_alignments, permutation_test
from similitude.goodness.class_means import weak_goodness
from similitude.goodness.gaps import enclosed, ranks
from similitude.goodness.margins import error_at_margin
from similitude.goodness.resampling import (
    band,
    bounded_mean,
    by_jackknife,
    effective_size,
    expanded_tail,
    jackknife_variance,
    noise_of_means,
)
from similitude.goodness.weighted import Fits, WeightedSample, hinge, hinge_curve, shares
from similitude.support import Estimate
from similitude.theory.intervals import clopper_pearson, dkw_radius, proportion

Pairs = Iterator[tuple[float, float]]
"""What the library says, and what was computed here."""


def binomial(k: int, n: int, p: float) -> float:
    """Return the probability of at most k successes."""
    return math.fsum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


def student(size: float) -> float:
    """Return the point that Student's t with size - 1 degrees of freedom exceeds once in 40 times, by integration."""
    from scipy.integrate import quad

    f = size - 1
    density = math.exp(math.lgamma((f + 1) / 2) - math.lgamma(f / 2)) / math.sqrt(f * math.pi)
    return smallest(lambda x: density * quad(lambda t: (1 + t * t / f) ** (-(f + 1) / 2), 0, x)[0] >= 0.475)


def exact_share(k: int, n: int, level: float) -> tuple[float, float]:
    """Return the p for which the tails beyond k have probability (1 - level)/2."""
    tail = (1 - level) / 2
    low = largest(lambda p: p < 1 and 1 - binomial(k - 1, n, p) <= tail) if k else 0.0
    return low, largest(lambda p: p < 1 and binomial(k, n, p) >= tail) if k < n else 1.0


def proportions() -> Pairs:
    """Clopper and Pearson, and what is made of them."""
    for k, n, level in ((0, 20, 0.95), (3, 25, 0.95), (25, 25, 0.9), (9, 40, 0.5)):
        low, high = exact_share(k, n, level)
        found = proportion(k, n, "", level)
        yield from zip((float(one) for one in clopper_pearson(k, n, level)), (low, high), strict=True)
        yield from zip((found.value, found.low, found.high, found.level), (k / n, low, high, level), strict=True)
    low, high = exact_share(3, 25, 0.95)
    curve, plain = shares(np.array([0.1]), np.array([3]), 25), proportion(3, 25, "")
    yield from zip((float(one) for one in clopper_pearson(3, 25)), (low, high), strict=True)
    yield from zip((plain.low, plain.high, plain.level), (low, high, 0.95), strict=True)
    yield from zip((curve.y[0], curve.low[0], curve.high[0], curve.level), (3 / 25, low, high, 0.95), strict=True)


def bands() -> Pairs:
    """Massart's constant, and the curve of errors at margins."""
    for n, level in ((50, 0.9), (1000, 0.95), (7, 0.5)):
        yield dkw_radius(n, level), smallest(lambda r: 2 * math.exp(-2 * n * r * r) <= 1 - level)  # noqa: B023
    yield dkw_radius(20), (radius := smallest(lambda r: 2 * math.exp(-2 * 20 * r * r) <= 0.05))
    margins = np.array([-0.5, -0.25, 0.125, 0.25, 0.25, *np.linspace(0.3, 1, 15)])
    signs = np.resize([1, -1], 20)

    class Model:
        classes_ = np.array([-1, 1])

        def normalized_margin(self, X: np.ndarray) -> np.ndarray:
            return X

    for at, below in ((0.0, 2), (0.25, 3), (1.0, 19)):
        curve, (low, high) = error_at_margin(Model(), margins * signs, signs, [at]), exact_share(below, 20, 0.95)
        share = below / 20
        said = (curve.y[0], curve.low[0], curve.high[0], curve.band_low[0], curve.band_high[0], curve.level)
        expected = (share, low, high, max(share - radius, 0.0), min(share + radius, 1.0), 0.95)
        yield from zip(said, expected, strict=True)
    default = error_at_margin(Model(), margins * signs, signs)
    yield from ((default.x[0], 0.0), (default.x[-1], 1.0))
    yield float(len(error_at_margin(Model(), -np.abs(margins) * signs, signs).x)), 1.0


def order_statistics() -> Pairs:
    """The ranks between which a quantile lies: each tail at most (1 - level)/2."""
    for n, epsilon, level in ((30, 0.1, 0.95), (100, 0.1, 0.95), (40, 0.5, 0.8)):
        tail = (1 - level) / 2
        low = next(k for k in range(n + 1) if binomial(k, n, epsilon) >= tail)
        high = 1 + next(k for k in range(n + 1) if binomial(k, n, epsilon) >= 1 - tail)
        found = ranks(n, np.array([epsilon]), level)
        yield from ((float(found[0][0]), low), (float(found[1][0]), high))
        values = np.random.default_rng(n).permutation(np.arange(1, n + 1) / 100)
        ends = enclosed(values, np.array([epsilon]), level, 2.0)
        yield from ((float(ends[0][0]), low / 100 if low else -2.0), (float(ends[1][0]), high / 100))


def jackknifed(statistic: Callable[[list[int]], float], who: list[int], codes: np.ndarray | None = None) -> float:
    """Return the jackknife variance, by strata or not: (n - 1)/n times the sum of squares about their mean."""
    total = 0.0
    for stratum in [who] if codes is None else [[i for i in who if codes[i] == c] for c in sorted(set(codes))]:
        left_out = [statistic([j for j in who if j != i]) for i in stratum]
        middle = math.fsum(left_out) / len(left_out)
        total += (len(stratum) - 1) / len(stratum) * math.fsum((one - middle) ** 2 for one in left_out)
    return total


def interval(value: float, variance: float, size: float, bound: float) -> tuple[float, float]:
    """Return Student's interval, wider by 5/size and within ±bound."""
    radius = (1 + 5 / size) * student(size) * math.sqrt(variance)
    return max(value - radius, -bound), min(value + radius, bound)


def student_intervals() -> Pairs:
    """Sizes, tails and widths of intervals by the jackknife."""
    from statistics import NormalDist

    yield effective_size(np.repeat([0, 1, 2], [3, 4, 12])), 3 / (1 / 3 + 1 / 4 + 1 / 12)
    for size in (4.0, 17.5):
        # a resampled mean has the variance s^2 (n - 1)/n^2, Student's interval is for s^2/n
        steps = student(size) / math.sqrt((size - 1) / size)
        yield expanded_tail(size), NormalDist().cdf(-steps)
    yield expanded_tail(1.2), NormalDist().cdf(-student(2.0) * math.sqrt(2))
    for value, variance, size, bound in ((0.1, 0.0004, 6.0, 1.0), (0.3, 0.01, 30.0, 2.0), (0.9, 0.04, 8.0, 1.0)):
        found, ends = by_jackknife(value, variance, size, bound), interval(value, variance, size, bound)
        yield from zip((found.value, found.low, found.high, found.level), (value, *ends, 0.95), strict=True)
    narrow = by_jackknife(0.0, 1e-6, 1.5, 1.0)
    yield narrow.high, (1 + 5 / 1.5) * student(2.0) * 1e-3
    x, codes = np.array([1.0, 2.0, 4.0, 9.0, 3.0]), np.array([0, 0, 0, 1, 1])
    mean = lambda who: math.fsum(x[i] for i in who) / len(who)  # noqa: E731
    left_out = np.array([mean([j for j in range(5) if j != i]) for i in range(5)])
    yield jackknife_variance(left_out), jackknifed(mean, list(range(5)))
    yield jackknife_variance(left_out, codes), jackknifed(mean, list(range(5)), codes)


def sample_of(sizes: tuple[int, ...], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return similarities that are not symmetric, and classes."""
    codes = np.repeat(np.arange(len(sizes)), sizes)
    rng = np.random.default_rng(seed)
    row, column = rng.normal(0, 0.1, (2, len(codes)))
    K = 0.3 * (codes[:, None] == codes) + row[:, None] + column + rng.normal(0, 0.1, (len(codes),) * 2)
    return K, codes


def cell_mean(K: np.ndarray, rows: list[int], columns: list[int]) -> float:
    """Return the mean over pairs of different examples."""
    values = [K[i, j] for i in rows for j in columns if i != j]
    return math.fsum(values) / len(values)


def residuals(K: np.ndarray, codes: np.ndarray, a: int, b: int) -> dict[tuple[int, int], float]:
    """Return the pairs of two classes without the effects of their rows and columns."""
    rows, columns = ([i for i in range(len(codes)) if codes[i] == c] for c in (a, b))
    whole = cell_mean(K, rows, columns)
    return {
        (i, j): K[i, j] - cell_mean(K, [i], columns) - cell_mean(K, rows, [j]) + whole
        for i in rows
        for j in columns
        if i != j
    }


def single_pairs(K: np.ndarray, codes: np.ndarray, a: int, b: int) -> float:
    """Return the variance of a cell's mean due to single pairs; within a class K(x, x') and K(x', x) may be one."""
    left, m, n = residuals(K, codes, a, b), int((codes == a).sum()), int((codes == b).sum())
    squares = math.fsum(one**2 for one in left.values())
    freedom = (m - 1) * (n - 1) - (m - 1 if a == b else 0)
    return squares / freedom * (2 if a == b else 1) / len(left)


def noise() -> Pairs:
    """The variance of an example's mean similarity to a class."""
    K, codes = sample_of((5, 6, 2), 3)
    found = noise_of_means(K, codes)
    for a, b in product(range(3), repeat=2):
        left = residuals(K, codes, a, b)
        for i in np.flatnonzero(codes == a).tolist():
            mine = [one for (row, _), one in left.items() if row == i]
            m = len(mine)
            few = float(np.mean((K - K.mean()) ** 2)) / m
            yield float(found[i, b]), math.fsum(one**2 for one in mine) / (m - 1) / m if m >= 4 else few


def class_means() -> Pairs:
    """Definition 5: every cell's interval, gamma and balanced gamma."""
    for sizes, seed in (
        ((5, 7), 0),
        ((4, 5, 6), 1),
        ((2, 5), 2),
        ((4, 4), -1),
        ((4, 4), -2),
        ((2, 4), -1),
        ((2, 4), -2),
    ):
        K, codes = sample_of(sizes, abs(seed))
        if seed < 0:  # so far apart that intervals reach the largest values
            K = np.where(np.median(K) < K, 1.0, -1.0) * (-1) ** seed
        k, n = len(sizes), len(codes)
        found = weak_goodness(K, codes, np.arange(k))
        second = {c: single_pairs(K, codes, *c) if sizes[c[0]] > 2 or c[0] != c[1] else 0.0 for c in cells(k)}
        size = k / math.fsum(1 / one for one in sizes)
        for a, b in cells(k):
            rows, columns = np.flatnonzero(codes == a).tolist(), np.flatnonzero(codes == b).tolist()
            value = cell_mean(K, rows, columns)
            ends = (-1.0, 1.0)
            if a == b and sizes[a] > 2:
                mine = jackknifed(lambda who: cell_mean(K, who, who), rows)  # noqa: B023
                ends = interval(value, mine + second[a, a], sizes[a], 1.0)
            elif a != b:
                by_rows = np.var([cell_mean(K, [i], columns) for i in rows], ddof=1) / len(rows)
                by_columns = np.var([cell_mean(K, rows, [j]) for j in columns], ddof=1) / len(columns)
                ends = interval(value, by_rows + by_columns + second[a, b], min(sizes[a], sizes[b]), 1.0)
            yield from zip((found.means[a, b], found.low[a, b], found.high[a, b]), (value, *ends), strict=True)
        yield from ((found.level, 0.95), (found.gamma.level, 0.95), (found.balanced.level, 0.95))
        if min(sizes) > 2:
            variance = jackknifed(lambda who: plain(K, codes, who), list(range(n)))  # noqa: B023
            variance += math.fsum(share**2 * second[c] * (1 if c[0] == c[1] else 2) for c, share in pair_shares(sizes))
            yield from ends_of(found.gamma, plain(K, codes, list(range(n))), variance, size)
            variance = jackknifed(lambda who: balanced(K, codes, who), list(range(n)), codes)  # noqa: B023
            variance += math.fsum(one / (k * (1 if a == b else k - 1)) ** 2 * (1 if a == b else 2)
                                  for (a, b), one in second.items())  # fmt: skip
            yield from ends_of(found.balanced, balanced(K, codes, list(range(n))), variance, size)
        else:
            yield from a_class_of_two(K, codes, found.balanced, second, size)


def a_class_of_two(
    K: np.ndarray, codes: np.ndarray, found: Estimate, second: dict[tuple[int, int], float], size: float
) -> Pairs:
    """One pair tells nothing of its variance: the mean within that class may be anything from -1 to 1."""
    two, others = np.flatnonzero(codes == 0).tolist(), np.flatnonzero(codes == 1).tolist()
    lone = cell_mean(K, two, two)

    def known(who: list[int]) -> float:
        rest = [i for i in who if codes[i] == 1]
        mine = [i for i in who if codes[i] == 0]
        across = cell_mean(K, mine, rest) + cell_mean(K, rest, mine)
        return (cell_mean(K, rest, rest) - across) / 2

    everyone = two + others
    variance = jackknifed(known, everyone, codes[everyone])
    variance += second[1, 1] / 4 + (second[0, 1] + second[1, 0]) / 2
    low, high = interval(known(everyone) + lone / 2, variance, size, 2.0)
    yield from ((found.low, max(-2.0, low - (lone + 1) / 2)), (found.high, min(2.0, high + (1 - lone) / 2)))


def cells(k: int) -> list[tuple[int, int]]:
    """Return all pairs of classes."""
    return list(product(range(k), repeat=2))


def pair_shares(sizes: tuple[int, ...]) -> list[tuple[tuple[int, int], float]]:
    """Return the share of each cell among the pairs of one class, or of two."""
    counts = {(a, b): sizes[a] * (sizes[b] - (a == b)) for a, b in cells(len(sizes))}
    sums = {same: sum(n for (a, b), n in counts.items() if (a == b) == same) for same in (True, False)}
    return [((a, b), n / sums[a == b]) for (a, b), n in counts.items()]


def plain(K: np.ndarray, codes: np.ndarray, who: list[int]) -> float:
    """Return the mean over pairs of one class minus that over pairs of two."""
    pairs = list(permutations(who, 2))
    means = [np.mean([K[i, j] for i, j in pairs if (codes[i] == codes[j]) == same]) for same in (True, False)]
    return float(means[0] - means[1])


def balanced(K: np.ndarray, codes: np.ndarray, who: list[int]) -> float:
    """Return the same with equal weights of classes, and of pairs of classes."""
    members = [[i for i in who if codes[i] == c] for c in sorted(set(codes.tolist()))]
    k = len(members)
    same = math.fsum(cell_mean(K, one, one) for one in members) / k
    return same - math.fsum(cell_mean(K, *two) for two in permutations(members, 2)) / (k * (k - 1))


def ends_of(found: Estimate, value: float, variance: float, size: float, bound: float = 2.0) -> Pairs:
    """Compare an estimate with its value and variance."""
    yield from zip((found.value, found.low, found.high), (value, *interval(value, variance, size, bound)), strict=True)


def tuples(K: np.ndarray, T: np.ndarray, who: list[int], centered: bool) -> float:
    """Return E[K12 T12], or with K and T centered E[K12 (T12 - T13 - T32 + T34)], over different examples."""
    if not centered:
        return float(np.mean([K[i, j] * T[i, j] for i, j in permutations(who, 2)]))
    two = np.mean([K[i, j] * T[i, j] for i, j in permutations(who, 2)])
    three = np.mean([K[i, j] * (T[i, k] + T[k, j]) for i, j, k in permutations(who, 3)])
    return float(two - three + np.mean([K[i, j] * T[k, m] for i, j, k, m in permutations(who, 4)]))


def alignments() -> Pairs:
    """Plain and centered alignment, by sums over all tuples of different examples."""
    for sizes, seed in (((4, 4), 5), ((3, 3, 2), 6)):
        K, codes = sample_of(sizes, seed)
        k, everyone = len(sizes), list(range(len(codes)))
        T = np.array([[1.0 if a == b else -1 / (k - 1) for b in codes] for a in codes])
        size = k / math.fsum(1 / one for one in sizes)
        for found, centered in zip(estimated_alignments(K, codes), (False, True), strict=True):

            def cosine(who: list[int], K: np.ndarray = K, T: np.ndarray = T, c: bool = centered) -> float:
                return tuples(K, T, who, c) / math.sqrt(tuples(K, K, who, c) * tuples(T, T, who, c))

            variance = jackknifed(cosine, everyone)
            yield from ((found.value, cosine(everyone)), (found.level, 0.95))
            yield from zip((found.low, found.high), interval(cosine(everyone), variance, size, 1.0), strict=True)
    yield from unusual_alignments()


def unusual_alignments() -> Pairs:
    """Few examples, and a norm that vanishes without one of them."""
    codes = np.array([0, 0, 1, 1])
    T = np.where(codes[:, None] == codes, 1.0, -1.0)
    for K, sign in ((T, 1.0), (-T, -1.0)):
        plain_one, centered = estimated_alignments(K, codes)
        yield from ((plain_one.value, sign), (plain_one.low, sign), (plain_one.high, sign))
        yield from zip((centered.value, centered.low, centered.high, centered.level), (0, -1, 1, 0.95), strict=True)
    yield alignment(np.eye(3), [1, 1, 1], centered=False), 3 / math.sqrt(3 * 9)
    lone = np.zeros((4, 4))
    lone[0, 1] = 1.0
    alone = estimated_alignments(lone, codes)[0]
    yield from zip((alone.low, alone.high, alone.level), (-1, 1, 0.95), strict=True)
    yield alone.value, tuples(lone, T, [0, 1, 2, 3], False) / math.sqrt(tuples(lone, lone, [0, 1, 2, 3], False))


def permuted() -> Pairs:
    """The p-value where no permutation, and where every one, reaches the labels."""
    codes = np.arange(40) % 2
    same = np.where(codes[:, None] == codes, 1.0, 0.0)
    none = permutation_test(same, codes, np.random.default_rng(0))
    every = permutation_test(np.ones((40, 40)), codes, np.random.default_rng(0), permutations=19)
    low, high = exact_share(0, 999, 0.95)
    yield from zip((none.value, none.low, none.high, none.level), (0.001, low, high, 0.95), strict=True)
    yield from zip((every.value, every.low, every.high), (1.0, exact_share(19, 19, 0.95)[0], 1.0), strict=True)
    yield float(none.permutations), 999.0


def near(pairs: Callable[[], Pairs], off: float, tolerance: float) -> tuple[float, int]:
    """Return the largest difference, relative to 1 or to the value, and how many values there were."""
    differences = [abs(said - off * expected) / max(abs(expected), 1e-3) for said, expected in pairs()]
    return max(one if math.isfinite(one) else math.inf for one in differences), len(differences)


def same_by_hand(
    trials: int,
    rng: np.random.Generator,
    pairs: Callable[[], Pairs],
    what: str,
    tolerance: float = 1e-6,
    off: float = 1.0,
) -> Finding:
    """Compare figures of the library with the same by loops."""
    worst, count = near(pairs, off, tolerance)
    return Finding(
        f"Intervals of assess: {what}, by hand",
        f"the same by loops over examples and pairs, up to {tolerance:g}",
        f"off by {worst:.1g} of the value at most",
        count,
        bool(worst <= tolerance),
    )


def bootstrap(K: np.ndarray, codes: np.ndarray, epsilon: float, seed: int, runs: int) -> tuple[float, float]:
    """Return the interval for the gap at epsilon, one replicate after the other, from the random numbers of `band`.

    Ends of the percentile interval move by 1 + sqrt(2) times what twice the noise of means does to replicates near by.
    """
    from statistics import NormalDist

    rng, n, once, twice = np.random.default_rng(seed), len(codes), [], []
    counts = rng.multinomial(n, np.full(n, 1 / n), size=runs)
    extra = rng.standard_normal((n, 2, runs))
    spread = np.sqrt(noise_of_means(K, codes) + noise_of_means(K, codes))
    for run, count in enumerate(counts):
        means = np.empty((n, 2))
        for c in (0, 1):
            weight = np.where(codes == c, count, 0) * (1 - np.eye(n))
            means[:, c] = (weight * K).sum(axis=1) / weight.sum(axis=1)
        for values, found in ((means, once), (means + spread * extra[:, :, run], twice)):
            gap = np.where(codes == 0, values[:, 0] - values[:, 1], values[:, 1] - values[:, 0])
            found.append(np.repeat(np.sort(gap), count[np.argsort(gap)])[math.floor(n * epsilon + 1e-9)])
    first, order = np.array(once), np.argsort(once)
    change, third = (np.array(twice) - first)[order], runs // 3
    size = 2 / math.fsum(1 / one for one in np.bincount(codes))
    tail = NormalDist().cdf(-student(size) / math.sqrt((size - 1) / size))
    low, high = np.quantile(first, [tail, 1 - tail])
    factor = 2 / (2 - math.sqrt(2)) - 1  # so that s units of noise, which shift by sqrt(s), are taken back to none
    return min(low, low - factor * change[:third].mean()), max(high, high - factor * change[-third:].mean())


def resampled(trials: int, rng: np.random.Generator, off: float = 1.0) -> Finding:
    """Compare the band of assess with a bootstrap by loops, on equal gaps with noise and on spread-out ones."""
    worst = 0.0
    codes = np.repeat([0, 1], [25, 35])
    for trial in range(trials):
        noisy = (0.8, 0.2)[trial % 2]
        own, seed = rng.normal(0, 0.8 - noisy, 60), int(rng.integers(2**32))
        K = 0.2 * (codes[:, None] == codes) * (1 + own[:, None]) + rng.uniform(-noisy, noisy, (60, 60))
        low, high = (float(end[0]) for end in band(K, codes, np.array([0.3]), np.random.default_rng(seed)))
        ends = bootstrap(K, codes, 0.3, seed, 500)
        worst = max([worst, *np.abs(np.array([low, high]) - off * np.array(ends))])
    lost = band(K, codes, np.array([0.03, 0.97]), rng)
    few = band(K[20:30, 20:30], codes[20:30], np.array([0.3]), rng)
    wide = (float(lost[0][0]), float(lost[1][1]))
    return Finding(
        "Intervals of assess: bootstrap of gaps, by hand",
        "the same by loops over replicates; ±2 where a sample may miss the quantile",
        f"off by {worst:.1g} at most; {wide[0]:g} and {wide[1]:g}",
        trials,
        bool(worst < 1e-9 and wide == (-2.0, 2.0) and np.isfinite(few).all()),
    )


def simplex(trials: int, rng: np.random.Generator, off: float = 1.0) -> Finding:
    """Compare the interval for a bounded mean with Clopper and Pearson's, for numbers that are 0 or the largest."""
    differences = []
    for k, n, most in ((0, 40, 1.0), (8, 40, 3.0), (40, 40, 2.0)):
        values = np.where(np.arange(n) < k, most, 0.0)
        found = np.mean([bounded_mean(values, most, rng) for _ in range(trials)], axis=0)
        differences += (np.abs(found / most - off * np.array(exact_share(k, n, 0.95)))).tolist()
    return Finding(
        "Intervals of assess: a bounded mean (Gaffke)",
        "Clopper and Pearson's interval for numbers that are 0 or the largest, up to 0.005",
        f"off by {max(differences):.4f} at most",
        3 * trials,
        bool(max(differences) < 0.005),
    )


def hinge_intervals(trials: int, rng: np.random.Generator, off: float = 1.0) -> Finding:
    """Compare the interval of a hinge loss with that of a bounded mean; the largest loss is that of the deepest gap."""
    columns, own = np.repeat([0, 1], [3, 5]), np.resize([0, 1], 30)
    K = rng.uniform(-0.6, 0.45, (30, 8))
    weights, gamma = rng.uniform(0.2, 1.0, 8), 0.37
    sample = WeightedSample(K, own, columns)
    found = hinge_curve(_fits(weights, gamma), sample, sample, rng)
    sums = [math.fsum(weights[columns == c]) / int((columns == c).sum()) for c in (0, 1)]
    reach = (float(K.min()), float(K.max()))
    deepest = max(reach[1] * one for one in sums) - min(reach[0] * one for one in sums)
    losses, ends = hinge(sample.gaps(weights), gamma), np.zeros(2)
    for _ in range(trials):
        ends += np.array(bounded_mean(losses, off * (1 + deepest / gamma), rng)) / trials
    worst = max(abs(found.low[0] - ends[0]), abs(found.high[0] - ends[1])) / (ends[1] - ends[0])
    value = abs(found.y[0] - losses.mean()) + abs(found.level - 0.95)
    return Finding(
        "Intervals of assess: hinge loss, by hand",
        "the interval for a mean of losses up to 1 + deepest gap/gamma, up to 0.03 of its width",
        f"off by {worst:.3f} of the width",
        trials,
        bool(worst < 0.03 and value < 1e-9),
    )


def _fits(weights: np.ndarray, gamma: float) -> Fits:
    from similitude.goodness.weighted import NUS

    plain = np.ones(len(weights))
    return [*[plain] * len(NUS), weights, plain], np.array([gamma]), plain


HAND: dict[str, tuple[Callable[[], Pairs], str]] = {
    "proportions": (proportions, "shares (Clopper and Pearson)"),
    "bands": (bands, "errors at margins and their band (Massart)"),
    "order_statistics": (order_statistics, "order statistics"),
    "student": (student_intervals, "Student's intervals by the jackknife"),
    "noise": (noise, "noise of class means"),
    "class_means": (class_means, "Definition 5"),
    "alignments": (alignments, "alignments"),
    "permutations": (permuted, "p-values"),
}
EXPERIMENTS = (
    *(
        Experiment(f"by_hand_{name}", same_by_hand, 1, 1, {"pairs": pairs, "what": what}, {"off": 1.1})
        for name, (pairs, what) in HAND.items()
    ),
    Experiment("by_hand_bootstrap", resampled, 20, 2, {}, {"off": 1.2}),
    Experiment("by_hand_bounded_mean", simplex, 20, 4, {}, {"off": 0.9}),
    Experiment("by_hand_hinge", hinge_intervals, 50, 10, {}, {"off": 1.5}),
)
