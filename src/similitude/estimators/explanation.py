"""Explanations: which training examples decided a prediction, with their labels; or what landmarks add to a score."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import Encoding, as_objects, rows
from similitude.evaluation import at_rows
from similitude.fitting import BlendInfluence, CascadeInfluence, GroupInfluence, Influence, LandmarkModel
from similitude.support import (
    Result,
    bar_from_middle,
    brief,
    heading,
    joined,
    notes,
    number_of,
    plain,
    table,
    unboxed,
    written,
)

SHOWN = 6
"""Examples that a printed explanation names."""

TELLING_SHARE = 0.1
"""Part of the score less its base that the shown examples have to account for."""

NEAREST_ROWS = 10
"""Rows of each label that are taken together as the nearest ones."""


@dataclass(frozen=True, eq=False)
class ListedExamples:
    """Training examples, or groups of rows, that add up to a score, the most influential first."""

    influences: np.ndarray
    labels: list[Any]
    counts: np.ndarray
    landmarks: np.ndarray
    similarities: np.ndarray
    note: str = ""

    def in_order(self) -> ListedExamples:
        """Return the same examples, the most influential first."""
        order = np.argsort(-np.abs(self.influences), kind="stable")
        labels = [self.labels[i] for i in order]
        shown = (self.landmarks[order], self.similarities[order])
        return ListedExamples(self.influences[order], labels, self.counts[order], *shown)

    def share(self) -> float:
        """Return the part of the whole sum that the first ones make up, negative if they speak against it."""
        total = float(self.influences.sum())
        if total:
            return float(self.influences[:SHOWN].sum()) / total
        return 1.0

    def tells(self) -> bool:
        """Tell whether the first ones account for a part of the whole sum, and whether little cancels in it."""
        # how many times larger than the score less its base the sizes of influences may add up to
        little = np.abs(self.influences).sum() <= 6.0 * abs(self.influences.sum())
        return bool(little) and self.share() >= TELLING_SHARE

    def telling(self, middle: float | None = None) -> ListedExamples:
        """Return single examples if a few of them tell what decided, otherwise rows of the same label together.

        Where labels are noisy, hundreds of rows have a small influence each, and the largest ones often speak against
        the prediction. Then the nearest rows of each label are one item, and its other rows another one. Numbers
        above and below `middle`, the mean, are told apart instead of labels; the label of an item is their mean.
        """
        if len(self.influences) <= SHOWN or self.tells():
            return self
        sides = self.labels
        side = "label"
        if middle is not None:
            sides = [label > middle for label in self.labels]
            side = "side of the mean"
        together = self._together(_nearest_and_others(sides, self.similarities, self.counts), middle is not None)
        if together.share() < min(self.share(), TELLING_SHARE):  # of many labels
            return self
        return replace(together, note=self._why_together(side))

    def _why_together(self, side: str) -> str:
        """Return in words why rows of each side are taken together."""
        items = "groups of rows"
        nearest = f"nearest groups with {NEAREST_ROWS} rows or more"
        if int(self.counts.max()) == 1:
            items = "rows"
            nearest = f"{NEAREST_ROWS} nearest rows"
        return (
            f"of {self.influences.sum():+.3g}, the {SHOWN} most influential {items} account for "
            f"{self.influences[:SHOWN].sum():+.3g}, and the sizes of all influences add up to "
            f"{np.abs(self.influences).sum():.3g}: so the {nearest} of each {side} are taken together, and so are its "
            f"other {items}"
        )

    def _together(self, groups: list[np.ndarray], numbers: bool) -> ListedExamples:
        """Return one item for each group, shown by the member that adds most to its sum."""
        sums = np.array([self.influences[group].sum() for group in groups])
        shown = [
            group[np.argmax(np.sign(total) * self.influences[group])] for group, total in zip(groups, sums, strict=True)
        ]
        labels = [self.labels[i] for i in shown]
        if numbers:
            values = np.asarray(self.labels, dtype=np.float64)
            labels = [float(np.average(values[group], weights=self.counts[group])) for group in groups]
        counts = np.array([self.counts[group].sum() for group in groups])
        return ListedExamples(sums, labels, counts, self.landmarks[shown], self.similarities[shown]).in_order()


def _nearest_and_others(sides: list[Any], similarities: np.ndarray, counts: np.ndarray) -> list[np.ndarray]:
    """Split the items of each side into the nearest ones, which hold `NEAREST_ROWS` rows or more, and all others."""
    members: dict[Any, list[int]] = {}
    for i, side in enumerate(sides):
        members.setdefault(side, []).append(i)
    found = []
    for some in members.values():
        own = np.array(some)[np.argsort(-similarities[some], kind="stable")]
        n = int(np.searchsorted(np.cumsum(counts[own]), NEAREST_ROWS)) + 1
        found += [part for part in (own[:n], own[n:]) if len(part)]
    return found


OTHER_CLASSES = "other classes"
ALL_CLASSES = "all classes"
"""The label of rows of several classes that are not kept apart; of all of them where none is."""


@dataclass(frozen=True, eq=False)
class Asked:
    """Predictions to explain, and which combination of outputs is explained."""

    predictions: Any
    scores: np.ndarray
    directions: np.ndarray
    against: list[Any]
    shift: Any = 0.0


@dataclass(frozen=True, eq=False)
class Explanation(Result):
    r"""One prediction as an exact sum over training examples, or groups of them, the most influential first.

    ``score = base + influences.sum() + rest``. A positive influence speaks for the predicted class, or for a larger
    number. With the squared loss, had the label of an example been average (those of a group), ``score - base`` would
    be lower by exactly its influence, at the same penalty; by about 1 % more or less after fits in steps (kernels of
    5,000 to 20,000 vectors, fits on a GPU), whose influences come from steps too.

    Attributes
    ----------
    prediction : label or number
    against : label or None
        The class that the predicted one is compared with: the other one of two, else the runner-up; None for numbers,
        and for the score of a class by itself.
    score : float
        The score of the predicted class, less that of `against` if there are several classes; or the number.
    base : float
        The score without any influence: that of the mean of the targets (of the working responses, for losses other
        than the squared one).
    examples : list of objects
        The training examples, or the landmark of each group.
    labels : list
        The label of each example; of the rows of a group, which share it; or the mean of their numbers. With many
        classes and losses other than the squared one, rows of those that are not kept apart are ``"other classes"``,
        and ``"all classes"`` if the predicted one is among them.
    influences : array of float
        What each adds to the score.
    similarities : array of float
        The similarity of the object to each example: K(x, l), or K(l, x) if only that is used.
    positions : array of int, or None
        Their positions in the training data; None if some are not rows of it.
    counts : array of int
        How many training rows stand behind each.
    rest : float
        What no example accounts for: what the solver left with ``penalty="l1"``, or with many landmarks on a device;
        otherwise 0.
    by : {"examples", "landmarks"}
        ``landmarks``: the weights of landmarks times similarities instead of influences, with the intercept as the
        base.
    note : str
        Why rows of the same label are taken together, if they are: where labels are noisy, hundreds of rows have a
        small influence each, and a few of them would not tell what decided.
    """

    prediction: Any
    against: Any
    score: float
    base: float
    examples: list[Any]
    labels: list[Any] | None
    influences: np.ndarray
    similarities: np.ndarray
    positions: np.ndarray | None
    counts: np.ndarray
    rest: float = 0.0
    by: str = "examples"
    note: str = ""

    @property
    def title(self) -> str:
        """The prediction, and what it is compared with."""
        if self.against is None:
            return _label(self.prediction)
        return f"{_label(self.prediction)} against {written(self.against)}"

    def describe(self, i: int) -> str:
        """Return the i-th example in words: its label, how many rows it stands for, itself, where it is."""
        where = ""
        if self.positions is not None:
            where = f" (row {self.positions[i]})"
        label = ""
        if self.labels is not None:
            label = _label(self.labels[i])
        one = _short(self.examples[i])
        if self.by == "landmarks":
            return f"{one}{where}"
        if self.counts[i] == 1:
            return f"{label}: {one}{where}"
        return f"{label}: {self.counts[i]:,} rows such as {one}{where}"

    def others(self, shown: int) -> tuple[float, str] | None:
        """Return the sum of the influences that are not shown, and what they are; None if all are shown."""
        rest = self.influences[shown:]
        if not len(rest):
            return None
        if self.by == "landmarks":
            return float(rest.sum()), number_of(len(rest), "other landmark")
        return float(rest.sum()), number_of(int(self.counts[shown:].sum()), "other row")

    def lines(self, shown: int) -> Iterator[tuple[float, float | None, str]]:
        """Yield what adds up to the score: its size, a similarity or None, and what it is."""
        for i in range(min(shown, len(self.examples))):
            yield float(self.influences[i]), float(self.similarities[i]), self.describe(i)
        others = self.others(shown)
        if others is not None:
            yield others[0], None, others[1]
        if self.rest:
            yield self.rest, None, "left by the solver"
        what = "base: the score without any influence"
        if self.by == "landmarks":
            what = "intercept"
        yield self.base, None, what

    def __str__(self) -> str:
        found = [f"{self.title}{self._score()}, the sum of"]
        for size, similarity, what in self.lines(SHOWN):
            near = ""
            if similarity is not None:
                near = f", similarity {similarity:.3g}"
            found.append(f"  {size:+.4g}  {what}{near}")
        if self.note:
            found.append(f"  note: {self.note}")
        return "\n".join(found)

    def _score(self) -> str:
        """Return the score in words; a predicted number is its own score."""
        if self.prediction == self.score:
            return ""
        return f": score {self.score:.4g}"

    def html_parts(self) -> Sequence[object]:
        """Return the prediction, and what adds up to its score, with bars."""
        # examples that an explanation in a notebook names
        lines = list(self.lines(8))
        largest = max([abs(size) for size, _, _ in lines]) or 1.0
        rows = []
        for size, similarity, what in lines:
            near = ""
            if similarity is not None:
                near = f"{similarity:.3g}"
            rows.append((bar_from_middle(size / largest), f"{size:+.4g}", near, what))
        heads = ("against | for", "adds", "similarity", {"examples": "training rows"}.get(self.by, self.by))
        every = table(heads, rows, numbers=(1, 2), most=len(rows))
        return f"{self.title}{self._score()}", every, notes(list(filter(None, [self.note])))


@dataclass(frozen=True, eq=False, repr=False)
class Explanations(Sequence[Explanation], Result):
    """The explanations of several predictions: a sequence that prints, is drawn in notebooks, and goes to JSON.

    Examples
    --------
    >>> from similitude import SimilarityClassifier
    >>> from similitude.datasets import iris
    >>> X, y = iris()
    >>> why = SimilarityClassifier(random_state=0).fit(X, y).explain(X[:2])
    >>> len(why), why[0].prediction, why[0].labels[0]
    (2, 'setosa', 'setosa')
    >>> bool(abs(why[0].base + why[0].influences.sum() - why[0].score) < 1e-12)
    True
    """

    items: list[Explanation]

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, slice):
            return Explanations(self.items[which])
        return self.items[which]

    def __repr__(self) -> str:
        return f"Explanations({self.items!r})"

    def __str__(self) -> str:
        return "\n".join(map(str, self.items))

    def to_dict(self) -> dict[str, Any]:
        """Return the explanations as dicts, lists, numbers and strings."""
        return {"explanations": plain(self.items)}

    def html_parts(self) -> Sequence[object]:
        """Return the first explanations, and how many there are."""
        # explanations that a notebook shows at once; the others are counted
        shown = [joined(heading(title), *parts) for title, *parts in [one.html_parts() for one in self.items[:5]]]
        more = [f"and {len(self.items) - len(shown):,} more"] * (len(shown) < len(self.items))
        return number_of(len(self.items), "explanation"), *shown, notes(more)


def explain_by_examples(
    model: Any,
    encodings: tuple[Encoding, ...],
    influence: Influence | CascadeInfluence,
    asked: Asked,
    classes: np.ndarray | None,
    together: bool,
) -> Explanations:
    """Explain the predictions for encoded objects by training examples, `together` where few do not tell."""
    landmarks = model.parts[0].features.landmarks
    objects = []
    if len(landmarks):
        objects = as_objects(landmarks.objects)
    labels = influence.labels
    if classes is not None and len(labels):
        labels = classes[labels]
    places = at_rows(landmarks.positions, influence.heads)
    found = []
    # numbers that are held at once: objects times examples times outputs; but for one object
    step = max(1, min(256, (2**24) // max(1, len(influence.heads) * len(influence.base))))
    for start in range(0, len(asked.scores), step):
        cut = slice(start, start + step)
        terms, similarities = influence.terms(model, rows(encodings, cut))
        for i, added, near in zip(range(start, start + step), terms, similarities, strict=False):
            u = asked.directions[i]
            score = float(asked.scores[i] @ u)
            base = float((influence.base + asked.shift) @ u)
            items = _items(influence, labels, added @ u, near, u)
            influences, rest = _settled(items.influences, score - base)
            listed = replace(items, influences=influences).in_order()
            if together and classes is None:
                listed = listed.telling(float(influence.base[np.flatnonzero(u)[0]]))
            elif together:
                listed = listed.telling()
            found.append(
                Explanation(
                    unboxed(asked.predictions[i]),
                    unboxed(asked.against[i]),
                    score,
                    base,
                    [objects[influence.heads[j]] for j in listed.landmarks],
                    listed.labels,
                    listed.influences,
                    listed.similarities,
                    at_rows(places, listed.landmarks),
                    listed.counts.astype(np.intp),
                    rest,
                    note=listed.note,
                )
            )
    return Explanations(found)


def _items(
    influence: Influence | CascadeInfluence, labels: np.ndarray, influences: np.ndarray, near: np.ndarray, u: np.ndarray
) -> ListedExamples:
    """Return what an explanation in the direction u lists; groups that are not kept come last, as one."""
    every = np.arange(len(influence.heads))
    shown = labels
    if labels.ndim == 2:
        shown = labels[:, np.flatnonzero(u)[0]]
    if isinstance(influence, BlendInfluence) and influences.any():  # rows of other cells have no part
        every = np.flatnonzero(influences)
        return ListedExamples(influences[every], shown[every].tolist(), influence.counts[every], every, near[every])
    if not isinstance(influence, GroupInfluence) or influence.columns is None:
        return ListedExamples(influences, shown.tolist(), influence.counts, every, near)
    kept = influence.kept[:, u != 0]
    if kept.all():  # the others are nobody
        return ListedExamples(influences[:-1], shown.tolist(), influence.counts, every, near)
    apart = kept.any(axis=1)
    others = every[~apart]
    if apart.all():
        others = every[~kept.all(axis=1)]
    counts = influence.counts[others]
    label: Any = OTHER_CLASSES
    if labels.ndim == 2:
        label = float(shown[others] @ counts / counts.sum())
    elif not apart.any():
        label = ALL_CLASSES
    heads = np.append(every[apart], others[np.argmax(counts)])
    return ListedExamples(
        np.append(influences[:-1][apart], influences[-1]),
        [*shown[apart].tolist(), label],
        np.append(influence.counts[apart], counts.sum()),
        heads,
        near[heads],
    )


def explain_by_landmarks(
    model: LandmarkModel, encodings: tuple[Encoding, ...], intercept: np.ndarray, asked: Asked
) -> Explanations:
    """Explain the predictions for encoded objects by weights of landmarks times similarities."""
    used = [part.features.landmarks for part in model.parts if len(part.features.landmarks)]
    objects = [one for landmarks in used for one in as_objects(landmarks.objects)]
    positions = None
    if all(one.positions is not None for one in used):
        positions = np.concatenate([np.empty(0, dtype=np.intp), *[one.positions for one in used]])
    found = []
    for i in range(len(asked.scores)):
        parts = [part.contributions(A) for part, A in zip(model.parts, rows(encodings, slice(i, i + 1)), strict=True)]
        u = asked.directions[i]
        added = np.concatenate([terms[0] @ u for terms, _ in parts])
        near = np.concatenate([similarities[0] for _, similarities in parts])
        order = np.argsort(-np.abs(added), kind="stable")
        base = float(intercept @ u)
        found.append(
            Explanation(
                unboxed(asked.predictions[i]),
                unboxed(asked.against[i]),
                float(added.sum()) + base,
                base,
                [objects[j] for j in order],
                None,
                added[order],
                near[order],
                at_rows(positions, order),
                np.ones(len(order), dtype=np.intp),
                by="landmarks",
            )
        )
    ratios = [np.abs(one.influences).sum() / max(abs(one.score - one.base), 1e-300) for one in found]
    # how many times larger than the score the sizes of landmark weights add up to when a warning is due
    if ratios and float(np.median(ratios)) > 100.0:
        warnings.warn(
            f"weights of landmarks cancel: their sizes add up to {np.median(ratios):.2g} times the score, so that none "
            "of them tells what decided; explain(X) explains by training examples",
            UserWarning,
            stacklevel=4,
        )
    return Explanations(found)


def _settled(influences: np.ndarray, total: float) -> tuple[np.ndarray, float]:
    """Return the influences, and what is left of a total; if that can only be rounding, it is spread in proportion."""
    gap = total - float(influences.sum())
    sizes = np.abs(influences)
    size = float(sizes.sum())
    # the part of the influences that their sum may differ from the score by rounding; it is spread over all of them
    if abs(gap) > 1e-5 * size:
        return influences, gap
    return influences + gap * sizes / (size or 1.0), 0.0


def _short(value: Any) -> str:
    """Return an object in a few words; numbers of vectors with four digits."""
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind == "f":
        shown = [f"{one:.4g}" for one in value[:4].tolist()] + ["…"] * (len(value) > 4)
        return f"[{', '.join(shown)}]"
    return brief(value)


def _label(label: Any) -> str:
    if isinstance(label, float):
        return f"{label:.4g}"
    return written(label)
