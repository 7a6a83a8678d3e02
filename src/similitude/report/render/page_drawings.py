"""The drawings of a page: each is written once, and copied by the page's script where it is shown again."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from markupsafe import Markup

from similitude.kernels.graphs import parse_graph
from similitude.relevance import MOST_DRAWN_NODES, Attribution, drawing_of, shade
from similitude.report.findings import IDENTIFIER, TEXT, Findings
from similitude.report.limits import BUDGET, EXTRA
from similitude.report.render.drawings import Drawer, drawer
from similitude.report.render.drawings.html_snippets import escaped, shortened
from similitude.report.render.images import data_uri, palette


class PageDrawings:
    """Draws all objects of a page on one scale."""

    def __init__(self, found: Findings) -> None:
        shown: list[Any] = [*found.about.examples, *found.landmarks, *found.examples]
        witness = found.validity.witness
        objects = [one.object for one in shown] + ([] if witness is None else list(witness.objects))
        names = None if found.about.names is None else list(found.about.names)
        last = {one.name for one in found.columns if one.kind in (IDENTIFIER, TEXT)}
        self.drawer = drawer(found.about.kind, objects, names=names, image_shape=found.about.image_shape, last=last)
        self._image_shape = found.about.image_shape
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

    def refer_to_some(self, objects: dict[int, Any]) -> dict[int, int]:
        """Return the numbers of drawings of objects, by the same keys, as far as the page has room for them."""
        found = {}
        limit = max(self._spent, BUDGET) + EXTRA
        for key, one in objects.items():
            if self._spent > limit:
                break
            drawn = self.drawer.draw(one)
            self._spent += len(drawn)
            found[key] = self._number(drawn)
        return found

    def show_parts(self, found: Attribution) -> Markup:
        """Return an object colored by what its parts add to the score, if the page has room for it."""
        if self.cut_short:
            return Markup('<p class="under">Not drawn, to keep this file small.</p>')
        drawn = drawn_parts(found, self._image_shape)
        self._spent += len(drawn)
        return drawn

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
            artist = Drawer() if self.cut_short else self.drawer
            self._drawn[pair] = artist.draw(one, near)
            self._spent += len(self._drawn[pair])
        return self._drawn[pair]

    def _number(self, drawn: str) -> int:
        return self._numbers.setdefault(drawn, len(self._numbers))


def drawn_parts(found: Attribution, image_shape: tuple[int, int] | None) -> Markup:
    """Return an object with its parts colored by what they add to the score."""
    values = found.values.tolist()
    largest = float(np.abs(found.values).max(initial=0.0))
    if image_shape is not None and found.kind == "vectors" and len(values) == np.prod(image_shape):
        shares = (found.values.reshape(image_shape) / (largest or 1.0) + 1) / 2
        address = data_uri(shares, palette(("c2410c", "ffffff", "2563a8")))
        words = "what each pixel adds to the score: blue speaks for the prediction, orange against it"
        return Markup(f'<img class="drawing image" alt="{words}" title="{words}" src="{address}">')
    small = found.kind != "graphs" or parse_graph(0, found.object).nodes <= MOST_DRAWN_NODES
    if found.kind in ("graphs", "series", "strings") and small:
        return Markup(f'<div class="object">{drawing_of(found)}</div>')
    cells = []
    for i in found.order[:40].tolist():
        text = re.sub(r"\d+\.\d{4,}", lambda number: f"{float(number[0]):.4g}", found.parts[i])
        name = escaped(shortened(text, 60))
        ground = shade(values[i], largest)
        cells.append(f'<li class="chip" style="background:{ground}">{name} <small>{values[i]:+.2g}</small></li>')
    return Markup(f'<ul class="parts">{"".join(cells)}</ul>')
