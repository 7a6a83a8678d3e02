"""Time on a device, and rows of the table."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Row:
    """One measurement: what, at which size, the figure with its unit, its error, and plain torch in the same run."""

    what: str
    size: str
    figure: float
    unit: str
    note: str = ""
    error: float | None = None
    plain: float | None = None

    def cells(self) -> list[str]:
        ratio = (
            "" if not self.plain else f"{self.figure / self.plain if self.faster else self.plain / self.figure:.1f}x"
        )
        error = "" if self.error is None else f"{self.error:.1e}"
        plain = "" if self.plain is None else f"{self.plain:,.4g}"
        return [self.what, self.size, f"{self.figure:,.4g} {self.unit}", error, plain, ratio, self.note]

    @property
    def faster(self) -> bool:
        """Whether a larger figure is the better one."""
        return self.unit != "s"


HEAD = ["what", "size", "figure", "relative error", "plain torch", "gain", "how"]


def table(rows: list[Row]) -> str:
    """Return the rows as Markdown."""
    lines = [HEAD, ["---"] * len(HEAD), *(row.cells() for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def wait(device: torch.device) -> None:
    """Wait until the device has done all that it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds(run: Callable[[], Any], device: torch.device, repeats: int = 3) -> float:
    """Return the least time of several runs after one that is not counted."""
    took = []
    for _ in range(repeats + 1):
        wait(device)
        start = time.perf_counter()
        run()
        wait(device)
        took.append(time.perf_counter() - start)
    return min(took[1:])
