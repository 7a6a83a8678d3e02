"""``similitude compare``: a model beside baselines, or which similarity is best."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import similitude
from similitude.cli.errors import UsageError
from similitude.cli.inputs import AUTO_TEXT, DataOptions, Task, labels_of, parsed, task_of
from similitude.cli.output import Computation, Terminal

if TYPE_CHECKING:
    from similitude.cli.baselines import ComparedModel
    from similitude.selection import Selection
    from similitude.support import Estimate


def compare(
    given: DataOptions,
    similarity: list[str] | None = None,
    task: Task | None = None,
    learn: bool = False,
    groups: str | None = None,
    max_calls: int | None = None,
    seed: int = 0,
    *,
    run: Computation,
) -> None:
    """Compare a model with baselines that need no similarity, or rank several similarities, by cross-validated error.

    Without --similarity, or with one, the model of 'fit' is judged in the same folds as baselines for the kind of
    objects. With several, they are ranked, with intervals for how much worse each is than the best.
    """
    similarity = similarity or []
    if len(set(similarity)) < len(similarity):
        raise UsageError("compare needs different similarities: the same --similarity was given twice")
    if len(similarity) < 2 and not learn:
        if max_calls is not None:
            raise UsageError(
                "--max-calls: a comparison with baselines fits a model in every fold: use 'report', or 'fit'"
            )
        one = replace(given, similarity=next(iter(similarity), None))
        _compare_with_baselines(one, task, groups, seed, run)
        return
    if not similarity:
        raise UsageError("--learn needs the --similarity that is to be learned")
    candidates = {text: parsed(text, given.trust) for text in similarity}
    data = given.read(run, list(candidates.values()), groups=groups)
    task = task_of(run, data, task)
    y = labels_of(data)
    with run.computing(f"comparing {len(candidates)} similarities on {len(y):,} rows"):
        selection = similitude.choose_kernel(
            candidates,
            data.objects,
            y,
            task=task,
            groups=data.groups,
            learn=learn,
            max_calls=max_calls,
            random_state=seed,
        )
    document = {"command": "compare", **selection.to_dict(), "best": selection.table[0].candidate}
    run.result(document, lambda terminal: _show(terminal, selection))


def _compare_with_baselines(
    given: DataOptions, task: Task | None, groups: str | None, seed: int, run: Computation
) -> None:
    """Compare the model of ``fit`` and the baselines in the same folds."""
    with run.working("starting"):
        from similitude.cli.baselines import baselines, judged, verdict
        from similitude.estimators import SimilarityClassifier, SimilarityRegressor, without_evaluation
    data, text, similarity = given.read_both(run, may_learn=True, groups=groups)
    task = task_of(run, data, task)
    y = labels_of(data)
    classes = task == "classification"
    estimator: Any = SimilarityClassifier
    if not classes:
        estimator = SimilarityRegressor
        y = y.astype(float)
    name = "the similarity model" if text == AUTO_TEXT else text
    models = {name: estimator(similarity, random_state=seed)}
    models |= baselines(data.schema.kind, data.objects, classes, seed)
    with run.computing(f"comparing {len(models)} models on {len(y):,} rows") as say, without_evaluation():
        found, folds = judged(models, data.objects, y, classes, seed, say, data.groups)
    sentence = verdict(found, classes)
    document = {
        "command": "compare",
        "task": task,
        "similarity": text,
        "rows": len(y),
        "folds": folds,
        "seed": seed,
        "models": found,
        "verdict": sentence,
    }

    def show(terminal: Terminal) -> None:
        terminal.say(f"{task}: {folds}, {len(y):,} rows", "bold")
        terminal.table(
            {"model": "fold", _error(classes): "right", "this minus the first": "right", "seconds": "right"},
            [_cells(one, i, classes) for i, one in enumerate(found)],
            style_first="bold",
        )
        terminal.say(f"{sentence[0].upper()}{sentence[1:]}.", "bold")
        terminal.say("All models are fitted and tested on the same rows; ± is one standard error, paired by row.")

    run.result(document, show)


def _cells(one: ComparedModel, place: int, classes: bool) -> tuple[str, ...]:
    from similitude.cli.baselines import figure

    def both(value: float, error: float) -> str:
        return f"{100 * value:.1f} ± {100 * error:.1f} %" if classes else f"{figure(value)} ± {figure(error)}"

    difference = both(0.0 - one.difference, one.difference_error)
    if place == 0:
        difference = ""
    elif one.difference < 0:
        difference = f"+{difference}"
    return one.name, both(one.error, one.standard_error), difference, f"{one.seconds:.1f}"


def _error(classes: bool) -> str:
    return "error" if classes else "squared error"


def _show(terminal: Terminal, selection: Selection) -> None:
    classes = selection.task == "classification"
    landmarks = f"{len(selection.landmark_indices):,} landmarks"
    terminal.say(f"{selection.task}: {selection.folds}, {selection.n_examples:,} rows, {landmarks}", "bold")
    columns = {"": "left", "similarity": "fold", _error(classes): "left", "worse by": "left", "features": "left"}
    rows: list[tuple[str, ...]] = []
    for row in selection.table:
        worse = _range(row.difference, classes) if rows else ""
        rows.append(("*" * row.as_good, row.candidate, _range(row.error, classes), worse, row.representation.name))
    terminal.table(columns, rows, style_first="bold")
    terminal.say("* not shown to be worse than the best; the intervals (95 %) hold simultaneously.")
    terminal.say(f"{selection.on_new_rows()}.", "bold")
    terminal.say("For that line the choice was made again without the rows that judge it.")


def _range(estimate: Estimate, share: bool) -> str:
    if share:
        return f"{100 * estimate.value:.1f} % [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"
    return f"{estimate.value:.4g} [{estimate.low:.3g}, {estimate.high:.3g}]"
