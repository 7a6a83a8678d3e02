"""Splits of rows: random, by group or given; copies stay together, and folds have their share of each class."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from similitude.evaluation.copies import in_order
from similitude.evaluation.held_out import LastRows, enough_for_folds, fewest_groups, folds_of, n_evaluating, n_held_out
from similitude.evaluation.limits import FEWEST_GROUPS_APART, FEWEST_NESTED_GROUPS
from similitude.evaluation.targets import TaskTargets
from similitude.scikit import is_missing
from similitude.support import brief, check_integer, generator

Pair = tuple[np.ndarray, np.ndarray]
"""The rows to fit, and the rows to evaluate."""

OUTER_FOLDS = 5
"""Most folds that evaluate a choice."""


def copies_evaluated_together(order: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the order with all rows that are copies of one of the last, which evaluate the model, at its end.

    >>> copies_evaluated_together(np.arange(20), np.r_[np.arange(19), 5])[-2:]
    array([ 5, 19])
    """
    return _groups_last(order, groups, n_evaluating(n_held_out(len(order))))[0]


def _groups_last(order: np.ndarray, groups: np.ndarray, most: int, kept: int = 0) -> tuple[np.ndarray, int]:
    """Return the order with the last whole groups that fit into `most` rows at its end, and the number of these."""
    last: list[int] = []
    size = np.bincount(groups)
    room = most
    given = list(dict.fromkeys(groups[::-1].tolist()))
    for group in given:
        if room == 0 or len(last) == len(given) - kept:
            break
        if size[group] <= room:
            last.append(group)
            room -= size[group]
    at_end = np.isin(groups, last)
    return np.concatenate([order[~at_end], order[at_end]]), int(at_end.sum())


def hold_out_groups(order: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, LastRows]:
    """Return the order of rows with whole groups held out at its end, and how many rows these have.

    About as many rows as without groups, but at least a group to choose on, and one to evaluate; none of fewer than
    four.
    """
    if len(np.unique(groups[order])) < FEWEST_NESTED_GROUPS:
        return order, LastRows(0, 0)
    usual = LastRows.of(len(order))
    order, evaluating = last_groups(order, groups[order], usual.evaluating, kept=3)
    first, last = np.split(order, [len(order) - evaluating])
    first, chosen_on = last_groups(first, groups[first], usual.held_out - usual.evaluating, kept=2)
    return np.concatenate([first, last]), LastRows(evaluating + chosen_on, evaluating)


def last_groups(order: np.ndarray, groups: np.ndarray, most: int, kept: int) -> tuple[np.ndarray, int]:
    """Return the order with whole groups at its end, and how many rows these have: about `most`, but at least a group.

    At least `kept` groups stay where they are.

    >>> last_groups(np.arange(4), np.array([0, 0, 1, 1]), 1, kept=1)
    (array([0, 1, 2, 3]), 2)
    """
    fewest = int(np.unique(groups, return_counts=True)[1].min())
    return _groups_last(order, groups, max(most, fewest), kept)


def check_groups(groups: Any, n: int) -> np.ndarray | None:
    """Validate the groups of n rows, if there are any, and number them in the order in which they first occur.

    >>> check_groups(["Ann", "Bob", "Ann"], 3)
    array([0, 1, 0])
    """
    if groups is None:
        return None
    values = np.asarray(groups)
    if values.ndim != 1:
        raise ValueError(f"groups must hold one value for each row, got an array of shape {values.shape}")
    if len(values) != n:
        raise ValueError(f"groups holds {len(values):,} values and X {n:,} rows: one value for each row is needed")
    given = values.tolist()
    missing = next((i for i, one in enumerate(given) if is_missing(one)), None)
    if missing is not None:
        raise ValueError(f"groups holds no value for row {missing}: give such a row a group of its own")
    numbers: dict[Any, int] = {}
    found = np.array([numbers.setdefault(one, len(numbers)) for one in given], dtype=np.intp)
    if len(numbers) < 2:
        raise ValueError(f"all rows are in the group {brief(values[0])}: at least two groups are needed to split rows")
    return found


