"""Votes: labeled examples decide by how similar they are.

Nothing is solved and nothing is asked of the similarity: PSD or not, symmetric or not.
"""

from similitude.learners.votes.means import AlignmentVote, SimilarityVote
from similitude.learners.votes.weak import WeakSimilarityVote

__all__ = ["AlignmentVote", "SimilarityVote", "WeakSimilarityVote"]
