"""``similitude predict``: what a saved model says of new rows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from similitude.cli.options import AsJson, Engine, File, Model, Trust, engine_of

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from similitude.cli.models import Saved
    from similitude.cli.output import Output
    from similitude.cli.scoring import Score
    from similitude.support.results import Estimate

EXAMPLE = "Example: similitude predict genes.sim new.csv -o predictions.csv --probabilities"

STANDARD_OUTPUT = "-"

PredictionsOut = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Where predictions go: .csv, .tsv, .jsonl, .parquet, .arrow, also .gz; - is standard output (CSV).",
    ),
]
Probabilities = Annotated[
    bool, typer.Option("--probabilities", help="Add the probability of each class.", show_default=False)
]
Nearest = Annotated[
    int,
    typer.Option(
        "--nearest",
        min=0,
        metavar="NUMBER",
        help="Add the rows at fit of so many landmarks that are most alike, and how alike.",
    ),
]


def predict(
    model: Model,
    file: File,
    output: PredictionsOut = STANDARD_OUTPUT,
    probabilities: Probabilities = False,
    nearest: Nearest = 0,
    trust: Trust = False,
    engine: Engine = "",
    as_json: AsJson = False,
) -> None:
    """Predict every row of a file, in order. Labels in the file are not used, but predictions are scored by them."""
    from similitude.cli.inputs import CLASSIFICATION, check_not_read
    from similitude.cli.models import saved
    from similitude.cli.output import Output, warnings_caught
    from similitude.cli.problems import UsageError
    from similitude.cli.scoring import Score
    from similitude.compute.engines import use_engine
    from similitude.data import files

    out, local = Output(as_json), engine_of(engine, progress=False)
    check_not_read(output, model, file)
    files.check_writable(output)
    found = saved(out, model, trust)
    if probabilities and found.about["task"] != CLASSIFICATION:
        raise UsageError("--probabilities are of classes, and this model predicts a number")
    if nearest and not len(found.model.landmark_indices_):
        raise UsageError("--nearest: the model has no landmarks, it gives the same answer to every row")
    score = Score(getattr(found.model, "classes_", None))
    collected: list[dict[str, Any]] = []
    with use_engine(local), warnings_caught() as said, _writing(output, as_json, collected) as write:
        rows = _predict_all(out, found, file, probabilities, nearest, score, write)
    out.note_each(said)
    _report(out, found, output, rows, score, collected)


def _writing(
    output: str, as_json: bool, collected: list[dict[str, Any]]
) -> AbstractContextManager[Callable[[dict[str, Any]], None]]:
    """Return what takes columns of predictions: a file, standard output, or a list where all goes into one document."""
    from similitude.data import files

    if as_json and output == STANDARD_OUTPUT:
        return nullcontext(collected.append)
    return files.writer(output)


def _predict_all(
    out: Output,
    found: Saved,
    file: str,
    probabilities: bool,
    nearest: int,
    score: Score,
    write: Callable[[dict[str, Any]], None],
) -> int:
    """Predict batch after batch; return how many rows there were."""
    import numpy as np

    rows = 0
    with out.working(f"predicting {file}") as say:
        for data in found.batches(file):
            out.note_each(data.notes)
            columns = predicted(found.model, data.objects, probabilities, nearest)
            write(columns if data.ids is None else {"id": np.array(data.ids), **columns})
            if data.labels is not None:
                score.add(data.labels, columns["prediction"])
            rows += len(data)
            say(f"predicting {file}: {rows:,} rows")
    if score.rows:
        out.note(f"column {found.about['label']!r} was not used to predict; {score.rows:,} rows are scored by it")
    if score.unknown:
        names = ", ".join(map(repr, list(score.unknown)[:5])) + (", …" if len(score.unknown) > 5 else "")
        out.note(f"labels that the model does not know, and so never predicts: {names}")
    return rows


def predicted(model: Any, X: Any, probabilities: bool = False, nearest: int = 0) -> dict[str, np.ndarray]:
    """Return the columns of the output for some objects."""
    columns: dict[str, np.ndarray] = {}
    if probabilities:
        shares = model.predict_proba(X)
        columns["prediction"] = model.classes_[shares.argmax(axis=1)]
        columns |= {f"probability_{name}": shares[:, i] for i, name in enumerate(model.classes_.tolist())}
    else:
        columns["prediction"] = model.predict(X)
    return columns | _nearest(model, X, nearest) if nearest else columns


def _nearest(model: Any, X: Any, k: int) -> dict[str, np.ndarray]:
    """Return the landmarks most like each object, by their rows at fit, and how alike they are."""
    import numpy as np

    alike = np.asarray(model.similarity_.cross(X, model.landmarks_))
    order = np.argsort(-alike, axis=1, kind="stable")[:, :k]
    rows = np.asarray(model.landmark_indices_)[order]
    values = np.take_along_axis(alike, order, axis=1)
    columns = {}
    for place in range(order.shape[1]):
        columns[f"landmark_{place + 1}"] = rows[:, place]
        columns[f"similarity_{place + 1}"] = values[:, place]
    return columns


def _report(out: Output, found: Saved, output: str, rows: int, score: Score, collected: list[dict[str, Any]]) -> None:
    """Say what was done: on standard error where predictions went to standard output."""
    estimate, name = score.estimate(), "r_squared" if score.classes is None else "accuracy"
    document: dict[str, Any] = {"command": "predict", "output": output, "rows": rows, "scored_rows": score.rows}
    document[name] = estimate
    if collected:
        document["predictions"] = {name: _joined(collected, name) for name in collected[0]}
    told = "" if estimate is None else _told(estimate, score.classes is not None)
    if output == STANDARD_OUTPUT and not out.as_json:
        out.note_each([told] if told else [])
        return
    out.result(document, lambda console: _show(console, output, rows, told))


def _told(estimate: Estimate, classes: bool) -> str:
    from similitude.cli.output import around, percent

    figure = f"accuracy {percent(estimate)}" if classes else f"R² {around(estimate)}"
    return f"{figure}, if the model has not learned from these rows"


def _joined(collected: list[dict[str, Any]], name: str) -> list[Any]:
    return [value for columns in collected for value in columns[name].tolist()]


def _show(console: Console, output: str, rows: int, told: str) -> None:
    from similitude.cli.output import printable

    console.print(printable(f"Predicted {rows:,} rows: {output}"), style="bold", soft_wrap=True)
    if told:
        console.print(told)
