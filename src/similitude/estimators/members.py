"""Which member of a family of similarities suits the labels: all are tried on the same rows, each left out alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import Encoding, take
from similitude.compute.engines import Engine
from similitude.similarity import SYMMETRIC, Normalized, Scaled, Similarity, Sum
from similitude.support import UnresolvedError

TRIED_ROWS = 500
"""Most rows that members of a family are tried on."""

FEWEST_TO_CHOOSE_BY = 20
"""Number of rows below which nothing is tried: the first member is taken."""

MEMBER_PENALTIES = 10.0 ** np.arange(-5.0, 2.1, 0.5)
"""Penalties that are tried, as multiples of the mean K(x, x)."""

NARROWER = (0.25,)
"""Further scales of time warping that are tried, as multiples of the median distance."""


@dataclass(frozen=True, eq=False)
class Member:
    """A similarity, and the dot products of the features of the tried rows that it gives."""

    similarity: Similarity
    products: np.ndarray


@dataclass(frozen=True, eq=False)
class MemberChoice:
    """The member that was chosen, and the leave-one-out losses of all, relative to the variance of the targets."""

    similarity: Similarity
    losses: tuple[tuple[Similarity, float], ...]
    n_rows: int

    @property
    def reason(self) -> str:
        """What was chosen, in a sentence."""
        if not self.losses:
            return f"{self.similarity!r}: {self.n_rows} rows are too few to compare others"
        ranked = sorted(self.losses, key=lambda one: one[1])
        others = ", ".join(f"{loss:.3g} with {k!r}" for k, loss in ranked if k is not self.similarity)
        return (
            f"{self.similarity!r}: squared error {ranked[0][1]:.3g} with each of {self.n_rows:,} rows left out, "
            f"relative to the variance of the targets; {others}"
        )


class Family(Similarity):
    """Similarities one of which is to be chosen by labels; it has no values before that.

    Parameters
    ----------
    members : sequence of Similarity
        The one to take where rows are too few to choose comes first.
    rows : array of int
        Positions of the objects that all members were tried on; none of few objects.
    tried : sequence of Member
        The members, with the products of features of these objects.
    taken : Similarity, optional
        The member that all rows chose.
    """

    def __init__(
        self,
        members: Sequence[Similarity],
        rows: np.ndarray,
        tried: Sequence[Member] = (),
        taken: Similarity | None = None,
    ) -> None:
        self.members = members
        self.rows = rows
        self.tried = tried
        self.taken = taken

    @classmethod
    def of(cls, members: Sequence[Similarity], X: Any, rows: np.ndarray, random_state: Any, engine: Engine) -> Family:
        """Compute the members on the first of some rows."""
        rows = np.sort(rows[:TRIED_ROWS])
        if len(rows) < FEWEST_TO_CHOOSE_BY or len(members) == 1:
            return cls(members, rows)
        matrices = _Matrices(take(X, rows), random_state, engine)
        return cls(members, rows, [one for k in members for one in matrices.tried(k)])

    @property
    def objects(self) -> str:  # type: ignore[override]
        """The kind of objects that the members take."""
        return self.members[0].objects

    def parts(self) -> tuple[Similarity, ...]:
        """Return the members."""
        return tuple(self.members)

    def unresolved(self) -> list[str]:
        """Return that a member is to be chosen."""
        return ["members"]

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Similarity:
        """Return the first member: without labels there is nothing to choose by."""
        return self.members[0].resolve(X, random_state, sample_weight)

    def block(self, A: Encoding, B: Encoding) -> Any:
        """Refuse: no member is chosen yet."""
        raise UnresolvedError(f"{self!r} is a family of similarities: choose one of them")

    def chosen(self, Y: np.ndarray, weights: np.ndarray, known: np.ndarray | None = None) -> MemberChoice:
        """Return the member with the smallest loss on those of the tried rows that are known.

        Parameters
        ----------
        Y, weights : array
            Targets as columns of numbers, and weights, of all objects.
        known : array of int, optional
            Positions of the objects that may be learned from; all without it.
        """
        inside = np.arange(len(self.rows)) if known is None else np.flatnonzero(np.isin(self.rows, known))
        rows = self.rows[inside]
        if not self.tried or len(inside) < FEWEST_TO_CHOOSE_BY or not (Y[rows] != Y[rows[:1]]).any():
            return MemberChoice(self.members[0], (), len(inside))
        grid = np.ix_(inside, inside)
        losses = [left_out_loss(one.products[grid], Y[rows], weights[rows]) for one in self.tried]
        best = int(np.argmin(losses))
        table = tuple((one.similarity, loss) for one, loss in zip(self.tried, losses, strict=True))
        return MemberChoice(self.tried[best].similarity, table, len(inside))


class _Matrices:
    """Gram matrices of some objects under similarities that are partly made of the same ones: each is computed once."""

    def __init__(self, objects: Any, random_state: Any, engine: Engine) -> None:
        self.objects, self.random_state, self.engine = objects, random_state, engine
        self.known: dict[str, tuple[Similarity, np.ndarray]] = {}

    def leaf(self, k: Similarity) -> tuple[Similarity, np.ndarray]:
        """Return a similarity resolved on the objects, and its matrix."""
        if repr(k) not in self.known:
            resolved, A = k.prepare(self.objects, self.random_state)
            K = np.asarray(resolved.blocks(A, engine=self.engine).whole(), dtype=np.float64)
            self.known[repr(k)] = resolved, K
        return self.known[repr(k)]

    def of(self, k: Similarity) -> np.ndarray:
        """Return the matrix of a similarity; those of sums, multiples and normalized ones follow from their parts'."""
        if isinstance(k, Scaled):
            return float(k.factor) * self.of(k.k)
        if isinstance(k, Sum):
            return np.sum([self.of(part) for part in k.parts()], axis=0)
        if isinstance(k, Normalized):
            K = self.of(k.k)
            lengths = np.sqrt(np.maximum(K.diagonal(), 0.0))
            inverse = np.divide(1.0, lengths, out=np.zeros(len(K)), where=lengths > 0)
            return inverse[:, None] * K * inverse
        return self.leaf(k)[1]

    def tried(self, k: Similarity) -> Iterator[Member]:
        """Yield a member with its products, and time warping at narrower scales as well: powers of its values."""
        from similitude.kernels import DTW, Derivative  # loads all kernels

        yield Member(k, products_of_features(k, self.of(k)))
        resolved, K = self.leaf(k) if isinstance(k, (DTW, Derivative)) else (k, np.empty(0))
        warping = resolved.k if isinstance(resolved, Derivative) else resolved
        if isinstance(warping, DTW):
            for share in NARROWER:
                narrow = warping.with_params(sigma=share * float(warping.sigma))
                narrower = Derivative(narrow) if isinstance(resolved, Derivative) else narrow
                yield Member(narrower, products_of_features(narrower, K ** (1.0 / share)))


