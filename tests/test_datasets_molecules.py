"""The molecules: every graph matches its SMILES string, and every string has the formula of the molecule."""

import csv
import json
import re
from collections import Counter, defaultdict
from typing import NamedTuple

import networkx as nx
import numpy as np
import pytest

from similitude import datasets

TOKEN = re.compile(r"\[nH\]|Cl|Br|[CNOSIcnos]|[-=#]|[()]|\d")
VALENCES = {"C": (4,), "N": (3,), "O": (2,), "S": (2, 4, 6), "Cl": (1,), "Br": (1,)}
ORDER = {"-": 1, "=": 2, "#": 3}


class Graph(NamedTuple):
    edges: list[list[int]]
    labels: list[str]
    edge_labels: list[str]
    aromatic: list[bool]
    bare: list[int]
    """Hydrogens that the line itself writes, as in [nH]."""


def graph(smiles):
    """Read the little of SMILES that these molecules need: atoms, bonds, branches and rings."""
    found = Graph([], [], [], [], [])
    branches, rings, last, bond = [], {}, None, None
    tokens = TOKEN.findall(smiles)
    assert "".join(tokens) == smiles, smiles

    def connect(a, b):
        found.edges.append([a, b])
        found.edge_labels.append(bond or (":" if found.aromatic[a] and found.aromatic[b] else "-"))

    for token in tokens:
        if token == "(":
            branches.append(last)
        elif token == ")":
            last = branches.pop()
        elif token in ORDER:
            bond = token
        elif token.isdigit():
            if token in rings:
                connect(rings.pop(token), last)
            else:
                rings[token] = last
            bond = None
        else:
            found.labels.append("N" if token == "[nH]" else token.capitalize())
            found.aromatic.append(token == "[nH]" or token.islower())
            found.bare.append(int(token == "[nH]"))
            if last is not None:
                connect(last, len(found.labels) - 1)
            last, bond = len(found.labels) - 1, None
    assert not branches and not rings, smiles
    return found


def implicit_hydrogens(one, atom):
    """How many hydrogens complete the valence of an atom; fails where no valence does."""
    bonds = [bond for ends, bond in zip(one.edges, one.edge_labels, strict=True) if atom in ends]
    if one.aromatic[atom]:
        outside = sum(ORDER[bond] for bond in bonds if bond != ":")
        assert bonds.count(":") + outside in (2, 3), one
        # A carbon gives one electron to the ring, N without hydrogen too; O, S and [nH] give two.
        return 3 - bonds.count(":") - outside if one.labels[atom] == "C" else one.bare[atom]
    used = sum(ORDER[bond] for bond in bonds)
    return next(valence - used for valence in VALENCES[one.labels[atom]] if valence >= used)


def formula(one):
    """The sum formula in Hill's order: carbon, hydrogen, then the alphabet."""
    counts = Counter(one.labels)
    counts["H"] = sum(implicit_hydrogens(one, atom) for atom in range(len(one.labels)))
    order = ["C", "H", *sorted(set(counts) - {"C", "H"})]
    return "".join(
        element + (str(counts[element]) if counts[element] > 1 else "") for element in order if counts[element]
    )


def written():
    with datasets.path("molecules").with_name("molecules.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def as_networkx(edges, atoms, bonds):
    found = nx.Graph()
    found.add_nodes_from((node, {"label": atom}) for node, atom in enumerate(atoms))
    found.add_edges_from((a, b, {"label": bond}) for (a, b), bond in zip(edges, bonds, strict=True))
    return found


@pytest.mark.parametrize("row", written(), ids=lambda row: row["name"])
def test_every_molecule_has_its_formula(row):
    assert formula(graph(row["smiles"])) == row["formula"]


@pytest.mark.parametrize(
    ("smiles", "expected"),
    [("C", "CH4"), ("CC(C)=O", "C3H6O"), ("c1cc[nH]c1", "C4H5N"), ("OS(O)(=O)=O", "H2O4S"), ("ClCCl", "CH2Cl2")],
)
def test_the_reader_of_smiles_on_molecules_that_are_not_there(smiles, expected):
    assert formula(graph(smiles)) == expected


def test_the_graphs_are_those_of_the_smiles_lines():
    rows = written()
    lines = datasets.path("molecules").read_text(encoding="utf-8").splitlines()
    assert len(rows) == len(lines) == 150
    for row, line in zip(rows, lines, strict=True):
        one = graph(row["smiles"])
        expected = {"edges": one.edges, "labels": one.labels, "edge_labels": one.edge_labels, "label": row["label"]}
        assert json.loads(line) == expected, row["name"]


def test_molecules_are_connected_and_all_different():
    X, _ = datasets.molecules()
    names = [row["name"] for row in written()]
    assert len(set(names)) == len(names)
    alike = defaultdict(list)
    for edges, atoms, bonds in X:
        one = as_networkx(edges, atoms, bonds)
        assert nx.is_connected(one) and one.number_of_edges() == len(edges)
        alike[tuple(sorted(atoms))].append(one)
    same = nx.isomorphism.categorical_node_match("label", None)
    bond = nx.isomorphism.categorical_edge_match("label", None)
    for graphs in alike.values():
        for i, one in enumerate(graphs):
            assert not any(nx.is_isomorphic(one, other, same, bond) for other in graphs[:i])


def test_aromatic_atoms_lie_in_rings_of_five_or_six():
    for edges, _, bonds in datasets.molecules().objects:
        ring = nx.Graph([ends for ends, bond in zip(edges, bonds, strict=True) if bond == ":"])
        assert all(len(cycle) in (5, 6) for cycle in nx.minimum_cycle_basis(ring))
        assert all(degree >= 2 for _, degree in ring.degree)


def test_what_molecules_are_made_of_does_not_settle_whether_they_dissolve():
    X, y = datasets.molecules()
    assert {atom for _, atoms, _ in X for atom in atoms} == {"C", "N", "O", "S", "Cl", "Br"}
    assert {bond for *_, bonds in X for bond in bonds} == {"-", "=", "#", ":"}
    carbon = np.array([atoms.count("C") / len(atoms) for _, atoms, _ in X])
    assert carbon[y == "soluble"].max() > 0.8 and carbon[y == "insoluble"].min() < 0.4
