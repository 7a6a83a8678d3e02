"""The command line run in this process, and small files for it."""

import csv
import io
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

import numpy as np

from similitude import datasets
from similitude.cli import main
from similitude.support import a_call_goes_on

PROGRAM = [sys.executable, "-c", "from similitude.cli import main; main()"]


class Ran(NamedTuple):
    """How a command ended: its exit code, standard output and standard error."""

    code: int
    out: str
    err: str


def run(*arguments):
    while a_call_goes_on():  # left by a test that interrupted it: the program would end this process
        time.sleep(0.05)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as end:
            return Ran(end.code, out.getvalue(), err.getvalue())
    raise AssertionError("main returned")


def write_csv(path, columns):
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))
    return path


def write_genes(folder):
    strings, classes = datasets.promoters()
    return write_csv(folder / "genes.csv", {"gene": strings, "class": classes})


def write_flowers(folder):
    X, y = datasets.iris()
    columns = {f"x{i}": column.tolist() for i, column in enumerate(np.asarray(X).T)}
    return write_csv(folder / "flowers.csv", {**columns, "species": list(y)})


def read_csv(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
