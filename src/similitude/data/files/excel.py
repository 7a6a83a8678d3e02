"""Excel workbooks: a sheet whose first row is the header, read by openpyxl as the CSV file that it would be saved as.

Before that its parts are parsed for what could make them grow, and the sheet for what a table does not have.
"""

from __future__ import annotations

import datetime
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, BinaryIO
from xml.etree.ElementTree import iterparse
from xml.parsers import expat

import pyarrow as pa

from similitude.data.files.file_errors import column_names, did_you_mean, import_optional, listed
from similitude.data.limits import CELLS_OF_ANY, CELLS_PER_BYTE
from similitude.support import FileError, brief


def read_sheet(stream: BinaryIO, name: str | None) -> tuple[Any, list[str]]:
    """Return a sheet as an Arrow record batch of texts and numbers, and notes; raise if it is not a table."""
    excel = import_optional("openpyxl.reader.excel", "an Excel workbook", "excel")
    try:
        size = _unpacked_size(stream)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on styles and parts that are not read
            reader = excel.ExcelReader(stream, read_only=True, data_only=True, keep_links=False)
            reader.read()
            sheet, notes = _chosen(reader.wb, name, size)
            part = next(found.target for one, found in reader.parser.find_sheets() if one.name == sheet.title)
            notes += _check_table(reader.archive, part, sheet.title)
            rows = list(_rows(sheet, size))
    except (FileError, MemoryError):
        raise
    except Exception as error:  # of openpyxl, zipfile and the XML parser: anything
        raise FileError(
            f"truncated, damaged or not an Excel workbook (rename it if it is another file): {brief(str(error))}"
        ) from None
    if not rows:
        raise FileError(f"sheet {sheet.title!r} is empty")
    width = max(len(row) for _, row in rows)
    _check_spread(sheet, width * len(rows), size)
    numbers = [number for number, _ in rows]
    header, *cells = (row + [None] * (width - len(row)) for _, row in rows)
    names = column_names([_text(cell, sheet, numbers[0], i) for i, cell in enumerate(header)])
    columns = list(zip(*cells, strict=True)) or [()] * len(names)
    return pa.RecordBatch.from_arrays(
        [_column(column, sheet, numbers[1:], i) for i, column in enumerate(columns)], names=names
    ), notes


def _column(cells: Sequence[Any], sheet: Any, numbers: Sequence[int], place: int) -> Any:
    """Return the cells of a column as an Arrow array of numbers if all are, or of texts."""
    if {type(cell) for cell in cells} - {type(None)} in ({int}, {float}, {int, float}):
        with suppress(pa.ArrowInvalid, OverflowError):
            is_whole = all(cell is None or isinstance(cell, int) for cell in cells)
            return pa.array(cells, pa.int64() if is_whole else pa.float64())
    return pa.array(
        [_text(cell, sheet, number, place) for cell, number in zip(cells, numbers, strict=True)], pa.string()
    )


def _unpacked_size(stream: BinaryIO) -> int:
    """Return the size of the XML of a workbook; raise if a part declares entities, which can grow without bounds."""
    size = 0
    stream.seek(0)
    with zipfile.ZipFile(stream) as parts:
        for part in parts.infolist():
            if not part.filename.lower().endswith((".xml", ".rels", ".vml")):
                continue
            size += part.file_size
            parser = expat.ParserCreate()
            parser.StartDoctypeDeclHandler = partial(_refuse, part.filename)
            with parts.open(part) as content:
                parser.ParseFile(content)
    stream.seek(0)
    return size


def _refuse(part: str, *declared: Any) -> None:
    raise FileError(f"{part} in it declares a document type, which a workbook never does")


def _chosen(book: Any, name: str | None, size: int) -> tuple[Any, list[str]]:
    """Return the sheet that was asked for, or the only one that holds something and is not hidden; and notes."""
    sheets = {one.title: one for one in book.worksheets}
    if name is not None:
        if name not in sheets:
            raise FileError(f"there is no sheet {name!r}{did_you_mean(name, sheets)}: it has {listed(sheets)}")
        return sheets[name], []
    filled = [title for title, one in sheets.items() if next(_rows(one, size), None) is not None]
    visible = [title for title in filled if sheets[title].sheet_state == "visible"]
    notes = []
    if len(visible) == 1 < len(filled):
        notes = [f"ignored: hidden sheets {listed(title for title in filled if title not in visible)} (sheet= chooses)"]
        filled = visible
    if len(filled) > 1:
        raise FileError(f"which sheet? Choose one with sheet=: it has {listed(filled, most=20)}")
    if not filled:
        raise FileError("the workbook is empty")
    return sheets[filled[0]], notes


def _rows(sheet: Any, size: int) -> Iterator[tuple[int, list[Any]]]:
    """Yield the rows that are not empty up to their last values, with their numbers from 1."""
    sheet.reset_dimensions()  # which a file may state as it likes
    seen = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        seen += 1 + len(row)
        _check_spread(sheet, seen, size)
        width = max((place + 1 for place, cell in enumerate(row) if cell is not None), default=0)
        if width:
            yield number, list(row[:width])


def _check_spread(sheet: Any, cells: int, size: int) -> None:
    if cells > CELLS_PER_BYTE * size + CELLS_OF_ANY:
        raise FileError(
            f"the cells of sheet {sheet.title!r} are spread over {cells:,} places or more, nearly all of them empty: "
            f"remove those that lie far from the table"
        )


def _check_table(archive: zipfile.ZipFile, part: str, title: str) -> list[str]:
    """Raise if cells of a sheet are merged, or a formula was never computed; return a note on what is hidden."""
    hidden = set()
    with archive.open(part) as content:
        for _, element in iterparse(content):
            tag = element.tag.rpartition("}")[2]
            if tag == "mergeCell":
                raise FileError(
                    f"cells {element.get('ref', '')} of sheet {title!r} are merged: a table has a value in each cell; "
                    f"undo merging, and fill the cells"
                )
            if tag in ("row", "col") and element.get("hidden") in ("1", "true"):
                hidden.add(tag)
            if tag == "c" and element.get("t") != "str":  # the value of a text may be empty
                inner = {one.tag.rpartition("}")[2]: one.text for one in element}
                if "f" in inner and not inner.get("v"):
                    raise FileError(
                        f"cell {element.get('r', '')} of sheet {title!r} is a formula without a value: open the "
                        f"workbook in a spreadsheet program and save it, or save it as CSV"
                    )
            if tag == "row":
                element.clear()
    found = [what for what, tag in (("rows", "row"), ("columns", "col")) if tag in hidden]
    return [f"hidden or filtered {' and '.join(found)} of sheet {title!r} are used too"] if found else []


def _text(cell: Any, sheet: Any, row: int, place: int) -> str:
    if cell is None:
        return ""
    if isinstance(cell, datetime.datetime):
        midnight = cell.time() == datetime.time()
        return cell.date().isoformat() if midnight else cell.isoformat(" ")
    if isinstance(cell, (datetime.date, datetime.time)):
        return cell.isoformat()
    text = str(cell)
    errors = (
        "#N/A", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#SPILL!", "#CALC!", "#FIELD!", "#BLOCKED!",
        "#UNKNOWN!", "#CONNECT!", "#BUSY!", "#GETTING_DATA",
    )  # fmt: skip
    if isinstance(cell, str) and text.startswith("#") and text in errors:
        if text == "#N/A":
            return ""
        letter = import_optional("openpyxl.utils", "an Excel workbook", "excel").get_column_letter(place + 1)
        raise FileError(f"cell {letter}{row} of sheet {sheet.title!r} is the error {text}: correct it")
    return text
