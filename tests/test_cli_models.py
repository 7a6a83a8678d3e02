"""The command line with models: fit, predict, explain, info, export."""

import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_runs import read_csv, run, write_csv, write_flowers, write_genes

from similitude import SimilarityClassifier
from similitude.persistence import information, load, save
from similitude.similarity.expressions import parse


@pytest.fixture(scope="module")
def genes(tmp_path_factory):
    return write_genes(tmp_path_factory.mktemp("genes"))


@pytest.fixture(scope="module")
def model(genes):
    path = genes.with_name("genes.sim")
    assert run("fit", genes, "--label", "class", "-o", path).code == 0
    return path


@pytest.fixture(scope="module")
def waves(tmp_path_factory):
    x = np.linspace(0, 6, 300)
    return write_csv(tmp_path_factory.mktemp("waves") / "waves.csv", {"x": x, "y": np.sin(x)})


# fit.


def test_fit_tells_a_person(genes, tmp_path):
    ran = run("fit", genes, "--label", "class", "-o", tmp_path / "m.sim")
    assert ran.code == 0
    for words in (
        "Learned 'class' (classification) from 106 rows",
        "held-out error",
        "always the most frequent class: 50.0 %",
    ):
        assert words in ran.out
    for words in ("landmarks", "not more, because", "guarantee", "similitude predict"):
        assert words in ran.out
    for words in (
        "column 'gene' as strings",
        "no --similarity was given: it is chosen by the labels",
        "2 distinct values",
    ):
        assert words in ran.err


def test_fit_is_what_the_library_does(genes, model):
    rows = read_csv(genes)
    X, y = [row["gene"] for row in rows], [row["class"] for row in rows]
    own = SimilarityClassifier(random_state=0).fit(X, y)
    assert (load(model).decision_function(X) == own.decision_function(X)).all()


def test_fit_as_json_and_the_same_file_twice(genes, tmp_path):
    ask = ("fit", genes, "--label", "class", "-s", "spectrum(p=4)", "--landmarks", 40, "--seed", 5, "--json", "-o")
    found = json.loads(run(*ask, tmp_path / "a.sim").out)
    assert found["landmarks"] == 40 and found["similarity"] == "spectrum(p=4)" and found["classes"] == ["+", "-"]
    assert 0 <= found["held_out_error"]["value"] < 0.3 and found["guarantee"]["grade"] in ("NONE", "CONDITIONAL")
    run(*ask, tmp_path / "b.sim")
    assert (tmp_path / "a.sim").read_bytes() == (tmp_path / "b.sim").read_bytes()


def test_losses_penalties_and_tasks(waves, tmp_path):
    ask = ("fit", waves, "--label", "y", "-o", tmp_path / "m.sim", "--json")
    found = json.loads(run(*ask, "--penalty", "l1", "--landmarks", 20).out)
    assert found["task"] == "regression" and found["penalty"] == "l1"
    ran = run(*ask, "--loss", "logistic")
    assert ran.code == 1 and "loss must be" in ran.err and "logistic" in ran.err


def test_fit_shows_regression(waves, tmp_path):
    ran = run("fit", waves, "--label", "y", "-o", tmp_path / "m.sim")
    assert ran.code == 0 and "squared error, held out" in ran.out and "R² 1.000" in ran.out


def test_fit_from_standard_input(genes, tmp_path, monkeypatch):
    ask = ["fit", "-", "--label", "class", "-o", tmp_path / "m.sim", "--engine", "threads=1,memory=1GiB"]
    with genes.open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert run(*ask).code == 0
    assert information(tmp_path / "m.sim").about["rows"] == 106


# predict.


def test_predict_is_what_the_model_says(genes, model, tmp_path):
    ran = run("predict", model, genes, "-o", tmp_path / "p.csv", "--probabilities", "--nearest", 2)
    assert ran.code == 0 and "Predicted 106 rows" in ran.out and "accuracy" in ran.out
    assert "column 'class' was not used to predict; 106 rows are scored by it" in ran.err
    X, found, own = [row["gene"] for row in read_csv(genes)], read_csv(tmp_path / "p.csv"), load(model)
    assert [row["prediction"] for row in found] == own.predict(X).tolist()
    shares = [[float(row["probability_+"]), float(row["probability_-"])] for row in found]
    assert np.allclose(shares, own.predict_proba(X))
    alike = own.similarity_.cross(X, own.landmarks_)
    assert [float(row["similarity_1"]) for row in found] == alike.max(axis=1).tolist()
    assert [int(row["landmark_2"]) for row in found] == own.landmark_indices_[
        np.argsort(-alike, kind="stable")[:, 1]
    ].tolist()


