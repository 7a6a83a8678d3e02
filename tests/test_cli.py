"""The command line: commands that need no model, what goes where, exit codes, what was inferred."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import unicodedata

import numpy as np
import pytest
from cli_runs import PROGRAM, read_csv, run, write_csv, write_flowers, write_genes
from hypothesis import given
from hypothesis import strategies as st

from similitude.cli.inputs import task_of
from similitude.cli.output import Output, engine_of
from similitude.cli.scoring import r_squared
from similitude.engines import LocalEngine
from similitude.files import Data, Schema
from similitude.similarity.expressions import NAMES
from similitude.support import plain, printable

COMMANDS = (
    "demo",
    "check",
    "assess",
    "compare",
    "report",
    "fit",
    "predict",
    "explain",
    "duplicates",
    "drift",
    "info",
    "export",
    "kernels",
)


@pytest.fixture(scope="module")
def genes(tmp_path_factory):
    return write_genes(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def flowers(tmp_path_factory):
    return write_flowers(tmp_path_factory.mktemp("data"))


# The frame.


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_helps(command):
    code, out, err = run(command, "--help")
    assert code == 0 and not err
    assert f"similitude {command}" in out
    assert command == "demo" or f"Example: similitude {command}" in " ".join(out.split())


def test_help_says_which_similarity_is_used_without_one():
    commands = ("fit", "report", "assess", "compare")
    texts = {command: " ".join(run(command, "--help").out.split()) for command in commands}
    several = "Default, or auto: several for the kind of objects are tried, and the labels decide."
    assert several in texts["fit"] and several in texts["report"]
    assert "Default: one for the kind of objects." in texts["assess"]
    assert "Default: that of 'fit'." in texts["compare"]


def test_no_arguments_show_the_commands():
    code, out, _ = run()
    assert code == 0 and all(command in out for command in COMMANDS)


def test_the_version():
    assert run("--version") == (0, f"similitude {importlib.metadata.version('similitude')}\n", "")


def test_help_imports_nothing_heavy():
    program = (
        "import sys\nfrom similitude.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([m for m in ('numpy', 'scipy', 'sklearn', 'pandas', 'pyarrow') if m in sys.modules], file=sys.stderr)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stderr == "[]\n"


@pytest.mark.parametrize(
    "expression",
    [
        "gausssian(sigma=2)",
        "gaussian(sigma=",
        "__import__('os').system('touch hacked')",
        "gaussian(sigma=open('/etc/passwd'))",
        "os:system",
        "gaussian.__class__",
        "",
    ],
)
def test_an_expression_that_says_no_similarity_exits_with_2_and_runs_nothing(expression, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("check", "-s", expression)
    assert (code, out) == (2, "") and "Traceback" not in err
    assert "^" in err or not expression
    assert not list(tmp_path.iterdir())


def test_an_error_is_json_too():
    code, out, err = run("kernels", "nothing", "--json")
    assert code == 2
    assert json.loads(out) == {"error": err.removeprefix("similitude: ").strip(), "exit_code": 2}
    code, out, err = run("assess", "missing.csv", "--label", "y", "--json")
    assert json.loads(out)["exit_code"] == code == 1 and "missing.csv" in json.loads(out)["error"]


def test_debug_shows_the_traceback():
    for arguments in (["--debug", "kernels", "nothing"], ["kernels", "nothing", "--debug"]):
        code, _, err = run(*arguments)
        assert code == 2 and "Traceback" in err and err.endswith("'similitude kernels' lists all\n")


def test_a_bug_is_one_line(monkeypatch):
    def broken(*_, **__):
        raise KeyError("oops")

    monkeypatch.setattr("similitude.validity.check_kernel", broken)
    code, _, err = run("check", "-s", "gaussian")
    assert code == 1 and err == "similitude: unexpected KeyError: 'oops' (--debug shows where)\n"


def test_too_little_memory_is_one_line(monkeypatch):
    def broken(*_, **__):
        raise MemoryError

    monkeypatch.setattr("similitude.validity.check_kernel", broken)
    assert run("check", "-s", "gaussian") == (1, "", "similitude: not enough memory\n")


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("similitude ch", {"check"}),
        ("similitude check {file} --similarity gra", {"graphlet"}),
        ("similitude fit {file} --label sp", {"species"}),
        ("similitude fit {file} -o m.sim --object x", {"x0", "x1", "x2", "x3"}),
        ("similitude fit missing.csv --label s", set()),
    ],
)
def test_the_shell_completes(line, offered, flowers, monkeypatch):
    line = line.format(file=flowers)
    asked = {"_SIMILITUDE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["similitude"])
    found = run()
    assert found.code == 0 and set(found.out.split()) == offered and not found.err


# Writing.


def test_control_characters_are_shown_not_sent():
    assert printable("a\x1b[31mb\tc\nd\x9b\r") == "a\\x1b[31mb\tc\nd\\x9b\\r"
    assert printable("naïve 日本 ½") == "naïve 日本 ½"
    assert printable("\u202egnp.exe \u2066a\u2069 \u061c") == "\\u202egnp.exe \\u2066a\\u2069 \\u061c"
    assert printable("pa\u200bypal \u2060 \ufeff \u2028") == "pa\\u200bypal \\u2060 \\ufeff \\u2028"
    assert printable("क्\u200dष 👩\u200d🔬") == "क्\u200dष 👩\u200d🔬"


@given(st.text())
def test_printable_text_commands_no_terminal(text):
    shown = printable(text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)
    assert not {unicodedata.bidirectional(letter) for letter in shown} & {"LRE", "RLE", "LRO", "RLO", "PDF"}
    assert not {unicodedata.bidirectional(letter) for letter in shown} & {"LRI", "RLI", "FSI", "PDI"}
    shown.encode()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.integers() | st.text(), inner) | st.frozensets(st.text()),
)


@given(values)
def test_anything_becomes_json(value):
    written = plain(value, finite=True)
    assert json.loads(json.dumps(written, allow_nan=False)) == written


def test_json_holds_numbers_that_are_none():
    found = plain({"a": np.float32(1.5), "b": [np.inf, np.nan], "c": np.arange(2), "d": {"y"}, 3: None}, finite=True)
    assert found == {"a": 1.5, "b": [None, None], "c": [0, 1], "d": "{'y'}", "3": None}


def terminal(command, environment):
    """Run a command on a terminal of its own; return all that it wrote there."""
    import pty

    pid, place = pty.fork()
    if pid == 0:
        os.environ.update(environment)
        os.execv(command[0], command)
    written = b""
    try:
        while piece := os.read(place, 65536):
            written += piece
    except OSError:  # the terminal is closed
        pass
    os.waitpid(pid, 0)
    os.close(place)
    return written.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.parametrize(
    ("environment", "colors"), [({"TERM": "xterm-256color"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False)]
)
def test_colors_on_a_terminal_unless_unwanted(environment, colors):
    written = terminal([*PROGRAM, "check", "-s", "gaussian"], environment)
    assert "VALID" in written and ("\x1b[" in written) == colors


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_no_control_characters_on_a_dumb_terminal(genes):
    written = terminal([*PROGRAM, "check", str(genes), "--label", "class", "-s", "edit"], {"TERM": "dumb"})
    assert "INVALID" in written and "\x1b" not in written


RED = "\x1b[31mred\u202e"
ONE_BY_ONE = """
import json, sys
from similitude.cli import main
for command in json.loads(sys.argv[1]):
    try:
        main(command)
    except SystemExit as end:
        print("exit code", end.code, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_labels_command_no_terminal_and_reach_files_unchanged(tmp_path):
    rows = write_csv(tmp_path / "rows.csv", {"x": list(range(40)), "class": ["plain"] * 20 + [RED] * 20})
    fit = ["fit", str(rows), "--label", "class", "-s", "gaussian", "-o", str(tmp_path / "m.sim")]
    predict = ["predict", str(tmp_path / "m.sim"), str(rows), "--probabilities"]
    commands = [fit, [*predict, "-o", "-"], [*predict, "-o", "/dev/tty"]]
    written = terminal([sys.executable, "-c", ONE_BY_ONE, json.dumps(commands)], {"TERM": "xterm"})
    shown = written.split("exit code 0")
    assert len(shown) == 4 and not any("\x1b[31mred" in one or "\u202e" in one for one in shown)
    assert all("\\x1b[31mred\\u202e" in one for one in shown[1:3])
    piped = run(*predict).out
    assert RED in piped and f"probability_{RED}" in piped


def test_a_note_names_columns_that_a_spreadsheet_takes_for_formulas(tmp_path):
    rows = write_csv(tmp_path / "rows.csv", {"x": list(range(40)), "class": ["-1"] * 20 + ["=cmd()"] * 20})
    assert run("fit", rows, "--label", "class", "-s", "gaussian", "-o", tmp_path / "m.sim").code == 0
    noted = run("predict", tmp_path / "m.sim", rows, "-o", tmp_path / "p.csv")
    assert "note: column 'prediction' has texts that begin with =" in noted.err
    assert {row["prediction"] for row in read_csv(tmp_path / "p.csv")} == {"-1", "=cmd()"}  # written as they are
    for quiet in (["-o", tmp_path / "p.jsonl"], ["--json"]):
        assert "spreadsheet" not in run("predict", tmp_path / "m.sim", rows, *quiet).err


@pytest.mark.parametrize("encoding", ["ascii", pytest.param("utf-8", marks=pytest.mark.deep)])
def test_no_control_characters_in_a_pipe_and_any_encoding(tmp_path, encoding):
    words = write_csv(tmp_path / "words.csv", {"word": ["été", "thé", "blé"], "y": ["a", "b", "b"]})
    command = [*PROGRAM, "check", str(words), "--label", "y", "-s", "edit**2"]
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "TERM": "xterm-256color"}
    found = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert found.returncode == 0, found.stderr
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", found.stdout + found.stderr)


