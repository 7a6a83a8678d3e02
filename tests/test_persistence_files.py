"""Broken, hostile, old and new files, and places that cannot be written: a clear error, nothing run, little memory."""

import contextlib
import errno
import json
import os
import re
import struct
import tracemalloc
from datetime import datetime
from importlib.metadata import version as version_of
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import saved_files
import scipy.sparse as sp
from forged_files import forged, joined, parts_of, sealed, with_tree
from hypothesis import given, settings
from hypothesis import strategies as st

from similitude import load, save
from similitude.errors import SavedModelError
from similitude.kernels import Gaussian
from similitude.learners import KernelRidge
from similitude.persistence import file_format, information
from similitude.persistence.model_files import model_bytes

X = np.random.default_rng(0).standard_normal((6, 2))
MODEL = KernelRidge(Gaussian(1.5)).fit(X, X[:, 0])


def good(model=MODEL):
    """Return the bytes of a good file."""
    return model_bytes(model)


def refused(content, folder, match=None):
    """Check that a file is refused, without using more memory than its size accounts for."""
    path = folder / "file.sim"
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(SavedModelError, match=match):
            load(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100 * len(content) + 5_000_000


# Accidents.

SMALL = good(Gaussian(2.0))


def test_every_flipped_byte_is_noticed(tmp_path):
    path = tmp_path / "file.sim"
    for place in range(len(SMALL)):
        changed = bytearray(SMALL)
        changed[place] ^= 1 << (place % 8)
        path.write_bytes(changed)
        with pytest.raises(SavedModelError):
            load(path)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_flipped_byte_of_a_model_is_noticed(tmp_path_factory, data):
    content = bytearray(good())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.getbasetemp() / "flipped.sim"
    path.write_bytes(content)
    with pytest.raises(SavedModelError):
        load(path)
    try:
        information(path)  # reads the beginning and the end only: an error, or what was saved
    except SavedModelError:
        pass
    else:
        assert information(path).parameters["kernel"] == "Gaussian(sigma=1.5)"


def test_every_cut_is_noticed(tmp_path):
    path = tmp_path / "file.sim"
    for length in range(len(SMALL)):
        path.write_bytes(SMALL[:length])
        with pytest.raises(SavedModelError):
            load(path)
        with pytest.raises(SavedModelError):
            information(path)


@pytest.mark.parametrize(
    "content",
    [b"", b"PK", b"not a model at all" * 50, SMALL + b"more", b"more" + SMALL, SMALL[::-1], bytes(3000)],
    ids=["empty", "two bytes", "text", "more after", "more before", "backwards", "zeros"],
)
def test_what_is_no_saved_model(tmp_path, content):
    refused(content, tmp_path)


def test_places_that_hold_no_file(tmp_path):
    for path, match in ((tmp_path, "it is not a regular file"), (tmp_path / "none.sim", "No such file")):
        for read in (load, information):
            with pytest.raises(SavedModelError, match=match):
                read(path)


# Hostile first lines: the SHA-256 is right, the line is not.

PARTS = parts_of(SMALL)
LENGTHS = [len(part) for part in PARTS.values()]
LINES = {
    "larger manifest": ({"sizes": b"%d %d %d" % (LENGTHS[0] + 1, LENGTHS[1] - 1, LENGTHS[2])}, "SHA-256"),
    "smaller nodes": ({"sizes": b"%d %d %d" % (LENGTHS[0], LENGTHS[1] - 1, LENGTHS[2])}, "JSON|size"),
    "larger arrays": ({"sizes": b"%d %d %d" % (LENGTHS[0], LENGTHS[1], 10**12)}, "its size is not"),
    "negative": ({"sizes": b"%d %d -64" % (LENGTHS[0], LENGTHS[1] + 64)}, "not a saved model"),
    "absurd": ({"sizes": b"9" * 40 + b" 1 1"}, "not a saved model"),
    "other digest": ({"digest": b"0" * 64}, "manifest does not match"),
    "no digest": ({"digest": b"zero"}, "not a saved model"),
    "no version": ({"version": b"one"}, "not a saved model"),
    "line never ends": ({"version": b"1.0" + b" " * 10_000}, "not a saved model"),
}


@pytest.mark.parametrize("name", LINES)
def test_hostile_first_lines(name, tmp_path):
    change, match = LINES[name]
    refused(joined(**PARTS, **change), tmp_path, match)


def test_the_helper_makes_files_that_would_load(tmp_path):
    assert joined(**PARTS) == SMALL
    assert forged(good(), lambda parts: None) == good()


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_change_with_a_good_digest_raises_or_loads_a_model(tmp_path_factory, data):
    content = bytearray(SMALL)
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 65))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "forged.sim"
    path.write_bytes(sealed(bytes(content)))
    with contextlib.suppress(SavedModelError):
        assert type(load(path)).__module__.startswith(("similitude.kernels", "similitude.similarity"))


