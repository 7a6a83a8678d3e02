"""``similitude predict``: predictions of a saved model for new rows."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from similitude.cli.errors import UsageError
from similitude.cli.inputs import check_not_read
from similitude.cli.output import Computation, Terminal, with_interval
from similitude.cli.saved_models import ModelOptions
from similitude.support import first_of

if TYPE_CHECKING:
    import numpy as np

    from similitude.cli.scoring import Score

STDOUT = "-"


def predict(
    given: ModelOptions,
    probabilities: bool = False,
    nearest: int = 0,
    interval: float | None = None,
    set: float | None = None,
    output: str = STDOUT,
    *,
    run: Computation,
) -> None:
    """Predict every row of a file, in order. Labels in the file are used only to score the predictions."""
    import numpy as np

    from similitude.cli.scoring import Score
    from similitude.data import files

    check_not_read(output, given.model, given.file)
    files.check_writable(output)
    model, about = given.load(run)
    wanted: dict[str, Any] = {"probabilities": probabilities, "nearest": nearest, "interval": interval, "set": set}
    _check(run, model, **wanted)
    score = Score(getattr(model, "classes_", None))
    collected: list[dict[str, Any]] = []
    is_in_document = run.json and output == STDOUT
    writing = nullcontext(collected.append) if is_in_document else files.writer(output)
    rows = 0
    with run.computing(f"predicting {given.file}") as say, writing as write:
        for data in given.batches(run, about):
            columns = _columns(model, data.objects, **wanted)
            if data.ids is not None:
                columns = {"id": np.array(data.ids), **columns}
            write(columns)
            if not is_in_document:
                for name in files.formula_columns(output, columns):
                    run.note(
                        f"column {name!r} has texts that begin with =, +, - or @, written as they are: a spreadsheet "
                        f"takes them for formulas, so import the column as text"
                    )
            if data.labels is not None:
                score.add(data.labels, columns["prediction"])
            rows += len(data)
            say(f"predicting {given.file}: {rows:,} rows")
    if score.rows:
        run.note(f"column {about['label']!r} was not used to predict; {score.rows:,} rows are scored by it")
    if score.unknown:
        names = first_of(map(repr, score.unknown), 5)
        run.note(f"labels that the model does not know, and so never predicts: {names}")
    _report(run, output, rows, score, collected)


def _check(
    run: Computation, model: Any, probabilities: bool, nearest: int, interval: float | None, set: float | None
) -> None:
    """Refuse what the model does not have; note how intervals and sets of classes are calibrated."""
    classes = hasattr(model, "classes_")
    if probabilities and not classes:
        raise UsageError("--probabilities needs classes, and this model predicts a number")
    if set is not None and not classes:
        raise UsageError("--set needs classes, and this model predicts a number: --interval")
    if interval is not None and classes:
        raise UsageError("--interval needs numbers, and this model predicts classes: --set")
    if nearest and model.landmark_indices_ is None:
        raise UsageError("--nearest: the landmarks were drawn from rows with and without labels, and are not numbered")
    if nearest and not len(model.landmark_indices_):
        raise UsageError("--nearest: the model has no landmarks, it predicts the same for every row")
    for name, level in (("--set", set), ("--interval", interval)):
        if level is not None:
            try:
                model.uncertainty_.check_level(level)
            except ValueError as error:
                raise UsageError(f"{name}: {error}") from None
            run.note(f"{name} {level:g}: {model.uncertainty_}")


def _columns(
    model: Any, X: Any, probabilities: bool, nearest: int, interval: float | None, set: float | None
) -> dict[str, np.ndarray]:
    """Return the columns of the output for a batch of objects."""
    import numpy as np

    columns: dict[str, np.ndarray] = {}
    if probabilities:
        shares = model.predict_proba(X)
        columns["prediction"] = model.classes_[shares.argmax(axis=1)]
        columns |= {f"probability_{name}": shares[:, i] for i, name in enumerate(model.classes_.tolist())}
    else:
        columns["prediction"] = model.predict(X)
    if interval is not None:
        columns["low"], columns["high"] = model.predict_interval(X, interval).T
    if set is not None:
        sets = model.predict_set(X, set).astype(np.intp)
        columns |= {f"set_{name}": sets[:, i] for i, name in enumerate(model.classes_.tolist())}
    if nearest:
        K = np.asarray(model.similarity_.cross(X, model.landmarks_))
        order = np.argsort(-K, axis=1, kind="stable")[:, :nearest]
        for place, landmark in enumerate(order.T, 1):
            columns[f"landmark_{place}"] = np.asarray(model.landmark_indices_)[landmark]
            columns[f"similarity_{place}"] = K[np.arange(len(K)), landmark]
    return columns


def _report(run: Computation, output: str, rows: int, score: Score, collected: list[dict[str, Any]]) -> None:
    """Report what was done: on standard error if predictions went to standard output."""
    estimate = score.estimate()
    classes = score.classes is not None
    document: dict[str, Any] = {"command": "predict", "output": output, "rows": rows, "scored_rows": score.rows}
    document["accuracy" if classes else "r_squared"] = estimate
    if collected:
        joined = {name: [value for part in collected for value in part[name].tolist()] for name in collected[0]}
        document["predictions"] = joined
    sentences = [f"Predicted {rows:,} rows: {output}"]
    if estimate is not None:
        measure = "accuracy" if classes else "R²"
        sentences.append(f"{measure} {with_interval(estimate, classes)}, if the model was not fitted to these rows")

    def show(terminal: Terminal) -> None:
        for sentence, style in zip(sentences, ("bold", None), strict=False):
            terminal.say(sentence, style)

    if run.json or output != STDOUT:
        run.result(document, show)
    else:
        run.note(*sentences[1:])
