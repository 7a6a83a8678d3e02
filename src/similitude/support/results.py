"""The base class of results, the results that all rooms share, and the grades of guarantees."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import TYPE_CHECKING, Any

from similitude.support.errors import brief
from similitude.support.notebook_html import Html, card, facts, joined, paragraph, preformatted, table, tag
from similitude.support.text import written

if TYPE_CHECKING:
    import numpy as np

PROVEN = "PROVEN"
"""A theorem applies, and every premise but independent rows holds by proof or by construction."""

CONDITIONAL = "CONDITIONAL"
"""A theorem applies if the stated premises hold; the sample contradicts none of them."""

HELD_OUT = "HELD-OUT"
"""An exact binomial interval on held-out data."""

ESTIMATE = "ESTIMATE"
"""An estimate on the training sample, with an interval by resampling or none."""

NONE = "NONE"
"""No theorem covers this case, or the sample contradicts one of its premises; the reason is given."""

GRADES = (PROVEN, CONDITIONAL, HELD_OUT, ESTIMATE, NONE)


class Result:
    """Base class of results: frozen dataclasses that define ``__str__``."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in vars(cls):
            cls.__repr__ = cls.__repr__  # type: ignore[method-assign]  # kept, where dataclass would write another one

    def __repr__(self) -> str:
        inside = ", ".join([f"{name}={written(value)}" for name, value in self._shown().items()])
        return f"{type(self).__qualname__}({inside})"

    def _shown(self) -> dict[str, Any]:
        """Return all fields but those that are not in the repr."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {one.name: getattr(self, one.name) for one in fields if one.repr}

    def to_dict(self) -> dict[str, Any]:
        """Return the result as dicts, lists, numbers and strings."""
        return {name: plain(value) for name, value in self._shown().items()}

    def html_parts(self) -> Sequence[object]:
        """Return what notebooks show: the title, and the parts below it. By default the text, line by line."""
        if type(self).__str__ is object.__str__:  # a record without a text of its own
            return type(self).__name__, facts([(name, brief(value)) for name, value in self._shown().items()])
        title, _, rest = str(self).partition("\n")
        return title, preformatted(rest) if rest else Html()

    def _repr_html_(self) -> str:
        return card(*self.html_parts())


@dataclass(frozen=True)
class Estimate(Result):
    """An estimate with an interval, and the grade of the interval.

    Attributes
    ----------
    value, low, high : float
    level : float
        The probability that such an interval contains the true value.
    grade : str
        PROVEN, HELD-OUT or ESTIMATE.

    Examples
    --------
    >>> print(Estimate(0.12, 0.1, 0.15, 0.95, HELD_OUT))
    0.12 [0.1, 0.15] (95 %, HELD-OUT)
    """

    value: float
    low: float
    high: float
    level: float
    grade: str

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}] ({100 * self.level:g} %, {self.grade})"

    def html_parts(self) -> Sequence[object]:
        """Return the estimate and its interval."""
        interval = f"{self.low:.4g} to {self.high:.4g} ({100 * self.level:g} %)"
        return joined(f"{self.value:.4g} ", tag(self.grade)), facts([("interval", interval)])


@dataclass(frozen=True)
class Curve(Result):
    """A curve with an interval at each point.

    Attributes
    ----------
    x, y, low, high : array
    level : float
        The probability that the interval at one point contains the true value.
    grade : str
        PROVEN, HELD-OUT or ESTIMATE.
    """

    x: np.ndarray
    y: np.ndarray
    low: np.ndarray
    high: np.ndarray
    level: float
    grade: str

    def __str__(self) -> str:
        points = zip(self.x, self.y, self.low, self.high, strict=True)
        lines = [f"  {x:10.4g} {y:10.4g}  [{low:.4g}, {high:.4g}]" for x, y, low, high in points]
        return "\n".join([f"{len(lines)} points ({100 * self.level:g} %, {self.grade})", *lines])

    def html_parts(self) -> Sequence[object]:
        """Return the points as a table."""
        points = zip(self.x, self.y, self.low, self.high, strict=True)
        rows = [(f"{x:.4g}", f"{y:.4g}", f"{low:.4g} to {high:.4g}") for x, y, low, high in points]
        heads = ("x", "y", f"interval ({100 * self.level:g} %)")
        return joined(f"{len(rows)} points ", tag(self.grade)), table(heads, rows, numbers=(0, 1, 2), noun="points")


@dataclass(frozen=True)
class Premise(Result):
    """A premise of a theorem, and what is known about it.

    Attributes
    ----------
    text : str
    state : {"proven", "assumed", "contradicted"}
        Whether it holds by proof or by construction, is assumed, or is contradicted by the sample.
    evidence : str
        Why it holds, or what the sample says about it.
    """

    text: str
    state: str
    evidence: str = ""

    def __str__(self) -> str:
        return f"{self.state}: {self.text}" + f" ({self.evidence})" * bool(self.evidence)


INDEPENDENT_ROWS = Premise("the rows are independent draws from one distribution", "assumed", "no sample can show it")
"""The premise of every statement about new objects; a PROVEN guarantee may rest on it."""


@dataclass(frozen=True)
class Guarantee(Result):
    """A guarantee: what holds, by which theorem, under which premises.

    Attributes
    ----------
    statement : str
        What holds, or why there is no guarantee.
    theorem : str
        The theorem and its source.
    premises : tuple of Premise
        What the theorem requires, and what is known about each requirement.
    numbers : dict
        The numbers in the statement.
    grade : str
        PROVEN, CONDITIONAL or NONE.

    Examples
    --------
    >>> bounded = Premise("the values are within [-1, 1]", "contradicted", "the largest of 100 is 3")
    >>> print(Guarantee.under([bounded], "the error is at most 0.1", "Theorem 1"))
    NONE: nothing is promised: that the values are within [-1, 1] is contradicted: the largest of 100 is 3
      by Theorem 1
    """

    statement: str
    theorem: str = ""
    premises: tuple[Premise, ...] = ()
    numbers: dict[str, float] = field(default_factory=dict)
    grade: str = NONE

    @classmethod
    def under(
        cls, premises: Sequence[Premise], statement: str, theorem: str, numbers: dict[str, float] | None = None
    ) -> Guarantee:
        """Return the guarantee of a theorem that applies if its premises hold, with the grade that they allow."""
        for one in premises:
            if one.state == "contradicted":
                reason = f"that {one.text} is contradicted: {one.evidence}"
                return cls.none(reason, theorem, numbers)
        certain = all(one.state == "proven" or one == INDEPENDENT_ROWS for one in premises)
        return cls(statement, theorem, tuple(premises), numbers or {}, PROVEN if certain else CONDITIONAL)

    @classmethod
    def none(cls, reason: str, theorem: str = "", numbers: dict[str, float] | None = None) -> Guarantee:
        """Return the guarantee that promises nothing, with the reason."""
        return cls(f"nothing is promised: {reason}", theorem, (), numbers or {}, NONE)

    def __str__(self) -> str:
        lines = [f"{self.grade}: {self.statement}"]
        if self.theorem:
            lines.append(f"  by {self.theorem}")
        lines += [f"  {premise}" for premise in self.premises]
        if self.numbers:
            lines.append("  " + ", ".join(f"{name} = {value:.4g}" for name, value in self.numbers.items()))
        return "\n".join(lines)

    def html_parts(self) -> Sequence[object]:
        """Return the statement, the theorem, its premises and what is known of each."""
        parts = []
        if self.theorem:
            parts.append(paragraph(f"By {self.theorem}."))
        if self.premises:
            rows = [(tag(one.state), one.text, one.evidence) for one in self.premises]
            parts.append(table(("premise", "that", "evidence"), rows))
        if self.numbers:
            parts.append(facts([(name, f"{value:.4g}") for name, value in self.numbers.items()]))
        return joined(tag(self.grade), " ", self.statement), *parts


def rounded_up(value: float, digits: int = 4) -> str:
    """Write an upper bound, or a number that must at least be reached, in a few digits that are not below it.

    >>> rounded_up(0.12344), rounded_up(0.1), rounded_up(2.0), rounded_up(0.12344, 2)
    ('0.1235', '0.1', '2', '0.13')
    """
    return _rounded(value, digits, ROUND_CEILING)


def rounded_down(value: float, digits: int = 4) -> str:
    """Write a lower bound in a few digits that are not above it.

    >>> rounded_down(0.12346), rounded_down(0.1), rounded_down(0.3 - 0.1)
    ('0.1234', '0.1', '0.2')
    """
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float, digits: int, towards: str) -> str:
    nearest = f"{value:.{digits}g}"
    if math.isclose(float(nearest), value, rel_tol=1e-12):
        return nearest
    return f"{float(Context(prec=digits, rounding=towards).create_decimal_from_float(value)):.{digits}g}"


def number_of(n: int, noun: str) -> str:
    """Return a number with a noun.

    >>> number_of(1, "row"), number_of(1200, "row"), number_of(2, "class")
    ('1 row', '1,200 rows', '2 classes')
    """
    several = {"class": "classes"}.get(noun, f"{noun}s")
    return f"{n:,} {noun if n == 1 else several}"


def plain(value: Any, *, finite: bool = False) -> Any:
    """Return a value as dicts, lists, numbers and strings; with `finite`, numbers that are not finite become None.

    >>> plain({"error": float("nan"), 2: (1.5, Estimate)}, finite=True)
    {'error': None, '2': [1.5, "<class 'similitude.support.results.Estimate'>"]}
    """
    if type(value) in (str, int, bool) or (type(value) is float and (not finite or math.isfinite(value))):
        return value  # at once, as most are
    if isinstance(value, Result):
        value = value.to_dict()
    elif hasattr(value, "tolist"):  # an array or a scalar of NumPy
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item, finite=finite) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item, finite=finite) for key, item in value.items()}
    if finite and isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
