"""Bounds of the theory as functions of numbers, and exact confidence intervals."""
