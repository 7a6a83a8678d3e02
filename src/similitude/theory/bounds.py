"""The sample sizes and bounds of the theory, each a function of numbers alone.

A theorem assumes a margin or a gap of at least gamma. Nothing here uses data, and a gamma that is estimated from data
turns the theorem into an estimate. Sizes are rounded up, and bounds on counts are rounded down. Logarithms are natural
unless written log2. Everywhere delta is in (0, 1), and gamma is in (0, 1] except for the plain perceptron; a larger gap
of similarities may be given as 1, since a similarity that is good at gamma is good at smaller values.

If a printed constant does not follow from its proof, the default is one that does, and ``as_printed=True`` gives the
paper's.
"""

from __future__ import annotations

import math

from similitude.support import brief, check_integer, check_number, check_positive

BALCAN_BLUM = "Balcan and Blum, On a Theory of Learning with Similarity Functions, 2006"
BALCAN_BLUM_VEMPALA = "Balcan, Blum and Vempala, On Kernels, Margins, and Low-dimensional Mappings, 2004"

DELTA = 0.05
"""Probability of failure for which guarantees are stated."""


__all__ = [
    "combined_margin",
    "compact_dimension",
    "consistent_sample",
    "hinge_error",
    "johnson_lindenstrauss",
    "kernel_as_similarity",
    "landmarks",
    "margin_perceptron_sample",
    "margin_perceptron_updates",
    "perceptron_mistakes",
    "practical_landmarks",
    "reasonable_landmarks",
    "separable_sample",
    "similarity_landmarks",
    "votes",
    "weak_votes",
]


FORMULA_ROUNDING = 1e-14
"""Relative rounding error of a formula: 0.3 / 0.1 is a little below 3, but means 3."""


def landmarks(epsilon: float, gamma: float, delta: float, alpha: float = 0) -> int:
    r"""Return how many random objects span a space that preserves a margin.

    The span of :math:`n = \lceil\frac{8}{\epsilon}(\frac{1}{\gamma^2} + \ln\frac{1}{\delta})\rceil` unlabeled draws
    contains a separator of error at most epsilon at margin gamma/2, with probability at least 1 - delta. (Balcan,
    Blum and Vempala, On Kernels, Margins, and Low-dimensional Mappings, 2004, Lemma 1 and Theorem 1.)

    If alpha > 0 (a remark in section 2 there, derived here), the error is at most alpha + epsilon. Enough draws must be
    good ones: with :math:`n_0` the size at delta/2 and :math:`L = \ln(2/\delta)`, Chernoff's bound requires
    :math:`n = \lceil(\sqrt{2L} + \sqrt{2L + 4 n_0})^2 / (4(1 - \alpha))\rceil`.

    Parameters
    ----------
    epsilon, gamma, delta : float
        Error in (0, 1), margin as a cosine, probability of failure.
    alpha : float in [0, 1)
        Assumed: some separator has margin gamma under the kernel on all but this share of the objects.

    Examples
    --------
    >>> landmarks(epsilon=0.1, gamma=0.2, delta=0.05), landmarks(epsilon=0.1, gamma=0.2, delta=0.05, alpha=0.1)
    (2240, 2700)
    """
    epsilon = check_number("epsilon", epsilon, "(0, 1)")
    alpha = check_number("alpha", alpha, "[0, 1)")
    log = _log("delta", delta)
    if not alpha:
        return _up(8 / epsilon * (_inverse_square(gamma) + log))
    log += math.log(2)
    return _draws(_up(8 / epsilon * (_inverse_square(gamma) + log)), 1 - alpha, log)


def practical_landmarks(epsilon: float, gamma: float) -> int:
    r"""Return :math:`\lceil 0.5 / (\epsilon\gamma^2)\rceil`, a heuristic in place of :func:`landmarks`; no theorem.

    A hard problem needs about 0.4 to 0.48 / (epsilon gamma^2) to fail less than once in 20 times: orthogonal objects,
    one of them frequent, and :math:`1/\gamma^2 - 1` rare ones that share the probability 2 epsilon.

    Parameters
    ----------
    epsilon, gamma : float
        Error in (0, 1), margin as a cosine.

    Examples
    --------
    >>> practical_landmarks(epsilon=0.1, gamma=0.2)
    125
    """
    return _up(0.5 / check_number("epsilon", epsilon, "(0, 1)") * _inverse_square(gamma))


