"""The base class of results, the results that all rooms share, and the grades of guarantees."""

from __future__ import annotations

import dataclasses
import html
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

PROVEN = "PROVEN"
"""The sample is as large as the theorem demands; the assumption of the theorem is stated."""

HELD_OUT = "HELD-OUT"
"""An exact binomial interval on held-out data."""

ESTIMATE = "ESTIMATE"
"""An estimate on the training sample, with an interval by resampling or none."""

NONE = "NONE"
"""No theorem covers this case; the reason is given."""

GRADES = (PROVEN, HELD_OUT, ESTIMATE, NONE)


class Result:
    """Base class of results: frozen dataclasses that define ``__str__``."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as dicts, lists, numbers and strings."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {field.name: plain(getattr(self, field.name)) for field in fields}

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


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


@dataclass(frozen=True)
class Guarantee(Result):
    """A guarantee: what holds, by which theorem, under which assumption.

    Attributes
    ----------
    statement : str
        What holds, or why there is no guarantee.
    theorem : str
        The theorem and its source.
    assumption : str
        The assumption that no sample can verify.
    numbers : dict
        The numbers in the statement.
    grade : str
        PROVEN, HELD-OUT, ESTIMATE or NONE.
    """

    statement: str
    theorem: str
    assumption: str
    numbers: dict[str, float] = field(default_factory=dict)
    grade: str = NONE

    def __str__(self) -> str:
        numbers = ", ".join(f"{name} = {value:.4g}" for name, value in self.numbers.items())
        assumption = f"\n  assuming that {self.assumption}" if self.assumption else ""
        theorem = f"\n  by {self.theorem}" if self.theorem else ""
        return f"{self.grade}: {self.statement}{assumption}{theorem}" + (f"\n  {numbers}" if numbers else "")


def plain(value: Any, *, finite: bool = False) -> Any:
    """Return a value as dicts, lists, numbers and strings; with `finite`, numbers that are not finite become None.

    >>> plain({"error": float("nan"), 2: (1.5, Estimate)}, finite=True)
    {'error': None, '2': [1.5, "<class 'similitude.support.results.Estimate'>"]}
    """
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
