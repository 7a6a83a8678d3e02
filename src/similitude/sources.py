"""Rows that need not fit into memory: a source is read in batches, as often as needed."""

from similitude.data.sources import Batch, Source

__all__ = ["Batch", "Source"]
