"""``similitude report``, and labels that a file has of its own."""

import json

import pytest
from cli_runs import run, write_genes

from similitude import datasets

pytestmark = pytest.mark.usefixtures("quick_reports")


@pytest.fixture(scope="module")
def genes(tmp_path_factory):
    return write_genes(tmp_path_factory.mktemp("data"))


def test_a_report_as_text_says_on_the_screen_what_the_file_says(genes, tmp_path):
    path = tmp_path / "report.txt"
    code, out, _ = run("report", genes, "--label", "class", "-o", path)
    assert code == 0
    assert path.read_text(encoding="utf-8").strip() in out
    assert "Is the similarity a kernel?" in out
    assert f"similitude report {genes} --output {path} --label class" in out


def test_a_report_as_json_holds_the_same_findings_twice(genes, tmp_path):
    path = tmp_path / "report.json"
    code, out, _ = run("report", genes, "--label", "class", "-s", "edit", "-o", path, "--json")
    assert code == 0
    document, written = json.loads(out), json.loads(path.read_text(encoding="utf-8"))
    assert document["command"] == "report" and document["validity"]["verdict"] == "INVALID"
    assert document["model"] == written["model"]


@pytest.mark.deep
def test_a_page_is_one_file(genes, tmp_path):
    pytest.importorskip("vl_convert")
    path = tmp_path / "report.html"
    assert run("report", genes, "--label", "class", "-s", "spectrum(p=2)", "-o", path).code == 0
    assert path.read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html>")


def test_another_ending_is_refused(genes, tmp_path):
    code, _, err = run("report", genes, "--label", "class", "-o", tmp_path / "report.doc")
    assert code == 1 and "html, txt, json" in err
    assert not list(tmp_path.iterdir())


def test_a_file_with_labels_of_its_own_needs_no_label(tmp_path):
    code, out, _ = run("fit", datasets.path("vowels"), "-o", tmp_path / "vowels.sim")
    assert code == 0 and "Learned 'label'" in out


@pytest.mark.parametrize("command", [("assess",), ("fit", "-o", "m.sim"), ("compare", "-s", "edit", "-s", "spectrum")])
def test_without_a_label_the_command_asks_for_one(genes, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(command[0], genes, *command[1:], "--object", "gene")
    assert code == 2 and "--label COLUMN" in err
    assert not list(tmp_path.iterdir())


def test_other_similarities_are_compared_on_the_same_page_and_the_title_names_file_and_label(genes, tmp_path):
    path = tmp_path / "report.txt"
    code, out, _ = run("report", genes, "--label", "class", "-s", "spectrum(p=3)", "--compare", "edit", "-o", path)
    assert code == 0
    assert out.splitlines()[0].endswith(f"{genes.name}: predicting class")
    assert "Instead by edit: accuracy" in out and "--compare edit" in out


@pytest.mark.parametrize("shape", ["8", "8x", "axb"])
def test_a_shape_of_images_is_two_numbers(genes, shape, tmp_path):
    code, _, err = run("report", genes, "--label", "class", "--image-shape", shape, "-o", tmp_path / "r.txt")
    assert code == 2 and "28x28" in err


def test_a_report_keeps_to_a_budget_of_calls(genes, tmp_path, monkeypatch):
    """A function of one's own is asked at most so often, and the report says what it cost and how to write it again."""
    (tmp_path / "judge_of_genes.py").write_text(
        "def alike(a, b):\n"
        "    with open('calls.txt', 'a') as log:\n"
        "        log.write('.')\n"
        "    return sum(x == y for x, y in zip(a, b)) / len(a)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    asked = ("-s", "judge_of_genes:alike", "--trust", "--max-calls", "2500", "-o", "report.txt")
    code, _, err = run("report", genes, "--label", "class", *asked)
    assert code == 0, err
    assert 0 < len((tmp_path / "calls.txt").read_text()) <= 2500
    assert "--max-calls 2500" in (tmp_path / "report.txt").read_text(encoding="utf-8")


def test_a_budget_of_calls_that_does_not_suffice_is_refused(genes, tmp_path):
    code, _, err = run("report", genes, "--label", "class", "--max-calls", "0", "-o", tmp_path / "report.txt")
    assert code == 2 and "--max-calls" in err
    assert not list(tmp_path.iterdir())