def joined_groups(groups: np.ndarray, copies: np.ndarray) -> np.ndarray:
    """Return the finest groups that separate neither the groups of one kind nor those of the other.

    >>> joined_groups(np.array([0, 0, 1, 2, 3]), np.array([0, 1, 1, 2, 3]))
    array([0, 0, 0, 1, 2])
    """
    _, one = np.unique(groups, return_inverse=True)
    _, other = np.unique(copies, return_inverse=True)
    n_one = int(one.max()) + 1
    size = n_one + int(other.max()) + 1
    shared = coo_array((np.ones(len(one), dtype=np.int8), (one, n_one + other)), shape=(size, size))
    component = connected_components(shared, directed=False)[1].astype(np.intp)
    return np.asarray(component[one])


def groups_with_copies(groups: np.ndarray, copies: np.ndarray, fewest: int) -> np.ndarray | None:
    """Return the groups joined by copies; None if every row has a group of its own, which is as without groups.

    They are left as they were given where copies would leave fewer groups than are needed.
    """
    if len(np.unique(groups)) == len(groups):
        return None
    joined = joined_groups(groups, copies)
    if len(np.unique(joined)) >= fewest:
        return joined
    return groups


def groups_for_fit(groups: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    """Return the groups of rows that a model is fitted to; None where they are too few for the splits of a fit.

    >>> groups_for_fit(np.array([0, 0, 1, 2]), np.array([0, 1, 2])) is None
    True
    """
    if groups is None:
        return None
    enough = len(np.unique(groups[rows])) >= max(FEWEST_GROUPS_APART, fewest_groups(len(rows)))
    if enough:
        return groups[rows]
    return None


def one_of_each(groups: np.ndarray, random_state: Any) -> np.ndarray:
    """Return a random row of each group.

    >>> one_of_each(np.array([0, 0, 1, 2, 2]), 0)
    array([0, 2, 4])
    """
    mixed = generator(random_state).permutation(len(groups))
    return np.sort(mixed[np.unique(groups[mixed], return_index=True)[1]])


def rarest_in_group(codes: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return for each row the rarest class of its group: folds that share these out have their share of rare classes.

    >>> rarest_in_group(np.array([0, 1, 0, 0]), np.array([0, 0, 1, 1]))
    array([1, 1, 0, 0])
    """
    by_rarity = np.argsort(np.bincount(codes)[codes], kind="stable")
    _, first, member = np.unique(groups[by_rarity], return_index=True, return_inverse=True)
    found = np.empty_like(codes)
    found[by_rarity] = codes[by_rarity][first][member]
    return found


def groups_of_classes(codes: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return in how many groups each class occurs.

    >>> groups_of_classes(np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 1]))
    array([2, 1])
    """
    found = np.unique(np.stack([codes, groups]), axis=1)[0]
    return np.asarray(np.bincount(found, minlength=int(codes.max()) + 1))


def assign_folds(
    groups: np.ndarray, labels: np.ndarray | None, random_state: Any, n_folds: int | None = None
) -> np.ndarray:
    """Return a random fold for each row: groups stay together, and every fold has its share of each class.

    The class of a group is that of its first row. Without a number of folds, it is that of nested folds.

    >>> assign_folds(np.array([0, 1, 2, 3, 4, 5, 0]), np.array([0, 1, 0, 1, 0, 1, 0]), 0)
    array([2, 2, 0, 0, 1, 1, 2])
    """
    _, first, member = np.unique(groups, return_index=True, return_inverse=True)
    if n_folds is None:
        n_folds = folds_of(len(groups))
    order = generator(random_state).permutation(len(first))
    if labels is not None:
        order = order[np.argsort(labels[first[order]], kind="stable")]
    fold = np.empty(len(first), dtype=np.intp)
    fold[order] = np.arange(len(first)) % min(n_folds, len(first))
    found: np.ndarray = fold[member]
    return found


def nested_folds_of_fit(
    groups: np.ndarray, labels: np.ndarray | None, grouped: bool, random_state: Any
) -> np.ndarray | None:
    """Return the nested fold of each row of a fit, given groups or equal rows; None if there are too few."""
    n = len(np.unique(groups))
    if not (n >= FEWEST_NESTED_GROUPS if grouped else enough_for_folds(n)):
        return None
    if grouped and labels is not None:
        labels = rarest_in_group(labels, groups)
    return assign_folds(groups, labels, random_state)


def dealt_folds(groups: np.ndarray, n_folds: int) -> np.ndarray:
    """Return a fold for each row, given the groups of rows in random order: groups are dealt out in turn.

    >>> dealt_folds(np.array([7, 4, 7, 9, 2]), 2)
    array([0, 1, 0, 0, 1])
    """
    return in_order(groups) % n_folds


def in_first_groups(groups: np.ndarray, size: int) -> np.ndarray:
    """Return whether each row is in one of the first groups, which have at least `size` rows, but not in the last.

    >>> in_first_groups(np.array([7, 4, 7, 9, 2]), 2)
    array([ True, False,  True, False, False])
    """
    number = in_order(groups)
    sizes = np.bincount(number)
    chosen = np.cumsum(sizes) - sizes < size
    chosen[-1] = False
    return np.asarray(chosen[number])


def fold_pairs(folds: np.ndarray) -> list[Pair]:
    """Return the rows to fit and the rows to evaluate for each fold, given the fold of each row."""
    return [(np.flatnonzero(folds != one), np.flatnonzero(folds == one)) for one in range(int(folds.max()) + 1)]


def shuffled_pairs(n: int, n_folds: int, labels: np.ndarray | None, seed: int) -> list[Pair]:
    """Return the folds of scikit-learn, which users can repeat: shuffled, and stratified if there are labels."""
    from sklearn.model_selection import KFold, StratifiedKFold  # loads slowly

    splitter = KFold if labels is None else StratifiedKFold
    return list(splitter(n_folds, shuffle=True, random_state=seed).split(np.zeros((n, 1)), labels))


def random_part(groups: np.ndarray, share: float, labels: np.ndarray, random_state: Any) -> np.ndarray:
    """Return whether each row is in a random part: whole groups, about a share of each class but one group at least.

    >>> random_part(np.array([0, 0, 1, 1, 2, 2, 3, 3]), 0.25, np.zeros(8, int), 0)
    array([False, False,  True,  True, False, False, False, False])
    """
    rng = generator(random_state)
    _, first, member, sizes = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    chosen = np.zeros(len(first), dtype=bool)
    for one in np.unique(labels[first]):
        members = np.flatnonzero(labels[first] == one)
        order = members[np.argsort(rng.permutation(len(members)))]
        before = np.cumsum(sizes[order]) - sizes[order]
        chosen[order] = before / sizes[order].sum() < share
    found: np.ndarray = chosen[member]
    return found


def set_apart(n: int, share: float, random_state: Any, groups: np.ndarray | None = None) -> np.ndarray:
    """Return whether each of n rows is kept for a certificate: a simple random sample of rows, or of groups.

    At least one is kept, and one is not.

    >>> set_apart(4, 0.5, 0), set_apart(4, 0.5, 0, np.array([0, 0, 1, 2]))
    (array([ True, False,  True, False]), array([ True,  True, False,  True]))
    """
    if groups is not None:
        numbers, members = np.unique(groups, return_inverse=True)
        return np.asarray(set_apart(len(numbers), share, random_state)[members])
    kept = np.zeros(n, dtype=bool)
    kept[generator(random_state).permutation(n)[: min(max(1, round(share * n)), n - 1)]] = True
    return kept


@dataclass(frozen=True, eq=False)
class Folds:
    """The folds of a cross-validation: the rows to fit and the rows to evaluate for each, and a description."""

    pairs: list[Pair]
    description: str = ""

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def widening(self) -> float:
        r"""The factor by which intervals of errors are wider than those of independent errors.

        Models of several folds share training rows, so that their errors are correlated: the variance of their mean is
        multiplied by :math:`1 + n_{test} / n_{train}`. (Nadeau and Bengio, "Inference for the Generalization Error",
        2003, section 3, with the variance of single rows in place of that of folds.)

        >>> Folds([(np.arange(80), np.arange(80, 180))]).widening
        1.5
        """
        n_test = len(np.unique(np.concatenate([test for _, test in self.pairs])))
        return float(np.sqrt(1 + n_test / np.mean([len(train) for train, _ in self.pairs])))

    def separate(self, groups: np.ndarray) -> bool:
        """Return whether no group is in both the training and the test rows of a fold."""
        return not any(np.isin(groups[train], groups[test]).any() for train, test in self.pairs)


def check_cv(cv: Any, targets: TaskTargets, groups: np.ndarray | None = None) -> Any:
    """Validate cv before anything is computed."""
    if isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, (Iterable, int, np.integer))):
        raise TypeError(
            f"cv must be a number of folds, a splitter of scikit-learn, or pairs (train, test) of positions, "
            f"got {brief(cv)}"
        )
    if hasattr(cv, "split") or isinstance(cv, Iterable):
        return cv
    check_integer("cv", cv, 2)
    if groups is not None:
        _check_groups_suffice(cv, targets, groups)
        return int(cv)
    if cv > len(targets):
        raise ValueError(f"cv = {cv} folds of {len(targets)} examples: each fold needs an example")
    if targets.codes is not None and targets.classes is not None:
        sizes = np.bincount(targets.codes)
        if sizes.min() < cv:
            smallest = targets.classes[sizes.argmin()].item()
            raise ValueError(
                f"cv = {cv} folds, but class {smallest!r} has only {sizes.min()}: use cv={max(2, int(sizes.min()))} or "
                f"leave small classes out. If these are integers to predict, not classes, use task='regression'"
            )
    return int(cv)


