"""A problem on which similarities mislead all objects at once: the hardest for theorems about means of similarities.

K(x, x') = l l' r(x) s(x') with values ±1. Each x' has a sign s: it tells the truth, or the contrary. All x hear the
same signs, so that an unlucky sample is wrong about all of them. A share epsilon of the x, r = -1, hear the contrary.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from similitude.datasets import FewObjects

BB = "Balcan and Blum (2006)"


@dataclass(frozen=True)
class Signs:
    """Objects of equal classes, and what they say under each of several similarities.

    Attributes
    ----------
    problem : FewObjects
        Its similarity is the first.
    says : array of shape (similarities, objects)
        The sign of each object as an example.
    trusted : array of float
        1 for objects to compare with, 0 for those that never tell the truth.
    heard : array of int
        1 for objects that hear what examples say, -1 for those that hear the contrary.
    """

    problem: FewObjects
    says: np.ndarray
    trusted: np.ndarray
    heard: np.ndarray

    def similarity(self, number: int) -> FewObjects:
        """Return the problem with one of the similarities."""
        labels = self.problem.labels
        values = np.outer(labels * self.heard, labels * self.says[number]).astype(float)
        return FewObjects(self.problem.masses, labels, values)

    def draw(self, each: int, rng: np.random.Generator) -> np.ndarray:
        """Return as many objects of each class."""
        return np.concatenate([self.problem.draw(each, rng, label=label) for label in (1, -1)])


def signs(truth: tuple[float, ...], epsilon: float = 0.0, useless: float = 0.0) -> Signs:
    """Return the problem in which signs of trusted objects are 1 with probability (1 + t)/2, one t per similarity.

    The gap of a similarity, with trusted objects alone, is 2 (1 - useless) t on all but a share epsilon of the objects.

    >>> problem = signs((0.25,), epsilon=0.1, useless=0.2)
    >>> problem.problem.gaps(problem.trusted)[problem.heard == 1]
    array([0.4, 0.4, 0.4, 0.4, 0.4, 0.4])
    """
    rows = []
    for label, heard, *said in product((1, -1), (1, -1), *((1, -1) for _ in truth)):
        chance = np.prod([(1 + sign * t) / 2 for sign, t in zip(said, truth, strict=True)])
        mass = (1 - epsilon if heard == 1 else epsilon) / 2
        rows.append((mass * (1 - useless) * chance, label, heard, 1, *said))
        if all(sign == 1 for sign in said):
            rows.append((mass * useless, label, heard, 0, *(-sign for sign in said)))
    masses, labels, heard, trusted, *says = np.array(rows).T
    whole = Signs(FewObjects(masses, labels.astype(int), np.eye(len(masses))), np.array(says), trusted, heard)
    return Signs(whole.similarity(0), whole.says, trusted, heard)