def products_of_features(k: Similarity, K: np.ndarray) -> np.ndarray:
    """Return dot products of features: a kernel's own values, or those of the similarities to all rows.

    >>> from similitude.kernels import DTW
    >>> products_of_features(DTW(1.0), np.array([[1.0, 2.0], [2.0, 1.0]]))
    array([[2.5, 2. ],
           [2. , 2.5]])
    """
    if k.proven:
        return K
    both = K if SYMMETRIC in k.claims else np.concatenate([K, K.T], axis=1)
    return both @ both.T / len(K)


def left_out_loss(K: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> float:
    r"""Return the smallest leave-one-out loss of kernel ridge regression, relative to that of the mean.

    With weights w that sum to one and centered K, the residual of row i is divided by :math:`1 - w_i - h_i`, where h is
    the diagonal of :math:`K_w (K_w + \lambda I)^{-1}` and :math:`K_w` has rows and columns times :math:`\sqrt{w}`.

    >>> x = np.linspace(0.0, 1.0, 30)[:, None]
    >>> bool(left_out_loss(x @ x.T, 3.0 * x + 1.0, np.ones(30)) < 1e-3)
    True
    """
    n, w = len(K), weights / weights.sum()
    root = np.sqrt(w)
    means = K @ w
    centered = K - means[:, None] - means + w @ means
    scaled = root[:, None] * centered * root
    values, vectors = np.linalg.eigh(0.5 * (scaled + scaled.T))
    values = np.maximum(values, 0.0)
    residuals = root[:, None] * (Y - w @ Y)
    projected, squares = vectors.T @ residuals, vectors**2
    best = np.inf
    for penalty in MEMBER_PENALTIES * (values.sum() / n):
        shrunk = penalty / (values + penalty) if penalty > 0 else np.ones(n)
        left = vectors @ (shrunk[:, None] * projected)
        share = 1.0 - w - squares @ (1.0 - shrunk)
        if (share > 0).all():
            best = min(best, float(((left / share[:, None]) ** 2).sum()))
    return best / max(float((residuals**2).sum()), np.finfo(float).tiny)