# kernels.


def test_kernels_lists_every_name_in_one_line():
    code, out, err = run("kernels")
    assert code == 0 and not err
    for name in NAMES:
        assert sum(line.startswith(f"  {name}(") for line in out.splitlines()) == 1
    assert max(map(len, out.splitlines())) <= 80


def test_kernels_tells_one_in_full():
    _, out, _ = run("kernels", "spectrum")
    assert out.startswith("spectrum(p=3, counts=False, blended=False, weights=None, default_weight=1.0)\n")
    assert "PSD, SYMMETRIC" in out and "Leslie" in out and ":math:" not in out


def test_kernels_as_json():
    found = json.loads(run("kernels", "--json")[1])
    assert {one["name"] for one in found["kernels"]} == set(NAMES)
    (gaussian,) = json.loads(run("kernels", "gaussian", "--json")[1])["kernels"]
    assert (
        gaussian["kernel"]
        and gaussian["parameters"] == {"sigma": "median", "metric": None}
        and "PSD" in gaussian["claims"]
    )
    (columns,) = json.loads(run("kernels", "columns", "--json")[1])["kernels"]
    assert columns["claims"] is None and columns["objects"] == "table" and columns["required"] == ["columns"]


# check.


def test_check_proves_without_a_file():
    code, out, _ = run("check", "-s", "gaussian() * (linear() + 1)")
    assert code == 0 and out.startswith("VALID: gaussian() * (linear() + 1) is a kernel\n")


