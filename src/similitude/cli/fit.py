"""``similitude fit``: learn a model from a file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from similitude.cli.errors import UsageError
from similitude.cli.inputs import AUTO_TEXT, DataOptions, Task, check_not_read, labels_of, task_of
from similitude.cli.output import Computation, Terminal, with_interval
from similitude.support import Estimate, Premise, check_place, plain

if TYPE_CHECKING:
    from similitude.data.files import Data


def fit(
    given: DataOptions,
    output: str | None = None,
    groups: str | None = None,
    task: Task | None = None,
    landmarks: int | None = None,
    loss: Literal["auto", "squared", "logistic", "squared_hinge"] = "auto",
    penalty: Literal["l2", "l1"] = "l2",
    learn: bool = False,
    max_calls: int | None = None,
    seed: int = 0,
    plan: bool = False,
    *,
    run: Computation,
) -> None:
    """Learn to predict a column from the objects of a file, and save the model."""
    with run.working("starting"):
        from similitude.compute import join
        from similitude.data.sources import Source
        from similitude.estimators import SimilarityClassifier, SimilarityRegressor
        from similitude.persistence import save

    place = "" if plan else _checked_output(output, given.file)
    data, text, similarity = given.read_both(run, may_stream=True, may_learn=True, groups=groups)
    task = task_of(run, data, task)
    y = labels_of(data)
    if learn and text != AUTO_TEXT:  # an automatic one is learned anyway
        from similitude.kernel_learning import check_learnable

        try:
            check_learnable(similarity)
        except (TypeError, ValueError) as error:
            raise UsageError(f"--learn: {error}") from error
        text = f"{text}.learned()"
        similarity = similarity.learned()
    pool = None if data.unlabeled is None else join(data.objects, data.unlabeled)
    model = (SimilarityClassifier if task == "classification" else SimilarityRegressor)(
        similarity,
        n_landmarks=landmarks or "auto",
        loss=loss,
        penalty=penalty,
        max_calls=max_calls,
        unlabeled=pool,
        random_state=seed,
    )
    objects = data.objects
    known: dict[str, Any] = {}
    if not isinstance(objects, Source):
        objects = _with_names(data)
        known = {"y": y, "groups": data.groups}
    if plan:
        planned = model.plan(data.objects, **known)
        run.result({"command": "fit", "plan": plain(planned)}, lambda terminal: terminal.say(str(planned)))
        return
    with run.computing(f"fitting to {len(y):,} rows"):
        model.fit(objects, **known)
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_  # new files are read as arrays, by the schema
    about = {
        "verdict": model.verdict(),
        "similarity": text,
        "task": task,
        "label": data.schema.label,
        "rows": len(y),
        "seed": seed,
        "schema": data.schema.to_dict(),
        **_learned(model, y),
    }
    with run.working(f"saving {place}"):
        save(model, place, about=about)
    run.result({"command": "fit", "model": place, **about}, lambda terminal: _show(terminal, about, place))


def _checked_output(output: str | None, file: str) -> str:
    """Refuse a place where no model can be written."""
    if output is None or output == "-":
        raise UsageError("a model needs a file: -o model.sim")
    check_not_read(output, file)
    check_place(output)
    return output


def _with_names(data: Data) -> Any:
    """Return vectors of a file with a header as a data frame, so that notes call columns by their names."""
    names = data.schema.names
    if data.schema.kind != "vectors" or len(names) < 2 or data.unlabeled is not None:
        return data.objects
    import pandas  # type: ignore[import-untyped]

    return pandas.DataFrame(data.objects, columns=list(names), copy=False)


def _learned(model: Any, y: Any) -> dict[str, Any]:
    """Return what is known about a fitted model, as JSON."""
    import numpy as np

    found = {
        "fitted_similarity": repr(model.similarity_),
        "loss": model.loss_,
        "penalty": model.penalty_,
        "landmarks": model.n_similarity_calls_,
        "why_not_more": model.landmark_curve_.reason,
        "representation": str(model.representation_),
        "held_out_error": model.held_out_error_,
        "guarantee": model.guarantee_,
        "calls": model.calls_,
        "plan": replace(model.plan_, spent=None),
        "notes": model.notes_,
    }
    if hasattr(model, "classes_"):
        shares = np.unique(y, return_counts=True)[1] / len(y)
        found |= {"constant_error": 1 - float(shares.max()), "classes": model.classes_, "suspects": model.suspects_}
    else:
        found["constant_error"] = model.constant_error_  # on the held-out rows
    about: dict[str, Any] = plain(found, finite=True)
    return about


def learned_facts(about: dict[str, Any]) -> list[tuple[str, object]]:
    """Return the names and values that describe a fitted model."""
    n = about["landmarks"]
    promise = about["guarantee"]
    cost = f"{n:,}: {n:,} similarity evaluations per prediction" if n else "none: every row gets the same prediction"
    grade = f"{promise['grade']}: ".removeprefix("NONE: ")
    return [
        *_errors(about),
        *_planned(about.get("plan")),
        ("landmarks", cost),
        ("", f"not more, because {about['why_not_more']}"),
        ("representation", about["representation"].partition(": ")[2] or about["representation"]),
        ("guarantee", f"{grade}{promise['statement']}"),
        *([("", f"by {promise['theorem']}")] if promise["theorem"] else []),
        *[("", str(Premise(**premise))) for premise in promise["premises"]],
        *[("note", note) for note in about.get("notes", [])],
    ]


def _planned(plan: dict[str, Any] | None) -> list[tuple[str, object]]:
    """Return what was chosen, how it was solved, and how it was evaluated."""
    if plan is None:  # a model that another program saved
        return []
    names = {"similarity": "similarity", "model": "model", "evaluation": "evaluated by"}
    return [(name, plan[step]["what"]) for step, name in names.items()]


def _errors(about: dict[str, Any]) -> list[tuple[str, object]]:
    error = Estimate(**about["held_out_error"])
    constant = about["constant_error"]
    if about["task"] == "classification":
        baseline = f"always the most frequent class: {100 * constant:.1f} %"
        return [("held-out error", with_interval(error, share=True)), ("", baseline)]
    root = f"a root of {error.value**0.5:.4g}"
    if constant > 0:
        root += f", R² {1 - error.value / constant:.3f}"
    return [("squared error, held out", with_interval(error)), ("", f"{root}; always the mean: {constant:.3g}")]


def _show(terminal: Terminal, about: dict[str, Any], output: str) -> None:
    name = about["similarity"]
    if name == AUTO_TEXT and len(about["fitted_similarity"]) <= 120:
        name = about["fitted_similarity"]
    head = f"Learned {about['label']!r} ({about['task']}) from {about['rows']:,} rows with {name}"
    terminal.sentence(f"{about['verdict'][0].upper()}{about['verdict'][1:]}.", "bold")
    terminal.say(head)
    terminal.facts(learned_facts(about))
    terminal.say(f"\nSaved as {output}. Next: similitude predict {output} FILE")
