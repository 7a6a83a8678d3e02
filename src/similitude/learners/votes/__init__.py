"""Votes: labeled examples vote by their similarities, which need be neither PSD nor symmetric."""

from similitude.learners.votes.similarity_vote import AlignmentVote, SimilarityVote
from similitude.learners.votes.weak_vote import WeakSimilarityVote

__all__ = ["AlignmentVote", "SimilarityVote", "WeakSimilarityVote"]
