"""A small file cannot ask for much work: `load` refuses it soon, and `save` refuses what `load` would refuse."""

import inspect
import json
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from forged_files import joined, parts_of

from similitude import FromPairs, SimilarityClassifier, load, save
from similitude.errors import SavedModelError
from similitude.kernels import Columns, Equal, Gaussian, Linear
from similitude.learners import KernelRidge, SimilarityVote
from similitude.persistence.limits import (
    MOST_NESTED,
    WORK_FOR_ALL,
    WORK_PER_BYTE,
    Budget,
    Extent,
    check_hashes,
)
from similitude.persistence.model_files import model_bytes

LARGEST_FILE, LONGEST_TIME = 4_000, 2.0
EMPTY = parts_of(model_bytes([]))
LEVELS = 60
"""Levels of lists of twice the same list: 2^60 items."""


def names(**parts):
    """Return the names and the parts of a node."""
    return {"names": list(parts), "parts": list(parts.values())}


def doubled(kind="list", first="a"):
    """Return nodes of which each contains the one before twice."""
    start = {"is": "list", "parts": [first, first]}
    return [start, *({"is": kind, "parts": [[i], [i]]} for i in range(LEVELS))]


def sums(n_levels=25):
    """Return nodes of a sum of sums of ... of the same kernel: 2^25 of them."""
    nodes = [LINEAR]
    for i in range(0, 2 * n_levels, 2):
        nodes += [{"is": "tuple", "parts": [[i], [i]]}, {"is": "object", "type": "Sum", **names(_parts=[i + 1])}]
    return nodes


def after(nodes, *more):
    """Return nodes with further ones, in which LAST is a reference to the last of the first ones."""
    last = json.dumps([len(nodes) - 1])
    return nodes + json.loads(json.dumps(more).replace('"LAST"', last))


def learner(kernel, objects, **more):
    """Return the node of a learner whose kernel encodes the objects that it keeps."""
    state = dict.fromkeys(KernelRidge().get_params(deep=False))
    state |= {"kernel_": kernel, "support_objects_": objects, **more}
    return {"is": "object", "type": "KernelRidge", **names(**state)}


LINEAR = {"is": "object", "type": "Linear", "names": [], "parts": []}
MANY = {"is": "builtins.range", **names(start=0, stop=10**9, step=1)}


def generator(entropy, pool_size=4):
    """Return the nodes of a random generator with a seed."""
    seed = {"entropy": [0], "spawn_key": [1], "pool_size": pool_size, "n_children_spawned": 0}
    return [
        entropy,
        {"is": "tuple"},
        {"is": "dict", "parts": [*seed, *seed.values()]},
        {"is": "numpy.Generator", **names(name="PCG64", state=None, seed=[2])},
    ]


