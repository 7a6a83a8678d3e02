"""Landmarks: how they are chosen, and the features that they give."""
