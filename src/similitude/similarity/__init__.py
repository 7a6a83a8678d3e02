"""Contract 1: similarities, what is claimed of them, their algebra, and adapters for whatever a user brings."""

from similitude.compute import Hints, Profile, profile_of
from similitude.similarity.adapters import FromBlocks, FromPairs, Precomputed, as_similarity
from similitude.similarity.algebra import (
    Absolute,
    Exponential,
    Maximum,
    Minimum,
    Power,
    Product,
    Scaled,
    Shifted,
    Sum,
    hints_of_parts,
)
from similitude.similarity.claims import BOUNDED, PSD, SYMMETRIC, UNIT_DIAGONAL, Proof, check_claims
from similitude.similarity.contract import Similarity, image, remembered_images
from similitude.similarity.parameters import Parametric, check_number, check_positive, check_whole
from similitude.similarity.wrappers import Normalized, Pullback, Symmetrized

__all__ = [
    "BOUNDED",
    "PSD",
    "SYMMETRIC",
    "UNIT_DIAGONAL",
    "Absolute",
    "Exponential",
    "FromBlocks",
    "FromPairs",
    "Hints",
    "Maximum",
    "Minimum",
    "Normalized",
    "Parametric",
    "Power",
    "Precomputed",
    "Product",
    "Profile",
    "Proof",
    "Pullback",
    "Scaled",
    "Shifted",
    "Similarity",
    "Sum",
    "Symmetrized",
    "as_similarity",
    "check_claims",
    "check_number",
    "check_positive",
    "check_whole",
    "hints_of_parts",
    "image",
    "profile_of",
    "remembered_images",
]
