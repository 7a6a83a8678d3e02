"""What a theorem is tried by: an experiment, and what it found."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits


@dataclass(frozen=True)
class Finding:
    """What a theorem promised and what was seen.

    Attributes
    ----------
    theorem, promised, measured : str
        The source and its number, its promise in figures, and the figures that were seen.
    trials : int
        How many problems or draws these are figures of.
    holds : bool
        Whether what was seen agrees with what was promised.
    """

    theorem: str
    promised: str
    measured: str
    trials: int
    holds: bool


@dataclass(frozen=True)
class Experiment:
    """A function ``tried(trials, rng, **setting)`` that returns a finding, and how often it is to be tried.

    Attributes
    ----------
    name : str
        Also its seed: what it finds does not depend on what ran before.
    full, short : int
        Numbers of trials; an experiment without a short form takes too long for the tests.
    setting : mapping
        Its figures.
    spoilt : mapping
        Changes of these figures under which the promise is broken, and the finding must say so.
    """

    name: str
    tried: Callable[..., Finding]
    full: int
    short: int | None
    setting: Mapping[str, Any] = field(default_factory=dict)
    spoilt: Mapping[str, Any] = field(default_factory=dict)

    def run(self, *, short: bool = False) -> Finding:
        """Return what is found."""
        return self._find(self._trials(short), self.setting)

    def run_spoilt(self) -> Finding:
        """Return what is found, in short form, where the promise is broken."""
        return self._find(self._trials(short=True), {**self.setting, **self.spoilt})

    def _find(self, trials: int, setting: Mapping[str, Any]) -> Finding:
        """Try it, seeded by its name, on one thread: more would not help small matrices."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        with threadpool_limits(1):
            return self.tried(trials, rng, **setting)

    def _trials(self, short: bool) -> int:
        if not short:
            return self.full
        if self.short is None:
            raise ValueError(f"the experiment {self.name} has no short form")
        return self.short