def test_check_refutes_with_3(genes):
    code, out, err = run("check", genes, "--label", "class", "-s", "edit")
    assert code == 3 and out.startswith("INVALID: edit is not a kernel\n") and "rows 53, 54, 58, " in out
    assert err == "note: column 'gene' as strings\n"
    code, out, _ = run("check", genes, "--label", "class", "-s", "edit", "--json")
    found = json.loads(out)
    assert code == 3 and found["verdict"] == "INVALID" and found["witness"]["value"] < 0


def test_check_may_not_know(tmp_path):
    few = write_csv(tmp_path / "few.csv", {"word": ["kernel", "margin", "colonel"]})
    code, out, _ = run("check", few, "-s", "edit**2")
    assert code == 0 and out.startswith("UNKNOWN: edit**2 may or may not be a kernel\n")


def test_check_knows_what_few_rows_do_not_show(tmp_path):
    few = write_csv(tmp_path / "few.csv", {"word": ["kernel", "margin", "colonel"]})
    code, out, _ = run("check", few, "-s", "edit")
    assert code == 3 and out.startswith("INVALID: edit is not a kernel\n") and "x1 = 'ab'" in out


def test_check_picks_a_default_and_says_so(flowers):
    code, out, err = run("check", flowers, "--label", "species")
    assert code == 0 and out.startswith("VALID: Gaussian")
    assert "no --similarity was given: Gaussian(sigma='median'), the default for vectors" in err


def test_the_similarity_tells_the_kind(flowers):
    _, _, err = run("check", flowers, "--label", "species", "-s", "gower")
    assert "as rows of a table" in err


