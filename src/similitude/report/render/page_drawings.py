"""The drawings of a page: each is written once, and copied by the page's script where it is shown again."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from similitude.report.findings import Findings
from similitude.report.render.drawings import Drawer, drawer

BUDGET = 1_300_000
"""Characters of drawings after which objects are written as text, to keep the page small."""


class PageDrawings:
    """Draws all objects of a page on one scale; vectors as images of `image_shape` if that is given."""

    def __init__(self, found: Findings, image_shape: tuple[int, int] | None) -> None:
        shown: list[Any] = [*found.about.examples, *found.landmarks, *found.examples]
        witness = found.validity.witness
        objects = [one.object for one in shown] + ([] if witness is None else list(witness.objects))
        names = None if found.about.names is None else list(found.about.names)
        self.drawer = drawer(found.about.kind, objects, names=names, image_shape=image_shape)
        self._spent = 0
        self._drawn: dict[tuple[int, int], str] = {}
        self._numbers: dict[str, int] = {}
        self._on_page: set[int] = set()

    @property
    def cut_short(self) -> bool:
        """Whether some objects are written as text instead of drawn."""
        return self._spent >= BUDGET

    def legend(self) -> Markup:
        """Return the legend of colors and scales."""
        return Markup(self.drawer.legend())

    def show(self, one: Any, near: Any = None) -> Markup:
        """Return a drawing for its place on the page."""
        drawn = self._draw(one, near)
        number = self._number(drawn)
        name = "" if number in self._on_page else f' id="drawing-{number}"'
        self._on_page.add(number)
        return Markup(f'<div class="object"{name}>{drawn}</div>')

    def refer(self, one: Any, near: Any = None) -> int:
        """Return the number of a drawing, by which the script copies it."""
        return self._number(self._draw(one, near))

    def rest(self) -> list[Markup]:
        """Return the drawings that were referred to but not shown."""
        return [
            Markup(f'<div class="object" id="drawing-{number}">{drawn}</div>')
            for drawn, number in self._numbers.items()
            if number not in self._on_page
        ]

    def _draw(self, one: Any, near: Any) -> str:
        near = near if self.drawer.compares else None
        pair = (id(one), id(near))  # the findings keep all objects alive
        if pair not in self._drawn:
            artist = self.drawer if self._spent < BUDGET else Drawer()
            self._drawn[pair] = artist.draw(one, near)
            self._spent += len(self._drawn[pair])
        return self._drawn[pair]

    def _number(self, drawn: str) -> int:
        return self._numbers.setdefault(drawn, len(self._numbers))
