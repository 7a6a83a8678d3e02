"""The committed files of each version of the format, and what their models predict; run it to make this version's.

A file that was released is never made again: it must load in every later version.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import saved_examples
from saved_examples import FUNCTIONS, GRAPHS, PAPERS, PEOPLE, SERIES, SETS, SHAPE, TABLE, TWO, WORDS, X, Y

from similitude import FromPairs, SimilarityClassifier, check_kernel, load, save
from similitude.kernels import DTW, Gaussian, Gower, Jaccard, Linear, SharesAny, Spectrum, WeisfeilerLehman
from similitude.learners import KernelPerceptron, KernelRidge, KernelSVC, SimilarityVote
from similitude.maps import CompactMap, LandmarkMap
from similitude.persistence import information
from similitude.persistence.file_format import VERSION
from similitude.persistence.model_files import contents

FOLDER = Path(__file__).parent / "saved"


def files():
    """Return the committed files of all versions."""
    return sorted(FOLDER.glob("*/*.sim"))


def stored_attributes():
    """Return the attributes of every class that this version of the format stores."""
    return json.loads((folder() / "attributes.json").read_text())


def folder():
    """Return the folder of this version."""
    return FOLDER / "{}.{}".format(*VERSION)


def attributes(model):
    """Return the attributes of every instance in a model by the names of their classes."""
    found = {}
    for node in contents(model)[1]:
        if node["is"] == "object":
            found.setdefault(node["type"], set()).update(node["names"])
    return found


def models():
    """Yield a name, a model and objects to ask it about."""
    starts = saved_examples.STARTS[:16]
    yield "classifier", SimilarityClassifier(loss="logistic", n_landmarks=6).fit(X, TWO), X[:5]
    yield (
        "stream",
        saved_examples.in_batches(SimilarityClassifier(n_landmarks=5), TWO, classes=["other", "same"]),
        X[:5],
    )
    yield "svm", KernelSVC(Gaussian() + 0.5 * Linear()).fit(X[:20], TWO[:20]), X[:5]
    yield "ridge", KernelRidge(lam="auto").fit(X[:20], Y[:20]), X[:5]
    yield "perceptron", KernelPerceptron(average=True).fit(X[:20], TWO[:20]), X[:5]
    yield "landmarks", LandmarkMap(n_components=4).fit(X), X[:5]
    yield "compact", CompactMap(n_components=2, n_landmarks=6).fit(X), X[:5]
    yield "strings", SimilarityVote(Spectrum(2)).fit(WORDS[:16], starts), WORDS[:5]
    yield "graphs", SimilarityVote(WeisfeilerLehman()).fit(GRAPHS[::4], SHAPE[::4]), GRAPHS[:5]
    yield "series", SimilarityVote(DTW()).fit(SERIES[:6], [0, 1] * 3), SERIES[:5]
    yield "sets", SimilarityVote(Jaccard()).fit(SETS[:6], [0, 1] * 3), SETS[:5]
    yield "table", SimilarityVote(Gower()).fit(TABLE[:8], [0, 1] * 4), TABLE[:5]
    yield "papers", SimilarityVote(SharesAny().pullback(saved_examples.topics)).fit(PAPERS[:6], [0, 1] * 3), PAPERS[:5]
    yield "people", SimilarityVote(saved_examples.Ages()).fit(PEOPLE[:6], [0, 1] * 3), PEOPLE[:5]
    yield "pairs", SimilarityVote(FromPairs(saved_examples.shared)).fit(WORDS[:16], starts), WORDS[:5]
    yield "validity", check_kernel(SharesAny(), [{"a"}, {"a", "b"}, {"b"}]), None


def answer(model, objects):
    """Return what a model says, as plain numbers and text."""
    if objects is None:
        return [str(model)]
    found = getattr(model, "transform" if hasattr(model, "transform") else "predict")(objects)
    return np.asarray(found).tolist()


def check(path):
    """Check that a committed file loads and that its model answers as it did when it was saved."""
    about = information(path).about
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the model was saved by another version")
        model = load(path, functions=FUNCTIONS)
        (objects,) = load(path.with_suffix(".objects"), functions=FUNCTIONS)
    found, expected = answer(model, objects), about["answer"]
    if isinstance(np.asarray(expected).flat[0].item(), float):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    else:
        assert found == expected, (path, found, expected)


if __name__ == "__main__":
    folder().mkdir(parents=True, exist_ok=True)
    for name, model, objects in models():
        save(model, folder() / f"{name}.sim", about={"answer": answer(model, objects)})
        save([objects], (folder() / name).with_suffix(".objects"))
    found = {}
    for _, model, _ in saved_examples.everything():
        for name, names in attributes(model).items():
            found.setdefault(name, set()).update(names)
    table = {name: sorted(names) for name, names in sorted(found.items())}
    (folder() / "attributes.json").write_text(json.dumps(table, indent=0) + "\n")
    sys.stdout.write(f"{sum(file.stat().st_size for file in folder().iterdir()):,} bytes in {folder()}\n")