def test_sets_of_classes_are_those_of_the_model(genes, model):
    ran = run("predict", model, genes, "--set", 0.9, "--json")
    found, own = json.loads(ran.out), load(model)
    sets = own.predict_set([row["gene"] for row in read_csv(genes)], 0.9)
    assert found["predictions"]["set_+"] == sets[:, 0].astype(int).tolist()
    assert f"note: --set 0.9: {own.uncertainty_}" in ran.err
    assert run("predict", model, genes, "--interval", 0.9).code == 2
    ran = run("predict", model, genes, "--set", 0.9999)
    assert ran.code == 2 and "--set: level=0.9999 needs" in ran.err


def test_intervals_are_two_columns(tmp_path):
    x = np.linspace(0, 3, 40).round(3)
    path = write_csv(tmp_path / "numbers.csv", {"x": x.tolist(), "y": np.sin(x).tolist()})
    assert run("fit", path, "--label", "y", "-o", tmp_path / "n.sim", "--similarity", "gaussian(sigma=1)").code == 0
    ran = run("predict", tmp_path / "n.sim", path, "--interval", 0.8, "-o", tmp_path / "p.csv")
    ends = [[float(row["low"]), float(row["high"])] for row in read_csv(tmp_path / "p.csv")]
    assert ran.code == 0 and "(ESTIMATE)" in ran.err
    np.testing.assert_allclose(ends, load(tmp_path / "n.sim").predict_interval(x[:, None], 0.8))
    assert run("predict", tmp_path / "n.sim", path, "--set", 0.8).code == 2


def test_predict_writes_to_standard_output_and_notes_the_score(genes, model):
    ran = run("predict", model, genes)
    assert ran.code == 0 and ran.out.splitlines()[0] == "prediction" and len(ran.out.splitlines()) == 107
    assert "note: accuracy" in ran.err


def test_predict_as_json(genes, model, tmp_path):
    found = json.loads(run("predict", model, genes, "--json").out)
    assert len(found["predictions"]["prediction"]) == found["rows"] == found["scored_rows"] == 106
    assert found["accuracy"]["grade"] == "ESTIMATE"
    found = json.loads(run("predict", model, genes, "--json", "-o", tmp_path / "p.jsonl").out)
    assert "predictions" not in found and len((tmp_path / "p.jsonl").read_text().splitlines()) == 106


def test_predict_without_labels_and_with_other_columns(genes, model, tmp_path):
    strings = [row["gene"] for row in read_csv(genes)]
    other = write_csv(tmp_path / "other.csv", {"remark": ["x"] * 106, "gene": strings})
    ran = run("predict", model, other, "--json")
    found = json.loads(ran.out)
    assert found["accuracy"] is None and found["scored_rows"] == 0 and "ignored" in ran.err
    assert found["predictions"] == json.loads(run("predict", model, genes, "--json").out)["predictions"]


@pytest.mark.usefixtures("unlearned")
def test_predict_numbers(waves, tmp_path):
    model = tmp_path / "m.sim"
    run("fit", waves, "--label", "y", "-o", model)
    found = json.loads(run("predict", model, waves, "--json").out)
    assert found["r_squared"]["value"] > 0.999
    ran = run("predict", model, waves, "--probabilities")
    assert ran.code == 2 and "--probabilities needs classes" in ran.err


def test_predict_reads_in_batches(model, genes, tmp_path, monkeypatch):
    from similitude.data import files

    batches = files.batches
    monkeypatch.setattr(files, "batches", lambda source, **options: batches(source, rows=7, **options))
    run("predict", model, genes, "-o", tmp_path / "p.csv", "--probabilities")
    monkeypatch.undo()
    run("predict", model, genes, "-o", tmp_path / "q.csv", "--probabilities")
    rows = [read_csv(tmp_path / name) for name in ("p.csv", "q.csv")]
    for name in ("prediction", "probability_+"):
        first, second = ([row[name] for row in one] for one in rows)
        assert first == second or np.allclose(np.array(first, float), np.array(second, float))


