"""The command line on files that do not fit into memory."""

import numpy as np
import pytest
from cli_runs import run, write_csv

from similitude import SimilarityClassifier
from similitude.cli.inputs import DataOptions
from similitude.cli.output import Output
from similitude.data.files import open_file, read
from similitude.errors import FileError, FileTooLargeError
from similitude.sources import Source


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30_000, 2)).round(3)
    y = np.where(X[:, 0] > X[:, 1] ** 2, "in", "out")
    order = np.argsort(y, kind="stable")  # the first batches hold one class only
    path = write_csv(tmp_path / "rows.csv", {"a": X[order, 0], "b": X[order, 1], "where": y[order]})
    return str(path), X[order], y[order]


def test_a_file_as_a_source(rows, monkeypatch):
    path, X, y = rows
    monkeypatch.setattr(open_file, "_uncompressed_size", lambda file, most: 10**15)
    given = DataOptions(file=path, label="where", similarity="gaussian(sigma=1)")
    data, text, similarity = given.read_both(Output(True), may_stream=True)
    assert isinstance(data.objects, Source) and text == "gaussian(sigma=1)"
    assert np.array_equal(data.labels, y)
    assert np.array_equal(next(data.objects.batches()).objects, X)
    model = SimilarityClassifier(similarity, n_landmarks=20)
    found = model.fit(data.objects).decision_function(X[:100])
    np.testing.assert_allclose(found, model.fit(X, y).decision_function(X[:100]), atol=1e-9)


def test_a_file_that_is_too_large_says_whether_it_can_be_read_in_batches(rows, monkeypatch, tmp_path):
    np.savez(tmp_path / "rows.npz", X=rows[1], y=rows[2])
    monkeypatch.setattr(open_file, "_uncompressed_size", lambda file, most: 10**15)
    with pytest.raises(FileTooLargeError, match=r"rows\.csv: reading it takes about .* GiB"):
        read(rows[0])
    with pytest.raises(FileError, match=r"rows\.npz: reading it takes about .* GiB") as refused:
        read(tmp_path / "rows.npz")  # is always read as a whole
    assert type(refused.value) is FileError


def test_fit_streams_and_says_so(rows, monkeypatch, tmp_path):
    pytest.importorskip("similitude.persistence")
    path, _X, _y = rows
    monkeypatch.setattr(open_file, "_uncompressed_size", lambda file, most: 10**15)
    ask = ["--label", "where", "--landmarks", "20", "--similarity", "gaussian(sigma=1)"]
    done = run("fit", path, *ask, "-o", tmp_path / "m.sim", "--json")
    assert done.code == 0, done.err
    assert "does not fit into memory: it is read in batches" in done.err + done.out
    done = run("predict", tmp_path / "m.sim", path, "-o", tmp_path / "p.csv", "--json")
    assert done.code == 0, done.err
