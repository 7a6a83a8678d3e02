"""Results of tests: the p-value, what each kernel says, and the objects that tell the samples apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from operator import attrgetter
from typing import Any

from similitude.support import Result, brief, notes, number_of, paragraph, printable, table


@dataclass(frozen=True, eq=False)
class KernelFinding(Result):
    """What one kernel says.

    Attributes
    ----------
    kernel : str
        The kernel, or both kernels of a test of independence, with data-dependent parameters resolved.
    statistic : float
        The estimate of the squared maximum mean discrepancy (MMD), or of the Hilbert-Schmidt independence criterion.
    p_value : float
        Of this kernel alone: the smallest of several is no p-value.
    """

    kernel: str
    statistic: float
    p_value: float

    def __str__(self) -> str:
        return f"{self.kernel}: {self.statistic:.4g}, alone p = {self.p_value:.4g}"


@dataclass(frozen=True, eq=False)
class TellingObject(Result):
    """An object around which the samples differ.

    Attributes
    ----------
    sample : str
        The argument that holds the object.
    position : int
        Its position there.
    object : object
    witness : float
        By how many standard errors the object is more similar to its own sample than to the other one, compared with
        the average object: the witness function of the MMD, without the similarity of the object to itself.
    p_value : float
        The share of permutations in which the largest witness of all objects is at least as large. If the samples have
        the same distribution, objects with at most 0.05 are named with probability at most 0.05. If they differ, the
        p-values of objects in regions where they do not differ are approximate.
    """

    sample: str
    position: int
    object: Any
    witness: float
    p_value: float

    @property
    def shown(self) -> str:
        """The object in a few letters."""
        return printable(brief(self.object))

    def __str__(self) -> str:
        errors = f"{self.witness:.3g} standard errors, p = {self.p_value:.4g}"
        return f"{self.sample}[{self.position}] {self.shown}: {errors}"


@dataclass(frozen=True, eq=False)
class TestResult(Result):
    """The result of a test of a hypothesis.

    Attributes
    ----------
    hypothesis : str
        What is tested, such as "both samples have the same distribution".
    statistic : float
        With one kernel its estimate, with several a combination of the standardized ones.
    p_value : float
        (1 + b) / (1 + B), where b of B permutations give at least this statistic. If the hypothesis holds, it is at
        most a with probability at most a, for every a and whatever the similarity.
    level : float
        The hypothesis is rejected if the p-value is at most this.
    sizes : tuple of int
        The numbers of objects.
    n_permutations : int
        B.
    kernels : tuple of KernelFinding
    telling : tuple of TellingObject
        The objects that tell the samples apart, most telling first; none for a test of independence.
    n_landmarks : int or None
        The number of landmarks that objects are compared with; None if all pairs are.
    notes : tuple of str
        What was decided, and what to keep in mind.
    """

    __test__ = False  # for pytest, which takes it for a test

    hypothesis: str
    statistic: float
    p_value: float
    level: float
    sizes: tuple[int, ...]
    n_permutations: int
    kernels: tuple[KernelFinding, ...]
    telling: tuple[TellingObject, ...]
    n_landmarks: int | None
    notes: tuple[str, ...]

    @property
    def rejected(self) -> bool:
        """Whether the hypothesis is rejected at the level."""
        return self.p_value <= self.level

    def __repr__(self) -> str:
        return f"{type(self).__name__}(statistic={self.statistic:.4g}, p_value={self.p_value:.4g})"

    def __str__(self) -> str:
        verdict = "rejected" if self.rejected else "not rejected"
        sizes = " and ".join(f"{n:,}" for n in self.sizes)
        how = "all pairs" if self.n_landmarks is None else number_of(self.n_landmarks, "landmark")
        kernels = self._kernels_in_order()
        by_sample = groupby(self.telling, attrgetter("sample"))
        lines = [
            f"{self.hypothesis}: {verdict} at the level {self.level:g}, p = {self.p_value:.4g}",
            f"{sizes} objects, {how}, {number_of(self.n_permutations, 'permutation')}, statistic {self.statistic:.4g}",
            *[f"  {one}" for one in kernels[:5]],
            *[f"  … and {len(kernels) - 5} others"] * (len(kernels) > 5),
            *self._about_batches(),
            *["Most telling objects:"] * bool(self.telling),
            *[f"  {one}" for _, objects in by_sample for one in islice(objects, 3)],
            *[f"Note: {note}" for note in self.notes],
        ]
        return "\n".join(lines)

    def html_parts(self) -> Sequence[object]:
        """Return the verdict, the kernels, the objects that tell, and the notes."""
        title, about, *_ = str(self).split("\n")
        kernels = [(one.kernel, f"{one.statistic:.4g}", f"{one.p_value:.4g}") for one in self._kernels_in_order()]
        telling = [
            (f"{one.sample}[{one.position}]", brief(one.object), f"{one.witness:.3g}", f"{one.p_value:.4g}")
            for one in self.telling
        ]
        heads = ("most telling", "object", "standard errors", "p")
        return (
            title,
            paragraph(about),
            table(("kernel", "statistic", "p alone"), kernels, numbers=(1, 2), noun="kernels", most=5),
            *map(paragraph, self._about_batches()),
            *[table(heads, telling, numbers=(2, 3), noun="objects")] * bool(telling),
            notes(self.notes),
        )

    def _kernels_in_order(self) -> list[KernelFinding]:
        return sorted(self.kernels, key=lambda one: one.p_value)

    def _about_batches(self) -> list[str]:
        return []


@dataclass(frozen=True, eq=False, repr=False)
class DriftResult(TestResult):
    """The result of a test for drift: whether new objects differ from the reference, and in which batches.

    The p-value is the smallest of `p_values`, `statistic` is that of the same batch, and so are `kernels` and
    `telling`.

    Attributes
    ----------
    batches : tuple
        The batches: their numbers from 0, or the labels that were given.
    p_values : tuple of float
        Of each batch, corrected for their number by Holm's method: whichever batches have drifted, a batch that has not
        is named with probability at most `level`.
    """

    batches: tuple[Any, ...]
    p_values: tuple[float, ...]

    @property
    def drifted(self) -> tuple[Any, ...]:
        """The batches that differ from the reference at the level."""
        pairs = zip(self.batches, self.p_values, strict=True)
        return tuple(batch for batch, p in pairs if p <= self.level)

    def _about_batches(self) -> list[str]:
        named = ", ".join(printable(brief(batch)) for batch in self.drifted) or "none"
        return [f"Batches that differ, of {len(self.batches)}: {named}"] * (len(self.batches) > 1)