def test_every_kind_from_file_to_prediction(tmp_path):
    rng = np.random.default_rng(0)
    classes = ["a", "b"] * 30
    lines = {
        "sets": [{"object": sorted({c, *rng.choice(list("vwxyz"), 2).tolist()}), "y": c} for c in classes],
        "series": [
            {"object": (np.sin(np.arange(12) * (1 + (c == "b"))) + 0.1 * rng.random(12)).tolist(), "y": c}
            for c in classes
        ],
        "table": [{"age": float(rng.random() + (c == "b")), "job": "xy"[c == "b"], "y": c} for c in classes],
        "graphs": [
            {"object": {"edges": [[0, 1], [1, 2]] + [[2, 0]] * (c == "b"), "node_labels": ["C", "C", "O"]}, "y": c}
            for c in classes
        ],
    }
    for kind, rows in lines.items():
        path, model = tmp_path / f"{kind}.jsonl", tmp_path / f"{kind}.sim"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        ran = run("fit", path, "--label", "y", "--kind", kind, "-o", model)
        assert ran.code == 0, (kind, ran.err)
        found = json.loads(run("predict", model, path, "--json").out)
        assert found["accuracy"]["value"] == 1.0, kind
        ran = run("explain", model, path, "--row", 1)
        assert ran.code == 0 and ran.out.startswith("y: b (the file says b)\n"), (kind, ran.err)


def test_fasta_keeps_the_names(genes, tmp_path):
    rows = read_csv(genes)
    fasta = tmp_path / "genes.fasta"
    fasta.write_text("".join(f">g{i} {row['class']}\n{row['gene']}\n" for i, row in enumerate(rows)))
    assert run("fit", fasta, "--label", "header", "-o", tmp_path / "m.sim").code == 0
    assert run("predict", tmp_path / "m.sim", fasta, "-o", tmp_path / "p.csv").code == 0
    assert [row["id"] for row in read_csv(tmp_path / "p.csv")] == [f"g{i}" for i in range(len(rows))]


# explain and info.


def test_explain_adds_up(genes, model):
    found = json.loads(run("explain", model, genes, "--row", 3, "--json").out)
    assert sum(found["influences"]) + found["base"] == pytest.approx(found["score"], abs=1e-9)
    rows = read_csv(genes)
    strings = [row["gene"] for row in rows]
    assert found["examples"] == [strings[place] for place in found["positions"]]
    assert found["labels"] == [rows[place]["class"] for place in found["positions"]]
    assert sum(found["counts"]) == len(rows)
    assert found["score"] == pytest.approx(-load(model).decision_function(strings[3:4])[0])
    assert found["prediction"] == found["actual"] == "+" and found["against"] == "-"
    ran = run("explain", model, genes, "--row", 3)
    assert ran.code == 0 and "all others" in ran.out and strings[3] in ran.out
    assert "What in the row mattered" in ran.out and found["attribution"]["parts"] == list(strings[3])
    assert sum(found["attribution"]["values"]) + found["attribution"]["base"] == pytest.approx(found["score"])
    assert "mattered" not in run("explain", model, genes, "--row", 3, "--no-parts").out
    assert max(map(len, ran.out.splitlines())) <= 80


@pytest.mark.usefixtures("unlearned")
def test_explain_of_three_classes(tmp_path):
    flowers, model = write_flowers(tmp_path), tmp_path / "m.sim"
    run("fit", flowers, "--label", "species", "-o", model)
    ran = run("explain", model, flowers, "--row", 149)
    assert ran.code == 0 and "The score of virginica against versicolor is" in ran.out
    assert "  x2 " in ran.out.partition("What in the row mattered")[2]
    ran = run("explain", model, flowers, "--row", 149, "--by", "landmarks")
    assert ran.code == 0 and "intercept" in ran.out and "cancel" in ran.err


def test_info_tells_what_was_learned(model):
    ran = run("info", model)
    for words in (
        "SimilarityClassifier",
        "class (classification)",
        "strings, 106 rows",
        "held-out error",
        "similitude ",
    ):
        assert words in ran.out
    found = json.loads(run("info", model, "--json").out)
    assert found["about"]["schema"]["kind"] == "strings" and found["type"] == "SimilarityClassifier"


def test_export_writes_what_predicts_the_same_or_nothing(waves, model, tmp_path):
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    path, file = tmp_path / "waves.sim", tmp_path / "waves.onnx"
    assert run("fit", waves, "--label", "y", "-s", "gaussian(sigma=0.5)", "--landmarks", 9, "-o", path).code == 0
    ran = run("export", path, file)
    assert ran.code == 0 and "X: double, rows x 1" in ran.out and "columns x" in ran.out
    X = np.linspace(0, 6, 7)[:, None]
    found = onnxruntime.InferenceSession(str(file)).run(None, {"X": X})[0]
    np.testing.assert_allclose(found, load(path).predict(X), rtol=1e-6, atol=1e-9)
    ran = run("export", model, tmp_path / "genes.onnx")
    assert ran.code == 1 and "has no export to ONNX" in ran.err and not (tmp_path / "genes.onnx").exists()
    assert run("export", path, tmp_path / "waves.txt").code == 2


