"""Saved models come back as they were: every estimator, map, similarity and result, here and in a new process."""

import importlib
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import saved_examples
import saved_files
import saved_types
import sklearn
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from similitude import FromPairs, SimilarityClassifier, load, save
from similitude.checks import check_saved
from similitude.checks.saved import answers
from similitude.engines import LocalEngine
from similitude.errors import SavedModelError
from similitude.kernels import Gaussian, Spectrum
from similitude.learners import KernelPerceptron, KernelRidge, SimilarityVote
from similitude.maps import LandmarkMap
from similitude.persistence import Information, information, registry
from similitude.persistence.model_files import functions_of, model_bytes
from similitude.results import Result
from similitude.similarity import Similarity

X, TWO, WORDS = saved_examples.X, saved_examples.TWO, saved_examples.WORDS


def test_the_registry_says_what_the_package_is():
    """On failure: run ``python tests/saved_types.py``."""
    assert registry.TABLE.splitlines() == saved_types.table().splitlines()
    assert len(saved_types.stored_classes()) == len(registry.MODULES), "two classes have the same name"


@pytest.mark.parametrize("package", ["", ".kernels", ".learners", ".maps", ".estimators", ".selection", ".goodness"])
def test_every_public_class_is_in_the_registry(package):
    module = importlib.import_module(f"similitude{package}")
    public = [getattr(module, name) for name in module.__all__]
    wanted = [one for one in public if inspect.isclass(one) and issubclass(one, (Similarity, BaseEstimator, Result))]
    assert [one for one in wanted if not inspect.isabstract(one) and one.__name__ not in registry.MODULES] == []
    assert wanted


@pytest.mark.usefixtures("few_penalties")
def test_nothing_that_a_file_may_contain_is_a_sequence_without_end():
    """Other libraries go on asking an object for its next item until there is an error."""
    for name, module in registry.MODULES.items():
        cls = getattr(importlib.import_module(module), name)
        assert hasattr(cls, "__iter__") or not hasattr(cls, "__getitem__"), name


def test_everything_comes_back_as_it_was(tmp_path, few_penalties):
    """Bit for bit, and to the same bytes when saved again; the examples contain every class of the registry.

    Here all of them, in a new process every third one. One test, as the examples take long to make. Where the
    attributes differ: run ``python tests/saved_files.py``; after a release see ``registry.UPGRADES`` first.
    """
    seen: dict = {}
    for number, (name, model, objects) in enumerate(saved_examples.everything()):
        file = tmp_path / f"{number}.sim"
        save(model, file)
        for type_name, attributes in saved_files.attributes(model).items():
            seen.setdefault(type_name, set()).update(attributes)
        functions = functions_of(model)
        back, said = load(file, functions=functions), model_bytes(answers(model, objects))
        assert model_bytes(back) == file.read_bytes(), name
        assert model_bytes(answers(back, objects)) == said, name
        if isinstance(model, Similarity):
            assert back == model and back.fingerprint() == model.fingerprint(), name
        if name in ("ridge", "words", "words one by one", "columns", "precomputed", "several"):
            assert vars(back).keys() == vars(model).keys() - {"_buffers"}, name  # with encodings, where they were
        if number % 3 == 0 and functions.items() <= saved_examples.FUNCTIONS.items():
            save((objects, name), file.with_suffix(".objects"))
            file.with_suffix(".answers").write_bytes(said)
    _a_new_process_gives_the_same_answers(tmp_path)
    assert seen.keys() == registry.MODULES.keys(), "an example is missing, or a class of the registry is never saved"
    assert {name: sorted(attributes) for name, attributes in seen.items()} == saved_files.stored_attributes()


IN_ANOTHER_PROCESS = """
import sys
import saved_examples
from pathlib import Path
from typing import ClassVar
from similitude import load
from similitude.checks.saved import answers
from similitude.persistence.model_files import model_bytes
folder = Path(sys.argv[1])
for file in sorted(folder.glob("*.objects")):
    objects, name = load(file, functions=saved_examples.FUNCTIONS)
    file = file.with_suffix(".sim")
    model = load(file, functions=saved_examples.FUNCTIONS)
    assert model_bytes(model) == file.read_bytes(), name
    assert model_bytes(answers(model, objects)) == file.with_suffix(".answers").read_bytes(), name
print("all the same")
"""


