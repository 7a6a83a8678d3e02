"""The tasks, one module per family. A new family: write its module and add its tasks here."""

from benchmarks.nouns import Task
from benchmarks.tasks import (
    cluster,
    fits,
    gaussian,
    graphs,
    laplace,
    learners,
    machine,
    maps,
    objects,
    pairs,
    polynomial,
    series,
    sparse,
    startup,
    streams,
    strings,
    tables,
    times_vector,
    verdict,
)

ALL: tuple[Task, ...] = (
    gaussian.BLOCK,
    gaussian.GRAM,
    laplace.TASK,
    polynomial.TASK,
    sparse.TASK,
    times_vector.TASK,
    pairs.TASK,
    maps.PROJECTION,
    maps.PIVOTS,
    maps.FOURIER,
    learners.SVC,
    learners.SVC_CLASSES,
    learners.SVC_PREDICT,
    learners.PERCEPTRON,
    learners.RIDGE,
    learners.KMEANS,
    machine.FIT,
    machine.DEFAULTS,
    fits.TASK,
    machine.INDEFINITE,
    streams.FIT,
    streams.FLIGHTS,
    cluster.FIT,
    tables.JACCARD,
    tables.JACCARD_SETS,
    tables.GOWER,
    tables.ACCURACY,
    strings.SPECTRUM,
    strings.LEVENSHTEIN,
    strings.STRING_LEARNING,
    strings.PROMOTERS,
    series.WARPING,
    series.ALIGNMENT,
    series.ACCURACY,
    series.FIT,
    graphs.WEISFEILER_LEHMAN,
    graphs.ASSIGNMENT,
    graphs.SHORTEST_PATH,
    graphs.ATTRIBUTES,
    graphs.RANDOM_WALK,
    graphs.GRAPHLETS,
    graphs.ACCURACY,
    objects.TASK,
    verdict.TASK,
    startup.TASK,
)


def task_named(name: str) -> Task:
    """Return the task of that name."""
    for task in ALL:
        if task.name == name:
            return task
    raise ValueError(f"no task is called {name!r}; there are {', '.join(one.name for one in ALL)}")