def _check_groups_suffice(n_folds: int, targets: TaskTargets, groups: np.ndarray) -> None:
    """Require as many groups as folds, and two groups with rows of each class: one to train on, one to test."""
    n_groups = len(np.unique(groups))
    if n_folds > n_groups:
        raise ValueError(f"cv = {n_folds} folds of {n_groups} groups: each fold needs a group")
    if targets.codes is not None and targets.classes is not None:
        found = groups_of_classes(targets.codes, groups)
        if found.min() < 2:
            alone = targets.classes[found.argmin()].item()
            raise ValueError(f"class {alone!r} is found in one group only: no other group is left to learn it from")


def nested_folds(
    cv: Any, targets: TaskTargets, rows: np.ndarray, copies: np.ndarray, seed: int, groups: np.ndarray | None = None
) -> tuple[Folds, Folds | None, np.ndarray]:
    """Return the folds that compare candidates, those that evaluate the choice, and what these keep together.

    Given pairs (train, test) hold positions among all rows, of which `rows` are sampled. Rows with the same number in
    `copies` are in the same fold, unless a fold had no class to learn from. At most five disjoint folds evaluate the
    choice, which is made by the others of them; None if the given folds leave nothing there.
    """
    here = targets.at(rows)
    if groups is not None:
        copies = _groups_with_copies(groups, copies, here, cv if isinstance(cv, int) else 2)
    labels = here.codes
    if groups is not None and labels is not None:
        labels = rarest_in_group(labels, copies)
    if isinstance(cv, int):
        folds = _shuffled(cv, here, copies, labels, seed, groups is not None)
    else:
        folds = _given(cv, targets, rows, groups)
    _check_folds(folds, here)
    if groups is not None and not folds.separate(groups):
        raise ValueError("cv trains and tests on examples of one group: give a number of folds, or a GroupKFold")
    if not isinstance(cv, int) or (len(folds) > OUTER_FOLDS and folds.separate(copies)):
        return folds, _merged(folds, len(here), seed), copies
    if len(folds) == OUTER_FOLDS and folds.separate(copies):
        return folds, folds, copies
    if len(np.unique(copies)) < 3:
        return folds, None, copies
    return folds, Folds(fold_pairs(assign_folds(copies, labels, seed, OUTER_FOLDS))), copies


