"""Lists of passages that a search must not return, kept in files: one id a line."""

from collections.abc import Iterable
from pathlib import Path

from healthgym.errors import ContentError


def read_exclusions(path: Path | str) -> frozenset[str]:
    """Return the ids in a file. Blank lines, and lines that begin with '# ', are left out.

    Raises:
        ContentError: no such file, no UTF-8 text, or no id in it.
    """
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ContentError(f"{path} is not UTF-8 text ({error}); expected one passage id a line") from error
    except OSError as error:
        raise ContentError(
            f"cannot read the exclusion list {path} ({error.strerror}); healthgym kb audit writes one"
        ) from error
    ids = frozenset(line.strip() for line in lines if line.strip() and not line.startswith("# "))
    if not ids and not any(line.startswith("# ") for line in lines):
        raise ContentError(f"{path} holds no passage id; expected one a line, as healthgym kb audit writes them")
    return ids


def write_exclusions(path: Path | str, ids: Iterable[str], reason: str) -> int:
    """Write ids in order, below a comment that says why, and return how many."""
    ordered = sorted(set(ids))
    Path(path).write_text("".join(f"{line}\n" for line in (f"# {reason}", *ordered)), encoding="utf-8")
    return len(ordered)
