"""Excel workbooks: a sheet whose first row is the header, read as the CSV file that it would be saved as."""

from __future__ import annotations

import datetime
import re
import warnings
import zipfile
from collections.abc import Sequence
from typing import Any, BinaryIO

from similitude.data.files.file_errors import column_names, did_you_mean, import_optional, listed
from similitude.support import FileError, brief

MOST_CELLS_PER_BYTE = 4
"""Cells of the rectangle that a sheet fills for each byte of the unpacked file: two cells may lie far apart."""

CELLS_OF_ANY = 10**6
"""Cells that a sheet may have however small it is."""

FORBIDDEN = re.compile(rb"<!(DOCTYPE|ENTITY)", re.IGNORECASE)
"""Declarations that XML in a workbook never has: entities can be made to grow without bounds."""

FORMULA = re.compile(rb"<(?:[a-zA-Z0-9]+:)?f[ >/]")
"""The beginning of a formula in the XML of a sheet."""

ERRORS = ("#N/A", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!")
"""What a formula gives that has no value; the first is written on purpose, for a missing one."""

PIECE = 1 << 20
"""Bytes that are looked at, at a time."""


def read_sheet(stream: BinaryIO, sheet: str | None) -> Any:
    """Return a sheet as an Arrow record batch of text; raise if it is not a table, and name the cell."""
    pa = import_optional("pyarrow", "an Excel workbook")
    openpyxl = import_optional("openpyxl", "an Excel workbook", "excel")
    has_formulas, size = _checked_parts(stream)
    found = _sheet(_workbook(openpyxl, stream, values=True), sheet)
    if found.max_row * found.max_column > MOST_CELLS_PER_BYTE * size + CELLS_OF_ANY:
        raise FileError(
            f"sheet {found.title!r} spans {found.max_row:,} rows and {found.max_column:,} columns, nearly all of them "
            f"empty: remove cells that lie far from the table"
        )
    _check_merged(found)
    rows = [list(row) for row in found.iter_rows(values_only=True)]
    if has_formulas:
        _check_formulas(found, _sheet(_workbook(openpyxl, stream, values=False), sheet), rows)
    filled = _without_empty(rows)
    if not filled:
        raise FileError(f"sheet {found.title!r} is empty")
    texts = [[_text(cell, found, number, place) for place, cell in enumerate(row)] for number, row in filled]
    names = column_names(texts[0])
    columns = list(zip(*texts[1:], strict=True)) or [()] * len(names)
    return pa.RecordBatch.from_arrays([pa.array(one, pa.string()) for one in columns], names=names)


def _checked_parts(stream: BinaryIO) -> tuple[bool, int]:
    """Return whether a workbook has formulas, and its unpacked size; raise if its XML declares entities."""
    has_formulas, size = False, 0
    stream.seek(0)
    try:
        with zipfile.ZipFile(stream) as parts:
            for part in parts.infolist():
                if not part.filename.lower().endswith((".xml", ".rels", ".vml")):
                    continue
                is_sheet = part.filename.startswith("xl/worksheets/")
                with parts.open(part) as content:
                    end = b""
                    while piece := content.read(PIECE):
                        if b"\0" in piece or FORBIDDEN.search(end + piece):
                            raise FileError(f"{part.filename} in it declares a document type, or is not UTF-8")
                        has_formulas |= is_sheet and FORMULA.search(end + piece) is not None
                        size, end = size + len(piece), piece[-16:]
    except FileError:
        raise
    except Exception as error:  # of zipfile: anything
        raise FileError(f"truncated, damaged or not an Excel workbook: {brief(str(error))}") from None
    return has_formulas, size


def _workbook(openpyxl: Any, stream: BinaryIO, values: bool) -> Any:
    """Return the workbook with the values of formulas that Excel stored, or with the formulas."""
    stream.seek(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on styles and parts that are not read
            return openpyxl.load_workbook(stream, data_only=values, keep_links=False)
    except (FileError, MemoryError):
        raise
    except Exception as error:  # of openpyxl, zipfile and the XML parser: anything
        raise FileError(f"truncated, damaged or not an Excel workbook: {brief(str(error))}") from None


def _sheet(book: Any, name: str | None) -> Any:
    """Return the sheet that was asked for, or the only one that holds something."""
    sheets = {one.title: one for one in book.worksheets}
    if name is not None:
        if name not in sheets:
            raise FileError(f"there is no sheet {name!r}{did_you_mean(name, sheets)}: it has {listed(sheets)}")
        return sheets[name]
    filled = [title for title, one in sheets.items() if one.max_row > 1 or one.max_column > 1 or one["A1"].value]
    if len(filled) > 1:
        raise FileError(f"which sheet? Choose one with sheet=: it has {listed(filled, most=20)}")
    if not filled:
        raise FileError("the workbook is empty")
    return sheets[filled[0]]


def _check_merged(sheet: Any) -> None:
    merged = sorted(str(one) for one in sheet.merged_cells.ranges)
    if merged:
        more = f" and {len(merged) - 1} more" if len(merged) > 1 else ""
        raise FileError(
            f"cells {merged[0]}{more} of sheet {sheet.title!r} are merged: a table has a value in each cell; undo "
            f"merging, and fill the cells"
        )


def _check_formulas(sheet: Any, formulas: Any, rows: Sequence[Sequence[Any]]) -> None:
    """Raise if a formula has no stored value: a program wrote it that does not compute."""
    for line, row in enumerate(formulas.iter_rows()):
        for place, cell in enumerate(row):
            if cell.data_type == "f" and rows[line][place] is None:
                raise FileError(
                    f"cell {cell.coordinate} of sheet {sheet.title!r} is a formula without a value: open the workbook "
                    f"in a spreadsheet program and save it, or save it as CSV"
                )


def _without_empty(rows: list[list[Any]]) -> list[tuple[int, list[Any]]]:
    """Return the rows that are not empty with their numbers, from 1, without columns at the end that are empty."""
    kept = [(number, row) for number, row in enumerate(rows, 1) if any(cell is not None for cell in row)]
    width = max((place + 1 for _, row in kept for place, cell in enumerate(row) if cell is not None), default=0)
    return [(number, row[:width]) for number, row in kept]


def _text(cell: Any, sheet: Any, row: int, place: int) -> str:
    """Return a cell as a CSV file would have it."""
    if cell is None:
        return ""
    if isinstance(cell, datetime.datetime):
        midnight = cell.time() == datetime.time()
        return cell.date().isoformat() if midnight else cell.isoformat(" ")
    if isinstance(cell, (datetime.date, datetime.time)):
        return cell.isoformat()
    text = str(cell)
    if isinstance(cell, str) and text.startswith("#") and text in ERRORS:
        if text == "#N/A":
            return ""
        raise FileError(f"row {row}, column {place + 1} of sheet {sheet.title!r} is the error {text}: correct it")
    return text
