"""Groups of rows around landmarks: which landmarks they are around, and to which one each row is nearest."""

from dataclasses import replace

import numpy as np
import pytest

from similitude.fitting.influence import Groups
from similitude.fitting.passes import FeatureUnion
from similitude.kernels import Polynomial
from similitude.landmarks import LandmarkFeatures, Landmarks, factor_of_landmarks

rng = np.random.default_rng(2)
X = rng.standard_normal((60, 3))
KERNEL = Polynomial(3)  # objects of different lengths


def landmarks(labels=None, n=24):
    return Landmarks(X[:n], np.arange(n), labels=labels).encoded(KERNEL)


def test_groups_are_around_the_first_landmarks_of_each_class():
    labels = rng.integers(0, 3, 24)
    groups = Groups.around(landmarks(labels), 3, classes=True)
    for one in range(3):  # twelve numbers for each landmark, shared by three classes
        np.testing.assert_array_equal(groups.landmarks[groups.classes == one], np.flatnonzero(labels == one)[:4])
    among = np.arange(5, 24)
    fewer = Groups.around(landmarks(labels), 3, classes=True, numbers=2, among=among)
    for one in range(3):
        np.testing.assert_array_equal(fewer.landmarks[fewer.classes == one], among[labels[among] == one][:2])


def test_a_class_without_landmarks_is_grouped_around_those_of_others():
    groups = Groups.around(landmarks(np.zeros(24, dtype=int)), 1, classes=True)
    for one in range(2):
        np.testing.assert_array_equal(groups.landmarks[groups.classes == one], np.arange(6))
    unknown = Groups.around(landmarks(), 1, classes=True)
    np.testing.assert_array_equal(unknown.landmarks, groups.landmarks)


@pytest.mark.parametrize(("numbers", "expected"), [(1, 12), (2, 6), (4, 4), (12, 4), (13, 2), (100, 2)])
def test_several_targets_leave_room_for_fewer_groups(numbers, expected):
    groups = Groups.around(landmarks(), numbers, classes=False, numbers=numbers)
    assert groups.landmarks.tolist() == list(range(expected)) and groups.classes is None and len(groups) == expected


@pytest.mark.parametrize(("n_landmarks", "expected"), [(24, 12), (40, 20), (60, 28)])
def test_many_landmarks_have_more_groups(n_landmarks, expected):
    assert len(Groups.around(landmarks(n=n_landmarks), 1, classes=False)) == expected
    many = Groups.around(landmarks(n=n_landmarks), 50, classes=True)
    assert many.classes.tolist() == list(range(50))  # one for each class at least


@pytest.mark.parametrize("projected", [False, True])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_a_row_belongs_to_the_nearest_landmark_of_its_class(n_classes, projected, monkeypatch):
    monkeypatch.setattr("similitude.landmarks.projection.PANEL", 4)
    own = rng.integers(0, max(n_classes, 1), 60)
    some, scale = landmarks(own[:24] if n_classes else None), 2.0 if projected else 1.0
    factor = factor_of_landmarks(KERNEL.gram(X[:24]), False) if projected else None
    kept = some if factor is None else some.only(factor.pivots)
    features = LandmarkFeatures(KERNEL, kept, factor=None if factor is None else factor.U, scale=scale)
    groups = Groups.around(kept, 1 if n_classes == 2 else max(n_classes, 1), classes=n_classes > 0)
    union = FeatureUnion.of([features], 8, groups)
    Y = np.where(own[:, None] == np.arange(n_classes), 1.0, -1.0) if n_classes == 3 else 2.0 * own[:, None] - 1
    found = union.members(union.features((KERNEL.encode(X),)), Y)
    around = kept.objects[groups.landmarks]
    near = -KERNEL.distance(X, around) if projected else KERNEL.cross(X, around)
    if n_classes:
        near[groups.classes != own[:, None]] = -np.inf
    np.testing.assert_array_equal(found.group, near.argmax(axis=1))
    if projected:  # though only the first features are complete
        for leading in (0, 8):
            partial = replace(union, parts=(replace(union.parts[0], leading=leading),))
            again = partial.members(partial.features((KERNEL.encode(X),)), Y)
            np.testing.assert_array_equal(again.group, found.group)
    assert found.n_groups == len(groups) and (found.numbers is None) == (n_classes > 0)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_tensors_have_the_groups_of_arrays(n_classes):
    torch = pytest.importorskip("torch")
    own = rng.integers(0, max(n_classes, 1), 60)
    groups = Groups(np.arange(9), np.arange(9) % n_classes if n_classes else None)
    Y = np.where(own[:, None] == np.arange(n_classes), 1.0, -1.0) if n_classes == 3 else 2.0 * own[:, None] - 1
    basis, offset, F = rng.standard_normal((9, 3)), rng.standard_normal(9), rng.standard_normal((60, 5))
    there = groups.members(basis, offset, torch.from_numpy(F), torch.from_numpy(Y))
    np.testing.assert_array_equal(there.group.numpy(), groups.members(basis, offset, F, Y).group)
    assert there.n_groups == 9
