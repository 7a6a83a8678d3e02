"""Bad input on the command line: one clear line each, an exit code, nothing half-written."""

import os
import signal
import subprocess
import sys
import time

import pytest
from cli_runs import PROGRAM, run, write_csv, write_genes

CLASSES = ["a", "b"] * 10
COLUMNS = {"x": list(range(20)), "y": CLASSES}


@pytest.fixture(scope="module")
def genes(tmp_path_factory):
    return write_genes(tmp_path_factory.mktemp("genes"))


@pytest.fixture(scope="module")
def model(genes):
    path = genes.with_name("genes.sim")
    assert run("fit", genes, "--label", "class", "-o", path).code == 0
    return path


def refused(folder, *arguments, code=1):
    """Run a command that must fail in one or two lines and leave the folder as it was; return what it said."""
    before = sorted(folder.iterdir())
    ran = run(*arguments)
    assert (ran.code, ran.out) == (code, ""), ran
    lines = [line for line in ran.err.splitlines() if not line.startswith("note: ")]
    assert lines[0].startswith("similitude: ") and len(lines) <= 2 and "Traceback" not in ran.err
    assert sorted(folder.iterdir()) == before
    return " ".join(lines)


def fit_refused(folder, path, *more, label="y", code=1):
    return refused(folder, "fit", path, "--label", label, "-o", folder / "m.sim", *more, code=code)


def test_a_missing_file(tmp_path):
    assert "missing.csv: there is no such file" in fit_refused(tmp_path, tmp_path / "missing.csv")
    assert "missing.sim" in refused(tmp_path, "info", tmp_path / "missing.sim")
    assert "missing.sim" in refused(tmp_path, "predict", tmp_path / "missing.sim", "x.csv")


def test_an_unknown_column(tmp_path):
    path = write_csv(tmp_path / "a.csv", COLUMNS)
    assert "'Y'" in fit_refused(tmp_path, path, label="Y") and "did you mean 'y'" in fit_refused(
        tmp_path, path, label="Y"
    )
    assert "'nothing'" in fit_refused(tmp_path, path, "--object", "nothing")


def test_a_label_with_one_value(tmp_path):
    path = write_csv(tmp_path / "a.csv", {**COLUMNS, "y": ["a"] * 20})
    assert "label 'y' has the single value a" in fit_refused(tmp_path, path)


def test_a_label_among_the_features(tmp_path):
    path = write_csv(tmp_path / "a.csv", COLUMNS)
    assert "'y'" in fit_refused(tmp_path, path, "--object", "y", code=2)
    assert "y" in fit_refused(tmp_path, path, "-s", "columns(x=gaussian, y=equal)")


def test_a_label_that_is_missing(tmp_path):
    path = write_csv(tmp_path / "a.csv", {**COLUMNS, "y": [*CLASSES[:-1], ""]})
    assert "row 19" in fit_refused(tmp_path, path, "--unlabeled", "refuse")


def test_a_file_larger_than_memory(tmp_path, monkeypatch):
    import psutil

    path = write_csv(tmp_path / "a.csv", COLUMNS)
    free = psutil.virtual_memory()._replace(available=10)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    told = refused(tmp_path, "assess", path, "--label", "y")  # which needs all rows; fit reads them in batches
    assert "memory" in told and "sample" in told


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"x,y\n1,tea\x81\n2,th\x81\n")
    assert "UTF-8" in fit_refused(tmp_path, path)