# Hostile content.


def node(**fields):
    return lambda tree: tree.append(fields)


def attribute(name, value):
    """Return a change of one attribute of the model, or one more."""

    def change(tree):
        model = tree[-1]
        state = {**dict(zip(model["names"], model["parts"], strict=True)), name: value}
        model.update(names=list(state), parts=list(state.values()))

    return change


def without(name):
    """Return a change that removes an attribute of the model."""

    def change(tree):
        place = tree[-1]["names"].index(name)
        del tree[-1]["names"][place], tree[-1]["parts"][place]

    return change


def array(**fields):
    return lambda tree: tree.insert(0, {"is": "array", "dtype": "<f8", **fields})


def other_array(**fields):
    """Return a change of the first array."""
    return lambda tree: next(node for node in tree if node["is"] == "array").update(fields)


def doubled(tree):
    """Tuples of tuples: a key whose hash would take 2^60 steps."""
    tree[:] = [{"is": "tuple", "parts": [1, 2]}]
    tree += [{"is": "tuple", "parts": [[i], [i]]} for i in range(60)]
    tree.append({"is": "set", "parts": [[60]]})


def huge_seed(tree):
    """A seed sequence whose pool would take petabytes."""
    names = ["entropy", "spawn_key", "pool_size", "n_children_spawned"]
    tree.append({"is": "dict", "parts": [*names, 1, 0, 10**15, 0]})
    tree.append({"is": "numpy.Generator", "names": ["name", "state", "seed"], "parts": ["PCG64", 0, [len(tree) - 1]]})


