"""Sources: rows that need not fit into memory, read in batches of objects, labels and weights as often as needed.

:class:`Source` takes memory maps, Parquet files and folders, Arrow datasets, folders of ``.npy`` shards, sparse
matrices, data frames, and any function that returns a new iterator of batches.
"""

from __future__ import annotations

from similitude.data.sources.batch import Batch, errors_in_batch
from similitude.data.sources.batch_size import MAX_BATCH_ROWS, batch_rows, check_sample_fits
from similitude.data.sources.first_pass import FirstPass
from similitude.data.sources.partitions import errors_in_partition, partition_objects, partition_source
from similitude.data.sources.prefetch import read_ahead
from similitude.data.sources.record_batches import arrow_batches, parquet_batches
from similitude.data.sources.source import Source, looks_like_source
from similitude.data.sources.stable_sample import StableSample
