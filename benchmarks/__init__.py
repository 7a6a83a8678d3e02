"""Benchmarks: tasks x datasets x contenders, measured side by side (``make bench``)."""