def compact_dimension(epsilon: float, gamma: float, delta: float, practical: bool = False) -> int:
    r"""Return the dimension of a random projection, after one onto landmarks, that preserves a margin.

    :math:`d = \lceil 4\ln\frac{24}{\epsilon\delta} / (e^2 - e^3)\rceil` with :math:`e = \gamma/(16 + \gamma)`. After
    ``landmarks(epsilon / 2, gamma, delta / 2)``, some separator has error at most epsilon at margin gamma/4, with
    probability at least 1 - delta. (Balcan, Blum and Vempala, On Kernels, Margins, and Low-dimensional Mappings, 2004,
    Theorem 3, which says "at most" gamma/4 by mistake and gives d as O(.). The constant is derived here: if three
    squared lengths are preserved up to 1 ± e, a cosine is preserved up to gamma/4.)

    Parameters
    ----------
    epsilon, gamma, delta : float
        Error in (0, 1), margin, probability of failure. Assumed: some separator has margin gamma, as a cosine, under
        the kernel.
    practical : bool
        Return :math:`\lceil\frac{8}{\gamma^2}\ln\frac{1}{\epsilon\delta}\rceil`, a heuristic; no theorem.

    Examples
    --------
    >>> compact_dimension(0.1, 0.2, 0.05), compact_dimension(0.1, 0.2, 0.05, practical=True)
    (225235, 1060)
    """
    log = _log("epsilon", epsilon) + _log("delta", delta)
    gamma = check_number("gamma", gamma, "(0, 1]")
    if practical:
        return _up(8 * log * _inverse_square(gamma))
    return _projection(gamma / (16 + gamma), math.log(24) + log)


def johnson_lindenstrauss(distortion: float, failure: float) -> int:
    r"""Return the dimension in which a random projection preserves one squared distance up to 1 ± distortion.

    :math:`k = \lceil 4\ln(2/f) / (e^2 - e^3)\rceil` for distortion e and failure f. Assumed: :math:`u' = Au/\sqrt{k}`
    with independent entries of A, standard normal or signs ±1 with equal probability. (Arriaga and Vempala, An
    Algorithmic Theory of Learning: Robust Concepts and Random Projection; Theorem 2 in Balcan, Blum and Vempala, On
    Kernels, Margins, and Low-dimensional Mappings, 2004, where U(-1, 1) means the signs.)

    Parameters
    ----------
    distortion, failure : float in (0, 1)
        Relative error, and probability of a larger one. For n distances at once give ``failure / n``.

    Examples
    --------
    >>> johnson_lindenstrauss(distortion=0.1, failure=0.01)
    2355
    """
    return _projection(check_number("distortion", distortion, "(0, 1)"), math.log(2) + _log("failure", failure))


def separable_sample(error: float, delta: float) -> int:
    r"""Return how many new examples a separator of small error classifies correctly: :math:`\lfloor\delta/e\rfloor`.

    By the union bound, one of s examples is misclassified with probability at most s e. (After Corollary 1 of Balcan,
    Blum and Vempala, On Kernels, Margins, and Low-dimensional Mappings, 2004; see :func:`consistent_sample`.)

    Parameters
    ----------
    error, delta : float in (0, 1)
        Assumed: a separator, fixed before the draw, has this error. Probability that an example is misclassified.

    Examples
    --------
    >>> separable_sample(error=0.001, delta=0.05)
    50
    """
    return _down(check_number("delta", delta, "(0, 1)") / check_number("error", error, "(0, 1)"))


