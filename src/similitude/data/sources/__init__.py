"""More rows than memory: whatever a user brings becomes batches of objects, labels and weights that can be read again.

:class:`Source` takes memory maps, Parquet files and folders, Arrow datasets, folders of ``.npy`` shards, sparse
matrices, data frames, and any function that returns a new iterator of batches.
"""

from __future__ import annotations

from similitude.data.sources.batch import Batch, about, described
from similitude.data.sources.batch_size import batch_rows, check_sample
from similitude.data.sources.partitions import PEEK, batches_in, in_partition, objects_in, opened
from similitude.data.sources.prefetch import read_ahead
from similitude.data.sources.source import ROWS, Source, looks_like_source
from similitude.data.sources.stable_sample import Ends, in_order, keys

__all__ = [
    "PEEK",
    "ROWS",
    "Batch",
    "Ends",
    "Source",
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
