"""Findings as one self-contained HTML file."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from importlib import resources
from typing import Any

import numpy as np

from similitude.report.findings import ClassCounts, Findings
from similitude.report.render import charts, sentences
from similitude.report.render.chart import Chart
from similitude.report.render.drawings.html_snippets import full_repr, number
from similitude.report.render.gram_image import GramImage
from similitude.report.render.vega import CONFIG, vega_lite
from similitude.support import missing_extra

try:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup
    from vl_convert import javascript_bundle

    from similitude.report.render.page_drawings import PageDrawings
except ImportError:
    raise missing_extra("report", "an HTML report") from None

CARDS = 12
"""Number of landmark cards that are visible at first."""

RANKS = 40
"""Number of landmark cards in all."""

TABLED = 12
"""Largest number of classes for which confusions are a table, not a chart."""

CHANCES = 5
"""Number of probabilities that are listed for an example."""


def as_html(found: Findings, *, image_shape: tuple[int, int] | None = None) -> str:
    """Return the findings as an HTML page that loads nothing from the network.

    Everything that comes from users is escaped, and only its own scripts may run in it. With `image_shape` (rows,
    columns), vectors are drawn as images.
    """
    scripts = [_vega(), _file("page.js")]
    drawn, gram = charts_of(found), GramImage.of(found.gram)
    specs = {"config": CONFIG, "specs": {name: vega_lite(one) for name, one in drawn.items()}}
    template = _environment().from_string(_file("template.html"))
    return template.render(
        found=found,
        sentences=sentences,
        charts=drawn,
        letters=charts.THEOREM_MARKS,
        gram=gram,
        drawings=PageDrawings(found, image_shape),
        largest=_largest(found),
        most_probable=functools.partial(_most_probable, found.model.classes),
        policy=_policy(scripts),
        style=Markup(_file("page.css")),
        scripts=[Markup(script) for script in scripts],
        data={"chart-data": Markup(as_json(specs)), "matrix-data": Markup(as_json(gram.pairs))},
        limits={"cards": CARDS, "ranks": RANKS, "tabled": TABLED},
    )


def _environment() -> Environment:
    """Return the template environment; it escapes everything from users, also what claims to be safe HTML."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_plain
    )
    environment.filters.update(number=number, percent=sentences.percent, full_repr=full_repr, text=str)
    return environment


def _plain(value: Any) -> Any:
    return str(value) if hasattr(value, "__html__") and type(value) is not Markup else value


def as_json(value: Any) -> str:
    r"""Return JSON that is safe within a script element: it cannot end the script or begin markup.

    >>> as_json({"label": "</script>"})
    '{"label":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@functools.cache
def _vega() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script."""
    return str(javascript_bundle("window.vegaEmbed = vegaEmbed;", "6.4")).replace("</script", "<\\/script")


def _file(name: str) -> str:
    return resources.files("similitude.report.render").joinpath(name).read_text(encoding="utf-8")


def _policy(scripts: list[str]) -> str:
    """Return the content security policy: these scripts, and nothing from anywhere else."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    others = "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; script-src {allowed}; {others}"


def charts_of(found: Findings) -> dict[str, Chart]:
    """Return the charts of the page, by name."""
    labels, goodness, model = found.about.labels, found.goodness, found.model
    drawn = [
        charts.spectrum(found.spectrum),
        charts.learning_curve(found.landmark_curve),
        charts.error_and_baseline(model),
    ]
    if isinstance(labels, ClassCounts):
        drawn.append(charts.class_counts(labels))
    if goodness is not None:
        drawn += [charts.gaps(goodness.strong.gaps, found.gap_labels), charts.goodness_curve(goodness)]
    if len(model.classes) > TABLED:
        drawn.append(charts.confusion(model))
    if model.calibration is not None:
        drawn.append(charts.calibration(model.calibration))
    if model.residuals is not None:
        drawn.append(charts.residuals(model))
    return {one.name: one for one in drawn}


def _largest(found: Findings) -> dict[str, float]:
    """Return the largest contribution and importance, which are the full lengths of the bars."""
    contributions = [abs(near.contribution) for one in found.examples for near in one.nearest]
    importance = [one.importance for one in found.landmarks]
    return {
        "contribution": float(np.max(contributions, initial=1e-300)),
        "importance": float(np.max(importance, initial=1e-300)),
    }


def _most_probable(classes: tuple[Any, ...], probabilities: tuple[float, ...]) -> list[tuple[float, Any]]:
    """Return the largest probabilities and their classes."""
    order = sorted(range(len(classes)), key=lambda i: -probabilities[i])[:CHANCES]
    return [(probabilities[i], classes[i]) for i in order]