def consistent_sample(dimension: int, epsilon: float, delta: float) -> int:
    r"""Return how many labeled examples suffice for any learner without training errors.

    :math:`\lceil\max(\frac{4}{\epsilon}\log_2\frac{2}{\delta}, \frac{8d}{\epsilon}\log_2\frac{13}{\epsilon})\rceil`:
    with probability at least 1 - delta, every separator through the origin of :math:`R^d` that is right on all of them
    has error at most epsilon. (Blumer, Ehrenfeucht, Haussler and Warmuth, Learnability and the Vapnik-Chervonenkis
    Dimension, 1989, Theorem 2.1.) With a map of error e, there is such a separator if ``separable_sample(e, delta)``
    is at least this, as in Corollary 1 of Balcan, Blum and Vempala, On Kernels, Margins, and Low-dimensional Mappings,
    2004.

    Parameters
    ----------
    dimension : int
        Number of features; one more for an intercept.
    epsilon, delta : float in (0, 1)
        Error, and probability of a larger one. Assumed: the learner finds a separator without error on the examples.

    Examples
    --------
    >>> consistent_sample(dimension=10, epsilon=0.1, delta=0.05)
    5618
    """
    dimension = check_integer("dimension", dimension)
    epsilon = check_number("epsilon", epsilon, "(0, 1)")
    confidence = 4 / epsilon * (1 + _log("delta", delta) / math.log(2))
    return _up(max(confidence, 8 * dimension / epsilon * math.log2(13 / epsilon)))


def votes(gamma: float, delta: float, as_printed: bool = False) -> int:
    r"""Return the number of votes of each class: :math:`\lceil\frac{8}{\gamma^2}\ln\frac{1}{\delta}\rceil`.

    With probability at least 1 - delta, the class with the larger mean similarity is then wrong for at most a share
    epsilon + delta. (Balcan and Blum, On a Theory of Learning with Similarity Functions, 2006, Theorem 1, which prints
    :math:`\frac{4}{\gamma^2}\ln\frac{2}{\delta}`: its proof uses 1 for the range of K, which is 2. Here Hoeffding's
    inequality is applied once, to the difference of the means: it decreases by gamma with probability at most
    :math:`e^{-m\gamma^2/4} \le \delta^2`. Markov's inequality completes the proof.)

    Parameters
    ----------
    gamma, delta : float
        Gap, probability of failure. Assumed: K has values in [-1, 1], and all but a share epsilon of the objects are on
        average more similar to their own class than to the other, by gamma (Definition 2 there).
    as_printed : bool
        Return the paper's figure.

    Examples
    --------
    >>> votes(gamma=0.1, delta=0.05), votes(gamma=0.1, delta=0.05, as_printed=True)
    (2397, 1476)
    """
    log = _log("delta", delta)
    return _up((4 * (math.log(2) + log) if as_printed else 8 * log) * _inverse_square(gamma))


def similarity_landmarks(gamma: float, delta: float, as_printed: bool = False) -> int:
    r"""Return how many landmarks of each class suffice: :math:`\lceil\frac{32}{\gamma^2}\ln\frac{1}{\delta}\rceil`.

    With probability at least 1 - delta, the similarities to all of them, as features, have a separator of error at most
    epsilon + delta at margin gamma/4. (Balcan and Blum, On a Theory of Learning with Similarity Functions, 2006,
    Theorem 2, which prints :math:`(\frac{4}{\gamma})^2\ln\frac{2}{\delta}`, with the mistake described at
    :func:`votes`.) Several similarities need no more landmarks: see :func:`combined_margin`.

    Parameters
    ----------
    gamma, delta : float
        Gap, probability of failure. Assumed: K has values in [-1, 1], and some weights in [0, 1] on the objects that
        are compared with make the weighted K good with gap gamma, as in :func:`votes` (Definition 3 there).
    as_printed : bool
        Return the paper's figure.

    Examples
    --------
    >>> similarity_landmarks(gamma=0.1, delta=0.05), similarity_landmarks(gamma=0.1, delta=0.05, as_printed=True)
    (9587, 5903)
    """
    log = _log("delta", delta)
    return _up((16 * (math.log(2) + log) if as_printed else 32 * log) * _inverse_square(gamma))


