"""Counts against promised probabilities, by exact binomial tests."""

from __future__ import annotations

from similitude.theory.intervals import clopper_pearson

DOUBT = 0.01
"""Counts less likely than this contradict a promise; seeds are fixed, so that a verdict does not change by chance."""


def contradicts(failures: int, trials: int, rate: float) -> bool:
    """Tell whether so many failures, or more, are too many for a rate of at most this.

    >>> contradicts(0, 400, 0.05), contradicts(20, 400, 0.05), contradicts(40, 400, 0.05)
    (False, False, True)
    """
    from scipy.stats import binomtest

    return bool(binomtest(failures, trials, rate, alternative="greater").pvalue < DOUBT)


def agrees(count: int, trials: int, rate: float) -> bool:
    """Tell whether a count is what a rate of exactly this may give.

    >>> agrees(52, 100, 0.5), agrees(80, 100, 0.5)
    (True, False)
    """
    low, high = clopper_pearson(count, trials, level=1 - DOUBT)
    return bool(low <= rate <= high)


def in_words(failures: int, trials: int) -> str:
    """Write a count of failures with the largest rate it leaves possible.

    >>> in_words(0, 400)
    '0/400 fail (rate below 0.0075, 95 %)'
    """
    return f"{failures}/{trials} fail (rate below {float(clopper_pearson(failures, trials, level=0.9)[1]):.2g}, 95 %)"


def quantile_interval(values: list[int], share: float) -> tuple[float, float]:
    """Return the order statistics between which a quantile lies, but for a doubt; infinite if they are too few.

    >>> quantile_interval(list(range(1, 1001)), 0.5)
    (459.0, 542.0)
    """
    from scipy.stats import binom

    low, high = binom.ppf([DOUBT / 2, 1 - DOUBT / 2], len(values), share).astype(int)
    ordered = [float("-inf"), *sorted(float(value) for value in values), float("inf")]
    return ordered[low], ordered[high + 1]
