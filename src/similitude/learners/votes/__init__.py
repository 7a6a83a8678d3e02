"""Votes: labeled examples vote by their similarities, which need be neither PSD nor symmetric."""

from similitude.learners.votes.estimators import AlignmentVote, SimilarityVote, WeakSimilarityVote

__all__ = ["AlignmentVote", "SimilarityVote", "WeakSimilarityVote"]