def reasonable_landmarks(tau: float, gamma: float, epsilon: float, delta: float, as_printed: bool = False) -> int:
    r"""Return how many unlabeled landmarks suffice if only a share of the objects is reasonable to compare with.

    With :math:`n = \lceil(1 + \sqrt{2L})^2 / (\gamma\epsilon)^2\rceil` and :math:`L = \ln(2/\delta)`, it is
    :math:`\lceil(\sqrt{2L} + \sqrt{2L + 4n})^2 / (4\tau)\rceil`. With probability at least 1 - delta, some linear
    function of the similarities to them, with weights whose absolute values sum to 1/gamma, has a hinge loss that
    exceeds that of the assumption by at most epsilon. (Balcan, Blum and Srebro, Improved Guarantees for Learning via
    Similarity Functions, 2008, who have :math:`\frac{2}{\tau}(1 + \frac{16}{(\gamma\epsilon)^2})\ln\frac{2}{\delta}`.
    Derived here: the error of the mean over n reasonable landmarks is :math:`1/\sqrt{n}` on average, by McDiarmid's
    inequality rarely more than :math:`(1 + \sqrt{2L})/\sqrt{n}`, and Chernoff's bound gives enough reasonable ones.)

    Parameters
    ----------
    tau : float in (0, 1]
        Assumed: with the share tau of reasonable objects R and :math:`g(x) = E[l(x')K(x, x') | R(x')]`, the mean of
        :math:`\max(0, 1 - l(x)g(x)/\gamma)` is small; K has values in [-1, 1].
    gamma, epsilon, delta : float
        Margin in (0, 1], further loss in (0, 1), probability of failure.
    as_printed : bool
        Return the paper's figure.

    Examples
    --------
    >>> reasonable_landmarks(tau=0.5, gamma=0.4, epsilon=0.25, delta=0.05)
    2974
    """
    tau = check_number("tau", tau, "(0, 1]")
    log = math.log(2) + _log("delta", delta)
    squared = _inverse_square(gamma) / check_number("epsilon", epsilon, "(0, 1)") ** 2
    if as_printed:
        return _up(2 / tau * (1 + 16 * squared) * log)
    return _draws(_up((1 + math.sqrt(2 * log)) ** 2 * squared), tau, log)


def combined_margin(gamma: float, n_similarities: int, norm: float = 1.0) -> float:
    r"""Return the margin of the concatenated features of n similarities, :math:`\gamma / (4|a|\sqrt{n})`.

    Landmarks and error are those of :func:`similarity_landmarks`. (Balcan and Blum, On a Theory of Learning with
    Similarity Functions, 2006, Theorem 3 and the remark after it.)

    Parameters
    ----------
    gamma : float
        Assumed: some convex combination of the similarities, not necessarily known, is good with this gap.
    n_similarities : int
    norm : float
        Euclidean norm of its weights a: 1 for a single similarity, the worst case; :math:`1/\sqrt{n}` for equal
        weights.

    Examples
    --------
    >>> combined_margin(0.4, n_similarities=4), combined_margin(0.4, n_similarities=4, norm=0.5)
    (0.05, 0.1)
    """
    gamma = check_number("gamma", gamma, "(0, 1]")
    norm = check_positive("norm", norm)
    root = math.sqrt(check_integer("n_similarities", n_similarities))
    if not 1 / root - 1e-9 <= norm <= 1 + 1e-9:
        raise ValueError(f"norm must be a number in [1/sqrt(n_similarities), 1] = [{1 / root:.6g}, 1], got {norm:g}")
    return gamma / (4 * norm * root)


def weak_votes(gamma: float, delta: float) -> int:
    r"""Return the number of weak votes of each class: :math:`\lceil\frac{16}{\gamma^2}\ln\frac{1}{\delta}\rceil`.

    The prediction is positive with probability (1 + g)/2, where g is half the difference of the mean similarities. With
    probability at least 1 - delta, the class-balanced error is then at most 1/2 - gamma/8. (Balcan and Blum, On a
    Theory of Learning with Similarity Functions, 2006, Theorem 8, without proof. As stated it is false: if one class is
    rare, the rule can err on more than half. Constants and balance are derived here, by Hoeffding's inequality.)

    Parameters
    ----------
    gamma, delta : float
        Gap, probability of failure. Assumed: K has values in [-1, 1], and (E++ + E--)/2 - (E+- + E-+)/2 >= gamma for
        its means E over pairs of given classes (Definition 5 there, balanced).

    Examples
    --------
    >>> weak_votes(gamma=0.5, delta=0.1)
    148
    """
    return _up(16 * _log("delta", delta) * _inverse_square(gamma))


