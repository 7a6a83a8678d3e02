"""The numbers that decide how files and sources are read, each with its reason."""

from __future__ import annotations

MAX_BATCH_ROWS = 65_536
"""The default number of rows of a batch, and the largest under a memory budget."""

TESTED_BYTES = 1 << 24
"""Bytes by which the encoding of a text file is found: a later byte that is not UTF-8 is an error once it is read."""

SAMPLED_BYTES = 1 << 18
"""Bytes of a text file by which separator, header and types of columns are found; more if its rows are longer."""

SAMPLED_ROWS = 500
"""Rows by which they are found."""

BLOCK = 1 << 24
"""Bytes of a text file that are parsed at a time: smaller ones cost a little for each of thousands of columns."""

LONGEST_ROW = 1 << 30
"""Bytes that a row of a text file may have."""

ROWS_PER_BYTE = 10_000
"""Most rows of a Parquet or Arrow file for each of its bytes: values that are all equal or missing take no space."""

ROWS_OF_ANY = 10**6
"""Rows that a file may have however small it is; more must take some space in it."""

FEWEST_TO_NOTE = 10
"""Rows below which values may all differ, or all be equal, by accident."""

CELLS_PER_BYTE = 4
"""Most cells, empty ones among them, for each byte of the unpacked workbook: two cells may lie far apart."""

CELLS_OF_ANY = 200_000
"""Cells that a sheet may have however small it is."""

ROWS_PER_VALUE = 1000
"""Most rows of a sparse matrix for each of its values, if they are stored by columns: empty rows take no space."""

MOST_PIXELS = 10**8
"""Pixels of an image that is read at all."""

LARGEST_AS_IT_IS = 64 * 64
"""Pixels of images that are not resized by default, if they are all of one size."""
