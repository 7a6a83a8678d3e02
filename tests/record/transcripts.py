"""Transcripts of the command line, run in this process on small files."""

import contextlib
import functools
import json
import os
import re
import tempfile
from functools import partial
from pathlib import Path

import cli_runs
import numpy as np

from record.plain import plain, shortened_lists, tidy

COLUMNS = "100"
"""The width for which tables are printed."""

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
    "cache",
)

RUNS = {
    "check genes": "check genes.csv --label class -s edit --json",
    "check flowers": "check flowers.csv --label species -s gaussian",
    "check a similarity that is no kernel": "check flowers.csv --label species -s sigmoid(scale=2,offset=-1)",
    "assess genes": "assess genes.csv --label class -s spectrum(p=4) --json",
    "assess flowers": "assess flowers.csv --label species -s gaussian(sigma=1)",
    "compare genes": "compare genes.csv --label class --json",
    "compare similarities": "compare genes.csv --label class -s spectrum(p=4) -s edit --json",
    "compare flowers": "compare flowers.csv --label species -s gaussian -s linear",
    "report flowers": "report flowers.csv --label species -s gaussian --json",
    "report waves": "report waves.csv --label y -s gaussian -o report.txt",
    "fit genes": "fit genes.csv --label class -o own.sim",
    "fit genes in JSON": "fit genes.csv --label class -s spectrum(p=4) --landmarks 40 --seed 5 -o own.sim --json",
    "fit flowers": "fit flowers.csv --label species -s gaussian -o own.sim --json",
    "fit waves": "fit waves.csv --label y -o own.sim",
    "fit waves in JSON": "fit waves.csv --label y --penalty l1 --landmarks 20 -o own.sim --json",
    "fit learned weights": "fit genes.csv --label class -s spectrum(p=3) --learn -o own.sim --json",
    "predict genes": "predict genes.sim new-genes.csv --probabilities --nearest 2",
    "predict genes in JSON": "predict genes.sim new-genes.csv --set 0.8 --json",
    "predict waves": "predict waves.sim new-waves.csv --interval 0.8",
    "predict waves in JSON": "predict waves.sim new-waves.csv --json",
    "explain genes": "explain genes.sim genes.csv --row 3",
    "explain genes in JSON": "explain genes.sim genes.csv --row 3 --json",
    "explain waves": "explain waves.sim waves.csv --row 7 --json",
    "info genes": "info genes.sim",
    "duplicates": "duplicates genes.csv --label class -s edit --threshold 0.6 --json",
    "drift": "drift waves.csv new-waves.csv --label y -s gaussian --json",
    "kernels": "kernels",
    "kernels gaussian": "kernels gaussian",
    "no such command": "fitt",
    "no such file": "fit nothing.csv --label y -o own.sim",
    "no such column": "fit genes.csv --label klass -o own.sim",
    "no such loss": "fit waves.csv --label y -o own.sim --loss logistic",
    "rows without a column": "predict genes.sim waves.csv",
}
"""Commands by name; files are those of `write_files`."""

TIMES = re.compile(r"\d[\d.,]* ?(?:ms|s|seconds?|minutes?)\b|\d{4}-\d\d-\d\d[T ][\d:.+Z-]+")
FRAMES = re.compile(r"[─━═]{3,}")
SIZES = re.compile(r"\b[\d.,]+ (?:kB|KB|MB|kiB|KiB|MiB|bytes)")
VERSIONS = re.compile(r'"?(?:python|numpy|scipy|scikit-learn|similitude)"?:? "?\d+\.\d+[^\s",]*"?', re.IGNORECASE)


def transcripts():
    """Return what each command prints."""
    helps = {f"{command} --help": partial(ran, f"{command} --help") for command in COMMANDS}
    return {"--help": partial(ran, "--help"), **helps, **{name: partial(ran, asked) for name, asked in RUNS.items()}}


def ran(asked):
    """Run a command in the folder of files; return its exit code, and the lines that it printed."""
    with inside(folder()), terminal():
        found = cli_runs.run(*asked.split())
    printed = document(found.out) if "--json" in asked and found.out else cleaned(found.out)
    return {"command": asked, "code": found.code, "out": printed, "err": cleaned(found.err)}


def document(text):
    """Return a JSON document without seconds, with long lists cut; its numbers are compared as numbers."""
    return shortened_lists(without_seconds(plain(json.loads(text.replace(str(folder()), "FOLDER")))))


def without_seconds(value):
    if isinstance(value, dict):
        return {name: without_seconds(one) for name, one in value.items() if "seconds" not in name}
    return [without_seconds(one) for one in value] if isinstance(value, list) else value


def cleaned(text):
    """Return the lines of a text without what differs from run to run: times, paths, sizes of files and versions."""
    text = text.replace(str(folder()), "FOLDER")
    text = FRAMES.sub("---", VERSIONS.sub("VERSION", SIZES.sub("SIZE", TIMES.sub("TIME", text))))
    return [line.rstrip() for line in tidy(text).splitlines()]


@contextlib.contextmanager
def inside(place):
    before = Path.cwd()
    os.chdir(place)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def terminal():
    """Print for a terminal of a fixed width, without colors."""
    asked = {"COLUMNS": COLUMNS, "NO_COLOR": "1", "TERM": "dumb"}
    before = {name: os.environ.get(name) for name in asked}
    os.environ.update(asked)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@functools.cache
def temporary():
    return tempfile.TemporaryDirectory()


@functools.cache
def folder():
    """Return a folder with the files that commands read; it is removed when the process ends."""
    made = Path(temporary().name).resolve()
    write_files(made)
    for name, label, asked in (("genes", "class", "spectrum(p=4)"), ("waves", "y", "gaussian")):
        found = cli_runs.run(
            "fit", made / f"{name}.csv", "--label", label, "-s", asked, "-o", made / f"{name}.sim", "--seed", 0
        )
        assert found.code == 0, found.err
    return made


def write_files(made):
    genes = cli_runs.read_csv(cli_runs.write_genes(made))
    cli_runs.write_flowers(made)
    some = {name: [row[name] for row in genes[::15]] for name in ("gene", "class")}
    cli_runs.write_csv(made / "new-genes.csv", some)
    x = np.linspace(0, 6, 120).round(4)
    cli_runs.write_csv(made / "waves.csv", {"x": x.tolist(), "y": np.sin(x).round(6).tolist()})
    new = np.linspace(0.5, 6.5, 12).round(4)
    cli_runs.write_csv(made / "new-waves.csv", {"x": new.tolist(), "y": np.sin(new).round(6).tolist()})
