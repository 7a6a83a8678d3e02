"""What is the same bit for bit under other threads, budgets, engines, instruction sets, processes and Python versions.

The table of docs/determinism.md is read, and each of its cells is tested: "same" compares bits, "rounding" compares up
to rounding. `python tests/test_determinism.py FILE` writes what this process finds; tools/environments.sh compares the
files of several versions of Python.
"""

import os
import re
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from grids import thin
from threadpoolctl import threadpool_limits

from similitude import SimilarityClassifier, SimilarityRegressor, save
from similitude.compute import loops
from similitude.datasets import molecules, promoters
from similitude.engines import DaskEngine, LocalEngine, TorchEngine, use_engine
from similitude.estimators import without_evaluation
from similitude.kernels import (
    DTW,
    ERP,
    MSM,
    TWE,
    Convolutions,
    Edit,
    Gaussian,
    GlobalAlignment,
    Gower,
    Jaccard,
    Laplace,
    MeanOf,
    Polynomial,
    Signature,
    SoftDTW,
    Spectrum,
    WeisfeilerLehman,
)
from similitude.learners import KernelRidge, KernelSVC
from similitude.maps import FourierMap, LandmarkMap, ProjectionMap
from similitude.sources import Source

PAGE = Path(__file__).parent.parent / "docs" / "determinism.md"


def data():
    """Return objects of several kinds, the same ones whenever it is called."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 12))
    strings, classes = promoters()
    return {
        "X": X,
        "y": np.where(X[:, 0] + 0.3 * rng.normal(size=240) > 0, "a", "b"),
        "strings": strings[:60],
        "classes": classes[:60],
        "graphs": molecules().objects[:40],
        "series": [rng.normal(size=n) for n in rng.integers(5, 20, 40)],
        "sets": [set(rng.integers(0, 50, 8).tolist()) for _ in range(50)],
        "table": pd.DataFrame({"a": rng.random(50), "b": rng.choice(list("xyz"), 50)}),
    }


def discrete(given):
    kernels = {"strings": [Spectrum(3), Edit()], "graphs": [WeisfeilerLehman()]}
    kernels |= {"sets": [Jaccard()], "table": [Gower()]}
    return [kernel.gram(given[kind]) for kind, some in kernels.items() for kernel in some]


def continuous(given):
    X, single = given["X"], given["X"].astype(np.float32)
    vectors = [Gaussian(2.0).gram(X), Gaussian(2.0).gram(single), Laplace(2.0).gram(X)]
    elastic = [DTW(3.0), SoftDTW(0.5, sigma=3.0), MSM(sigma=9.0), ERP(sigma=9.0), TWE(sigma=9.0)]
    others = [GlobalAlignment(1.0), Convolutions(252), Signature(4), MeanOf(Gaussian(1.0))]
    samples = [one[:, None] for one in given["series"]]
    return [*vectors, *(k.gram(samples) for k in (*elastic, *others))]


def features(given):
    maps = [FourierMap(n_components=40), LandmarkMap("gaussian", n_components=20), ProjectionMap("gaussian")]
    return [one.set_params(random_state=0).fit_transform(given["X"]) for one in maps]


@without_evaluation()  # the error on new rows is in a saved file
def fits(given):
    X, y = given["X"], given["y"]
    found = [SimilarityClassifier("gaussian", random_state=0).fit(X, y).decision_function(X)]
    found += [SimilarityRegressor("gaussian", random_state=0).fit(X, X[:, 1]).predict(X)]
    found += [SimilarityClassifier(Spectrum(3), random_state=0).fit(given["strings"], given["classes"]).predict_proba]
    found[-1] = found[-1](given["strings"])
    found += [KernelSVC("gaussian", tol=1e-9).fit(X, y).decision_function(X)]
    return [*found, KernelRidge("gaussian", lam=0.1).fit(X, X[:, 1]).predict(X)]


def streamed(given):
    model = SimilarityClassifier("gaussian", n_landmarks=30, random_state=0)
    return [model.fit(Source(given["X"], given["y"])).decision_function(given["X"])]


def files(given):
    model = SimilarityClassifier("gaussian", random_state=0).fit(given["X"], given["y"])
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder) / "model.sim")
        return [np.frombuffer((Path(folder) / "model.sim").read_bytes(), np.uint8)]


ROWS = {
    "matrices of strings, graphs, sets, tables": discrete,
    "matrices of vectors and series": continuous,
    "features of maps": features,
    "fits in memory": fits,
    "fits to a source": streamed,
    "saved files": files,
}


def everything(rows=ROWS):
    given = data()
    return {row: compute(given) for row, compute in ROWS.items() if row in rows}


@contextmanager
def threads(number):
    with use_engine(LocalEngine(threads=number)):
        yield


@contextmanager
def instructions(name):
    before = loops._compiled.in_use()
    loops._compiled.choose(name)
    try:
        yield
    finally:
        loops._compiled.choose(before)


@contextmanager
def dask():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.Client(
            processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None, set_as_default=False
        ) as client,
        use_engine(DaskEngine(client)),
    ):
        yield


@contextmanager
def torch():
    pytest.importorskip("torch")
    with use_engine(TorchEngine(device="cpu")):
        yield


def in_new_process(folder, **environment):
    """Return what a new process finds, with other environment variables."""
    path = folder / "found.npz"
    subprocess.run([sys.executable, __file__, str(path)], env={**os.environ, **environment}, check=True)
    return read(path)


def write(path):
    np.savez(path, **{f"{row}|{i}": one for row, some in everything().items() for i, one in enumerate(some)})


def read(path):
    found = {row: [] for row in ROWS}
    with np.load(path) as arrays:
        for name in arrays.files:
            found[name.rpartition("|")[0]].append(arrays[name])
    return found


def table():
    """Return the cells of the page's table by row and column."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    header, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows}