def test_trust_imports_from_the_working_directory(genes, tmp_path, monkeypatch):
    (tmp_path / "my_similarity_here.py").write_text(
        "def same_start(s, t):\n    return float(s[:2] == t[:2])\n\nnumber = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    ask = ("check", genes, "--label", "class", "-s")
    code, _, err = run(*ask, "my_similarity_here:same_start")
    assert code == 2 and "--trust" in err and "my_similarity_here" not in sys.modules
    code, out, _ = run(*ask, "my_similarity_here:same_start", "--trust")
    assert code == 0 and out.startswith("UNKNOWN")
    for expression, problem in [
        ("my_similarity_here:nothing", "has no function 'nothing'"),
        ("my_similarity_here:number", "has no function 'number'"),
        ("no_such_module_here:f", "cannot be imported"),
    ]:
        code, _, err = run(*ask, expression, "--trust")
        assert code == 2 and problem in err


# assess and compare.


def test_assess_tells_a_person(flowers):
    code, out, err = run("assess", flowers, "--label", "species")
    assert code == 0 and "yes: p = 0.001" in out and "setosa, versicolor, virginica" in out
    assert err.count("exact cop") == 1
    assert max(map(len, out.splitlines())) <= 80


def test_assess_as_json_repeats(genes):
    runs = [run("assess", genes, "--label", "class", "--json", "--seed", 3) for _ in range(2)]
    assert runs[0] == runs[1]
    found = json.loads(runs[0][1])
    assert found["command"] == "assess" and found["p_value"]["value"] < 0.05 and len(found["notes"]) >= 3


def test_assess_is_about_classes(tmp_path):
    numbers = write_csv(tmp_path / "numbers.csv", {"x": np.linspace(0, 1, 30), "y": np.linspace(0, 1, 30) ** 2})
    code, _, err = run("assess", numbers, "--label", "y")
    assert code == 1 and "assess needs classes" in err


def test_compare_ranks(genes):
    ask = ("compare", genes, "--label", "class", "-s", "edit", "-s", "spectrum(p=4)")
    code, out, _ = run(*ask)
    assert code == 0 and out.index("spectrum(p=4)") < out.index("edit")
    found = json.loads(run(*ask, "--json")[1])
    assert found["best"] == "spectrum(p=4)" and [row["candidate"] for row in found["table"]] == [
        "spectrum(p=4)",
        "edit",
    ]


@pytest.mark.parametrize("task", [None, "regression", "classification"])
def test_compare_takes_whole_numbers_for_what_they_are(tmp_path, task):
    x = np.linspace(0, 6, 120)
    few = np.round(x).astype(int)
    many = write_csv(tmp_path / "many.csv", {"x": x, "y": few if task else np.arange(120)})
    asked = ("--task", task) if task else ()
    found = json.loads(run("compare", many, "--label", "y", "-s", "linear", "-s", "gaussian", *asked, "--json")[1])
    assert found["task"] == (task or "regression")


# What is inferred.


def labeled(*labels):
    return Data(np.zeros((len(labels), 1)), np.array(labels), Schema("vectors", label="y"))


@pytest.mark.parametrize(
    ("labels", "task"),
    [
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([1.0, 2.0], "classification"),
        ([1.5, 2.0], "regression"),
    ],
)
def test_the_task_follows_the_labels_and_is_said(labels, task, capsys):
    out = Output()
    assert task_of(out, labeled(*labels), None) == task
    assert len(out.notes) == 1 and task in out.notes[0] and out.notes[0] in capsys.readouterr().err
    if task == "regression":
        assert task_of(out, labeled(*labels), "classification") == "classification"
    assert len(out.notes) == 1


def test_labels_that_cannot_be_learned():
    with pytest.raises(ValueError, match="label 'y' has the single value a"):
        task_of(Output(False), labeled("a", "a"), None)
    with pytest.raises(ValueError, match="regression needs numbers"):
        task_of(Output(False), labeled("a", "b"), "regression")


def test_engine_settings():
    assert engine_of("") == LocalEngine()
    assert engine_of("threads=2,memory=4GiB, processes=3") == LocalEngine(threads=2, memory="4GiB", processes=3)


def test_r_squared_against_scikit_learn():
    from sklearn.metrics import r2_score

    rng = np.random.default_rng(0)
    y = rng.standard_normal(500)
    predicted = y + 0.5 * rng.standard_normal(500)
    found = r_squared(y, predicted)
    assert found.value == pytest.approx(r2_score(y, predicted))
    draws = [rng.integers(0, 500, 500) for _ in range(400)]
    low, high = np.quantile([r2_score(y[draw], predicted[draw]) for draw in draws], [0.025, 0.975])
    assert found.low == pytest.approx(low, abs=0.02) and found.high == pytest.approx(high, abs=0.02)
    assert r_squared(np.ones(5), np.zeros(5)) is None


def test_check_tries_the_similarity_on_the_file_even_where_it_is_proven(flowers):
    code, _, err = run("check", flowers, "-s", "columns(x0=gaussian, zz=equal)")
    assert code == 1 and "'zz'" in err