BOMBS = {
    "a fraction of texts": [{"is": "fractions.Fraction", **names(numerator="1e999999999", denominator=None)}],
    "a fraction of a decimal": after(
        [{"is": "decimal.Decimal", **names(text="1e999999999")}],
        {"is": "fractions.Fraction", **names(numerator="LAST", denominator=None)},
    ),
    "a seed of many words": generator({**MANY, "parts": [0, 10**6, 1]}),
    "a seed of more words": generator(MANY),
    "a seed with a large pool": generator({"is": "builtins.int", **names(hex="1" * 40)}, pool_size=50_000),
    "texts": after(doubled(), {"is": "texts", "shape": [2], "parts": ["LAST"]}),
    "numbers": after(doubled(), {"is": "packed", "as": "list", "of": "float", "parts": ["LAST"]}),
    "a set": after(doubled("tuple"), {"is": "set", "parts": ["LAST"]}),
    "a key": after(doubled("tuple"), {"is": "dict", "parts": ["LAST", 1]}),
    "an index": after(
        doubled(),
        {"is": "objects", "shape": [1], "parts": ["LAST"]},
        {"is": "pandas.Index", **names(values=[LEVELS + 1], name=None, frequency=None)},
    ),
    "categories": after(doubled(), {"is": "polars.Enum", **names(categories="LAST")}),
    "levels": after(doubled(), {"is": "pandas.MultiIndex", **names(levels="LAST", names="LAST")}),
    "objects": after([*doubled(), LINEAR], learner("LAST", [LEVELS])),
    "a range of objects": after([MANY, LINEAR], learner("LAST", [0])),
    "landmarks beside objects that are encoded": [
        {**MANY, "parts": [0, 3 * 10**6, 1]},
        {"is": "object", "type": "Landmarks", **names(objects=[0], positions=0, encoding=0, labels=0, rule=0)},
        {"is": "list", "parts": []},
        LINEAR,
        learner([3], [2], _support=0, landmarks=[1]),
    ],
    "sums": after([*sums(), {"is": "list", "parts": [1.0, 2.0]}], learner([50], "LAST")),
    "a missing row": [
        {"is": "polars.Int8", "names": [], "parts": []},
        {"is": "polars.Array", **names(inner=[0], size=10**9)},
        {"is": "list", "parts": [None]},
        {"is": "polars.Series", **names(name="a", dtype=[1], values=[2])},
    ],
    "many rows": [
        {"is": "tuple", "parts": [10**10, 3]},
        *({"is": "array", "dtype": "<i8", "shape": [0]} for _ in range(3)),
        {"is": "scipy.coo_array", **names(shape=[0], data=[1], row=[2], col=[3])},
        LINEAR,
        learner([5], [4]),
    ],
    "a wide array": [
        {"is": "array", "dtype": "<f8", "shape": [0, 2**40]},
        LINEAR,
        learner([1], [0]),
    ],
    "a model that nothing can visit": doubled(),
    "a key as deep as the stack": [
        {"is": "tuple", "parts": [1]},
        *({"is": "tuple", "parts": [[i]]} for i in range(105)),
        {"is": "set", "parts": [[105]]},
    ],
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_that_asks_for_much_is_refused_soon(name, tmp_path):
    content = joined(EMPTY["manifest"], json.dumps(BOMBS[name], separators=(",", ":")).encode(), b"")
    assert len(content) < LARGEST_FILE
    (tmp_path / "bomb.sim").write_bytes(content)
    began = time.process_time()
    with pytest.raises(SavedModelError, match=r"far more memory|too often|too deeply|not one of whole numbers"):
        load(tmp_path / "bomb.sim")
    assert time.process_time() - began < LONGEST_TIME


def test_a_key_far_deeper_than_the_stack_is_refused(tmp_path):
    nodes = [{"is": "tuple", "parts": [1]}, *({"is": "tuple", "parts": [[i]]} for i in range(50_000))]
    content = joined(EMPTY["manifest"], json.dumps([*nodes, {"is": "set", "parts": [[50_000]]}]).encode(), b"")
    (tmp_path / "deep.sim").write_bytes(content)
    with pytest.raises(SavedModelError, match="nested too deeply"):
        load(tmp_path / "deep.sim")


def test_types_nested_deeper_than_other_libraries_can_recurse_are_refused(tmp_path):
    nodes = [{"is": "polars.Int8", "names": [], "parts": []}]
    nodes += [{"is": "polars.List", **names(inner=[i])} for i in range(5_000)]
    nodes.append({"is": "list", "parts": []})
    nodes.append({"is": "polars.Series", **names(name="a", dtype=[5_000], values=[5_001])})
    (tmp_path / "deep.sim").write_bytes(joined(EMPTY["manifest"], json.dumps(nodes).encode(), b""))
    with pytest.raises(SavedModelError, match="nested too deeply"):
        load(tmp_path / "deep.sim")


# `save` keeps the same account.


ALIKE = [i * (2**61 - 1) for i in range(1_500)]
"""Numbers that all have the hash 0."""

KEYS = {
    "a set": [{"is": "set", "parts": ALIKE}],
    "a dict": [{"is": "dict", "parts": ALIKE * 2}],
    "keys that are tuples": [
        *({"is": "tuple", "parts": [one]} for one in ALIKE),
        {"is": "dict", "parts": [[i] for i in range(len(ALIKE))] * 2},
    ],
    "an index of levels": [
        {"is": "objects", "shape": [len(ALIKE)], "parts": ALIKE},
        {"is": "list", "parts": [[0]]},
        {"is": "pandas.MultiIndex", **names(levels=[1], names=None)},
    ],
    "edges of a graph": [
        {"is": "dict"},
        {"is": "dict", "parts": ["a", None]},
        {"is": "array", "dtype": "<i8", "shape": [0, 2]},
        {"is": "list", "parts": ALIKE},
        {"is": "networkx.MultiGraph", **names(graph=[0], nodes=[1], ends=[2], keys=[3], edges=None)},
    ],
}


@pytest.mark.parametrize("name", KEYS)
def test_many_keys_of_one_hash_are_refused(name, tmp_path):
    (tmp_path / "keys.sim").write_bytes(joined(EMPTY["manifest"], json.dumps(KEYS[name]).encode(), b""))
    with pytest.raises(SavedModelError, match="more than 1,000 different keys have the same hash"):
        load(tmp_path / "keys.sim")


def test_the_same_key_again_is_not_another(tmp_path):
    index = pd.MultiIndex.from_arrays([np.array([2**70] * 1_500, object), range(1_500)])
    assert back(index, tmp_path).equals(index)


def nested(levels):
    value = ("a",)
    for _ in range(levels):
        value = (value, value)
    return value


def test_save_refuses_what_load_would(tmp_path):
    deep = (1,)
    for _ in range(150):
        deep = (deep,)
    for value, match in (
        ([nested(60)], "too often"),
        ({nested(20): 1}, "far more memory and time"),
        ({"key": [set(ALIKE)]}, "have the same hash"),
        ({"key": [{deep}]}, r"model\['key'\]\[0\]: a set contains values that are nested too deeply"),
    ):
        with pytest.raises(SavedModelError, match=match):
            save(value, tmp_path / "value.sim")
        assert not list(tmp_path.iterdir())


def back(value, folder, **functions):
    save(value, folder / "value.sim")
    return load(folder / "value.sim", functions=functions)


def test_what_is_shared_by_many_still_loads(tmp_path):
    words = [f"word {i}" for i in range(2_000)]
    assert back([words] * 500, tmp_path)[499][7] == "word 7"
    table = pd.DataFrame({f"column {i}": words for i in range(20)})
    assert back([table] * 50, tmp_path)[49].equals(table)
    kernel = Gaussian(1.0)
    models = [KernelRidge(kernel).fit(np.arange(40.0).reshape(20, 2), np.arange(20.0)) for _ in range(50)]
    assert len(back(models, tmp_path)) == 50


def test_similarities_of_many_parts_still_load(tmp_path):
    n = 300
    rows = pd.DataFrame({f"c{i}": np.arange(30) % (i % 7 + 2) for i in range(n)})
    model = SimilarityVote(Columns({name: Equal() for name in rows})).fit(rows, np.arange(30) % 2)
    assert (back(model, tmp_path).predict(rows) == model.predict(rows)).all()
    kernel = Linear()
    for _ in range(300):
        kernel = kernel + Gaussian(2.0)
    ridge = KernelRidge(kernel).fit(np.eye(5), np.arange(5.0))
    assert (back(ridge, tmp_path).predict(np.eye(5)) == ridge.predict(np.eye(5))).all()


def shared(s, t):
    return float(len(set(s) & set(t)))


@pytest.mark.usefixtures("without_evaluation")
@pytest.mark.deep
def test_models_of_many_similarities_share_their_landmarks(tmp_path):
    words = [f"{i * i:x} and {i * 7:o}" for i in range(400)]
    similarities = [FromPairs(shared).pullback(str) * (i + 1.0) for i in range(12)]
    model = SimilarityClassifier(similarities, n_landmarks=200, random_state=0).fit(words, np.arange(400) % 2)
    assert (back(model, tmp_path, shared=shared, str=str).predict(words) == model.predict(words)).all()


@pytest.mark.parametrize(
    "value",
    [
        Fraction(10**200 + 1, 3**300),
        Decimal("1e300"),
        range(10**12),
        range(10, -(10**30), -3),
        pd.RangeIndex(10**9),
        np.random.default_rng([1, 2, 3]),
        np.random.Generator(np.random.PCG64(np.random.SeedSequence(7, pool_size=64))),
        np.empty((0, 10**6)),
        pl.Series([[1.0] * 100, None], dtype=pl.Array(pl.Float64, 100)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_large_numbers_and_ranges_still_load(value, tmp_path):
    (found,) = back([value], tmp_path)
    if isinstance(value, np.random.Generator):
        assert found.random() == value.random()
    elif isinstance(value, np.ndarray):
        assert found.shape == value.shape
    else:
        assert found.equals(value) if hasattr(value, "equals") else found == value


def test_many_instances_of_a_class_are_inspected_once(tmp_path, monkeypatch):
    inspected = []
    signature = inspect.signature
    monkeypatch.setattr(inspect, "signature", lambda cls: inspected.append(cls) or signature(cls))
    node = {"is": "object", "type": "Cosine", "names": [], "parts": []}
    manifest = parts_of(model_bytes([]))["manifest"]
    (tmp_path / "m.sim").write_bytes(joined(manifest, json.dumps([node] * 1000).encode(), b""))
    load(tmp_path / "m.sim")
    assert len(inspected) <= 1


# The account itself.


@pytest.mark.parametrize("kind", ["set", "frozenset", "texts", "packed", "dict"])
def test_what_is_hashed_is_paid_for_and_may_be_nested_up_to_a_limit(kind):
    budget = Budget()
    limit = WORK_PER_BYTE * 3 + WORK_FOR_ALL
    values = [Extent(10**9, MOST_NESTED + 9)] if kind == "dict" else []
    budget.pay_for({"is": kind}, ["a", *values], [Extent(limit, MOST_NESTED), *values])
    budget.check(3)
    with pytest.raises(SavedModelError, match="far more memory and time"):
        budget.check(2)
    budget.pay_for({"is": kind}, ["a", *values], [Extent(1), *values])
    with pytest.raises(SavedModelError, match="far more memory and time"):
        budget.check(3)
    with pytest.raises(SavedModelError, match=f"^a {kind} contains values that are nested too deeply, more than 100"):
        budget.pay_for({"is": kind}, ["a", *values], [Extent(1, MOST_NESTED + 1), *values])


def test_a_model_may_have_as_many_values_as_pairs_of_what_is_stored_and_a_million():
    budget = Budget()
    budget.pay_for({"is": "list"}, ["a", "b"], [Extent(1), Extent(1)])
    budget.pay_for({"is": "list"}, [], [])
    budget.check_whole(Extent(0, 0, 4**2 + 10**6))
    with pytest.raises(SavedModelError, match="nothing could visit all of it"):
        budget.check_whole(Extent(0, 0, 4**2 + 10**6 + 1))


def test_up_to_a_thousand_different_keys_may_have_one_hash():
    alike = [i * (2**61 - 1) for i in range(1001)]
    check_hashes(alike[:1000])
    check_hashes([*alike[:1000], *alike[:5]])
    check_hashes([])
    with pytest.raises(SavedModelError, match=r"^more than 1,000 different keys have the same hash"):
        check_hashes(alike)
