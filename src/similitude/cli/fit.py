"""``similitude fit``: from a file to a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from similitude.cli.options import (
    AsJson,
    Engine,
    File,
    KindOfObject,
    Label,
    Loss,
    Object,
    Penalty,
    Seed,
    Similarity,
    TaskOption,
    Trust,
    engine_of,
)

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

EXAMPLE = "Example: similitude fit genes.csv --label class -o genes.sim --similarity 'spectrum(p=4)'"

ModelOut = Annotated[
    str, typer.Option("--output", "-o", metavar="MODEL", help="Where the model goes, for instance model.sim.")
]
Landmarks = Annotated[
    int | None,
    typer.Option(
        "--landmarks", min=1, metavar="NUMBER", help="How many landmarks. Default: as many as held-out rows gain by."
    ),
]
LossOption = Annotated[Loss, typer.Option("--loss", help="The loss that the model minimizes.")]
PenaltyOption = Annotated[Penalty, typer.Option("--penalty", help="l1 keeps few landmarks.")]


def fit(
    file: File,
    output: ModelOut,
    label: Label = None,
    similarity: Similarity = None,
    object: Object = None,
    kind: KindOfObject = None,
    task: TaskOption = None,
    landmarks: Landmarks = None,
    loss: LossOption = Loss.auto,
    penalty: PenaltyOption = Penalty.l2,
    trust: Trust = False,
    seed: Seed = 0,
    engine: Engine = "",
    as_json: AsJson = False,
) -> None:
    """Learn to predict a column from the objects of a file, and save the model."""
    from similitude.cli.inputs import check_model_place, check_not_read, chosen_similarity, labels_of, task_of
    from similitude.cli.output import Output, warnings_caught
    from similitude.cli.streaming import streamed
    from similitude.compute.engines import use_engine
    from similitude.data.files import needs_batches
    from similitude.data.sources import Source
    from similitude.persistence import save

    out, local = Output(as_json), engine_of(engine)
    check_not_read(output, file)
    check_model_place(output)
    read = streamed if needs_batches(file) else chosen_similarity
    data, text, k = read(out, file, similarity, trust, label=label, object=object, kind=kind)
    what, y = task_of(out, data, task), labels_of(data)
    with use_engine(local), warnings_caught() as said:
        given = (data.objects,) if isinstance(data.objects, Source) else (data.objects, y)
        model = _model(what, k, landmarks, seed, loss=loss.value, penalty=penalty.value).fit(*given)
    out.note_each(said)
    asked = {"similarity": text, "task": what, "label": data.schema.label, "rows": len(y), "seed": seed}
    about = {**asked, "schema": data.schema.to_dict(), **_learned(model, what, y)}
    save(model, output, about=about)
    document = {"command": "fit", "model": output, **about}
    out.result(document, lambda console: _show(console, about, output))


def _model(task: str, k: Any, landmarks: int | None, seed: int, **objective: Any) -> Any:
    from similitude.cli.inputs import CLASSIFICATION
    from similitude.estimators import SimilarityClassifier, SimilarityRegressor

    estimator = SimilarityClassifier if task == CLASSIFICATION else SimilarityRegressor
    return estimator(k, n_landmarks="auto" if landmarks is None else landmarks, random_state=seed, **objective)


def _learned(model: Any, task: str, y: np.ndarray) -> dict[str, Any]:
    """Return what there is to say of a fitted model, as JSON can hold it."""
    from similitude.cli.output import plain

    found = {
        "fitted_similarity": repr(model.similarity_),
        "loss": model.loss_,
        "penalty": model.penalty_,
        "landmarks": model.n_similarity_calls_,
        "why_not_more": model.landmark_curve_.reason,
        "representation": str(model.representation_),
        "held_out_error": model.held_out_error_,
        "guarantee": model.guarantee_,
        "constant_error": _constant_error(model, task, y),
    }
    if hasattr(model, "classes_"):
        found["classes"] = model.classes_
    result: dict[str, Any] = plain(found)
    return result


def _constant_error(model: Any, task: str, y: np.ndarray) -> float:
    """Return the error of always giving the same answer: for numbers, on the examples that the model is judged by."""
    import numpy as np

    from similitude.cli.inputs import CLASSIFICATION

    if task == CLASSIFICATION:
        return 1 - float(np.unique(y, return_counts=True)[1].max()) / len(y)
    constant: float = model.constant_error_
    return constant


def learned_facts(about: dict[str, Any]) -> list[tuple[str, object]]:
    """Return what a model learned, in plain words."""
    promise = about["guarantee"]
    graded = "" if promise["grade"] == "NONE" else f"{promise['grade']}: "
    return [
        *_errors(about),
        ("landmarks", _comparisons(about["landmarks"])),
        ("", f"not more, because {about['why_not_more']}"),
        ("representation", about["representation"].partition(": ")[2] or about["representation"]),
        ("guarantee", f"{graded}{promise['statement']}"),
        *([("", f"assuming that {promise['assumption']}")] if promise["assumption"] else []),
        *([("", f"by {promise['theorem']}")] if promise["theorem"] else []),
    ]


def _comparisons(landmarks: int) -> str:
    return f"{landmarks:,}: so many comparisons for one prediction" if landmarks else "none: every row gets one answer"


def _errors(about: dict[str, Any]) -> list[tuple[str, object]]:
    from similitude.cli.inputs import CLASSIFICATION
    from similitude.cli.output import around, percent
    from similitude.support.results import Estimate

    error, constant = Estimate(**about["held_out_error"]), about["constant_error"]
    if about["task"] == CLASSIFICATION:
        return [("held-out error", percent(error)), ("", f"always the same class: {100 * constant:.1f} %")]
    share = f", R² {1 - error.value / constant:.3f}" if constant > 0 else ""
    root = f"a root of {error.value**0.5:.4g}{share}"
    return [("squared error, held out", around(error)), ("", f"{root}; always the mean: {constant:.3g}")]


def _show(console: Console, about: dict[str, Any], output: str) -> None:
    from similitude.cli.output import printable, show_facts

    head = f"Learned {about['label']!r} ({about['task']}) from {about['rows']:,} rows by {about['similarity']}"
    console.print(printable(head), style="bold", soft_wrap=True)
    show_facts(console, learned_facts(about))
    console.print(printable(f"\nSaved as {output}. Next: similitude predict {output} FILE"), soft_wrap=True)
