"""Witnesses: the smallest set of objects that shows that a similarity is not a kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.support import Result, brief, table

MOST_TO_COMPARE = 6
"""Objects of a witness whose similarities to each other a notebook shows."""

_NUMBERS = ("no", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


@dataclass(frozen=True)
class Witness(Result):
    """A few objects whose similarities no kernel can have.

    Attributes
    ----------
    indices : tuple of int
        Their positions in X; empty if they are not part of X.
    objects : tuple
        The objects themselves.
    coefficients : tuple of float
        Weights c, the largest of magnitude 1: the eigenvector of the smallest eigenvalue, up to scale. Empty for an
        asymmetric pair.
    value : float
        The sum of c_i c_j K(x_i, x_j), which is negative; for an asymmetric pair K(x, z) - K(z, x).
    gram : array
        The matrix K(x_i, x_j) of these objects.
    """

    indices: tuple[int, ...]
    objects: tuple[Any, ...]
    coefficients: tuple[float, ...]
    value: float
    gram: np.ndarray

    def in_short(self) -> str:
        """Return the counterexample in a few words."""
        if not self.coefficients:
            return f"K(x, z) = {self.gram[0, 1]:.3g}, K(z, x) = {self.gram[1, 0]:.3g}"
        if len(self.objects) == 1:
            return f"K(x, x) = {self.value:.3g} < 0"
        return f"a squared length of {self.value:.3g} from {len(self.objects)} objects"

    def __str__(self) -> str:
        return "\n".join([self.claim(), *self.lines()])

    def html_parts(self) -> Sequence[object]:
        """Return what the objects show, and the objects with their weights and similarities."""
        places = [f"X[{i}]" for i in self.indices] or [f"x{i}" for i in range(1, len(self.objects) + 1)]
        weights = [f"{one:.4g}" for one in self.coefficients] if len(self.coefficients) > 1 else [""] * len(places)
        near = [[f"{value:.4g}" for value in row] for row in self.gram.tolist()]
        few = len(places) <= MOST_TO_COMPARE
        rows = [
            (place, brief(one), weight, *(similar if few else ()))
            for place, one, weight, similar in zip(places, self.objects, weights, near, strict=True)
        ]
        heads = ("", "object", "weight c", *[f"K to {place}" for place in places if few])
        return self.claim(), table(heads, rows, numbers=range(2, len(heads)), noun="objects")

    def claim(self) -> str:
        """Return a sentence that says what the objects show, and what their weights mean."""
        if not self.coefficients:
            there, back = self.gram[0, 1], self.gram[1, 0]
            return f"It is not symmetric: K(x, z) = {there:.6g} but K(z, x) = {back:.6g} for these two objects x and z."
        impossible = "but K(x, x) is the squared length of the feature vector of x, and no length is negative"
        if len(self.objects) == 1:
            return f"One object shows it: K(x, x) = {self.value:.6g}, {impossible}."
        number = _NUMBERS[len(self.objects)] if len(self.objects) < len(_NUMBERS) else str(len(self.objects))
        claim = (
            f"{number} objects show it: with the weights c below, the sum of c_i c_j K(x_i, x_j) is {self.value:.6g}. "
            f"If K were a kernel, this would be the squared length of the sum of their feature vectors with these "
            f"weights, and no squared length is negative."
        )
        whole = np.rint(self.coefficients)
        total = float(whole @ self.gram @ whole)
        if total < 0 and not np.allclose(whole, self.coefficients):
            claim += f" (Whole weights {_listed(whole)} do as well: {total:.6g}.)"
        return claim

    def lines(self, shorten: Callable[[Any], str] = brief) -> list[str]:
        """Return a line per object, with its weight if there are several."""
        places = [f"X[{i}]" for i in self.indices] or [f"x{i}" for i in range(1, len(self.objects) + 1)]
        weights = [f"c = {weight:7.4f}  " for weight in self.coefficients] if len(self.coefficients) > 1 else []
        weights = weights or [""] * len(places)
        listed = zip(weights, places, map(shorten, self.objects), strict=True)
        return [f"  {weight}{place} = {text}" for weight, place, text in listed]


def _listed(weights: Any) -> str:
    return ", ".join(f"{weight:.4g}" for weight in weights)
