"""Messages and reprs show numbers and texts as Python writes them, whatever NumPy type they have."""

import numpy as np
import pytest

from similitude import SimilarityClassifier
from similitude.kernels import Columns, Gaussian, Intersection, Polynomial, Spectrum
from similitude.learners import KernelSVC, OnlineKernelClassifier, RepresenterClassifier
from similitude.maps import CompactMap, FourierMap, LandmarkMap

X = np.random.default_rng(0).normal(size=(12, 3))
LABELS = np.array(["a", "b"] * 6)
BAD = [np.float64(-1.5), np.int64(-3), np.str_("zz"), [np.float64(-1.0)], {np.str_("q"): np.float64(-1.0)}]

SETTINGS = [
    (lambda bad: LandmarkMap(side=bad), X, None),
    (lambda bad: LandmarkMap(epsilon=bad), X, None),
    (lambda bad: CompactMap(projection=bad), X, None),
    (lambda bad: FourierMap(kind=bad), X, None),
    (lambda bad: FourierMap(n_components=bad), X, None),
    (lambda bad: SimilarityClassifier(loss=bad), X, LABELS),
    (lambda bad: SimilarityClassifier(penalty=bad), X, LABELS),
    (lambda bad: SimilarityClassifier(engine=bad), X, LABELS),
    (lambda bad: KernelSVC(C=bad), X, LABELS),
    (lambda bad: KernelSVC(Polynomial(degree=bad)), X, LABELS),
]


@pytest.mark.parametrize("bad", BAD, ids=repr)
def test_messages_about_parameters(bad):
    for make, objects, labels in SETTINGS:
        with pytest.raises((TypeError, ValueError)) as caught:
            make(bad).fit(objects, labels)
        assert "np." not in str(caught.value)


def test_messages_about_labels_and_names():
    model = OnlineKernelClassifier().partial_fit(X, LABELS, classes=["a", "b"])
    with pytest.raises(ValueError, match="y holds 'c', which is none of the classes"):
        model.partial_fit(X, np.where(LABELS == "a", "a", "c"))
    with pytest.raises(ValueError, match="no loss called 'zz'"):
        RepresenterClassifier(loss=np.str_("zz")).fit(X, LABELS)
    with pytest.raises(ValueError, match="weights name 'q', and"):
        Spectrum(2, weights={np.str_("q"): 1.0}).gram(["ab", "ba"])
    with pytest.raises(ValueError, match=r"default_weight=0\.5 needs"):
        Intersection(default_weight=np.float64(0.5)).gram([{"a"}, {"b"}])


def test_reprs_of_parameters_from_a_grid():
    best = KernelSVC(Gaussian(np.float64(2.0)), C=np.array([0.1, 1.0])[0], class_weight={np.str_("a"): np.float64(2)})
    assert repr(best) == "KernelSVC(C=0.1, class_weight={'a': 2.0}, kernel=Gaussian(sigma=2.0))"
    assert repr(Gaussian(1.0, metric=list(np.array([1.0, 2.0])))) == "Gaussian(sigma=1.0, metric=[1.0, 2.0])"
    weighted = Columns({"x": Gaussian(1.0)}, how=np.str_("sum"), weights={np.str_("x"): np.float64(2)})
    assert repr(weighted) == "Columns({'x': Gaussian(sigma=1.0)}, how='sum', weights={'x': 2.0})"
