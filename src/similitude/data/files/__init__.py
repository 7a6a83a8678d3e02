"""Files as people have them, read into the objects that similarities take; and predictions written to files.

:func:`read` takes a whole file and :func:`batches` a few thousand rows at a time. The ending of the name decides the
format: CSV, TSV, JSON Lines, Parquet, Arrow, FASTA, npz, ``.ts`` series, or a folder of a TU graph data set; all but
folders may be gzipped, and ``-`` is standard input. What kind of objects a file holds is inferred and said in
``Data.said``. Rows are counted from 0, lines of a file from 1.

>>> import os, tempfile
>>> from similitude import files
>>> path = os.path.join(tempfile.mkdtemp(), "flowers.csv")
>>> files.write(path, {"length": [5.1, 4.9], "width": [3.5, 3.0], "species": ["setosa", "virginica"]})
>>> flowers = files.read(path, label="species")
>>> flowers.objects
array([[5.1, 3.5],
       [4.9, 3. ]])
>>> flowers.labels.tolist(), flowers.said
(['setosa', 'virginica'], ("columns 'length', 'width' as vectors",))
"""

from __future__ import annotations

from similitude.data.files.opening import needs_batches
from similitude.data.files.reading import batches, read
from similitude.data.files.schema import KINDS, Data, Schema
from similitude.data.files.writing import check_writable, write, writer

__all__ = [
    "KINDS",
    "Data",
    "Schema",
    "batches",
    "check_writable",
    "needs_batches",
    "read",
    "write",
    "writer",
]
