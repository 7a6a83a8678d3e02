"""A user's functions and classes are stored by name and fingerprint, and handed over again."""

import functools
import threading

import numpy as np
import pytest

from similitude import FromBlocks, FromPairs, Similarity, load, save
from similitude.errors import SavedModelError
from similitude.kernels import Gaussian, Linear
from similitude.learners import RepresenterRegressor
from similitude.persistence import information, user_code

X = np.random.default_rng(0).standard_normal((12, 2))


def likeness(s, t, power=1):
    return float(len(set(s) & set(t))) ** power


def changed(s, t, power=2):
    return float(len(set(s) & set(t))) ** power


def test_a_function_is_asked_for_by_name_and_use(tmp_path):
    save(FromPairs(likeness), tmp_path / "k.sim")
    (needed,) = information(tmp_path / "k.sim").functions
    assert (needed.name, needed.kind, needed.place) == ("likeness", "function", "model.f")
    with pytest.raises(SavedModelError, match=r"needs 'likeness', the function at model\.f: load\(path"):
        load(tmp_path / "k.sim")
    assert load(tmp_path / "k.sim", functions={"likeness": likeness, "unused": len})("ab", "bc") == 1.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"likeness": changed}, "'likeness' is not the function that the model was saved with .at model.f."),
        ({"likeness": lambda s, t: 0.0}, "is not the function"),
        ({"likeness": 5}, "must be a function, got 5"),
        ({"likeness": Gaussian}, "must be a function"),
        ({"other": likeness}, "needs 'likeness'"),
        ([likeness], "functions must be a dict"),
    ],
)
def test_what_is_not_the_same_function_is_refused(tmp_path, given, message):
    save(FromPairs(likeness), tmp_path / "k.sim")
    with pytest.raises(SavedModelError, match=message):
        load(tmp_path / "k.sim", functions=given)


def test_several_functions_of_one_name_are_numbered(tmp_path):
    first, second = (lambda s, t: float(s == t)), (lambda s, t: float(s[0] == t[0]))
    k = FromPairs(first) + FromPairs(second) + FromPairs(first) + Linear().pullback(len)
    save(k, tmp_path / "k.sim")
    assert [one.name for one in information(tmp_path / "k.sim").functions] == ["<lambda>", "<lambda> 2", "len"]
    back = load(tmp_path / "k.sim", functions={"<lambda>": first, "<lambda> 2": second, "len": len})
    assert back == k and back("ab", "ac") == 5.0
    with pytest.raises(SavedModelError, match="'<lambda>' is not the function"):
        load(tmp_path / "k.sim", functions={"<lambda>": second, "<lambda> 2": first, "len": len})


def scaled(factor):
    return lambda A, B: factor * (A @ B.T)


def test_what_a_function_encloses_is_part_of_it(tmp_path):
    save(FromBlocks(scaled(2.0)), tmp_path / "k.sim")
    assert (load(tmp_path / "k.sim", functions={"<lambda>": scaled(2.0)}).gram(X) == 2.0 * (X @ X.T)).all()
    with pytest.raises(SavedModelError, match="its closure differ"):
        load(tmp_path / "k.sim", functions={"<lambda>": scaled(3.0)})


class Times:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x, z):
        return self.factor * float(x == z)

    def method(self, x, z):
        return self(x, z)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: functools.partial(likeness, power=2), "partial"),
        (lambda: Times(2.0), "Times"),
        (lambda: Times(2.0).method, "method"),
        (lambda: np.minimum, "minimum"),
        (lambda: max, "max"),
    ],
)
def test_anything_that_can_be_called(tmp_path, make, name):
    save(FromPairs(make()), tmp_path / "k.sim")
    assert load(tmp_path / "k.sim", functions={name: make()}).f is not None


def own_class(constant=1.0, doubled=False):
    """Return a class of the same name, as two versions of a user's program have."""

    class Ages(Similarity):
        claims = frozenset({"SYMMETRIC"})
        scale = constant

        def __init__(self, years=5.0):
            super().__init__()
            self.years = years

        if doubled:

            def block(self, A, B):
                return 2.0 * np.exp(-np.abs(np.subtract.outer(A, B)) / self.years)

        else:

            def block(self, A, B):
                return np.exp(-np.abs(np.subtract.outer(A, B)) / self.years)

    return Ages


def test_a_class_of_the_users_own(tmp_path):
    Ages = own_class()
    save(Ages(3.0) + Linear().pullback(abs), tmp_path / "k.sim")
    back = load(tmp_path / "k.sim", functions={"Ages": own_class(), "abs": abs})
    assert back.get_params()["k1__years"] == 3.0
    for other in (own_class(doubled=True), own_class(constant=2.0), Gaussian):
        with pytest.raises(SavedModelError, match="'Ages' is not the class"):
            load(tmp_path / "k.sim", functions={"Ages": other, "abs": abs})
    with pytest.raises(SavedModelError, match="must be a class"):
        load(tmp_path / "k.sim", functions={"Ages": likeness, "abs": abs})


def quartic(y, f):
    return (y - f) ** 4


def slope(y, f):
    return 4 * (f - y) ** 3


def test_a_loss_of_ones_own(tmp_path):
    model = RepresenterRegressor(loss=(quartic, slope)).fit(X, X[:, 0])
    save(model, tmp_path / "model.sim")
    back = load(tmp_path / "model.sim", functions={"quartic": quartic, "slope": slope})
    assert (back.predict(X) == model.predict(X)).all()


def test_another_python_cannot_compare_and_says_so(tmp_path, monkeypatch):
    save(FromPairs(likeness), tmp_path / "k.sim")
    monkeypatch.setattr(user_code, "fingerprint_version", lambda: "another")
    with pytest.warns(
        UserWarning,
        match="another version of Python or similitude: cannot check whether likeness changed",
    ):
        load(tmp_path / "k.sim", functions={"likeness": changed})


def test_what_has_no_fingerprint_is_refused(tmp_path):
    lock = threading.Lock()
    with pytest.raises(SavedModelError, match=r"the closure of .* has no fingerprint"):
        save(FromPairs(lambda s, t: float(lock.locked())), tmp_path / "k.sim")
