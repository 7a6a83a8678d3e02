"""How to reproduce findings: command line, Python program, versions, seed and times."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from similitude import kernels
from similitude.compute.loops import IN_USE
from similitude.report.findings.inputs import Inputs
from similitude.scikit import AUTO
from similitude.similarity import Auto, Similarity
from similitude.similarity.expressions import parse
from similitude.support import ExpressionError, Result, core_versions


@dataclass(frozen=True)
class Reproduce(Result):
    """How to reproduce findings."""

    command: str  # the command line; unless it was given, FILE and COLUMN stand for your file and its label column
    code: str  # a Python program; X and y stand for your objects and labels
    versions: dict[str, str]  # of Python and the packages used, and which implementation of the loops ran
    seed: int
    seconds: dict[str, float]  # that each step took

    def __str__(self) -> str:
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        seconds = ", ".join(f"{step} {taken:.1f}" for step, taken in self.seconds.items())
        return f"{self.code}\n{self.command}\n{versions}; seed {self.seed}\nseconds: {seconds}"


def how_to_reproduce(inputs: Inputs, seconds: dict[str, float], command: str | None = None) -> Reproduce:
    """Return how to reproduce findings; `command` is the command line, if there was one."""
    text = repr(AUTO if inputs.automatic == Auto() else inputs.asked)
    readable = inputs.automatic or _can_be_parsed(inputs.similarity)
    used = sorted(set(re.findall(r"[A-Z]\w+", text)) & set(kernels.__all__))
    expression = _quoted(text)
    given = f"from similitude.kernels import {', '.join(used)}"
    name = text
    if text == repr(AUTO):
        expression = AUTO
    elif not readable:
        expression = "MODULE:FUNCTION --trust"
        given = f"similarity = ...  # your own: {text}"
        name = "similarity"
    options = f"--similarity {expression} --task {inputs.task} --seed {inputs.seed}"
    budget = ""
    limit = ""
    if inputs.groups is not None:
        budget = ", groups=groups"
        limit = " --groups COLUMN"
    if inputs.max_calls is not None:
        budget += f", max_calls={inputs.max_calls}"
        limit += f" --max-calls {inputs.max_calls}"
    if inputs.model is not None:
        given = f"model = {inputs.model!r}"
        name = "model"
        options += "  # but for other parameters of the model"
    call = f'write_report({name}, X, y, "report.html", task="{inputs.task}"{budget}, random_state={inputs.seed})'
    return Reproduce(
        command=command or f"similitude report FILE --label COLUMN {options}{limit} -o report.html",
        code="\n".join(["from similitude import write_report", *[given] * (text != repr(AUTO)), call]),
        versions={**core_versions(), "loops": IN_USE},
        seed=inputs.seed,
        seconds=seconds,
    )


def _can_be_parsed(similarity: Similarity) -> bool:
    """Tell whether the repr of a similarity is an expression for it; that of a user's function is not."""
    try:
        return bool(parse(repr(similarity)) == similarity)
    except (ExpressionError, TypeError, ValueError):
        return False


def _quoted(text: str) -> str:
    """Quote for a shell, in double quotes if that needs no escapes."""
    return shlex.quote(text) if set(text) & set('"$`\\!') or "'" not in text else f'"{text}"'
