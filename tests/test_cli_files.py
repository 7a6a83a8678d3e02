"""Files as people have them, on the command line: options reach the readers, and a model reads new files."""

import numpy as np
import pytest
from cli_runs import read_csv, run

rng = np.random.default_rng(0)


@pytest.fixture
def german(tmp_path):
    """Write a file as a German spreadsheet does, in which every third row has no label."""
    X = rng.normal(size=(60, 2))
    labels = ["" if i % 3 == 0 else "aä"[int(x > 0)] for i, x in enumerate(X[:, 0])]
    rows = [f"{i};{x:.3f};{z:.3f};{y}".replace(".", ",") for i, ((x, z), y) in enumerate(zip(X, labels, strict=True))]
    path = tmp_path / "de.csv"
    path.write_bytes("\r\n".join(["id;x;z;Größe", *rows, ""]).encode("cp1252"))
    return path


def test_a_german_file_is_fitted_and_new_files_of_another_kind_are_predicted(german, tmp_path):
    model, out = tmp_path / "m.sim", tmp_path / "p.csv"
    ran = run("fit", german, "--label", "Größe", "-s", "gaussian", "-o", model)
    assert ran.code == 0
    for said in (
        "read as Windows-1252",
        "cells separated by semicolons",
        "decimal commas in columns 'x', 'z'",
        "left out: column 'id', which only names the rows: all its values differ; --keep 'id' uses it",
        "rows without the label 'Größe' are left out; --unlabeled 'use' makes them candidates for landmarks: 20 of 60",
    ):
        assert said in ran.err
    new = tmp_path / "new.csv"
    new.write_text("z,x\n0.1,1.25\n0.1,-1.25\n")
    assert run("predict", model, new, "-o", out).code == 0
    assert [row["prediction"] for row in read_csv(out)] == ["ä", "a"]
    new.write_text("z|x\n0,1|1,25\n")
    assert run("predict", model, new, "-o", out, "--separator", "|", "--decimal", ",").code == 0
    assert [row["prediction"] for row in read_csv(out)] == ["ä"]
    out.unlink()
    new.write_text("w\n1\n")
    ran = run("predict", model, new, "-o", out)
    assert ran.code == 1 and "there are no columns 'x', 'z': it has 'w'" in ran.err and not out.exists()


def test_rows_without_a_label_join_the_landmarks(german, tmp_path):
    model = tmp_path / "m.sim"
    ran = run("fit", german, "--label", "Größe", "-s", "gaussian", "-o", model, "--unlabelled", "use")
    assert ran.code == 0 and "rows without the label 'Größe' are candidates for landmarks: 20 of 60" in ran.err
    assert "60 landmarks" in " ".join(ran.out.split()) and "from 40 rows" in ran.out
    assert "are not numbered" in run("predict", model, german, "--nearest", 1).err
    assert run("predict", model, german, "-o", tmp_path / "p.csv").code == 0
    assert len(read_csv(tmp_path / "p.csv")) == 60


def test_rows_without_a_label_are_dropped_by_name(german, tmp_path):
    how = ("fit", german, "--label", "Größe", "-s", "gaussian(0.7071067811865476)", "-o", tmp_path / "m.sim")
    ran = run(*how, "--learn", "--drop-unlabelled")
    assert ran.code == 0 and "20 of 60" in ran.err
    out = " ".join(ran.out.split())
    assert "with gaussian(0.7071).learned()" in out and "what counts: mostly x" in out and "column 0" not in out
    assert "gaussian(0.7071067811865476)" in run("info", tmp_path / "m.sim", "--json").out
    ran = run(*how, "--drop-unlabeled", "--unlabeled", "use")
    assert ran.code == 2 and "exclude each other" in ran.err


def test_options_reach_every_command(german, tmp_path):
    how = ("--separator", ";", "--decimal", ",", "--encoding", "latin-1", "--ignore", "z", "--missing", "n.a.")
    label = ("--label", "Größe", "-s", "gaussian")
    found = run("duplicates", german, *label, *how, "--threshold", 0.9999, "--json")
    assert found.code == 0 and '"rows": 60' in found.out  # rows without a label are rows like others
    ran = run("check", german, *label, *how)
    assert ran.code == 0 and "column 'x' as vectors" in ran.err
    ran = run("compare", german, *label, "-s", "laplace", *how, "--keep", "id")
    assert ran.code == 0 and "columns 'id', 'x' as vectors" in ran.err


def test_a_folder_of_texts_is_fitted_and_predicted_with_names(tmp_path):
    for label in ("cat", "dog"):
        (tmp_path / "t" / label).mkdir(parents=True)
        for i in range(8):
            (tmp_path / "t" / label / f"{i}.txt").write_text(f"my {label} ate {i} mice")
    model, out = tmp_path / "m.sim", tmp_path / "p.csv"
    assert run("fit", tmp_path / "t", "-s", "spectrum(p=3)", "-o", model).code == 0
    assert run("predict", model, tmp_path / "t", "-o", out).code == 0
    assert [(row["id"], row["prediction"]) for row in read_csv(out)][7:9] == [
        ("cat/7.txt", "cat"),
        ("dog/0.txt", "dog"),
    ]
