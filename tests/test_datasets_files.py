"""The file of each data set, read as the command line reads it, gives what the loader returns."""

import numpy as np
import pytest

from similitude import datasets, files

LABELS = {"adult": "income", "iris": "species", "messages": "label", "molecules": "label", "promoters": "label"}


@pytest.mark.parametrize("name", [*LABELS, "vowels"])
def test_a_file_holds_what_the_loader_returns(name):
    data = getattr(datasets, name)()
    found = files.read(datasets.path(name), label=LABELS.get(name))
    assert found.schema.kind == data.kind
    assert found.labels.tolist() == data.labels.tolist()
    if name == "adult":
        assert found.objects.columns.tolist() == data.objects.columns.tolist()
        for column in data.objects:
            ours, theirs = data.objects[column], found.objects[column]
            assert (ours.isna() == theirs.isna()).all() and (ours.dropna() == theirs.dropna()).all()
    elif name == "iris":
        np.testing.assert_array_equal(found.objects, data.objects)
    elif name == "vowels":
        for ours, theirs in zip(data.objects, found.objects, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    elif name == "molecules":
        for (edges, atoms, bonds), (found_edges, found_atoms, found_bonds) in zip(
            data.objects, found.objects, strict=True
        ):
            np.testing.assert_array_equal(np.reshape(edges, (-1, 2)), np.reshape(found_edges, (-1, 2)))
            assert (list(found_atoms), list(found_bonds)) == (atoms, bonds)
    else:
        assert found.objects == data.objects


def test_keywords_and_authors_are_read_as_sets():
    papers, topics = datasets.papers()
    for column in ("keywords", "authors"):
        found = files.read(datasets.path("papers"), label="topic", object=column)
        assert found.schema.kind == "sets"
        assert found.objects == [getattr(paper, column) for paper in papers]
        assert found.labels.tolist() == topics.tolist()
