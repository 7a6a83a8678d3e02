"""How to get the same findings again."""

from __future__ import annotations

import platform
import re
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata

from similitude import kernels
from similitude.compute.loops import IN_USE
from similitude.report.about import Subject
from similitude.similarity import Similarity
from similitude.similarity.expressions import parse
from similitude.support.errors import ExpressionError
from similitude.support.results import Result

PACKAGES = ("similitude", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Reproduce(Result):
    """How to get the same findings again.

    Attributes
    ----------
    command : str
        The command line; unless it was given, FILE and COLUMN stand for your file and its label column.
    code : str
        The Python program; X and y stand for your objects and labels.
    versions : dict
        Of Python and the packages used, and which loops ran.
    seed : int
    seconds : dict
        How long each part took.
    """

    command: str
    code: str
    versions: dict[str, str]
    seed: int
    seconds: dict[str, float]

    def __str__(self) -> str:
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        seconds = ", ".join(f"{part} {taken:.1f}" for part, taken in self.seconds.items())
        return f"{self.code}\n{self.command}\n{versions}; seed {self.seed}\nseconds: {seconds}"


class Clock:
    """Keeps how long each part took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Time what is done within."""
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start


def reproduce(subject: Subject, clock: Clock, command: str | None = None) -> Reproduce:
    """Return how to get the same findings again; `command` is the command line, where there was one."""
    readable = _readable(subject.similarity)
    expression = _quoted(repr(subject.similarity)) if readable else "MODULE:FUNCTION --trust"
    options = f"--similarity {expression} --task {subject.task} --seed {subject.seed}"
    versions = {"python": platform.python_version(), **{name: metadata.version(name) for name in PACKAGES}}
    return Reproduce(
        command=command or f"similitude report FILE --label COLUMN {options} -o report.html",
        code=_code(subject, readable),
        versions={**versions, "loops": IN_USE},
        seed=subject.seed,
        seconds=dict(clock.seconds),
    )


def _code(subject: Subject, readable: bool) -> str:
    """Return a program of a few lines."""
    text = repr(subject.similarity)
    used = sorted(set(re.findall(r"[A-Z]\w+", text)) & set(kernels.__all__))
    given = f"from similitude.kernels import {', '.join(used)}" if readable else f"similarity = ...  # your own: {text}"
    return "\n".join(
        [
            "from similitude import write_report",
            given,
            f'write_report({text if readable else "similarity"}, X, y, "report.html", task="{subject.task}", '
            f"random_state={subject.seed})",
        ]
    )


def _readable(similarity: Similarity) -> bool:
    """Tell whether what is printed of a similarity can be read again: a function of one's own cannot."""
    try:
        return bool(parse(repr(similarity)) == similarity)
    except (ExpressionError, TypeError, ValueError):
        return False


def _quoted(text: str) -> str:
    """Quote for a shell, in the way that is easier to read.

    >>> print(_quoted("Gaussian(sigma='median')"))
    "Gaussian(sigma='median')"
    """
    return shlex.quote(text) if set(text) & set('"$`\\!') or "'" not in text else f'"{text}"'
