"""Sources: rows that need not fit into memory, read in batches of objects, labels and weights as often as needed.

:class:`Source` takes memory maps, Parquet files and folders, Arrow datasets, folders of ``.npy`` shards, sparse
matrices, data frames, and any function that returns a new iterator of batches.
"""

from __future__ import annotations

from similitude.data.limits import MAX_BATCH_ROWS
from similitude.data.sources.arrow_files import arrow_batches, mapped, parquet_batches, text_problem
from similitude.data.sources.batch import (
    Batch,
    FirstPass,
    StableSample,
    batch_rows,
    check_sample_fits,
    errors_in_batch,
    read_ahead,
)
from similitude.data.sources.source import (
    Source,
    errors_in_partition,
    looks_like_source,
    partition_objects,
    partition_source,
)
