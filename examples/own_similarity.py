"""
Your own similarity
===================

A similarity of people based on their ages. A class of a few lines gets all methods that the kernels of the library
have.
"""

import numpy as np

from similitude import Similarity, check_kernel
from similitude.checks import check_similarity


class AgeLike(Similarity):
    """K(x, z) = exp(-((age of x - age of z) / years)^2)."""

    claims = frozenset({"SYMMETRIC", "PSD", "UNIT_DIAGONAL", "BOUNDED"})
    reason = "a Gaussian of one number, the age"

    def __init__(self, years=5.0):
        self.years = years

    def encode(self, people):
        """Return the ages."""
        return np.array([person["age"] for person in people], dtype=float)

    def block(self, A, B):
        """Return the similarities of the ages in A to those in B."""
        return np.exp(-(((A[:, None] - B) / self.years) ** 2))


if __name__ == "__main__":
    people = [{"age": 30}, {"age": 33}, {"age": 60}]
    check_similarity(AgeLike(), people)
    print(AgeLike(years=10.0).gram(people).round(3))
    print(check_kernel(AgeLike() + 1.0))