def hinge_error(epsilon: float, gamma: float, delta: float, definition: int = 3) -> float:
    r"""Return an error bound for the smallest hinge loss, :math:`(\epsilon + \delta)(1 + 4/\gamma)`.

    SVMs and perceptrons minimize the hinge loss rather than the error. Let the features be the similarities to d
    landmarks of each class, divided by :math:`\sqrt{2d}`, d = ``similarity_landmarks(gamma, delta)``. With probability
    at least 1 - delta, some w of length at most 4/gamma has no loss except on a share epsilon + delta, and there at
    most 1 + 4/gamma. The w of at most that length with the smallest expected loss has no larger loss, and the error is
    at most the loss. (Balcan and Blum, On a Theory of Learning with Similarity Functions, 2006, section 3.1, as O(.);
    the constant is derived here.) For Definition 4 there, the same w has at most twice the ideal loss except on a share
    delta: the bound is :math:`2\epsilon + \delta(1 + 4/\gamma)`. A bound of 1 or more is trivial.

    Parameters
    ----------
    epsilon, gamma, delta : float
        Error in [0, 1), gap, probability of failure.
    definition : {3, 4}
        Assumed: K is good with gap gamma except on a share epsilon, as in :func:`similarity_landmarks` (3), or its mean
        shortfall from that gap is at most epsilon gamma (4).

    Examples
    --------
    >>> hinge_error(0.01, 0.5, 0.01), hinge_error(0.01, 0.5, 0.01, definition=4)
    (0.18, 0.11)
    """
    epsilon = check_number("epsilon", epsilon, "[0, 1)")
    delta = check_number("delta", delta, "(0, 1)")
    if isinstance(definition, bool) or definition not in (3, 4):
        raise ValueError(f"definition must be 3 or 4, got {brief(definition)}")
    worst = 1 + 4 / check_number("gamma", gamma, "(0, 1]")
    return (epsilon + delta) * worst if definition == 3 else 2 * epsilon + delta * worst


def perceptron_mistakes(radius: float, gamma: float) -> int:
    r"""Return the mistake bound of the perceptron, :math:`\lfloor(R/\gamma)^2\rfloor`, which is attained.

    (Balcan, lecture notes 10-315, Theorem 1; Novikoff, On Convergence Proofs on Perceptrons, 1962.)

    Parameters
    ----------
    radius, gamma : float
        Assumed: no example is longer than radius, and some separator through the origin has margin gamma on all of
        them, so gamma is in (0, radius]. For a computed margin, pass a lower bound.

    Examples
    --------
    >>> perceptron_mistakes(radius=1.0, gamma=0.25)
    16
    """
    ratio = check_positive("radius", radius) / check_positive("gamma", gamma)
    if ratio < 1 - 1e-9:
        raise ValueError(f"gamma must be a number in (0, radius] = (0, {radius}], got {brief(gamma)}")
    return _down(max(1.0, ratio * ratio))


def margin_perceptron_updates(gamma: float) -> int:
    r"""Return the bound on the updates of the margin perceptron, :math:`\lfloor 3/\gamma^2\rfloor`.

    It adds y x to w where y <w, x> < 1, including the first example. No w is longer than 3/gamma, so after convergence
    it has margin gamma/3. (Balcan and Blum, On a Theory of Learning with Similarity Functions, 2006, Lemma 5.)

    Parameters
    ----------
    gamma : float
        Assumed: all examples have length 1, and some separator through the origin has this margin on them.

    Examples
    --------
    >>> margin_perceptron_updates(gamma=0.1)
    300
    """
    return _down(3 * _inverse_square(gamma))