def test_two_columns_of_one_name(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,x,y\n1,2,a\n3,4,b\n")
    assert "two columns are named 'x'" in fit_refused(tmp_path, path)


@pytest.mark.parametrize("content", ["", "x,y\n"])
def test_an_empty_file(tmp_path, content, genes, model):
    path = tmp_path / "a.csv"
    path.write_text(content)
    fit_refused(tmp_path, path)
    refused(tmp_path, "predict", model, path, "-o", tmp_path / "p.csv")


def test_a_place_that_cannot_be_written_is_refused_before_the_work(tmp_path, genes, model):
    for place in (tmp_path / "no" / "m.sim", tmp_path):
        said = refused(tmp_path, "fit", "not even read.csv", "--label", "y", "-o", place)
        assert "cannot be written" in said
    assert "a model needs a file" in refused(tmp_path, "fit", genes, "--label", "class", "-o", "-", code=2)
    for place in (tmp_path / "no" / "p.csv", tmp_path / "p.doc"):
        refused(tmp_path, "predict", "not even read.sim", genes, "-o", place)


def test_an_output_that_is_an_input(tmp_path, genes, model):
    for arguments in (
        ("fit", genes, "--label", "class", "-o", genes),
        ("predict", model, genes, "-o", genes),
        ("predict", model, genes, "-o", model),
    ):
        before = genes.read_bytes(), model.read_bytes()
        assert "is read by this command" in refused(tmp_path, *arguments, code=2)
        assert (genes.read_bytes(), model.read_bytes()) == before


def test_no_model(tmp_path, genes, model):
    wrong = tmp_path / "wrong.sim"
    for content in (b"", b"not a model", model.read_bytes()[:-100], genes.read_bytes()):
        wrong.write_bytes(content)
        for command in (("info", wrong), ("predict", wrong, genes), ("explain", wrong, genes, "--row", 0)):
            assert "wrong.sim" in refused(tmp_path, *command)
    changed = bytearray(model.read_bytes())
    changed[len(changed) // 2] ^= 1
    wrong.write_bytes(changed)
    assert "wrong.sim" in refused(tmp_path, "predict", wrong, genes)


def test_a_row_out_of_range(tmp_path, genes, model):
    said = refused(tmp_path, "explain", model, genes, "--row", 106)
    assert "has 106 rows, so --row is from 0 to 105" in said
    refused(tmp_path, "explain", model, genes, "--row", -1, code=2)


def test_a_file_that_the_model_cannot_read(tmp_path, model):
    path = write_csv(tmp_path / "a.csv", COLUMNS)
    assert "'gene'" in refused(tmp_path, "predict", model, path, "-o", tmp_path / "p.csv")


def test_a_cell_that_is_wrong_far_down_leaves_no_file(tmp_path):
    path, model = write_csv(tmp_path / "a.csv", COLUMNS), tmp_path / "m.sim"
    assert run("fit", path, "--label", "y", "-o", model).code == 0
    (tmp_path / "p.csv").write_text("old")
    late = write_csv(tmp_path / "late.csv", {"x": [*range(25_000), "oops"]})
    assert "25000" in refused(tmp_path, "predict", model, late, "-o", tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text() == "old"


def test_control_characters_in_a_file_do_not_reach_the_terminal(tmp_path):
    path = write_csv(tmp_path / "a.csv", {"x": list(range(20)), "y": ["\x1b[31mred", "b"] * 10})
    ran = run("fit", path, "--label", "y", "-o", tmp_path / "m.sim")
    assert ran.code == 0
    for command in (("explain", tmp_path / "m.sim", path, "--row", 0), ("assess", path, "--label", "y")):
        ran = run(*command)
        assert ran.code == 0 and "\x1b" not in ran.out + ran.err and "\\x1b[31mred" in ran.out


# Real processes.

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of POSIX")


@posix
@pytest.mark.parametrize(
    "what", ["kernels", *(pytest.param(one, marks=pytest.mark.deep) for one in ("predict", "info", "explain"))]
)
def test_a_closed_pipe_ends_quietly(genes, model, what):
    arguments = {
        "predict": ["predict", str(model), str(genes)],
        "kernels": ["kernels", "--json"],
        "info": ["info", str(model)],
        "explain": ["explain", str(model), str(genes), "--row", "3"],
    }[what]
    with subprocess.Popen([*PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        said = process.stderr.read().decode()
        code = process.wait(60)
    assert code == 141 and all(line.startswith("note: ") for line in said.splitlines())


@posix
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("what", ["kernels", pytest.param("predict", marks=pytest.mark.deep)])
def test_a_full_disk_is_one_line(genes, model, what):
    arguments = {"kernels": ["kernels", "--json"], "predict": ["predict", str(model), str(genes)]}[what]
    with open("/dev/full", "wb") as full:
        found = subprocess.run([*PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert found.returncode == 1 and "No space left" in found.stderr and "Traceback" not in found.stderr


def test_an_interrupt_during_a_fit_ends_with_130_and_leaves_nothing(tmp_path, genes, monkeypatch):
    (tmp_path / "interrupted_similarity.py").write_text(
        "import signal\n\ndef interrupted(s, t):\n    signal.raise_signal(signal.SIGINT)\n    return 0.0\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    ran = run("fit", genes, "--label", "class", "-s", "interrupted_similarity:interrupted", "--trust", "-o", "m.sim")
    assert ran.code == 130 and ran.err.splitlines()[-1] == "similitude: interrupted" and "Traceback" not in ran.err
    assert [path.name for path in tmp_path.iterdir() if path.suffix not in (".py", "")] == []


@posix
@pytest.mark.deep
def test_an_interrupt_from_outside_ends_with_130_and_leaves_nothing(tmp_path, genes):
    (tmp_path / "slow_similarity.py").write_text(
        "import time\n\ndef slow(s, t):\n    print('slow', flush=True)\n    time.sleep(0.05)\n    return 0.0\n"
    )
    command = ["fit", str(genes), "--label", "class", "-s", "slow_similarity:slow", "--trust", "-o", "m.sim"]
    with subprocess.Popen(
        [*PROGRAM, *command], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "slow\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        process.stdout.close()
        said = process.stderr.read()
        code = process.wait(60)
    assert code == 130 and said.splitlines()[-1] == "similitude: interrupted" and "Traceback" not in said
    assert [path.name for path in tmp_path.iterdir() if path.suffix not in (".py", "")] == []
