"""The numbers that decide how files and sources are read, each with its reason."""

from __future__ import annotations

MAX_BATCH_ROWS = 65_536
"""The default number of rows of a batch, and the largest under a memory budget."""

BUDGET_PARTS = 16
"""A batch takes at most the memory budget over this: one is in use, one is ready, one is being read."""

OBJECT_BYTES = 1024
"""The least that an object that is not a row of an array is assumed to take in a batch."""

PAGE_BYTES = 1 << 20
"""Bytes of a page of a Parquet file as pyarrow, Spark and polars write them; the file does not say."""

BUFFERED_BYTES = 1 << 16
"""Bytes of a column that are read at a time of a Parquet file that is compressed as a whole or not on this disk."""