def _groups_with_copies(groups: np.ndarray, copies: np.ndarray, targets: TaskTargets, n_folds: int) -> np.ndarray:
    """Return groups that keep copies together too, unless too few would be left to learn every class from."""
    joined = joined_groups(groups, copies)
    fewest = 2
    if targets.codes is not None:
        fewest = groups_of_classes(targets.codes, joined).min()
    if fewest >= 2 and joined.max() + 1 >= max(n_folds, 3):
        return joined
    return groups


def _shuffled(
    n_folds: int, targets: TaskTargets, copies: np.ndarray, labels: np.ndarray | None, seed: int, grouped: bool
) -> Folds:
    """Return random folds, stratified for classes."""
    described = f"{n_folds} folds{'' if labels is None else ', stratified'}"
    if grouped:
        return Folds(fold_pairs(assign_folds(copies, labels, seed, n_folds)), f"{described}, groups together")
    _, first = np.unique(copies, return_index=True)
    fewest = len(first) if labels is None else np.bincount(labels[first], minlength=targets.n_classes).min()
    if len(first) == len(targets) or len(first) < n_folds or fewest < 2:
        return Folds(shuffled_pairs(len(targets), n_folds, labels, seed), described)
    return Folds(fold_pairs(assign_folds(copies, labels, seed, n_folds)), f"{described}, copies together")