def test_info_of_what_fit_did_not_write(tmp_path):
    save(parse("gaussian(sigma=2)"), tmp_path / "k.sim")
    ran = run("info", tmp_path / "k.sim")
    assert ran.code == 0 and "Gaussian" in ran.out and "sigma=2" in ran.out
    ran = run("predict", tmp_path / "k.sim", "x.csv")
    assert ran.code == 1 and "not written by 'similitude fit'" in ran.err


# A function of one's own.


def test_a_function_of_ones_own_is_trusted_again_at_predict(genes, tmp_path, monkeypatch):
    module = tmp_path / "own_similarity_of_models.py"
    module.write_text(
        "def shared(s, t):\n    return len({s[i:i+4] for i in range(54)} & {t[i:i+4] for i in range(54)})\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    ask = ("fit", genes, "--label", "class", "-s", "own_similarity_of_models:shared + 0.1*edit()", "-o", "m.sim")
    assert run(*ask).code == 2 and not (tmp_path / "m.sim").exists()
    assert run(*ask, "--trust").code == 0
    ran = run("predict", "m.sim", genes)
    assert ran.code == 2 and "--trust" in ran.err and not ran.out
    assert run("predict", "m.sim", genes, "--trust").code == 0
    assert run("explain", "m.sim", genes, "--row", 0, "--trust").code == 0
    module.write_text("def shared(s, t):\n    return 0.0\n")
    del sys.modules["own_similarity_of_models"]  # as in a new process
    found = run("predict", "m.sim", genes, "--trust")
    assert found.code == 1 and "'shared' is not the function that the model was saved with" in found.err


# The sessions of the documentation.


def sessions():
    """Yield the commands of docs/command-line.md, and what the page shows of their output."""
    page = (Path(__file__).parents[1] / "docs" / "command-line.md").read_text(encoding="utf-8")
    block = "\n".join(line[4:] if line.startswith("    ") else "" for line in page.splitlines())
    for session in block.split("$ similitude ")[1:]:
        command, _, shown = session.partition("\n")
        yield shlex.split(command.partition(" | ")[0]), shown


def test_the_sessions_of_the_documentation_run_as_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_genes(tmp_path)
    for command, shown in sessions():
        ran = run(*command)
        found = " ".join((ran.out if command[0] in ("predict", "explain") else ran.err + ran.out).split())
        for part in shown.split("…"):  # what is left out
            words = " ".join(part.split())
            assert words in found, (command, words)
            found = found[found.index(words) + len(words) :]


# Learned kernels.


def test_a_table_is_learned_and_predicted(tmp_path):
    rng = np.random.default_rng(0)
    age, job = rng.normal(40, 10, 150).round(1), rng.choice(["cook", "pilot"], 150)
    answer = np.where((age > 40) & (job == "cook"), "yes", "no")
    columns = {"age": age, "noise": rng.normal(size=150).round(3), "job": job, "rich": answer}
    table, path = write_csv(tmp_path / "people.csv", columns), tmp_path / "m.sim"
    ran = run("fit", table, "--label", "rich", "--learn", "-o", path)
    assert ran.code == 0 and "similarity " in ran.out and "what counts: " in " ".join(ran.out.split())
    assert load(path).score(read_csv_rows(table), answer) > 0.95
    predicted = run("predict", path, table)
    assert predicted.code == 0 and predicted.out.split()[-150:].count("yes") == np.count_nonzero(answer == "yes")


def read_csv_rows(path):
    kinds = {"age": float, "noise": float, "job": str}
    return [{name: kind(row[name]) for name, kind in kinds.items()} for row in read_csv(path)]


def test_weights_of_substrings_are_learned_and_what_cannot_be_is_refused(genes, tmp_path):
    path = tmp_path / "m.sim"
    edit = run("fit", genes, "--label", "class", "--similarity", "edit", "--learn", "-o", path)
    assert edit.code == 2 and "learns the metric of" in edit.err and not path.exists()
    ran = run("fit", genes, "--label", "class", "-s", "spectrum(p=2).normalized()", "--learn", "-o", path)
    assert ran.code == 0 and "what counts:" in " ".join(ran.out.split())
    assert run("predict", path, genes).code == 0
    compared = run("compare", genes, "--label", "class", "-s", "spectrum(p=2)", "--learn")
    assert compared.code == 0 and "learned" in compared.out
