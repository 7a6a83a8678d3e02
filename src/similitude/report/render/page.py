"""Findings as one self-contained HTML file."""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import json
import re
from importlib import resources
from typing import Any

import numpy as np

from similitude.evaluation import CLASSIFICATION
from similitude.report import figures, limits
from similitude.report.findings import EXPLAINED, MEANINGS, ClassCounts, ExampleFinding, Findings
from similitude.report.render import sentences
from similitude.report.render.chart import THEME, VEGA_LITE, Chart
from similitude.report.render.drawings import full_repr
from similitude.report.render.images import GramImage
from similitude.support import cut_to, four_digits, missing_extra, number_of, printable, short_numbers

try:
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup
    from vl_convert import javascript_bundle

    from similitude.report.render.page_drawings import PageDrawings, plane_data, steps
except ImportError:
    raise missing_extra("report", "an HTML report") from None


def as_html(found: Findings) -> str:
    """Return the findings as an HTML page that loads nothing from the network; only its own scripts run in it."""
    script = _file("page.js")
    drawn = charts_of(found)
    gram = GramImage(found.gram)
    drawings = PageDrawings(found)
    columns = sorted(found.columns, key=lambda one: -one.weight)
    scores = found.model.scores
    scales = dict.fromkeys(scores[0].values, 1.0)  # the values at the full length of bars: of errors, the largest
    if not found.model.classes:
        largest = {name: np.nanmax([one.values[name].high for one in scores] + [1e-300]) for name in scales}
        scales = largest | {EXPLAINED: 1.0}
    return printable(
        _environment()
        .get_template("page.html")
        .render(
            vars(found),
            found=found,
            classes=found.model.task == CLASSIFICATION,
            columns=columns[: limits.MOST_LISTED],
            more_columns=columns[limits.MOST_LISTED :],
            meanings=MEANINGS,
            by_class={str(one.label): one for one in found.model.by_class},
            gram_images=[(one.name, GramImage(one.sample).image) for one in found.alternatives],
            score_scales=scales,
            compared_with=_compared_with,
            steps=steps,
            sentences=sentences,
            label_text=sentences.label_text,
            score_text=sentences.score_text,
            number_of=number_of,
            charts=drawn,
            letters=figures.LETTERS,
            gram=gram,
            drawings=drawings,
            largest={
                "importance": max([one.importance for one in found.landmarks], default=1e-300) or 1e-300,
                "column": max([one.weight for one in columns], default=0.0) or 1.0,
            },
            policy=_policy([_vega(), script]),
            style=Markup(_file("page.css")),
            library=Markup(_packed(_vega())),
            script=Markup(script),
            data=functools.partial(_data, found, drawn, gram, drawings),
            many_classes=limits.MANY_CLASSES,
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
        finalize=lambda value: str(value) if hasattr(value, "__html__") and type(value) is not Markup else value,
    )
    environment.filters.update(
        number=four_digits, percent=sentences.percent, full_repr=full_repr, shortened=_shortened, text=str
    )
    return environment


_DIRECTION = re.compile(r"(?<!\\)((?:\\\\)*)\\(u(?:061c|200[ef]|202[a-e]|206[6-9]))")
"""A mark of the direction of text in JSON: its escape, after an even number of backslashes."""


def as_json(value: Any) -> str:
    """Return JSON that is safe within a script element: it cannot end the script, begin markup or turn text around."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    text = _DIRECTION.sub(r"\1\\\\\2", text)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@functools.cache
def _vega() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script."""
    return str(javascript_bundle("window.vegaEmbed = vegaEmbed;", VEGA_LITE))


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
    drawn = [figures.spectrum(found), figures.learning_curve(found)]
    if isinstance(found.about.labels, ClassCounts):
        drawn.append(figures.labels(found))
    if found.goodness is not None:
        drawn += [figures.gaps(found), figures.goodness_curve(found, weighted=False)]
    if len(found.model.classes) > limits.MANY_CLASSES:
        drawn += [figures.confusion(found), figures.recall(found)]
    if found.learned is not None:
        drawn += [figures.learning_steps(found), figures.learned_importance(found)]
    if found.model.calibration is not None:
        drawn.append(figures.calibration(found))
    if found.model.residuals is not None:
        drawn += [figures.residuals(found), figures.errors(found)]
    return {one.name: one for one in drawn}


def _data(found: Findings, charts: dict[str, Chart], gram: GramImage, drawings: PageDrawings) -> dict[str, Markup]:
    """Return the data for the scripts, after everything else was drawn: objects of the map take what room is left."""
    placed = found.map
    objects = dict(zip(placed.indices.tolist(), placed.objects, strict=True))
    first = [*found.gram.indices.tolist(), *placed.indices.tolist()]
    drawn = drawings.refer_to_some({index: objects[index] for index in first if index in objects})
    data = {
        "chart-data": {"config": THEME, "specs": {name: one.spec for name, one in charts.items()}},
        "matrix-data": gram.pairs,
        "map-data": plane_data(found, drawn),
    }
    calibration = found.model.calibration
    if calibration is not None:
        data["threshold-data"] = {
            "classes": [str(name) for name in found.model.classes],
            "probabilities": [round(float(p), 3) for p in calibration.predicted],
            "happened": "".join("01"[int(one)] for one in calibration.happened),
        }
    return {name: Markup(as_json(content)) for name, content in data.items()}


def _compared_with(example: ExampleFinding) -> Any:
    """Return the object that an example is compared with where it is drawn: the one that decided most."""
    return next((one.object for one in example.decision.deciding if one.index != example.index), None)


def _shortened(text: str, limit: int = 160) -> str:
    """Return a similarity as it is shown: with few digits, and cut if it is long."""
    return cut_to(limit + 1, short_numbers(text))
