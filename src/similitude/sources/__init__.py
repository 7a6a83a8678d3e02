"""More rows than memory: whatever a user brings becomes batches of objects, labels and weights that can be read again.

:class:`Source` takes memory maps, Parquet files and folders, Arrow datasets, folders of ``.npy`` shards, sparse
matrices, data frames, and any function that returns a new iterator of batches.
"""

from __future__ import annotations

from similitude.sources.ahead import read_ahead
from similitude.sources.batch import Batch, SourceError, about, described
from similitude.sources.ends import Ends, in_order, keys
from similitude.sources.partitions import PEEK, batches_in, in_partition, objects_in, opened
from similitude.sources.sizes import batch_rows, check_sample
from similitude.sources.source import ROWS, Source, looks_like_source

__all__ = [
    "PEEK",
    "ROWS",
    "Batch",
    "Ends",
    "Source",
    "SourceError",
    "about",
    "batch_rows",
    "batches_in",
    "check_sample",
    "described",
    "in_order",
    "in_partition",
    "keys",
    "looks_like_source",
    "objects_in",
    "opened",
    "read_ahead",
]
