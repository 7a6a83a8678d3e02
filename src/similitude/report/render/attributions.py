"""What in an object mattered, drawn in the object: colored letters, nodes, curve, cells or pixels."""

from __future__ import annotations

import re

import numpy as np
from markupsafe import Markup

from similitude.relevance import Attribution
from similitude.report.render.drawings.graphs import GraphDrawer
from similitude.report.render.drawings.html_snippets import escaped, shade, shortened
from similitude.report.render.drawings.png import data_uri, palette
from similitude.report.render.drawings.series import SeriesDrawer

MAX_CHIPS = 40
"""Largest number of cells or items that are drawn."""

ORANGE_BLUE = ("c2410c", "ffffff", "2563a8")
"""From what speaks against a prediction to what speaks for it."""


def drawn_parts(found: Attribution, image_shape: tuple[int, int] | None) -> Markup:
    """Return an object with its parts colored by what they add to the score."""
    if image_shape is not None and found.kind == "vectors" and len(found.values) == np.prod(image_shape):
        return _pixels(found, image_shape)
    if found.kind == "graphs":
        drawing = GraphDrawer([]).draw_parts(found.object, dict(zip(found.places, found.values.tolist(), strict=True)))
        return Markup(f'<div class="object">{drawing}</div>')
    if found.kind == "series":
        drawing = SeriesDrawer([found.object]).draw_parts(found.object, found.places, found.values.tolist())
        return Markup(f'<div class="object">{drawing}</div>')
    return _letters(found) if found.kind == "strings" else _cells(found)


def _letters(found: Attribution) -> Markup:
    largest = float(np.abs(found.values).max(initial=0.0))
    letters = [
        f'<span style="background:{shade(value, largest)}" title="{value:+.3g}">{escaped(letter)}</span>'
        for letter, value in zip(found.parts, found.values.tolist(), strict=True)
    ]
    return Markup(f'<code class="drawing sequence">{"".join(letters)}</code>')


def _cells(found: Attribution) -> Markup:
    largest, cells = float(np.abs(found.values).max(initial=0.0)), []
    for i in found.order[:MAX_CHIPS].tolist():
        value = float(found.values[i])
        rounded = re.sub(r"\d+\.\d{4,}", lambda number: f"{float(number[0]):.4g}", found.parts[i])
        name, ground = escaped(shortened(rounded, 60)), shade(value, largest)
        cells.append(f'<li class="chip" style="background:{ground}">{name} <small>{value:+.2g}</small></li>')
    return Markup(f'<ul class="parts">{"".join(cells)}</ul>')


def _pixels(found: Attribution, shape: tuple[int, int]) -> Markup:
    """Return an image: blue where pixels speak for the prediction, orange where they speak against it."""
    largest = float(np.abs(found.values).max(initial=0.0)) or 1.0
    address = data_uri((found.values.reshape(shape) / largest + 1) / 2, palette(ORANGE_BLUE))
    words = "what each pixel adds to the score: blue speaks for the prediction, orange against it"
    return Markup(f'<img class="drawing image" alt="{words}" title="{words}" src="{address}">')