def _a_new_process_gives_the_same_answers(folder):
    assert len(list(folder.glob("*.objects"))) > 80
    paths = [str(Path(__file__).parent), *filter(None, sys.path)]
    environment = {**os.environ, "PYTHONHASHSEED": "5", "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", IN_ANOTHER_PROCESS, str(folder)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.stdout == "all the same\n", run.stderr


@pytest.mark.deep  # the example in its documentation does the same
def test_the_kit():
    check_saved(SimilarityClassifier(lambda s, t: float(len(set(s) & set(t)))).fit(WORDS, saved_examples.STARTS), WORDS)


class Unsteady(Similarity):
    """Remembers nothing: every object of it says something else."""

    made: ClassVar = [0]

    def __init__(self):
        pass

    def block(self, A, B):
        self.made[0] += 1
        return np.full((len(A), len(B)), float(self.made[0]))


def test_the_kit_notices():
    with pytest.raises(AssertionError, match="cross of the loaded model differs here"):
        check_saved(Unsteady(), X[:5])


def test_learning_goes_on_where_it_stopped(tmp_path):
    for model, options in (
        (SimilarityClassifier(random_state=np.random.default_rng(5)), {"classes": ["other", "same"]}),
        (KernelPerceptron(average=True), {"classes": ["other", "same"]}),
        (LandmarkMap(n_components=6, random_state=1), {}),
    ):
        model.partial_fit(X[:30], TWO[:30], **options)
        save(model, tmp_path / "model.sim")
        back = load(tmp_path / "model.sim")
        for one in (model, back):
            one.partial_fit(X[30:], TWO[30:])
        ask = "transform" if isinstance(model, LandmarkMap) else "decision_function"
        assert (getattr(back, ask)(X) == getattr(model, ask)(X)).all()
        assert model_bytes(back) == model_bytes(model)


class Mine(SimilarityVote):
    """A user's own learner, made from one of ours."""


def test_a_learner_of_ones_own(tmp_path):
    model = Mine(Spectrum(2)).fit(WORDS, saved_examples.STARTS)
    save(model, tmp_path / "model.sim")
    back = load(tmp_path / "model.sim", functions={"Mine": Mine})
    assert type(back) is Mine and vars(back).keys() == vars(model).keys()
    assert (back.predict(WORDS) == model.predict(WORDS)).all()


BROKEN: list[str] = []


def fragile(word):
    if BROKEN:
        raise RuntimeError("out of order")
    return [float(len(word))]


def test_a_function_that_fails_on_what_was_saved_is_named(tmp_path, monkeypatch):
    model = KernelRidge(Gaussian(1.0).pullback(fragile)).fit(WORDS, saved_examples.STARTS.astype(float))
    save(model, tmp_path / "model.sim")
    monkeypatch.setattr(sys.modules[__name__], "BROKEN", ["yes"])
    with pytest.raises(SavedModelError, match=r"fragile.* cannot encode the objects .*: .*out of order"):
        load(tmp_path / "model.sim", functions={"fragile": fragile})


def test_a_clone_and_a_new_fit_of_what_was_loaded(tmp_path):
    model = KernelRidge(Gaussian(), lam="auto").fit(X, saved_examples.Y)
    save(model, tmp_path / "model.sim")
    back = load(tmp_path / "model.sim").fit(X, saved_examples.Y)
    assert back.kernel == Gaussian() and (back.predict(X) == model.predict(X)).all()


def test_the_engine_stays_behind_and_it_is_said(tmp_path):
    save(KernelRidge(engine=LocalEngine(threads=1)).fit(X, saved_examples.Y), tmp_path / "model.sim")
    assert load(tmp_path / "model.sim").engine is None
    assert "engine" in information(tmp_path / "model.sim").notes[0]
    with pytest.raises(SavedModelError, match="engine"):
        save([LocalEngine()], tmp_path / "engine.sim")


def test_requests_for_metadata_stay_behind_and_it_is_said(tmp_path):
    with sklearn.config_context(enable_metadata_routing=True):
        save(KernelRidge().set_fit_request(sample_weight=True).fit(X, saved_examples.Y), tmp_path / "model.sim")
    assert "set_fit_request" in information(tmp_path / "model.sim").notes[0]
    assert (load(tmp_path / "model.sim").predict(X) == KernelRidge().fit(X, saved_examples.Y).predict(X)).all()


def test_a_pipeline_with_estimators_of_others(tmp_path):
    """Their classes are not ours: they are handed over as a user's own are."""
    model = make_pipeline(LandmarkMap(n_components=8), StandardScaler(), LogisticRegression()).fit(X, TWO)
    save(model, tmp_path / "model.sim")
    classes = {cls.__name__: cls for cls in (Pipeline, StandardScaler, LogisticRegression)}
    assert {one.name for one in information(tmp_path / "model.sim").functions} == set(classes)
    back = load(tmp_path / "model.sim", functions=classes)
    assert (back.predict_proba(X) == model.predict_proba(X)).all()


def test_information(tmp_path):
    file = tmp_path / "model.sim"
    about = {"file": "words.csv", "schema": {"kind": "strings", "columns": [["word", None]]}, "rows": 40}
    save(SimilarityClassifier(FromPairs(saved_examples.shared)).fit(WORDS, saved_examples.STARTS), file, about=about)
    found = information(file)
    assert isinstance(found, Information)
    assert (found.type, found.version, found.about) == ("SimilarityClassifier", "1.0", about)
    assert found.parameters["similarity"] == "FromPairs(f=shared, claims=())"
    assert found.size == file.stat().st_size
    (needed,) = found.functions
    assert (needed.name, needed.kind) == ("shared", "function")
    assert {"python", "similitude", "numpy"} <= found.written_by.keys()
    assert json.loads(json.dumps(found.to_dict()))["functions"][0]["name"] == "shared"
    assert "needs 'shared', the function at model." in str(found)


@pytest.mark.parametrize("about", [{"a": {1, 2}}, {"a": (1, 2)}, {1: "a"}, [1], {"a": float("nan")}])
def test_about_must_come_back_as_given(tmp_path, about):
    with pytest.raises(SavedModelError, match="about must be a dict"):
        save(Gaussian(), tmp_path / "model.sim", about=about)
    assert not list(tmp_path.iterdir())


def test_importing_and_asking_is_light():
    program = "import sys, similitude.persistence; print('sklearn' in sys.modules, 'pyarrow' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "False False\n"
