"""Contract 1: a similarity says how alike two objects are, and what is known about it.

``base`` holds the contract, ``claims`` what can be claimed and how a claim is proven, ``algebra`` the nodes that
combine similarities and carry claims along, ``parameters`` the manners of parameters.
"""

from similitude.similarity.base import Similarity
from similitude.similarity.claims import BOUNDED, PSD, SYMMETRIC, UNIT_DIAGONAL, Proof

__all__ = ["BOUNDED", "PSD", "SYMMETRIC", "UNIT_DIAGONAL", "Proof", "Similarity"]
