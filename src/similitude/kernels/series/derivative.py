"""Series compared by their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.kernels.series.encoding import as_series
from similitude.similarity import OfImages, Similarity, hints_of_parts
from similitude.support import brief


class Derivative(OfImages):
    r"""A similarity of the derivatives of two series, :math:`K(x, z) = k(x', z')`: of their shapes, not their levels.

    The derivative at a time is the mean of the slope from the time before and of half the slope from the time before to
    the time after, :math:`x'_i = \frac12 \left(x_i - x_{i-1} + \frac12 (x_{i+1} - x_{i-1})\right)`; at both ends it is
    that of the neighbor. ``Derivative(DTW())`` is derivative dynamic time warping. (Keogh and Pazzani, 2001.) A series
    of two times has their difference twice, a series of one time has 0. A constant that is added to a series changes
    nothing; add ``k`` itself if levels should count too: ``Derivative(k) + k``.

    Parameters
    ----------
    k : Similarity
        A similarity of series; its data-dependent parameters are fixed on derivatives.

    Examples
    --------
    >>> from similitude.kernels import DTW, Derivative
    >>> Derivative(DTW(sigma=1.0))([0., 1., 2., 2.], [7., 8., 9., 9.])
    1.0
    """

    objects = "series"
    reason = "a kernel of the derivatives is a kernel of the series: its features are those of the derivatives"
    hints = hints_of_parts()

    def __init__(self, k: Similarity) -> None:
        self.k = k

    def check_params(self) -> None:
        """Validate the part."""
        if not isinstance(self.k, Similarity) or self.k.objects != "series":
            raise TypeError(f"Derivative takes a similarity of series such as DTW(), got {brief(self.k)}")
        self.k.check_params()

    def counterexamples(self) -> list[Any]:
        """Return none: those of the part are derivatives."""
        return []

    def _images(self, X: Any) -> list[np.ndarray]:
        A = as_series(X)
        slopes = np.zeros_like(A.values)
        before = A.values[:-2]
        slopes[1:-1] = ((A.values[1:-1] - before) + (A.values[2:] - before) / 2) / 2
        first = A.starts[:-1]
        last = A.starts[1:] - 1
        long = A.lengths > 2
        slopes[first[long]] = slopes[first[long] + 1]
        slopes[last[long]] = slopes[last[long] - 1]
        slopes[first[~long]] = slopes[last[~long]] = A.values[last[~long]] - A.values[first[~long]]  # 0 of one time
        return np.split(slopes, A.starts[1:-1])
