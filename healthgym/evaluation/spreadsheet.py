"""The first sheet of an Excel workbook (.xlsx) as records; the first row names the columns."""

import re
from pathlib import Path
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

from healthgym.errors import ConfigError

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def read_sheet(path: Path) -> list[dict[str, str]]:
    """Return the rows below the first as {column: text}; empty cells are empty texts, wholly empty rows are left out.

    Cells are read as they are stored: text, numbers as written, results of formulas. Dates stay serial numbers.

    Source: ECMA-376, part 1, SpreadsheetML (sheet data, shared strings, inline strings).

    Raises:
        ConfigError: The file is no workbook.
    """
    try:
        with ZipFile(path) as book:
            names = book.namelist()
            sheets = sorted((name for name in names if re.fullmatch(r"xl/worksheets/sheet\d+\.xml", name)), key=_number)
            if not sheets:
                raise ConfigError(f"{path} holds no sheet; save it as an Excel workbook (.xlsx) or as CSV")
            shared = _shared(book.read("xl/sharedStrings.xml")) if "xl/sharedStrings.xml" in names else []
            rows = _rows(book.read(sheets[0]), shared)
    except (BadZipFile, ElementTree.ParseError, KeyError, IndexError, ValueError, OSError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{path} cannot be read as an Excel workbook ({error}); save it again, or as CSV") from error
    if not rows:
        return []
    head = {column: text.strip() for column, text in rows[0].items() if text.strip()}
    return [{name: row.get(column, "") for column, name in head.items()} for row in rows[1:] if any(row.values())]


def _number(name: str) -> int:
    return int("".join(filter(str.isdigit, name)))


def _text(element: ElementTree.Element) -> str:
    """The text of a string item: its runs, without the phonetic ones."""
    runs = [*element.findall(f"{_MAIN}t"), *element.findall(f"{_MAIN}r/{_MAIN}t")]
    return "".join(run.text or "" for run in runs)


def _shared(data: bytes) -> list[str]:
    return [_text(item) for item in ElementTree.fromstring(data).findall(f"{_MAIN}si")]


def _rows(data: bytes, shared: list[str]) -> list[dict[str, str]]:
    """Return each row of the sheet as {column letters: text}."""
    rows = []
    for row in ElementTree.fromstring(data).iter(f"{_MAIN}row"):
        cells = {}
        for place, cell in enumerate(row.findall(f"{_MAIN}c")):
            column = re.sub(r"\d", "", cell.get("r", "")) or f"#{place}"
            cells[column] = _cell(cell, shared)
        rows.append(cells)
    return rows


def _cell(cell: ElementTree.Element, shared: list[str]) -> str:
    inline = cell.find(f"{_MAIN}is")
    if inline is not None:
        return _text(inline)
    value = cell.findtext(f"{_MAIN}v") or ""
    return shared[int(value)] if cell.get("t") == "s" and value else value
