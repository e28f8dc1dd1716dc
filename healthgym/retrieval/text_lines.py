"""Text files line by line: however large one is, a megabyte of it is in memory."""

import codecs
from collections.abc import Iterator
from pathlib import Path

from healthgym.errors import ContentError

AT_A_TIME = 1 << 20
"""Bytes or signs read at a time. A longer line is parted, between words where it has any."""


def check_text(path: Path) -> None:
    """Raise ContentError when a file is not UTF-8; names the line."""
    decoder, lines = codecs.getincrementaldecoder("utf-8")(), 0
    with path.open("rb") as stream:
        block = b"-"
        while block:
            block = stream.read(AT_A_TIME)
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                line = lines + error.object[: error.start].count(b"\n") + 1
                raise ContentError(
                    f"{path}:{line}: not UTF-8 (byte {error.object[error.start]:#04x}); convert the file, for example: "
                    "iconv -f windows-1252 -t utf-8"
                ) from error
            lines += block.count(b"\n")


def text_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, without their ends."""
    rest = ""
    with path.open(encoding="utf-8-sig") as stream:
        while block := stream.read(AT_A_TIME):
            *lines, last = (rest + block).splitlines(keepends=True)
            yield from (line.splitlines()[0] for line in lines)
            if last.splitlines()[0] != last:
                yield last.splitlines()[0]
                last = ""
            elif len(last) > AT_A_TIME:
                end = last.rfind(" ") + 1 or len(last)
                yield last[:end]
                last = last[end:]
            rest = last
    if rest:
        yield rest
