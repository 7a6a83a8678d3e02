"""What a page draws itself: objects, each once however often they are shown, the map, and what decided."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from markupsafe import Markup

from similitude.kernels.graphs import parse_graph
from similitude.relevance import MOST_DRAWN_NODES, Attribution, drawing_of, shade
from similitude.report.findings import IDENTIFIER, TEXT, DecidingExample, Decision, Findings
from similitude.report.limits import BUDGET, EXTRA
from similitude.report.render.drawings import chip, drawer, plain_drawer
from similitude.report.render.images import data_uri, palette, shades
from similitude.report.render.sentences import label_text
from similitude.support import four_digits, number_of


class PageDrawings:
    """Draws all objects of a page on one scale."""

    def __init__(self, found: Findings) -> None:
        about = found.about
        shown: list[Any] = [*about.examples, *found.landmarks, *found.examples]
        objects = [one.object for one in shown]
        if found.validity.witness is not None:
            objects += found.validity.witness.objects
        last = {one.name for one in found.columns if one.kind in (IDENTIFIER, TEXT)}
        self.drawer = drawer(about.kind, objects, names=about.names, image_shape=about.image_shape, last=last)
        self.legend = Markup(self.drawer.legend)
        self._image_shape = about.image_shape
        self._spent = 0
        self._drawn: dict[tuple[int, int], str] = {}
        self._numbers: dict[str, int] = {}
        self._on_page: set[int] = set()

    @property
    def cut_short(self) -> bool:
        """Whether some objects are written as text instead of drawn."""
        return self._spent >= BUDGET

    def show(self, one: Any, near: Any = None) -> Markup:
        """Return a drawing for its place on the page."""
        number = self.refer(one, near)
        drawn = self._draw(one, near)
        name = f' id="drawing-{number}"' * (number not in self._on_page)
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
        if not self.drawer.marks:
            near = None
        pair = (id(one), id(near))  # the findings keep all objects alive
        if pair not in self._drawn:
            draw = self.drawer.draw
            if self.cut_short:
                draw = plain_drawer.draw
            self._drawn[pair] = draw(one, near)
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
        style = f' style="background:{shade(values[i], largest)}"'
        cells.append(chip(text, "li", style, f" <small>{values[i]:+.2g}</small>"))
    return Markup(f'<ul class="parts">{"".join(cells)}</ul>')


def plane_data(found: Findings, drawn: dict[int, int]) -> dict[str, Any]:
    """Return the data of the map: coordinates and levels are strings of three and one characters per object."""
    placed = found.map
    classes = list(map(str, found.model.classes))
    codes = {name: code for code, name in enumerate(classes)}

    def plain(label: Any) -> Any:
        if classes:
            return codes.get(str(label))
        return float(four_digits(label))

    def digits(values: np.ndarray) -> str:
        share = (values - values.min()) / (float(np.ptp(values)) or 1.0)
        return "".join(f"{round(value):03}" for value in share * 999)

    indices = None
    if len(placed.indices) < found.about.n:
        indices = placed.indices.tolist()
    return {
        "x": digits(placed.x),
        "y": digits(-placed.y),
        "indices": indices,
        "classes": classes,
        "labels": [plain(label) for label in placed.labels],
        "predicted": {i: plain(label) for i, label in enumerate(placed.predicted) if label is not None},
        "colorings": [
            {"levels": "".join(map(str, levels)).replace("-1", "-"), "names": names, "ordered": ordered}
            for _, levels, names, ordered in placed.colorings
        ],
        "shades": shades(),
        "drawings": drawn,
    }


def steps(why: Decision) -> list[dict[str, Any]]:
    """Return the bars of a waterfall: the base, the deciding examples, the others together, and the score.

    If zero is far from all numbers, the bars of base and score begin a little left of the smallest.
    """
    of_numbers = isinstance(why.prediction, float)
    names = ("base: the mean of all training labels", "score")
    if of_numbers:
        names = ("base: the mean of all training numbers", "predicted number")
    parts = [(_rows_of(one, of_numbers), one.influence) for one in why.deciding]
    if why.n_others:
        parts.append((number_of(why.n_others, "other row"), why.others))
    stops = np.cumsum([why.base, *(influence for _, influence in parts)])
    ends = np.array([*stops, why.score])
    spread = float(np.ptp(ends))
    origin = 0.0
    if of_numbers and np.abs(ends).min() > spread:
        origin = float(ends.min()) - 0.1 * spread
    low = min(float(ends.min()), origin)
    span = (max(float(ends.max()), origin) - low) or 1.0

    def bar(name: str, kind: str, start: float, stop: float, value: float, sign: str = "") -> dict[str, Any]:
        text = f"{value:{sign}.3g}"
        if abs(value) >= 1000:
            text = f"{value:{sign},.0f}"
        left = 100 * (min(start, stop) - low) / span
        return {"name": name, "left": left, "width": 100 * abs(stop - start) / span, "text": text, "kind": kind}

    bars = [bar(names[0], "base", origin, why.base, why.base)]
    for (name, value), start, stop in zip(parts, stops[:-1], stops[1:], strict=True):
        bars.append(bar(name, "for" if value >= 0 else "against", start, stop, value, "+"))
    return [*bars, bar(names[1], "total", origin, why.score, why.score)]


def _rows_of(one: DecidingExample, of_numbers: bool) -> str:
    mean = "mean " * (of_numbers and one.count > 1)
    who = f", example {one.index}" * (one.index is not None)
    rows = f" and {number_of(one.count - 1, 'other row')}" * (one.count > 1)
    return f"{mean}{label_text(one.label)}{who}{rows}"
