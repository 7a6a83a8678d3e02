"""Which member of a family of similarities suits the labels: all are tried on the same rows, each left out alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from similitude.compute import Encoding, is_table, take
from similitude.compute import rows as encoded_rows
from similitude.compute.engines import Engine
from similitude.evaluation import Pilot, at_rows, equal_rows, in_first_groups
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
        columns = None
        if self.columns is not None:
            columns = np.stack([one[np.ix_(rows, rows)] for one in self.columns])
        return replace(self, products=self.products[np.ix_(rows, rows)], columns=columns)

    def weighted(self, Y: np.ndarray, weights: np.ndarray, groups: np.ndarray | None) -> list[Member]:
        """Return the mean of columns with weights by centered alignment; nothing if no column is aligned with Y."""
        if self.columns is None:
            return []
        given: Any = self.similarity
        found = alignment_weights(self.columns, Y, weights, groups)
        if not found.any():
            return []
        named = zip(given.columns.items(), found.tolist(), strict=True)
        kept = {name: (part, weight) for (name, part), weight in named if weight}
        columns = {name: part for name, (part, _) in kept.items()}
        k = given.with_params(columns=columns, weights={name: weight for name, (_, weight) in kept.items()})
        return [Member(k, k.combined(list(self.columns[found != 0])))]


class MemberComparison(NamedTuple):
    """Losses of some members, relative to the variance of the targets, on the same rows left out alone or in groups."""

    n_rows: int
    losses: tuple[tuple[Similarity, float], ...]
    grouped: bool

    @classmethod
    def of(
        cls, members: Sequence[Member], Y: np.ndarray, weights: np.ndarray, groups: np.ndarray | None
    ) -> MemberComparison:
        """Compare members by the first rows, of which there are targets."""
        n = len(Y)
        losses = [(one.similarity, left_out_loss(one.products[:n, :n], Y, weights, groups)) for one in members]
        return cls(n, tuple(losses), groups is not None)

    @property
    def ranked(self) -> list[int]:
        """The numbers of the members, the one with the smallest loss first."""
        return np.argsort([loss for _, loss in self.losses], kind="stable").tolist()

    def in_words(self, without: Similarity | None = None) -> str:
        """Return the losses of the members, the smallest first."""
        ranked = [self.losses[i] for i in self.ranked]
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
        ranked = [one.losses[i] for one in self.comparisons[-1:] for i in one.ranked]
        return tuple((repr(k), loss) for k, loss in ranked)

    @property
    def reason(self) -> str:
        """What was chosen, in a sentence."""
        if not self.comparisons:
            return f"{self.similarity!r}: {self.n_rows} rows are too few to compare others"
        last = self.comparisons[-1]
        loss = next(loss for k, loss in last.losses if k is self.similarity)
        parts = [last.in_words(self.similarity)]
        parts += [f"on {one.n_rows:,} rows {one.in_words()}" for one in self.comparisons[-2::-1]]
        left_out = f"each {'group ' if last.grouped else ''}of {last.n_rows:,} rows"
        return (
            f"{self.similarity!r}: squared error {loss:.3g} with {left_out} left out, "
            f"relative to the variance of the targets; " + "; ".join(part for part in parts if part)
        )


def _in_short(k: Similarity) -> str:
    """Return how columns are combined, or which similarity another one is."""
    from similitude.kernels import Columns  # loads all kernels

    if not isinstance(k, Columns):
        return repr(k)
    return f"how={k.how!r}" if k.weights is None else "weights of the columns"


class Family(Similarity):
    """Similarities one of which is to be chosen by labels; it has no values before that.

    The first one is taken where rows are too few to choose. `rows` are positions of the objects that members were
    tried on, in random order, no two of them equal; `tried` has the products of features of these objects, or of the
    first of them for costly members. `taken` is the member that all rows chose. Of records, `plain` are the numbers
    and categories: a kernel of them is learned from labels.
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
        """Return the member with the smallest loss on those of the tried rows that are known, all by default.

        Costly members, which were computed on the first rows alone, are compared there with the best of the others.
        Targets, weights and groups, which are left out as a whole, are those of all objects.
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
        made: list[MemberComparison] = []

        def best(members: list[Member], n: int, kept: int) -> list[Member]:
            """Return the members with the smallest losses on the first n rows; the first ones if these tell nothing."""
            some = rows[:n]
            part = at_rows(groups, some)
            if not _can_choose(Y[some], part):
                return members if kept > 1 else members[:1]
            made.append(MemberComparison.of(members, Y[some], weights[some], part))
            return [members[i] for i in made[-1].ranked[:kept]]

        first = limits.rows_of_first_round(len(rows), len(others))
        if first:
            others = best(others, first, limits.FINALISTS)
        (chosen,) = best(others, len(rows), 1)
        if costly:
            (chosen,) = best([chosen, *costly], len(costly[0].products), 1)
        return MemberChoice(chosen.similarity, len(rows), tuple(made), chosen.resolved)


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
    _, first = np.unique(equal_rows(encode(some)), return_index=True)
    return np.delete(np.arange(len(K)), np.delete(some, first))


def _can_choose(Y: np.ndarray, groups: np.ndarray | None = None) -> bool:
    """Whether there are enough targets, not all of them the same, and none or several groups."""
    several = groups is None or len(np.unique(groups)) > 1
    return limits.can_choose(len(Y)) and several and bool((Y[:1] != Y).any())


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
        self.known: dict[str, tuple[Similarity, Encoding, np.ndarray]] = {}

    def leaf(self, k: Similarity) -> tuple[Similarity, Encoding, np.ndarray]:
        """Return a similarity that is not made of others, resolved, the objects encoded, and their Gram matrix."""
        from similitude.kernels import pair_cost  # loads all kernels

        if repr(k) not in self.known:
            objects = take(self.objects, np.arange(self.n_pilot)) if pair_cost(k) else self.objects
            resolved, A = k.prepare(objects, self.random_state)
            K = np.asarray(resolved.blocks(A, engine=self.engine).whole(), dtype=np.float64)
            self.known[repr(k)] = resolved, A, K
        return self.known[repr(k)]

    def encoded(self, which: np.ndarray) -> Encoding:
        """Return some objects as every similarity that is not made of others encodes them."""
        few = take(self.objects, which)
        return tuple(
            encoded_rows(A, which) if len(K) == len(self.objects) else resolved.encode(few)
            for resolved, A, K in self.known.values()
        )

    def of(self, k: Similarity) -> tuple[Similarity, np.ndarray]:
        """Return k resolved, and its matrix; those of sums, multiples and normalized ones follow from their parts'."""
        if not isinstance(k, (Scaled, Sum, Normalized)):
            resolved_leaf, _, K = self.leaf(k)
            return resolved_leaf, K
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
            # a quarter of the median distance
            narrow = warping.with_params(sigma=0.25 * float(warping.sigma))
            narrower = Derivative(narrow) if isinstance(resolved, Derivative) else narrow
            yield Member(narrower, products_of_features(narrower, K**4.0), resolved=narrower)


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

    The mean of all columns is the first one, and `plain` are the numbers and categories of the same rows.
    """
    order = np.random.default_rng(len(Y)).permutation(len(Y))
    # the share of records that a kernel is learned from before it is compared
    first = in_first_groups(order if groups is None else groups[order], int(0.6 * len(Y)))
    others = np.sort(order[~first])
    together = at_rows(groups, others)
    if together is not None and len(np.unique(together)) < 2:
        return MemberChoice(tried[0].similarity, len(others))
    learned = [Member(k, K) for k, K in _learned_kernels(tried[0], plain, Y, weights, order[first], groups)]
    members = [one.among(others) for one in tried + learned]
    compared = MemberComparison.of(members, Y[others], weights[others], together)
    at = compared.ranked[0]
    chosen = members[at].similarity
    if at >= len(tried):
        again = list(_learned_kernels(tried[0], plain, Y, weights, order, groups))
        chosen = again[at - len(tried)][0]
        losses = list(compared.losses)
        losses[at] = (chosen, losses[at][1])
        compared = compared._replace(losses=tuple(losses))
    return MemberChoice(chosen, len(others), (compared,))


def _learned_kernels(
    mean: Member, plain: Any, Y: np.ndarray, weights: np.ndarray, order: np.ndarray, groups: np.ndarray | None
) -> Iterator[tuple[Similarity, np.ndarray]]:
    """Yield a kernel of numbers and categories learned from some rows, and its sums with the other columns.

    Those columns have weights by centered alignment; without any that is aligned, the learned kernel stands alone.
    """
    from similitude.kernel_learning import choose_automatically  # loads all kernels

    k: Any = choose_automatically(plain, Y, order, Pilot.of(len(order)), True, groups).best_alone()
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
