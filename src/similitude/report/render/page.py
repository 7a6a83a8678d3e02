"""Findings as one self-contained HTML file."""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import json
import re
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np

from similitude.evaluation import CLASSIFICATION
from similitude.report.findings import EXPLAINED, MEANINGS, ClassCounts, ColumnFinding, ExampleFinding, Findings
from similitude.report.render import charts, learned_charts, sentences
from similitude.report.render.chart import Chart
from similitude.report.render.drawings.html_snippets import full_repr, number
from similitude.report.render.gram_image import GramImage
from similitude.report.render.object_plane import plane_data
from similitude.report.render.vega import CONFIG, vega_lite
from similitude.report.render.waterfall import steps
from similitude.support import missing_extra, printable, short_numbers

try:
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup
    from vl_convert import javascript_bundle

    from similitude.report.render.page_drawings import PageDrawings
except ImportError:
    raise missing_extra("report", "an HTML report") from None

ROWS = 6
"""Number of examples that are visible at first."""

NOTES = 3
"""Number of notes on the data that are visible at first."""

SEARCHED = 500
"""Characters of an object that a search looks at."""

MAX_COLUMNS = 40
"""Largest number of columns that are described in a table."""

RANKS = 40
"""Number of landmark cards."""

TABLED = 12
"""Largest number of classes for which confusions are a table, not a chart."""

DECIDING = 3
"""Number of deciding examples that are drawn for each example."""

NARROW = 4
"""Largest number of classes for which confusions fill half of the page's width."""

CHANCES = 5
"""Number of probabilities that are listed for an example."""


LIMITS = {
    "ranks": RANKS,
    "rows": ROWS,
    "deciding": DECIDING,
    "narrow": NARROW,
    "notes": NOTES,
    "searched": SEARCHED,
    "tabled": TABLED,
}


def as_html(found: Findings) -> str:
    """Return the findings as an HTML page that loads nothing from the network.

    Everything that comes from users is escaped, and only its own scripts may run in it.
    """
    script = _file("page.js")
    drawn, gram = charts_of(found), GramImage.of(found.gram)
    specs = {"config": CONFIG, "specs": {name: vega_lite(one) for name, one in drawn.items()}}
    drawings = PageDrawings(found)
    return printable(
        _environment()
        .get_template("page.html")
        .render(
            found=found,
            about=found.about,
            model=found.model,
            goodness=found.goodness,
            validity=found.validity,
            classes=found.model.task == CLASSIFICATION,
            columns=by_importance(found.columns)[:MAX_COLUMNS],
            more_columns=by_importance(found.columns)[MAX_COLUMNS:],
            meanings=MEANINGS,
            by_class={str(one.label): one for one in found.model.by_class},
            gram_images=[(one.name, GramImage.of(one.sample).image) for one in found.alternatives],
            score_scales=_score_scales(found),
            compared_with=_compared_with,
            steps=steps,
            sentences=sentences,
            charts=drawn,
            letters=charts.THEOREM_MARKS,
            gram=gram,
            drawings=drawings,
            largest=_largest(found),
            most_probable=functools.partial(_most_probable, found.model.classes),
            policy=_policy([_vega(), script]),
            style=Markup(_file("page.css")),
            library=Markup(_packed(_vega())),
            script=Markup(script),
            data=functools.partial(_data, found, specs, gram, drawings),
            limits=LIMITS,
        )
    )


@functools.cache
def _environment() -> Environment:
    """Return the template environment; it escapes everything from users, also what claims to be safe HTML."""
    environment = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_plain,
    )
    environment.filters.update(
        number=number, percent=sentences.percent, full_repr=full_repr, shortened=_shortened, text=str
    )
    return environment


def _plain(value: Any) -> Any:
    return str(value) if hasattr(value, "__html__") and type(value) is not Markup else value


_DIRECTION = re.compile(r"(?<!\\)((?:\\\\)*)\\(u(?:061c|200[ef]|202[a-e]|206[6-9]))")
"""A mark of the direction of text in JSON: its escape, after an even number of backslashes."""