CONTENTS = {
    "unknown type": (node(**{"is": "object", "type": "Popen", "names": [], "parts": []}), "no type 'Popen'"),
    "a module": (node(**{"is": "object", "type": "os.system", "names": [], "parts": []}), "no type"),
    "no name": (node(**{"is": "object", "type": ["Gaussian"], "names": [], "parts": []}), "no type"),
    "unknown kind": (node(**{"is": "pickle", "data": "gASV"}), "pickle"),
    "no kind": (node(type="Gaussian"), "cannot be read"),
    "no node": (lambda tree: tree.append(5), "cannot be read"),
    "unknown attribute": (attribute("__class__", 1), "attribute '__class__'"),
    "a method": (attribute("predict", 1), "attribute 'predict', which cannot be set"),
    "a property": (attribute("_repr_html_", 1), "attribute '_repr_html_', which cannot be set"),
    "missing attribute": (without("kernel"), "has no 'kernel'"),
    "a later place": (attribute("lam", [10**6]), "a later node"),
    "a negative place": (attribute("lam", [-1]), "a later node"),
    "two places": (attribute("lam", [0, 1]), "cannot be read"),
    "a dict as value": (attribute("lam", {"is": "set"}), "neither simple"),
    "function": (node(**{"is": "function", "name": "system"}), "does not list"),
    "own class": (node(**{"is": "own", "type": "Popen", "names": [], "parts": []}), "does not list"),
    "absurd shape": (array(shape=[10**9, 10**9]), "larger than what the file contains"),
    "overflowing shape": (array(shape=[2**40, 2**40]), "larger than"),
    "absurd size": (array(shape=[2**70]), "impossible dtype or shape"),
    "negative shape": (array(shape=[-1]), "impossible dtype or shape"),
    "fractional shape": (array(shape=[1.5]), "impossible dtype or shape"),
    "no shape": (array(), "no valid dtype and shape"),
    "one more array": (array(shape=[1]), "larger|later node|more arrays|cannot be read"),
    "no size": (array(dtype="<U0", shape=[5]), "impossible dtype or shape"),
    "object dtype": (other_array(dtype="|O"), "impossible dtype or shape"),
    "no dtype": (other_array(dtype="nonsense"), "no valid dtype"),
    "code as dtype": (other_array(dtype="__import__('os').system('true')"), "no valid dtype"),
    "dtype of objects": (other_array(dtype=[["a", "|O"]]), "impossible dtype or shape"),
    "dtype of dtypes": (other_array(dtype=[["a", [["b", 5]]]]), "no valid dtype"),
    "other order": (other_array(order="K"), "impossible dtype or shape"),
    "no nodes": (lambda tree: tree.clear(), "no model"),
    "table": (node(**{"is": "polars.DataFrame", "names": ["columns"], "parts": [5]}), "cannot be read"),
    "no state": (node(**{"is": "numpy.RandomState", "names": ["state"], "parts": [5]}), "cannot be read"),
    "generator": (
        node(**{"is": "numpy.Generator", "names": ["name", "state", "seed"], "parts": ["seed", 0, None]}),
        "no random generator",
    ),
    "huge seed": (huge_seed, "far more memory and time"),
    "other parts": (node(**{"is": "builtins.complex", "names": ["real", "code"], "parts": [1, 2]}), "cannot be read"),
    "bytes of a number": (node(**{"is": "builtins.bytearray", "names": ["text"], "parts": [10**9]}), "cannot be read"),
    "no parts": (node(**{"is": "builtins.complex"}), "cannot be read"),
    "zone": (node(**{"is": "zoneinfo.ZoneInfo", "names": ["key"], "parts": ["../../etc/passwd"]}), "cannot be read"),
    "type": (node(**{"is": "type", "name": "eval"}), "cannot be read"),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_hostile_content(name, tmp_path):
    change, match = CONTENTS[name]
    refused(with_tree(good(), change), tmp_path, match)


@pytest.mark.parametrize(
    "text",
    [b"[" * 200_000, b"{}", b"NaN", b"[1e999]", b"1" * 10_000, b"\xff", b'[{"is"', b"null"],
    ids=["deep", "empty", "nan", "inf", "huge number", "no utf-8", "cut", "null"],
)
def test_hostile_json(text, tmp_path):
    refused(forged(SMALL, lambda parts: parts.update({"nodes": text})), tmp_path)
    refused(forged(SMALL, lambda parts: parts.update({"manifest": text})), tmp_path)
    with pytest.raises(SavedModelError):
        information(tmp_path / "file.sim")


def test_other_arrays(tmp_path):
    arrays = parts_of(good())["arrays"]
    for changed, match in ((arrays + bytes(64), "more arrays"), (arrays[:-8], "larger than"), (b"", "larger than")):
        refused(forged(good(), lambda parts, changed=changed: parts.update({"arrays": changed})), tmp_path, match)


def test_a_key_that_takes_forever(tmp_path):
    refused(with_tree(SMALL, doubled), tmp_path, "far more memory and time")


def test_a_sparse_matrix_cannot_point_outside(tmp_path):
    def outside(parts):
        assert parts["arrays"][-16:] == np.arange(4, dtype=np.int32).tobytes()
        parts["arrays"] = parts["arrays"][:-4] + struct.pack("<i", 10**6)

    refused(forged(good(sp.csr_array(np.eye(3))), outside), tmp_path, "csr_array")


# Hostile tables.


def replaced(kind, **parts):
    """Return a change of the parts of the first node of a kind."""

    def change(tree):
        found = next(node for node in tree if node["is"] == kind)
        found["parts"] = [parts.get(*one) for one in zip(found["names"], found["parts"], strict=True)]

    return change


def retyped(kind, other):
    """Return a change of the type of the first node of a kind."""
    return lambda tree: next(node for node in tree if node["is"] == kind).update({"is": other})


DAY = datetime(2020, 1, 1)
FRAME = pd.DataFrame({"a": [1.5, 2.5], "b": pd.array([1, None], "Int64"), "c": pd.Categorical(["x", "y"])})
TABLES = {
    "other index": (FRAME, replaced("pandas.RangeIndex", stop=10**15), "far more memory and time"),
    "other dtype": (FRAME, replaced("pandas.IntegerArray", dtype="object"), "no column of 'object'"),
    "other number": (FRAME, replaced("pandas.IntegerArray", values=5), "cannot be read"),
    "other codes": (FRAME, replaced("pandas.Categorical", codes=[1]), "different lengths|cannot be read"),
    "other type": (pl.DataFrame({"a": [1.5]}), retyped("polars.Float64", "polars.Object"), "cannot be read"),
    "no type": (pl.Series([1.5]), replaced("polars.Series", dtype="os"), "cannot be read"),
    "bad type": (pl.Series([DAY]), replaced("polars.Datetime", time_unit="years"), "cannot be read"),
    "no shape": (
        pl.Series([[1.5]], dtype=pl.Array(pl.Float64, 1)),
        replaced("polars.Array", size=-5),
        "cannot be read",
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_hostile_tables(name, tmp_path):
    table, change, match = TABLES[name]
    refused(with_tree(good([table]), change), tmp_path, match)


def test_repeated_columns_take_no_more_memory_than_they_have(tmp_path):
    def repeat(tree):
        nodes = tree
        series = next(node for node in nodes if node["is"] == "pandas.Series")
        nodes += [series] * 3000
        nodes.append({"is": "list", "parts": [[len(nodes) - i] for i in range(1, 3001)]})

    content = good(pd.Series(np.random.default_rng(0).random(20_000)))
    (tmp_path / "file.sim").write_bytes(with_tree(content, repeat))
    with pytest.raises(SavedModelError, match="far more memory"):
        load(tmp_path / "file.sim")


# Versions.


def written_by(content, version):
    """Return a file as another version of the package would have written it."""

    def changed(parts):
        manifest = json.loads(parts["manifest"])
        manifest["written_by"]["similitude"] = version
        parts["manifest"] = json.dumps(manifest).encode()

    return forged(content, changed)


@pytest.mark.parametrize(
    ("version", "advice"),
    [("1.1", "load it with a newer similitude"), ("2.0", "newer"), ("0.9", "with the version that wrote it")],
)
def test_other_versions_are_refused(version, advice, tmp_path):
    mine = re.escape(version_of("similitude"))
    told = f"has format {version}, and similitude {mine} reads format 1.0: .*{advice}"
    for manifest in (PARTS["manifest"], b"{}", b"no JSON", b"[" * 100_000):
        refused(joined(**{**PARTS, "manifest": manifest}, version=version.encode()), tmp_path, told)
        with pytest.raises(SavedModelError, match=told):
            information(tmp_path / "file.sim")


def test_a_newer_class_in_a_file_names_both_versions(tmp_path):
    """A file of the same format, whose class this version does not know."""
    newer = with_tree(written_by(SMALL, "9.8.7"), lambda tree: tree[-1].update(type="GaussianOfTomorrow"))
    mine = re.escape(version_of("similitude"))
    told = f"no type 'GaussianOfTomorrow' .*was written by similitude 9.8.7, and this is similitude {mine}"
    refused(newer, tmp_path, told)
    refused(with_tree(SMALL, lambda tree: tree[-1].update(type="Gaussen")), tmp_path, "no type 'Gaussen'.*[^e]$")


def test_a_file_of_another_version_with_the_same_format_loads(tmp_path):
    (tmp_path / "file.sim").write_bytes(written_by(SMALL, "9.8.7"))
    assert load(tmp_path / "file.sim") == Gaussian(2.0)


@pytest.mark.parametrize("path", saved_files.files(), ids=lambda path: f"{path.parent.name} {path.stem}")
def test_committed_files_of_every_version_load(path):
    saved_files.check(path)


def test_there_is_a_folder_of_committed_files_for_this_version():
    assert (saved_files.FOLDER / "{}.{}".format(*file_format.VERSION)).is_dir()


# Writing.


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "model.sim"
    save(Gaussian(1.0), path)
    path.chmod(0o600)

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(SavedModelError, match=r"cannot write .*model\.sim: No space left on device"):
            save(Gaussian(2.0), path)
    assert load(path) == Gaussian(1.0) and list(tmp_path.iterdir()) == [path]
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", lambda *paths: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            save(Gaussian(2.0), path)
    assert load(path) == Gaussian(1.0) and list(tmp_path.iterdir()) == [path]
    save(Gaussian(2.0), path)
    assert load(path) == Gaussian(2.0) and path.stat().st_mode & 0o777 == 0o600


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(SavedModelError, match=r"cannot write .*No such file or directory"):
        save(Gaussian(), tmp_path / "no folder" / "model.sim")
    with pytest.raises(SavedModelError, match="not a regular file"):
        save(Gaussian(), tmp_path)
    with pytest.raises(SavedModelError, match="not a regular file"):
        save(Gaussian(), os.devnull)
    assert not list(tmp_path.iterdir()) and not Path(os.devnull).is_file()


def test_a_link_is_followed(tmp_path):
    (tmp_path / "link.sim").symlink_to(tmp_path / "model.sim")
    save(Gaussian(1.0), tmp_path / "link.sim")
    assert (tmp_path / "link.sim").is_symlink() and load(tmp_path / "model.sim") == Gaussian(1.0)


def test_ordinary_tools_can_look_inside():
    line, rest = good().split(b"\n", 1)
    manifest, end = json.JSONDecoder().raw_decode(rest.decode("latin-1"))
    nodes, _ = json.JSONDecoder().raw_decode(rest.decode("latin-1")[end:])
    assert line.startswith(b"similitude 1.0 ") and manifest["type"] == "KernelRidge"
    first, arrays = next(node for node in nodes if node["is"] == "array"), parts_of(good())["arrays"]
    assert (np.frombuffer(arrays, first["dtype"], np.prod(first["shape"])) == MODEL.dual_coef_).all()


def test_a_path_that_is_too_long_is_named(tmp_path):
    with pytest.raises(SavedModelError, match=r"cannot write .*aaa: File name too long"):
        save(Gaussian(1.0), tmp_path / ("a" * 300))
