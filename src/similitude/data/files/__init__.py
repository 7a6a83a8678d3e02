"""Files: read into the objects that similarities take, and columns such as predictions written.

:func:`read` reads a whole file and :func:`batches` some rows at a time. The format follows from the ending of the name:
CSV, TSV, Excel, JSON Lines, Parquet, Arrow, FASTA, npz, svmlight, GraphML, ``.ts`` series, or a folder of texts,
images, GraphML files or a TU graph data set; all but folders may be gzipped, and ``-`` is standard input. The kind of
objects in a file is inferred and described in ``Data.notes``.
Rows are counted from 0, lines of a file from 1.

>>> import os, tempfile
>>> from similitude import files
>>> path = os.path.join(tempfile.mkdtemp(), "flowers.csv")
>>> files.write(path, {"length": [5.1, 4.9], "width": [3.5, 3.0], "species": ["setosa", "virginica"]})
>>> flowers = files.read(path, label="species")
>>> flowers.objects
array([[5.1, 3.5],
       [4.9, 3. ]])
>>> flowers.labels.tolist(), flowers.notes
(['setosa', 'virginica'], ("columns 'length', 'width' as vectors",))
"""

from __future__ import annotations

from similitude.data.files.read_file import batches, read
from similitude.data.files.schema import KINDS, Data, Schema
from similitude.data.files.write_file import check_writable, formula_columns, write, writer
