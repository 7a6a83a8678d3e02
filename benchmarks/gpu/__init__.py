"""Fused products, fits and predictions measured on a GPU: `python -m benchmarks.gpu`."""
