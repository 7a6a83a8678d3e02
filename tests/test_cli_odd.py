"""The command line in unusual surroundings: narrow terminals, closed streams, models without landmarks, odd labels."""

import json
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp
from cli_runs import PROGRAM, run, write_csv, write_flowers

from similitude import SimilarityClassifier, datasets, save
from similitude.persistence import information


@pytest.fixture(scope="module")
def flowers(tmp_path_factory):
    return write_flowers(tmp_path_factory.mktemp("flowers"))


@pytest.fixture(scope="module")
def model(flowers):
    path = flowers.parent / "flowers.sim"
    assert run("fit", flowers, "--label", "species", "-o", path, "--landmarks", "10").code == 0
    return path


def test_narrow_terminals_lose_no_cell(flowers, model, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    out = run("compare", flowers, "--label", "species", "-s", "gaussian", "-s", "linear").out
    assert "gaussian" in out and "linear" in out and "…" not in out
    assert "…" not in run("assess", flowers, "--label", "species").out
    shown = run("explain", model, flowers, "--row", "0").out
    assert max(map(len, shown.splitlines())) <= 72 and len(shown.splitlines()) < 36


@pytest.mark.parametrize("what", ["kernels", pytest.param("predict", marks=pytest.mark.deep)])
def test_a_closed_standard_output_is_no_bug(flowers, model, what):
    arguments, said = {"kernels": ("kernels", ""), "predict": (f"predict {model} {flowers}", "accuracy")}[what]
    command = f"{' '.join(map(repr, PROGRAM))} {arguments} >&-"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and said in done.stderr and "unexpected" not in done.stderr


def test_a_model_without_landmarks_says_so(tmp_path):
    path, model = (
        write_csv(tmp_path / "x.csv", {"a": [1] * 20, "b": [2] * 20, "y": ["u", "v"] * 10}),
        tmp_path / "m.sim",
    )
    assert "none: every row gets the same prediction" in run("fit", path, "--label", "y", "-o", model).out
    code, out, err = run("predict", model, path, "--nearest", "1")
    assert code == 2 and not out and "--nearest: the model has no landmarks" in err
    assert run("predict", model, path).code == 0


def test_labels_that_the_model_does_not_know_are_named(flowers, model, tmp_path):
    text = flowers.read_text().replace("setosa", "rose")
    (tmp_path / "others.csv").write_text(text)
    err = run("predict", model, tmp_path / "others.csv").err
    assert "labels that the model does not know, and so never predicts: 'rose'" in err
    assert "does not know" not in run("predict", model, flowers).err


def test_a_report_tells_the_whole_command(tmp_path, monkeypatch):
    (tmp_path / "alike.py").write_text("def near(x, z):\n    return float(x[0] * z[0])\n")
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "x.csv", {"a": [*range(50)], "b": [1.5] * 50, "y": [i % 5 for i in range(50)]})
    asked = ("--kind", "series", "--task", "regression", "--title", "My page", "--trust", "-s", "alike:near")
    code, _, _ = run("report", "x.csv", "--label", "y", *asked, "-o", "report.json", "--seed", "3")
    command = json.loads((tmp_path / "report.json").read_text())["reproduce"]["command"]
    expected = (
        "similitude report x.csv --output report.json --label y --similarity alike:near --kind series "
        "--task regression --title 'My page' --seed 3 --trust"
    )
    assert code == 0 and command == expected


def test_a_report_is_refused_before_the_file_is_read(tmp_path):
    code, _, err = run("report", tmp_path / "missing.csv", "-o", tmp_path / "report.pdf")
    assert code == 1 and "html, txt, json" in err


def test_messages_name_options_not_parameters(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.eye(3), b=np.eye(3), y=[0, 1, 0])
    err = run("assess", tmp_path / "x.npz").err
    assert "Choose one with --object: it has 'a', 'b'" in err
    err = run("check", write_csv(tmp_path / "x.csv", {"a": [1, 2]})).err
    assert "column 'a' as vectors; --kind 'strings' takes them as text" in err


def test_sparse_rows_are_shown_by_their_numbers(tmp_path):
    rng = np.random.default_rng(0)
    X, y = sp.csr_matrix(np.where(rng.random((40, 9)) < 0.2, 2.5, 0.0)), np.arange(40) % 2
    parts = {f"X_{part}": getattr(X, part) for part in ("data", "indices", "indptr", "shape")}
    np.savez(tmp_path / "x.npz", y=y, **parts)
    assert run("fit", tmp_path / "x.npz", "-o", tmp_path / "m.sim", "--landmarks", "5").code == 0
    shown = run("explain", tmp_path / "m.sim", tmp_path / "x.npz", "--row", "1").out
    first = ", ".join(f"{place}: 2.5" for place in X[1].indices[:2])
    assert f"{{{first}" in shown and "Sparse" not in shown


HALF = [
    {"schema": 1},
    {"schema": {"kind": "vectors", "names": ["x0"], "types": ["odd"]}},
    {"schema": {"kind": "vectors", "names": [1], "types": ["number"]}},
    {"schema": {"kind": "vectors", "label": ["species"]}},
    {"held_out_error": {}},
    {"guarantee": None},
    {"rows": "many"},
    {"similarity": 7},
]


@pytest.mark.parametrize("changed", HALF)
def test_a_model_that_tells_of_itself_what_fit_does_not_is_refused(flowers, model, changed, tmp_path):
    path = tmp_path / "forged.sim"
    X, y = datasets.iris()
    save(SimilarityClassifier(n_landmarks=5).fit(X, y), path, about={**information(model).about, **changed})
    for command in (("info", path), ("predict", path, flowers), ("explain", path, flowers, "--row", "0")):
        code, out, err = run(*command)
        assert code == 1 and not out and "not what 'similitude fit' writes" in err


def test_what_a_module_of_ones_own_prints_is_no_result(flowers, tmp_path, monkeypatch):
    (tmp_path / "talkative.py").write_text("print('hello')\n\ndef near(x, z):\n    return float(x @ z)\n")
    monkeypatch.chdir(tmp_path)
    code, out, err = run("check", flowers, "--label", "species", "-s", "talkative:near", "--trust", "--json")
    assert code == 0 and json.loads(out)["command"] == "check" and "hello" in err
