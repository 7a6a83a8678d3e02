"""Findings as one HTML file that needs nothing beside it."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from similitude.report import charts, model_charts, words
from similitude.report.about import ClassCounts
from similitude.report.chart import CONFIG, Chart
from similitude.report.drawings.snippets import number, spelled
from similitude.report.heatmap import heat_map
from similitude.support.errors import missing_extra

try:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup
    from vl_convert import javascript_bundle

    from similitude.report.gallery import Gallery
except ImportError:
    raise missing_extra("report", "an HTML report") from None

if TYPE_CHECKING:
    from similitude.report.findings import Findings

CARDS = 12
"""Landmarks that are seen at once."""

RANKS = 40
"""Landmarks that have a card."""

TABLED = 12
"""Classes up to which confusions are a table."""

CHANCES = 5
"""Probabilities that are listed for an example."""


def as_html(found: Findings, *, image_shape: tuple[int, int] | None = None) -> str:
    """Return the findings as an HTML page: self-contained, and silent towards the network.

    Parameters
    ----------
    found : Findings
    image_shape : tuple of two int, optional
        Vectors are drawn as images of so many rows and columns.

    Returns
    -------
    str
        The page. Whatever came from users is escaped, and no script but its own may run in it.
    """
    scripts = [_vega(), _file("page.js")]
    drawn = _charts(found)
    return (
        _environment()
        .from_string(_file("template.html"))
        .render(
            found=found,
            words=words,
            charts=drawn,
            heat=(heat := heat_map(found.gram)),
            gallery=Gallery(found, image_shape),
            largest=_largest(found),
            likeliest=functools.partial(_likeliest, found.model.classes),
            policy=_policy(scripts),
            style=Markup(_file("page.css")),
            scripts=[Markup(script) for script in scripts],
            data={
                "chart-data": Markup(
                    as_json({"config": CONFIG, "specs": {name: one.spec for name, one in drawn.items()}})
                ),
                "matrix-data": Markup(as_json(heat.pairs)),
            },
            limits={"cards": CARDS, "ranks": RANKS, "tabled": TABLED, "chances": CHANCES},
        )
    )


def _environment() -> Environment:
    """Return what fills the template: all that comes from users is escaped, even what says that it is HTML."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_plain
    )
    environment.filters.update(number=number, percent=words.percent, spelled=spelled, text=str)
    return environment


def _plain(value: Any) -> Any:
    return str(value) if hasattr(value, "__html__") and type(value) is not Markup else value


def as_json(value: Any) -> str:
    r"""Return JSON that may stand within a script: nothing in it can end the script or begin markup.

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
    return resources.files("similitude.report").joinpath(name).read_text(encoding="utf-8")


def _policy(scripts: list[str]) -> str:
    """Return the rule that browsers hold the page to: these scripts, nothing from anywhere else."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    others = "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; script-src {allowed}; {others}"


def _charts(found: Findings) -> dict[str, Chart]:
    """Return the charts that there is something to draw for, by name."""
    labels, goodness, model = found.about.labels, found.goodness, found.model
    drawn: list[Chart | None] = [
        charts.class_counts(labels) if isinstance(labels, ClassCounts) else None,
        charts.spectrum(found.spectrum),
        model_charts.learning_curve(found.growth),
        model_charts.error_beside_guessing(model),
    ]
    if goodness is not None:
        drawn += [charts.gaps(goodness.strong.gaps, found.gap_labels), charts.goodness_curve(goodness.strong)]
    if len(model.classes) > TABLED:
        drawn.append(model_charts.confusion(model))
    if model.calibration is not None:
        drawn.append(model_charts.calibration(model.calibration))
    if model.residuals is not None:
        drawn.append(model_charts.residuals(model.residuals))
    return {one.name: one for one in drawn if one is not None}


def _largest(found: Findings) -> dict[str, float]:
    """Return the largest importance and the largest contribution: the full length of a bar."""
    contributions = [abs(near.contribution) for one in found.examples for near in one.nearest]
    importance = [one.importance for one in found.landmarks]
    return {
        "contribution": float(np.max(contributions, initial=1e-300)),
        "importance": float(np.max(importance, initial=1e-300)),
    }


def _likeliest(classes: tuple[Any, ...], probabilities: tuple[float, ...]) -> list[tuple[float, Any]]:
    """Return the largest probabilities and their classes."""
    order = sorted(range(len(classes)), key=lambda i: -probabilities[i])[:CHANCES]
    return [(probabilities[i], classes[i]) for i in order]
