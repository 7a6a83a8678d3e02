"""Every formula written once more, as a plain loop over Python floats: slow, and obviously right."""

import math
from functools import cache

import numpy as np


def matrix(f, X, Z=None):
    """The values f(x, z) for every x in X (rows) and every z in Z (columns)."""
    Z = X if Z is None else Z
    return np.array([[f(x, z) for z in Z] for x in X], dtype=float)


def vectors(X):
    """Any table of numbers as lists of Python floats; a single number is a vector of dimension 1."""
    return [[float(v) for v in np.atleast_1d(x)] for x in np.asarray(X)]


def inner(x, z):
    return math.fsum(float(a) * float(b) for a, b in zip(x, z, strict=True))


def norm(x):
    return math.sqrt(inner(x, x))


def euclidean(x, z):
    return math.sqrt(math.fsum((float(a) - float(b)) ** 2 for a, b in zip(x, z, strict=True)))


def manhattan(x, z):
    return math.fsum(abs(float(a) - float(b)) for a, b in zip(x, z, strict=True))


def linear():
    return inner


def polynomial(degree, coef0, scale):
    return lambda x, z: (scale * inner(x, z) + coef0) ** degree


def gaussian(sigma):
    return lambda x, z: math.exp(-(euclidean(x, z) ** 2) / (2 * sigma**2))


def laplace(sigma, norm, squared_scale):
    distance = {1: manhattan, 2: euclidean}[norm]
    scale = 2 * sigma**2 if squared_scale else sigma
    return lambda x, z: math.exp(-distance(x, z) / scale)


def matern(nu, length):
    def k(x, z):
        d = euclidean(x, z)
        if nu == 0.5:
            return math.exp(-d / length)
        if nu == 1.5:
            u = math.sqrt(3) * d / length
            return (1 + u) * math.exp(-u)
        if nu == 2.5:
            u = math.sqrt(5) * d / length
            return (1 + u + u**2 / 3) * math.exp(-u)
        if nu == math.inf:
            return math.exp(-(d**2) / (2 * length**2))
        return matern_by_integral(nu, math.sqrt(2 * nu) * d / length)

    return k


@cache
def matern_by_integral(nu, u):
    """2^(1-nu)/Gamma(nu) u^nu K_nu(u), with K_nu(u) the integral of exp(-u cosh t) cosh(nu t) over t > 0."""
    if u == 0:
        return 1.0
    end = math.acosh(1 + (800 + 40 * nu) / u)
    steps = math.ceil(60 * end)
    h = end / steps
    ends = [-u, -u * math.cosh(end) + nu * end - math.log(2)]
    inside = [-u * math.cosh(i * h) + math.log(0.5) + nu * i * h for i in range(1, steps)]
    other = [-u * math.cosh(i * h) + math.log(0.5) - nu * i * h for i in range(1, steps)]
    top = max(*ends, *inside)
    total = math.fsum(math.exp(e - top) for e in inside + other) + math.fsum(math.exp(e - top) / 2 for e in ends)
    return math.exp((1 - nu) * math.log(2) - math.lgamma(nu) + nu * math.log(u) + top + math.log(h * total))


def rational_quadratic(alpha, length):
    return lambda x, z: (1 + euclidean(x, z) ** 2 / (2 * alpha * length**2)) ** -alpha


def cosine():
    def k(x, z):
        return inner(x, z) / (norm(x) * norm(z)) if norm(x) > 0 and norm(z) > 0 else 0.0

    return k


def sigmoid(scale, coef0):
    return lambda x, z: math.tanh(scale * inner(x, z) + coef0)


def histogram_intersection():
    return lambda x, z: math.fsum(min(float(a), float(b)) for a, b in zip(x, z, strict=True))


def median_distance(X, distance=euclidean):
    """The median of the distances between all pairs i < j."""
    X = vectors(X)
    return float(np.median([distance(X[i], X[j]) for j in range(len(X)) for i in range(j)]))


def kernel_distance(f):
    """D_K(x, z) = sqrt(K(x, x) + K(z, z) - 2 K(x, z))."""
    return lambda x, z: math.sqrt(max(0.0, f(x, x) + f(z, z) - 2 * f(x, z)))


def substrings(s, p):
    """Return how often each substring of length p occurs."""
    found = {}
    for i in range(len(s) - p + 1):
        found[s[i : i + p]] = found.get(s[i : i + p], 0) + 1
    return found