TABLE = table() if PAGE.exists() else {}
COLUMNS = {
    "threads": lambda: [threads(3)],
    "memory budget": lambda: [use_engine(LocalEngine(threads=2, memory="32MiB"))],
    "worker processes": lambda: [use_engine(LocalEngine(processes=2))],
    "Dask": lambda: [dask()],
    "torch": lambda: [torch()],
    "instruction set": lambda: [instructions(name) for name in loops._compiled.instruction_sets()],
}


@pytest.fixture(scope="module")
def usual():
    """What one thread finds in this process."""
    with threads(1):
        return everything()


def agree(found, expected, cell, row):
    for one, other in zip(found, expected, strict=True):
        if re.match(r"same\b", cell):
            assert one.dtype == other.dtype and np.array_equal(one, other), row
        else:
            assert re.match(r"rounding\b", cell), f"a cell of the page says neither same nor rounding: {cell}"
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4 if one.dtype == np.float32 else 1e-5)


def test_the_page_has_the_rows_and_columns_that_are_tested():
    assert set(TABLE) == set(ROWS)
    for cells in TABLE.values():
        assert set(cells) == {*COLUMNS, "new process", "Python version"}


DEEP = ("worker processes", "Dask", "torch")
"""Columns whose engines other tests compare with one thread, similarity by similarity."""


@pytest.mark.parametrize("column", [pytest.param(one, marks=[pytest.mark.deep] * (one in DEEP)) for one in COLUMNS])
def test_a_column_of_the_page(column, usual):
    if column == "instruction set" and not loops.COMPILED:
        pytest.skip("missing: the compiled module similitude.compute.loops._compiled")
    tested = [row for row in ROWS if TABLE[row][column] != "-"]
    for setting in COLUMNS[column]():
        with setting:
            found = everything(tested)
        for row in tested:
            agree(found[row], usual[row], TABLE[row][column], row)


def test_a_new_process_finds_the_same(tmp_path, usual):
    found = in_new_process(tmp_path, PYTHONHASHSEED="7")
    for row in ROWS:
        agree(found[row], usual[row], TABLE[row]["new process"], row)


@pytest.mark.deep
def test_the_readable_loops_agree_up_to_rounding(tmp_path, usual):
    found = in_new_process(tmp_path, SIMILITUDE_LOOPS="reference")
    for row in ROWS:
        if TABLE[row]["instruction set"] != "-":
            agree(found[row], usual[row], TABLE[row]["instruction set"], row)


FOUND = sorted(Path(os.environ.get("FOUND_BY_VERSIONS", os.devnull)).glob("found-*.npz"))
"""What other versions of Python found; `tools/environments.sh` names their folder."""


@pytest.mark.parametrize("version", FOUND, ids=[path.stem for path in FOUND])
def test_another_version_of_python_found_the_same(version, usual):
    found = read(version)
    for row in ROWS:
        if TABLE[row]["Python version"] != "-":
            agree(found[row], usual[row], TABLE[row]["Python version"], row)


if __name__ == "__main__":
    with threads(1):
        write(sys.argv[1])


@pytest.mark.parametrize(
    ("k", "dtype"),
    thin([Gaussian(5.0), Polynomial(3, scale=0.02), Laplace(3.0, norm=1)], [np.float32, np.float64]),
)
def test_large_matrices_are_the_same_however_they_are_cut(k, dtype):
    """BLAS adds up a product in another order if rows stand elsewhere in a tile, and some processors always."""
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(1_511, 50)).astype(dtype), rng.normal(size=(1_277, 50)).astype(dtype)
    whole, gram = k.block(X, Z), np.empty((1_511, 1_511), dtype)
    k.blocks(X, None, LocalEngine(threads=1)).whole(gram)
    for threads, memory in [(1, "2GiB"), (2, "2GiB"), (3, "2GiB"), (1, "24MiB"), (2, "36MiB")]:
        engine = LocalEngine(threads=threads, memory=memory)
        out, square = np.empty(whole.shape, dtype), np.empty(gram.shape, dtype)
        k.blocks(X, Z, engine).whole(out)
        k.blocks(X, None, engine).whole(square)
        if dtype == np.float64 or memory == "2GiB":
            assert np.array_equal(out, whole) and np.array_equal(square, gram)
        else:
            np.testing.assert_allclose(out, whole, rtol=1e-5)
            np.testing.assert_allclose(square, gram, rtol=1e-5)


def test_fits_and_features_of_many_rows_are_the_same_for_any_number_of_threads():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(4_300, 5))
    y = (np.sin(3 * X[:, 0]) > X[:, 1]).astype(int)
    found = []
    for number in (1, 3):
        with threads(number), threadpool_limits(1):
            svc = KernelSVC("gaussian").fit(X[:2_600], y[:2_600]).decision_function(X)
            machine = SimilarityClassifier("gaussian", n_landmarks=60, random_state=0).fit(X, y).decision_function(X)
            found.append([svc, machine, ProjectionMap("gaussian", n_components=50, random_state=0).fit_transform(X)])
    for others in found[1:]:
        assert all(np.array_equal(*pair) for pair in zip(found[0], others, strict=True))
