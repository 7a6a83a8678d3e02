"""Similarity of strings by the subsequences that they share, with gaps."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import Encoding, Hints, loops
from similitude.kernels.strings.letters import as_letters, numbered
from similitude.similarity import KERNEL, Similarity
from similitude.support import brief, check_integer, check_positive


class Subsequence(Similarity):
    r"""The subsequence kernel: subsequences of p letters that two strings share, each weighted by what it spans.

    .. math:: K(s, t) = \sum_{u \in \Sigma^p} \phi_u(s)\,\phi_u(t), \qquad
        \phi_u(s) = \sum_{i_1 < \dots < i_p,\; s_{i_1} \dots s_{i_p} = u} \lambda^{i_p - i_1 + 1},

    where :math:`\lambda` is the decay: letters of u need not be neighbors in s, and each letter between its first and
    its last costs a factor (Lodhi, Saunders, Shawe-Taylor, Cristianini and Watkins 2002). It grows with the lengths of
    strings: ``Subsequence().normalized()`` is what is usually meant. Letters are unicode code points or bytes; case
    matters. A string shorter than p has no such subsequences, and K = 0 with every string.

    Parameters
    ----------
    p : int
        The number of letters of subsequences, from 1 to 1,000.
    decay : float
        Above 0 and at most 1. With 1, all subsequences count equally; near 0, only those without gaps.

    Notes
    -----
    One pair of strings takes p times the product of their lengths steps, for several strings at once. Matched letters
    are not weighted on the way but in the end, by :math:`\lambda^{2p}`, so that sums do not become small with the
    length of strings; what is smaller than 1e-308 is 0. :math:`\lambda^{2p}` must be at least 1e-250. The values are
    symmetric bit for bit.

    Examples
    --------
    >>> from similitude.kernels import Subsequence
    >>> Subsequence(2, decay=0.5)("cat", "cart")  # ca spans 2 and 2 letters, at 2 and 3, ct 3 and 4
    0.1015625
    >>> Subsequence(2).normalized()("science is organized knowledge", "wisdom is organized life")
    0.5798137
    """

    objects = "strings"
    claims = KERNEL
    reason = (
        "K(s, t) = <phi(s), phi(t)>, where phi has one number per word of p letters: the sum of the weights with which "
        "it is a subsequence (Lodhi et al. 2002)"
    )
    hints = Hints(heavy=True)

    def __init__(self, p: int = 3, decay: float = 0.5) -> None:
        self.p = p
        self.decay = decay

    def check_params(self) -> None:
        """Validate the length and the decay."""
        p = check_integer("p", self.p, 1)
        if p > loops.LONGEST_SUBSEQUENCE:
            raise ValueError(f"p must be at most {loops.LONGEST_SUBSEQUENCE:,}, got {p:,}")
        if check_positive("decay", self.decay) > 1:
            raise ValueError(f"decay must be at most 1, got {brief(self.decay)}")
        # the weight of a pair of subsequences without gaps, with room below it for gaps
        if float(self.decay) ** (2 * p) < 1e-250:
            raise ValueError(
                f"decay = {self.decay!r} and p = {p}: decay^(2 p) is below 1e-250, where numbers end; take "
                f"a smaller p or a decay nearer to 1"
            )

    def encode(self, objects: Any) -> Encoding:
        """Return the letters of each string."""
        return as_letters(objects)

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the sums over common subsequences."""
        if out is None:
            out = np.empty((len(A), len(B)))
        a, b = numbered(A.text, B.text)
        loops.subsequences(out, a, A.starts, b, B.starts, int(self.p), float(self.decay), A is B)
        return out

    def diagonal(self, A: Encoding) -> Any:
        """Return the sums over the subsequences of each string."""
        text, _ = numbered(A.text, A.text)
        return loops.self_subsequences(text, A.starts, int(self.p), float(self.decay))