def as_json(value: Any) -> str:
    r"""Return JSON that is safe within a script element: it cannot end the script, begin markup or turn text around.

    >>> as_json({"label": "</script>"})
    '{"label":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    text = _DIRECTION.sub(r"\1\\\\\2", text)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@functools.cache
def _vega() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script."""
    return str(javascript_bundle("window.vegaEmbed = vegaEmbed;", "6.4"))


@functools.cache
def _packed(text: str) -> str:
    """Compress a text for the page's script: half a megabyte less."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode("ascii")


def _file(name: str) -> str:
    return resources.files("similitude.report.render").joinpath("templates", name).read_text(encoding="utf-8")


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
    ]
    if isinstance(labels, ClassCounts):
        drawn.append(charts.class_counts(labels))
    if goodness is not None:
        drawn += [charts.gaps(goodness.strong.gaps, found.gap_labels), charts.goodness_curve(goodness)]
    if len(model.classes) > TABLED:
        drawn += [charts.confusion(model), charts.recall(model)]
    if found.learned is not None:
        drawn += [learned_charts.learning_steps(found.learned), learned_charts.learned_importance(found.learned)]
    if model.calibration is not None:
        drawn.append(charts.calibration(model.calibration))
    if model.residuals is not None:
        drawn += [charts.residuals(model), charts.errors(model)]
    return {one.name: one for one in drawn}


def _largest(found: Findings) -> dict[str, float]:
    """Return the largest importance of landmarks and of columns, which are the full lengths of the bars."""
    importance = [one.importance for one in found.landmarks]
    return {
        "importance": float(np.max(importance, initial=1e-300)),
        "column": max([one.weight for one in found.columns], default=0.0) or 1.0,
    }


def _data(found: Findings, specs: dict[str, Any], gram: GramImage, drawings: PageDrawings) -> dict[str, Markup]:
    """Return the data for the scripts, after everything else was drawn: objects of the map take what room is left."""
    placed = found.map
    objects = dict(zip(placed.indices.tolist(), placed.objects, strict=True))
    first = [*found.gram.indices.tolist(), *placed.indices.tolist()]
    drawn = drawings.refer_to_some({index: objects[index] for index in first if index in objects})
    calibration = found.model.calibration
    data = {"chart-data": specs, "matrix-data": gram.pairs, "map-data": plane_data(found, drawn)}
    if calibration is not None:
        data["threshold-data"] = {
            "classes": [str(name) for name in found.model.classes],
            "probabilities": [round(float(p), 3) for p in calibration.predicted],
            "happened": "".join("01"[int(one)] for one in calibration.happened),
        }
    return {name: Markup(as_json(content)) for name, content in data.items()}


def by_importance(columns: Sequence[ColumnFinding]) -> list[ColumnFinding]:
    """Return the most important columns first, if importance is known."""
    return sorted(columns, key=lambda one: -one.weight)


def _score_scales(found: Findings) -> dict[str, float]:
    """Return the value of each score at the full length of its bar."""
    scores = found.model.scores
    largest = {
        name: float(np.nanmax([one.values[name].high for one in scores] + [1e-300])) for name in scores[0].values
    }
    return {name: 1.0 if found.model.classes or name == EXPLAINED else high for name, high in largest.items()}


def _compared_with(example: ExampleFinding) -> Any:
    """Return the object that an example is compared with where it is drawn: the one that decided most."""
    others = [one.object for one in example.decision.deciding if one.index != example.index]
    return others[0] if others else None


def _shortened(text: str, limit: int = 160) -> str:
    """Return a similarity as it is shown: with few digits, and cut if it is long."""
    text = short_numbers(text)
    return text if len(text) <= limit else f"{text[:limit]}…"


def _most_probable(classes: tuple[Any, ...], probabilities: tuple[float, ...]) -> list[tuple[float, Any]]:
    """Return the largest probabilities and their classes."""
    order = sorted(range(len(classes)), key=lambda i: -probabilities[i])[:CHANCES]
    return [(probabilities[i], classes[i]) for i in order]
