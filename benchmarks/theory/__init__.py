"""The theorems behind the library, tried on problems that are hard for them (``python -m benchmarks.theory``)."""
