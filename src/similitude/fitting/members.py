"""Which member of a family of similarities suits the labels: all are tried on the same rows, each left out alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from similitude.compute import Encoding, is_table, take
from similitude.compute import rows as encoded_rows
from similitude.compute.engines import Engine
from similitude.evaluation import Pilot, at_rows, groups_of_equals, in_first_groups
from similitude.fitting import limits
from similitude.linear import Gram
from similitude.similarity import SYMMETRIC, Normalized, Scaled, Similarity, Sum
from similitude.support import UnresolvedError


@dataclass(frozen=True, eq=False)
class Member:
    """A similarity, and the dot products of the features of the tried rows that it gives, or of the first of them.

    A mean of columns also has those of each column, so that labels can weight them. `resolved` is the similarity with
    what data fix taken from the tried rows, without their labels, if that is known.
    """

    similarity: Similarity
    products: np.ndarray
    columns: np.ndarray | None = None
    resolved: Similarity | None = None

    def among(self, rows: np.ndarray) -> Member:
        """Return the products of some of the rows, in increasing order, as far as they are known."""
        rows = rows[rows < len(self.products)]
        grid = np.ix_(rows, rows)
        columns = None
        if self.columns is not None:
            columns = np.stack([one[grid] for one in self.columns])
        return Member(self.similarity, self.products[grid], columns, self.resolved)

    def weighted(self, Y: np.ndarray, weights: np.ndarray, groups: np.ndarray | None) -> list[Member]:
        """Return the mean of columns with weights by centered alignment; nothing if no column is aligned with Y."""
        if self.columns is None:
            return []
        found = alignment_weights(self.columns, Y, weights, groups)
        kept = np.flatnonzero(found)
        if not len(kept):
            return []
        given: Any = self.similarity
        names = list(given.columns)
        columns = {names[i]: given.columns[names[i]] for i in kept}
        k = given.with_params(columns=columns, weights={names[i]: float(found[i]) for i in kept})
        return [Member(k, k.combined(list(self.columns[kept])))]


class MemberComparison(NamedTuple):
    """Leave-one-out losses of some members on the same rows, relative to the variance of the targets.

    `grouped` tells whether whole groups were left out.
    """

    n_rows: int
    losses: tuple[tuple[Similarity, float], ...]
    grouped: bool = False

    def ranked(self, without: Similarity | None = None) -> str:
        """Return the losses of the members, the smallest first."""
        ranked = sorted(self.losses, key=lambda one: one[1])
        return ", ".join(f"{loss:.3g} with {_in_short(k)}" for k, loss in ranked if k is not without)


@dataclass(frozen=True, eq=False)
class MemberChoice:
    """The member that was chosen, by which comparisons, and the member with what data fix, if that is known."""

    similarity: Similarity
    n_rows: int
    comparisons: tuple[MemberComparison, ...] = ()
    resolved: Similarity | None = None

    @property
    def scores(self) -> tuple[tuple[str, float], ...]:
        """The members of the last comparison with their losses, the smallest first."""
        if not self.comparisons:
            return ()
        return tuple((repr(k), loss) for k, loss in sorted(self.comparisons[-1].losses, key=lambda one: one[1]))

    @property
    def reason(self) -> str:
        """What was chosen, in a sentence."""
        if not self.comparisons:
            return f"{self.similarity!r}: {self.n_rows} rows are too few to compare others"
        last = self.comparisons[-1]
        loss = next(loss for k, loss in last.losses if k is self.similarity)
        parts = [last.ranked(self.similarity)]
        parts += [f"on {one.n_rows:,} rows {one.ranked()}" for one in self.comparisons[-2::-1]]
        left_out = f"each of {last.n_rows:,} rows" if not last.grouped else f"each group of {last.n_rows:,} rows"
        return (
            f"{self.similarity!r}: squared error {loss:.3g} with {left_out} left out, "
            f"relative to the variance of the targets; " + "; ".join(part for part in parts if part)
        )


def _in_short(k: Similarity) -> str:
    """Return how columns are combined, or which similarity another one is."""
    from similitude.kernels import Columns  # loads all kernels

    if not isinstance(k, Columns):
        return repr(k)
    if k.weights is None:
        return f"how={k.how!r}"
    return "weights of the columns"


class Family(Similarity):
    """Similarities one of which is to be chosen by labels; it has no values before that.

    Parameters
    ----------
    members : sequence of Similarity
        The one to take where rows are too few to choose comes first.
    rows : array of int
        Positions of the objects that members were tried on, in random order, no two of them equal.
    tried : sequence of Member
        The members, with the products of features of these objects; costly members with those of the first of them.
    taken : Similarity, optional
        The member that all rows chose.
    plain : table, optional
        The numbers and categories of these objects, if they are records: a kernel of them is learned from labels.
    """

    def __init__(
        self,
        members: Sequence[Similarity],
        rows: np.ndarray,
        tried: Sequence[Member] = (),
        taken: Similarity | None = None,
        plain: Any = None,
    ) -> None:
        self.members = members
        self.rows = rows
        self.tried = tried
        self.taken = taken
        self.plain = plain

    @classmethod
    def of(cls, members: Sequence[Similarity], X: Any, rows: np.ndarray, random_state: Any, engine: Engine) -> Family:
        """Compute the members on the first of some rows in random order, and costly ones on fewer of these."""
        from similitude.kernels import Columns, pair_cost  # loads all kernels

        records = all(isinstance(k, Columns) for k in members)
        rows = rows[: limits.rows_tried(records)]
        if not limits.can_choose(len(rows)) or len(members) == 1:
            return cls(members, rows)
        objects = take(X, rows)
        plain = None
        if records:
            tried, A = _columns_tried(members, objects, random_state, engine)
            encode: Callable[[np.ndarray], Encoding] = partial(encoded_rows, A)
            plain = _plain_columns(members[0], objects)
        else:
            matrices = _Matrices(members, objects, random_state, engine)
            affordable = [k for k in members if limits.can_choose(matrices.n_pilot) or not pair_cost(k)]
            tried = [one for k in affordable for one in matrices.tried(k)]
            encode = matrices.encoded
        different = different_rows(encode, tried[0].products)
        if len(different) < len(rows):
            tried = [one.among(different) for one in tried]
            plain = None if plain is None else take(plain, different)
        return cls(members, rows[different], tried, plain=plain)

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

    def chosen(
        self,
        Y: np.ndarray,
        weights: np.ndarray,
        known: np.ndarray | None = None,
        groups: np.ndarray | None = None,
    ) -> MemberChoice:
        """Return the member with the smallest loss on those of the tried rows that are known.

        Costly members, which were computed on the first rows alone, are compared there with the best of the others.

        Parameters
        ----------
        Y, weights : array
            Targets as columns of numbers, and weights, of all objects.
        known : array of int, optional
            Positions of the objects that may be learned from; all without it.
        groups : array of int, optional
            The group of each object: whole groups are left out instead of objects.
        """
        inside = np.arange(len(self.rows)) if known is None else np.flatnonzero(np.isin(self.rows, known))
        rows = self.rows[inside]
        together = at_rows(groups, rows)
        if not self.tried or not _can_choose(Y[rows], together):
            return MemberChoice(self.members[0], len(inside))
        tried = [one.among(inside) for one in self.tried]
        tried += [better for one in tried for better in one.weighted(Y[rows], weights[rows], together)]
        if self.plain is not None and limits.learns_records(len(inside)):
            return _chosen_beside_learned(tried, take(self.plain, inside), Y[rows], weights[rows], together)
        costly = [one for one in tried if len(one.products) < len(rows)]
        others = [one for one in tried if len(one.products) == len(rows)]
        found = _Comparisons(Y[rows], weights[rows], together)
        first = limits.rows_of_first_round(len(rows), len(others))
        if first:
            others = found.best(others, first, limits.FINALISTS)
        (best,) = found.best(others, len(rows), 1)
        if costly:
            (best,) = found.best([best, *costly], len(costly[0].products), 1)
        return MemberChoice(best.similarity, len(rows), tuple(found.made), best.resolved)


def different_rows(encode: Callable[[np.ndarray], Encoding], K: np.ndarray) -> np.ndarray:
    """Return the first of each set of equal rows, given what encodes some of them.

    K is a kernel of all rows, and tells which ones may be equal.

    >>> different_rows(np.array([[2.0], [3.0], [2.0]]).__getitem__, np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1.0]]))
    array([0, 1])
    """
    # relative difference up to which similarities may be equal but for rounding
    near = np.isclose(K, K.diagonal()[:, None], rtol=1e-5)
    np.fill_diagonal(near, False)
    some = np.flatnonzero(near.any(axis=1))
    if not len(some):
        return np.arange(len(K))
    _, first = np.unique(groups_of_equals(encode(some), np.arange(len(some))), return_index=True)
    return np.delete(np.arange(len(K)), np.delete(some, first))


def _can_choose(Y: np.ndarray, groups: np.ndarray | None = None) -> bool:
    """Whether there are enough targets, not all of them the same, and none or several groups."""
    several = groups is None or len(np.unique(groups)) > 1
    return limits.can_choose(len(Y)) and several and bool((Y[:1] != Y).any())


class _Comparisons:
    """Comparisons of members on the first of some rows, which have targets and weights."""

    def __init__(self, Y: np.ndarray, weights: np.ndarray, groups: np.ndarray | None) -> None:
        self.Y = Y
        self.weights = weights
        self.groups = groups
        self.made: list[MemberComparison] = []

    def best(self, tried: list[Member], n: int, kept: int) -> list[Member]:
        """Return the members with the smallest losses on the first n rows; the first ones if these tell nothing."""
        Y = self.Y[:n]
        weights = self.weights[:n]
        groups = at_rows(self.groups, slice(n))
        if not _can_choose(Y, groups):
            if kept > 1:
                return tried
            return tried[:1]
        losses = [left_out_loss(one.products[:n, :n], Y, weights, groups) for one in tried]
        pairs = zip(tried, losses, strict=True)
        found = tuple((one.similarity, loss) for one, loss in pairs)
        self.made.append(MemberComparison(n, found, groups is not None))
        return [tried[i] for i in np.argsort(losses, kind="stable")[:kept]]


class _Leaf(NamedTuple):
    """A similarity that is not made of others: resolved on some objects, these encoded, and their Gram matrix."""

    resolved: Similarity
    encoding: Encoding
    K: np.ndarray


class _Matrices:
    """Gram matrices of some objects under similarities that are partly made of the same ones: each is computed once.

    Those of costly similarities are computed for the first objects alone.
    """

    def __init__(self, members: Sequence[Similarity], objects: Any, random_state: Any, engine: Engine) -> None:
        from similitude.kernels import pilot_rows  # loads all kernels

        self.objects = objects
        self.random_state = random_state
        self.engine = engine
        self.n_pilot = pilot_rows(members, objects)
        self.known: dict[str, _Leaf] = {}

    def leaf(self, k: Similarity) -> _Leaf:
        """Return a similarity resolved on the objects, the objects encoded, and its matrix."""
        from similitude.kernels import pair_cost  # loads all kernels

        if repr(k) not in self.known:
            objects = take(self.objects, np.arange(self.n_pilot)) if pair_cost(k) else self.objects
            resolved, A = k.prepare(objects, self.random_state)
            K = np.asarray(resolved.blocks(A, engine=self.engine).whole(), dtype=np.float64)
            self.known[repr(k)] = _Leaf(resolved, A, K)
        return self.known[repr(k)]

    def encoded(self, which: np.ndarray) -> Encoding:
        """Return some objects as every similarity that is not made of others encodes them."""
        few = take(self.objects, which)
        return tuple(
            encoded_rows(one.encoding, which) if len(one.K) == len(self.objects) else one.resolved.encode(few)
            for one in self.known.values()
        )

    def of(self, k: Similarity) -> tuple[Similarity, np.ndarray]:
        """Return k resolved, and its matrix; those of sums, multiples and normalized ones follow from their parts'."""
        if not isinstance(k, MADE_OF_OTHERS):
            found = self.leaf(k)
            return found.resolved, found.K
        resolved, parts = zip(*map(self.of, k.parts()), strict=True)
        if isinstance(k, Scaled):
            return k.with_params(k=resolved[0]), float(k.factor) * parts[0]
        if isinstance(k, Sum):
            n = min(map(len, parts))
            return Sum(*resolved), np.sum([K[:n, :n] for K in parts], axis=0)
        lengths = np.sqrt(np.maximum(parts[0].diagonal(), 0.0))
        inverse = np.divide(1.0, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
        return k.with_params(k=resolved[0]), inverse[:, None] * parts[0] * inverse

    def tried(self, k: Similarity) -> Iterator[Member]:
        """Yield a member with its products, and time warping at narrower scales as well: powers of its values."""
        from similitude.kernels import DTW, Derivative  # loads all kernels

        resolved, K = self.of(k)
        yield Member(k, products_of_features(k, K), resolved=resolved)
        warping = resolved.k if isinstance(resolved, Derivative) else resolved
        if isinstance(warping, DTW):
            # further scales of time warping that are tried, as multiples of the median distance
            for share in (0.25,):
                narrow = warping.with_params(sigma=share * float(warping.sigma))
                narrower = Derivative(narrow) if isinstance(resolved, Derivative) else narrow
                yield Member(narrower, products_of_features(narrower, K ** (1.0 / share)), resolved=narrower)


MADE_OF_OTHERS = (Scaled, Sum, Normalized)
"""Similarities whose matrices follow from those of their parts."""


def _columns_tried(
    members: Sequence[Any], objects: Any, random_state: Any, engine: Engine
) -> tuple[list[Member], Encoding]:
    """Return ways to combine the same columns, which are computed once, and the objects encoded."""
    resolved, A = members[0].prepare(objects, random_state)
    parts = zip(resolved.parts(), A, strict=True)
    columns = np.stack([np.asarray(part.blocks(a, engine=engine).whole(), dtype=np.float64) for part, a in parts])
    return [Member(k, k.combined(list(columns)), columns if k.how == "mean" else None) for k in members], A


def _is_plain(k: Any) -> bool:
    """Tell whether it compares numbers or categories."""
    from similitude.kernels import Equal, Gaussian, OrMissing  # loads all kernels

    return isinstance(k.k if isinstance(k, OrMissing) else k, (Equal, Gaussian))


def _plain_columns(k: Any, objects: Any) -> Any:
    """Return the columns of numbers and categories of records; None if there are none."""
    names = [name for name, part in k.columns.items() if _is_plain(part)]
    if not names:
        return None
    if is_table(objects):
        return objects[names]
    return [{name: row.get(name) for name in names} for row in objects]


def _chosen_beside_learned(
    tried: list[Member], plain: Any, Y: np.ndarray, weights: np.ndarray, groups: np.ndarray | None
) -> MemberChoice:
    """Compare the members with learned kernels, on rows that those were not learned from; the chosen one learns anew.

    Parameters
    ----------
    tried : list of Member
        The mean of all columns first.
    plain : table
        The numbers and categories of the same rows.
    Y, weights : array
    groups : array of int, or None
    """
    order = np.random.default_rng(len(Y)).permutation(len(Y))
    # the share of records that a kernel is learned from before it is compared
    first = in_first_groups(order if groups is None else groups[order], int(0.6 * len(Y)))
    judges = np.sort(order[~first])
    together = at_rows(groups, judges)
    if together is not None and len(np.unique(together)) < 2:
        return MemberChoice(tried[0].similarity, len(judges))
    learned = [Member(k, K) for k, K in _learned_kernels(tried[0], plain, Y, weights, order[first], groups)]
    members = [one.among(judges) for one in tried + learned]
    losses = [left_out_loss(one.products, Y[judges], weights[judges], together) for one in members]
    best = int(np.argmin(losses))
    similarities = [one.similarity for one in members]
    if best >= len(tried):
        again = list(_learned_kernels(tried[0], plain, Y, weights, order, groups))
        similarities[best] = again[best - len(tried)][0]
    compared = MemberComparison(len(judges), tuple(zip(similarities, losses, strict=True)), groups is not None)
    return MemberChoice(similarities[best], len(judges), (compared,))


def _learned_kernels(
    mean: Member, plain: Any, Y: np.ndarray, weights: np.ndarray, order: np.ndarray, groups: np.ndarray | None
) -> Iterator[tuple[Similarity, np.ndarray]]:
    """Yield a kernel of numbers and categories learned from some rows, and its sums with the other columns.

    Those columns have weights by centered alignment; without any that is aligned, the learned kernel stands alone.
    """
    from similitude.kernel_learning import choose_automatically  # loads all kernels

    choice = choose_automatically(plain, Y, order, Pilot.of(len(order)), True, groups)
    k = choice.kernels()[int(np.argmin([part.loss for part in choice.parts]))]
    K = np.asarray(k.gram(plain), dtype=np.float64)
    yield k, K
    given: Any = mean.similarity
    columns: Any = mean.columns
    others = {name: i for i, (name, part) in enumerate(given.columns.items()) if not _is_plain(part)}
    composed = given.with_params(columns={name: given.columns[name] for name in others})
    for rest in Member(composed, mean.products, columns[list(others.values())]).weighted(Y, weights, groups):
        # shares of the columns that hold texts, sets or other objects which are tried beside a learned kernel of the
        # rest
        for share in (0.1, 0.25, 0.5):
            yield (1.0 - share) * k + share * rest.similarity, (1.0 - share) * K + share * rest.products


def alignment_weights(
    kernels: np.ndarray, Y: np.ndarray, weights: np.ndarray, groups: np.ndarray | None = None
) -> np.ndarray:
    r"""Return weights of kernels by their centered alignment with the targets, with three digits; the largest is 1.

    .. math:: v_k = \frac{a_k}{s_k}, \quad a_k = \sum_{i \ne j} w_i w_j C^k_{ij} (YY^\top)_{ij}, \quad
              s_k = \sum_{i \ne j} w_i w_j (C^k_{ij})^2

    with kernels :math:`C^k` and targets Y that are centered. The similarity of an object to itself is left out: it
    tells nothing about others, and neither does that to others of its group. The weight is 0 unless :math:`a_k` exceeds
    two standard deviations of what targets that do not depend on the objects give. (Cortes, Mohri and Rostamizadeh,
    "Algorithms for Learning Kernels Based on Centered Alignment", 2012, with the diagonal.)

    >>> y = np.repeat([[1.0], [-1.0]], 10, axis=0)
    >>> z = np.tile([[1.0], [-1.0]], (10, 1))
    >>> alignment_weights(np.stack([y @ y.T, z @ z.T]), y, np.ones(20))
    array([1., 0.])
    """
    w = weights / weights.sum()
    residuals = Y - w @ Y
    pairs = np.outer(w, w)
    np.fill_diagonal(pairs, 0.0)
    if groups is not None:
        pairs[groups[:, None] == groups] = 0.0
    target = residuals @ residuals.T
    found = np.zeros(len(kernels))
    # number of standard deviations from which on a column is taken to be aligned with the targets
    least = 2.0 * np.sqrt(2.0 * (pairs * target**2).sum()) * (w @ w)
    for k, K in enumerate(kernels):
        means = K @ w
        centered = K - means[:, None] - means + w @ means
        size = float((pairs * centered**2).sum())
        aligned = float((pairs * centered * target).sum())
        # mean square of the centered values of a kernel up to which it is constant, but for rounding
        if size > 1e-20 and aligned > least * np.sqrt(size):
            found[k] = aligned / size
    return np.array([float(f"{one:.3g}") for one in found / (found.max() or 1.0)])


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


def left_out_loss(K: np.ndarray, Y: np.ndarray, weights: np.ndarray, groups: np.ndarray | None = None) -> float:
    r"""Return the smallest leave-one-out loss of kernel ridge regression, relative to that of the mean.

    With groups, whole groups are left out.

    >>> x = np.linspace(0.0, 1.0, 30)[:, None]
    >>> bool(left_out_loss(x @ x.T, 3.0 * x + 1.0, np.ones(30)) < 1e-3)
    True
    """
    gram = Gram(K.copy(), Y, weights)
    _, errors = gram.best(gram.path(), groups)
    share = weights / weights.sum()
    variance = float(share @ ((Y - share @ Y) ** 2).sum(axis=1))
    return float(errors.sum(axis=1).min()) / max(variance, np.finfo(float).tiny)