def margin_perceptron_sample(gamma: float, accuracy: float, delta: float, as_printed: bool = False) -> int:
    r"""Return how many examples contain a subset whose sum, signed by the labels, separates nearly all objects.

    :math:`M = \lceil(\sqrt{2L} + \sqrt{2L + 4N})^2 / (4a)\rceil` for accuracy a, :math:`L = \ln(1/\delta)` and
    :math:`N = \lfloor 3/\gamma^2\rfloor`. With probability at least 1 - delta, some sum w has length at most 3/gamma,
    and y <w, x> < 1 for at most a share epsilon + a. (Balcan and Blum, On a Theory of Learning with Similarity
    Functions, 2006, Lemma 6, which prints :math:`\frac{1}{a}(\frac{3}{\gamma^2} + \ln\frac{1}{\delta})`. The proof
    waits for N updates, each with probability a; in that many draws there can be fewer with probability near 1/2. Here
    Chernoff's bound makes it delta.)

    Parameters
    ----------
    gamma, accuracy, delta : float
        Margin, further error in (0, 1), probability of failure. Assumed: all examples have length 1, and some separator
        through the origin has error epsilon at margin gamma.
    as_printed : bool
        Return the paper's figure.

    Examples
    --------
    >>> margin_perceptron_sample(0.1, 0.1, 0.05), margin_perceptron_sample(0.1, 0.1, 0.05, as_printed=True)
    (3455, 3030)
    """
    accuracy = check_number("accuracy", accuracy, "(0, 1)")
    log = _log("delta", delta)
    if as_printed:
        return _up((3 * _inverse_square(gamma) + log) / accuracy)
    return _draws(margin_perceptron_updates(gamma), accuracy, log)


def kernel_as_similarity(epsilon: float, gamma: float, accuracy: float) -> tuple[float, float]:
    r"""Return the error and the gap with which a good kernel is a good similarity.

    :math:`8(\epsilon + 2a)/\gamma` and :math:`1/(2M)` for accuracy a, where M is
    :math:`\lceil\frac{1}{a}(\frac{3}{\gamma^2} + \ln\frac{1}{a})\rceil`. (Balcan and Blum, On a Theory of Learning with
    Similarity Functions, 2006, Theorems 4 and 7. The printed M, too small for :func:`margin_perceptron_sample`, is
    enough here: only means matter, and the w held at a random one of M examples fails for a share of at most epsilon +
    3/(gamma^2 M) on average.) An error of 1 or more is trivial. The gap is too small to choose landmarks by: the
    theorem states that weights exist.

    Parameters
    ----------
    epsilon, gamma : float
        Assumed: K(x, x) = 1, and some separator has error epsilon, in [0, 1), at margin gamma under the kernel.
    accuracy : float in (0, 1)
        Free to choose: both results increase with it.

    Examples
    --------
    >>> error, gap = kernel_as_similarity(epsilon=0, gamma=0.1, accuracy=0.000625)
    >>> print(f"{error:.3g}, {gap:.3g}")
    0.1, 1.02e-06
    """
    epsilon = check_number("epsilon", epsilon, "[0, 1)")
    accuracy = check_number("accuracy", accuracy, "(0, 1)")
    size = margin_perceptron_sample(gamma, accuracy, accuracy, as_printed=True)
    return 8 * (epsilon + 2 * accuracy) / float(gamma), 1 / (2 * size)


def _log(name: str, value: float) -> float:
    return -math.log(check_number(name, value, "(0, 1)"))


def _inverse_square(gamma: float) -> float:
    gamma = check_number("gamma", gamma, "(0, 1]")
    return 1 / gamma / gamma  # gamma * gamma could be 0


def _draws(successes: int, probability: float, log: float) -> int:
    """Return how many draws contain at least this number of successes, except with probability exp(-log)."""
    root = (math.sqrt(2 * log) + math.sqrt(2 * log + 4 * successes)) / 2
    return _up(root * root / probability)


def _projection(distortion: float, log: float) -> int:
    """Return the dimension in which a squared length is preserved, except with probability 2 exp(-log)."""
    return _up(4 * log / distortion / distortion / (1 - distortion))


def _up(size: float) -> int:
    return math.ceil(size * (1 - FORMULA_ROUNDING))


def _down(count: float) -> int:
    return math.floor(count * (1 + FORMULA_ROUNDING))
