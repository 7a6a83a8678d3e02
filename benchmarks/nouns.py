"""The nouns: a task says what is computed, a dataset on what, a contender by whom."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

OURS = "ours"

Data = dict[str, Any]
"""The keyword arguments of an operation."""


@dataclass(frozen=True)
class Settings:
    """What the user chose, as far as tasks need to know it."""

    quick: bool = False
    data: Path | None = None

    def size(self, full: int, quick: int) -> int:
        """Return the size for this run."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Dataset:
    """Data for one task: `make` returns new data for every seed."""

    name: str
    make: Callable[[np.random.Generator], Data]
    needs: str = ""
    """A file in the directory given by ``--data``; without it the dataset is skipped."""

    def missing(self, settings: Settings) -> str:
        """Return why the dataset cannot be made; nothing if it can."""
        if self.needs and (settings.data is None or not (settings.data / self.needs).exists()):
            return f"needs {self.needs} in --data DIR"
        return ""

    def fresh(self, seed: int) -> Data:
        """Return the data of this seed, the same in every process."""
        return self.make(np.random.default_rng(seed))


@dataclass(frozen=True)
class Check:
    """How right a result is: a value to print, and whether it is within the bound."""

    value: float
    says: str
    passed: bool


@dataclass(frozen=True)
class SelfTimed:
    """A result that brings its own time, such as one measured in another process."""

    seconds: float
    result: Any


class Contender:
    """Somebody who can do some of the operations: each is a method of that name."""

    name = ""
    packages: tuple[str, ...] = ()
    """Modules to import before anything is measured."""
    is_limit = False
    """Does less than the whole operation: what the machine can do at best. Its result is not checked."""
    compiles = False
    """Compiles at its first call, which therefore never counts."""
    uses_threads = True
    on_one_thread: tuple[str, ...] = ()
    """Operations that use one thread, however many there are: they are measured once."""

    def scales(self, operation: str) -> bool:
        """Tell whether an operation uses the threads it is given."""
        return self.uses_threads and operation not in self.on_one_thread

    def missing(self) -> str:
        """Return why the contender cannot take part; nothing if it can."""
        absent = [name for name in self.packages if importlib.util.find_spec(name.split(".")[0]) is None]
        return f"package {', '.join(absent)} is not installed" if absent else ""

    @functools.cached_property
    def library(self) -> Any:
        """The last of its packages, imported along with the others."""
        return [importlib.import_module(name) for name in self.packages][-1] if self.packages else None


@dataclass(frozen=True)
class Gate:
    """A promise about figures: `measure` gives a number of one dataset's figures, or None where it says nothing."""

    says: str
    measure: Callable[[Any], float | None]
    bound: float
    goal: float | None = None
    at_least: bool = False
    where: str = ""
    """Only datasets whose name contains this."""

    def met(self, value: float, bound: float) -> bool:
        """Tell whether a measured value keeps the promise."""
        return value >= bound if self.at_least else value <= bound


@dataclass(frozen=True)
class Task:
    """What is computed, on which data, and how the results are checked."""

    name: str
    computes: str
    operation: str
    """The name of a method: every contender that has it takes part."""
    datasets: Callable[[Settings], Sequence[Dataset]]
    check: Callable[[Data, Any, Any], Check]
    """Judges a result, given the data, the result and the truth."""
    truth: Callable[[Data], Any] = lambda data: None
    gates: tuple[Gate, ...] = ()
    threads: tuple[int, ...] | None = None
    """Only these numbers of threads; None: all that the user asks for."""
    at_size: Callable[[int], Dataset] | None = None
    sizes: tuple[int, ...] = ()
    """For the growth curve."""
    in_child: bool = True
    """Whether memory and the first call are measured, in processes of their own."""
    imports: tuple[str, ...] = ()
    """Modules that a first call would import: they are imported before anything is measured."""

    def load(self) -> None:
        """Import what a first call would."""
        for name in self.imports:
            importlib.import_module(name)
