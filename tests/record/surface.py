"""Public signatures, refusals and saved files."""

import importlib
import inspect
import re
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from types import GenericAlias

import numpy as np

from record import cases
from record.plain import plain, tidy
from similitude import (
    FromPairs,
    SimilarityClassifier,
    SimilarityMultilabelClassifier,
    SimilarityOrdinalClassifier,
    SimilarityRegressor,
    datasets,
    load,
    save,
)
from similitude.kernels import Gaussian, Spectrum
from similitude.learners import KernelRidge

ROOMS = (
    "bounds",
    "checks",
    "datasets",
    "engines",
    "errors",
    "estimators",
    "export",
    "files",
    "goodness",
    "hypotheses",
    "kernels",
    "learners",
    "maps",
    "persistence",
    "relevance",
    "report",
    "results",
    "selection",
    "similarity",
    "sources",
    "validity",
)

QUOTED = re.compile(r"(: |-> )'([^']*)'")
"""A type in quotes, as annotations are kept."""


# Signatures.


def signatures():
    """Return how each public name is called, and each public method of a class."""
    modules = ["similitude", *(f"similitude.{room}" for room in ROOMS)]
    return {module: partial(signatures_of_module, module) for module in modules}


def signatures_of_module(module):
    room = importlib.import_module(module)
    return {name: signature_of(module, name, getattr(room, name)) for name in sorted(room.__all__)}


def signature_of(module, name, value):
    """Return how something is called; what other rooms show as well is recorded at home only."""
    home = room_of(value)
    if home != module and name in getattr(importlib.import_module(home), "__all__", ()):
        return f"see {home}"
    if isinstance(value, GenericAlias):  # a class in Python 3.10
        return "no signature"
    if inspect.isclass(value):
        own = {f".{one}": signature_of_member(value, one) for one in members(value)}
        return {"": called(value), **own} if own else called(value)
    return called(value) if callable(value) else tidy(type(value).__name__)


def room_of(value):
    """Return the room in which a public object is written, if it is a room that is recorded."""
    parts = getattr(value, "__module__", "").split(".")
    return ".".join(parts[:2]) if parts[0] == "similitude" and parts[1:2] and parts[1] in ROOMS else "similitude"


def members(kind):
    """Return the names of public members that no public base has, and other packages do not add."""
    bases = [base for base in kind.__mro__ if base.__module__.startswith("similitude")]
    inherited = [base for base in bases[1:] if is_public(base)]
    return [
        name
        for name in dir(kind)
        if not name.startswith("_")
        and any(name in vars(base) for base in bases)
        and not any(is_same(kind, base, name) for base in inherited)
    ]


def is_public(kind):
    return kind.__name__ in getattr(importlib.import_module(room_of(kind)), "__all__", ())


def is_same(kind, base, name):
    return inspect.getattr_static(kind, name) is inspect.getattr_static(base, name, None)


def signature_of_member(kind, name):
    value = inspect.getattr_static(kind, name)
    if isinstance(value, property):
        return "property"
    found = getattr(kind, name)
    return called(found) if callable(found) else tidy(type(found).__name__)


def called(function):
    try:
        return QUOTED.sub(r"\1\2", tidy(str(inspect.signature(function))))
    except (TypeError, ValueError):  # written in C
        return "no signature"


# Refusals.


def refusals():
    """Return the error of every row of the table of refusals."""
    from test_refusals import TABLE  # pytest rewrites its assertions, if it runs

    found, seen = {}, Counter()
    for row in TABLE:
        seen[row.name] += 1
        found[f"{row.name} ({seen[row.name]})"] = partial(refused, row)
    return found


def refused(row):
    def asked(x, z):
        return 1.0

    try:
        row.call(asked)
    except Exception as error:
        return f"{type(error).__name__}: {plain(str(error))}"
    return "it was not refused"


# Saved files.


def saved():
    """Return what files of fitted models keep."""
    functions = {"frugal": {"near": cases.near}}
    return {name: partial(kept, make, functions.get(name)) for name, make in MODELS.items()}


def kept(make, functions):
    """Save a model, load it, and compare: attributes, and predictions bit by bit."""
    model, new = make()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.sim"
        save(model, path)
        other = load(path, functions=functions)
    return {
        "predictions are the same": bool(np.array_equal(model.predict(new), other.predict(new))),
        "attributes": sorted(vars(model)),
        "attributes after loading": "the same" if set(vars(model)) == set(vars(other)) else sorted(vars(other)),
        "parameters": {name: plain(value) for name, value in sorted(other.get_params(deep=False).items())},
    }


def vectors(model, data, n):
    X, y = data(n + 10)
    return model.fit(X[:n], y[:n]), X[n:]


def flowers(model):
    X, y, new = cases.split(datasets.iris())
    return model.fit(np.array(X), y), np.array(new)


def genes(model):
    X, y, new = cases.split(datasets.promoters())
    return model.fit(X, y), new


def points(model):
    X, y, _ = cases.points(210)
    return model.fit(X[:200], y[:200]), X[200:]


def people(model):
    X, y, new = cases.split(datasets.adult())
    return model.fit(X[:200], y[:200]), new


def labels(model):
    X, _ = cases.clouds(130)
    return model.fit(X[:120], (X[:120] > 0).astype(int)), X[120:]


def grades(model):
    X, y = cases.hills(130)
    return model.fit(X[:120], np.digitize(y[:120], [-0.5, 0.5])), X[120:]


def stream(model):
    X, y = cases.hills(310)
    for a in range(0, 300, 150):
        model.partial_fit(X[a : a + 150], y[a : a + 150])
    return model, X[300:]


MODELS = {
    "exact": lambda: flowers(SimilarityClassifier(random_state=0)),
    "landmarks": lambda: vectors(SimilarityRegressor("gaussian", n_landmarks=20, random_state=0), cases.hills, 150),
    "pilot": lambda: vectors(SimilarityRegressor("gaussian", random_state=0), cases.waves, 1200),
    "cells": lambda: vectors(SimilarityRegressor(random_state=0), cases.regions, 5300),
    "several similarities": lambda: flowers(SimilarityClassifier([Gaussian(), "linear"], random_state=0)),
    "l1": lambda: flowers(SimilarityClassifier("gaussian", n_landmarks=20, penalty="l1", random_state=0)),
    "logistic": lambda: flowers(SimilarityClassifier("gaussian", n_landmarks=20, loss="logistic", random_state=0)),
    "quantile": lambda: vectors(
        SimilarityRegressor("gaussian", n_landmarks=20, loss="quantile", quantile=0.8, random_state=0), cases.hills, 150
    ),
    "certified": lambda: vectors(SimilarityClassifier("gaussian", certify=0.25, random_state=0), cases.clouds, 200),
    "strings": lambda: genes(SimilarityClassifier(Spectrum(3), random_state=0)),
    "learned": lambda: genes(SimilarityClassifier(Spectrum(3).learned(), random_state=0)),
    "frugal": lambda: points(SimilarityClassifier(FromPairs(cases.near), max_calls=4000, random_state=0)),
    "table": lambda: people(SimilarityClassifier(random_state=0)),
    "several labels": lambda: labels(SimilarityMultilabelClassifier("gaussian", random_state=0)),
    "grades": lambda: grades(SimilarityOrdinalClassifier("gaussian", random_state=0)),
    "stream": lambda: stream(SimilarityRegressor("gaussian", n_landmarks=20, random_state=0)),
    "ridge": lambda: vectors(KernelRidge(Gaussian(1.0)), cases.hills, 150),
}
"""Fitted models and new objects, one for each way in which a state is made."""