def _given(cv: Any, targets: TaskTargets, rows: np.ndarray, groups: np.ndarray | None) -> Folds:
    """Return the folds of a splitter, or given pairs, of which only the sampled rows remain."""
    if hasattr(cv, "split"):
        known = () if groups is None else (groups,)
        pairs = list(cv.split(np.zeros((len(rows), 1)), targets.values[rows], *known))
        return Folds([_checked_pair(p, pair, len(rows)) for p, pair in enumerate(pairs)], f"{cv}")
    place = np.full(len(targets), -1)
    place[rows] = np.arange(len(rows))
    pairs = [_checked_pair(p, pair, len(targets)) for p, pair in enumerate(cv)]
    kept = [(place[train][place[train] >= 0], place[test][place[test] >= 0]) for train, test in pairs]
    return Folds(kept, f"{len(kept)} given folds")


def _checked_pair(place: int, pair: Any, n: int) -> Pair:
    """Validate the training and test positions of a fold."""
    try:
        train, test = (np.asarray(one) for one in pair)
    except (TypeError, ValueError) as error:
        raise ValueError(f"fold {place} of cv must be a pair (train, test) of positions, got {brief(pair)}") from error
    train, test = (np.flatnonzero(one) if one.dtype == bool and one.shape == (n,) else one for one in (train, test))
    for name, one in (("trains", train), ("tests", test)):
        if one.ndim != 1 or one.dtype.kind not in "iu" or not len(one):
            raise ValueError(f"fold {place} of cv {name} on {brief(one)}: it must hold positions of examples")
        if one.min() < 0 or one.max() >= n:
            raise IndexError(f"fold {place} of cv {name} on example {one.min() if one.min() < 0 else one.max()} of {n}")
        if len(np.unique(one)) < len(one):
            raise ValueError(f"fold {place} of cv {name} twice on the same example")
    both = np.intersect1d(train, test)
    if len(both):
        raise ValueError(f"fold {place} of cv tests on example {both[0]}, which it also trains on")
    return train, test


def _check_folds(folds: Folds, targets: TaskTargets) -> None:
    """Require folds whose training rows hold every class."""
    if not len(folds):
        raise ValueError("cv holds no folds")
    for place, (train, test) in enumerate(folds.pairs):
        if not len(train) or not len(test):
            raise ValueError(f"fold {place} of cv holds none of the sampled examples: use fewer folds")
        if targets.codes is not None and targets.classes is not None:
            missing = np.setdiff1d(np.arange(len(targets.classes)), targets.codes[train])
            if len(missing):
                name = targets.classes[missing[0]].item()
                raise ValueError(f"fold {place} of cv trains on no example of class {name!r}: use stratified folds")


def _merged(folds: Folds, n: int, seed: int) -> Folds | None:
    """Return at most five folds, each of several disjoint ones; None if a pair of them trains on nothing in common."""
    disjoint = []
    tested = np.zeros(n, dtype=bool)
    for train, test in folds.pairs:
        if not tested[test].any():
            disjoint.append((train, test))
            tested[test] = True
    order = np.random.default_rng(seed).permutation(len(disjoint))
    merged = []
    for which in np.array_split(order, min(OUTER_FOLDS, len(disjoint))):
        trains, tests = zip(*(disjoint[one] for one in which), strict=True)
        merged.append((reduce(np.intersect1d, trains), np.sort(np.concatenate(tests))))
    nested = all(
        np.intersect1d(train, other).size
        and np.intersect1d(train, other_test).size
        and np.intersect1d(other, test).size
        for (train, test), (other, other_test) in combinations(merged, 2)
    )
    if nested and len(merged) >= 3:
        return Folds(merged)
    return None


def interleaved(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a random order in which every prefix holds the classes in proportion, and soon one of each.

    >>> labels = np.array([0, 0, 0, 0, 1, 1, 0, 0])
    >>> labels[interleaved(labels, np.random.default_rng(0))]
    array([0, 1, 0, 0, 0, 1, 0, 0])
    """
    shuffled = rng.permutation(len(labels))
    codes = labels[shuffled]
    counts = np.bincount(codes)
    by_class = np.argsort(codes, kind="stable")
    ranks = np.empty(len(codes), dtype=np.intp)
    ranks[by_class] = np.arange(len(codes)) - (np.cumsum(counts) - counts)[codes[by_class]]
    when = np.where(ranks == 0, 0.0, (ranks + 0.5) / counts[codes])
    return shuffled[np.argsort(when, kind="stable")]
