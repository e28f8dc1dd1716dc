"""Text of PDF files by pypdf: pages without the headers and footers that repeat, words without line-end hyphens."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

from healthgym.errors import ContentError, MissingDependency

_HYPHEN = re.compile(r"(?<=[a-z])-\n(?=[a-z])")
_DIGITS = re.compile(r"\d+")
REPEATS = 3
"""A first or last line that stands on so many pages, and on more than half of all, is a header or footer."""


def read_pdf(path: Path) -> tuple[str | None, list[str]]:
    """Return the title in a PDF's properties, if any, and the text of each page.

    Raises:
        ContentError: broken, locked with a password, or without any text.
        MissingDependency: pypdf is not installed.
    """
    try:
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError
    except ImportError as error:
        raise MissingDependency.extra("Reading PDF files", "kb") from error
    try:
        reader: Any = PdfReader(path)
        locked = reader.is_encrypted and not reader.decrypt("")
        pages = [] if locked else [page.extract_text() or "" for page in reader.pages]
        title = None if locked or not reader.metadata else reader.metadata.title
    except (
        PyPdfError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        NotImplementedError,
        OSError,
    ) as error:
        raise ContentError(
            f"{path} cannot be read as a PDF ({type(error).__name__}: {error}); write it anew or leave it out"
        ) from error
    except RecursionError as error:
        raise ContentError(
            f"{path} cannot be read as a PDF (its objects form a loop); write it anew or leave it out"
        ) from error
    if locked:
        raise ContentError(f"{path} is locked with a password; unlock it first, for example: qpdf --decrypt")
    if not any(page.strip() for page in pages):
        raise ContentError(
            f"{path} has {len(pages)} pages without text, a scan perhaps; recognise its text first, for example: ocrmypdf"
        )
    return str(title).strip() or None if title else None, [_HYPHEN.sub("", page) for page in _without_margins(pages)]


def _without_margins(pages: list[str]) -> list[str]:
    """Return pages without first and last lines that repeat; page numbers do not make lines differ."""
    split = [[line.strip() for line in page.splitlines() if line.strip()] for page in pages]
    repeated = set()
    for end in (0, -1):
        counts = Counter(_DIGITS.sub("0", lines[end]) for lines in split if lines)
        repeated |= {(end, line) for line, count in counts.items() if count >= REPEATS and 2 * count > len(pages)}
    for lines in split:
        for end in (-1, 0):
            if lines and (end, _DIGITS.sub("0", lines[end])) in repeated:
                lines.pop(end)
    return ["\n".join(lines) for lines in split]
