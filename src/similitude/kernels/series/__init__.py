"""Similarities of time series."""

from similitude.kernels.series.alignment import DTW, GlobalAlignment

__all__ = ["DTW", "GlobalAlignment"]
