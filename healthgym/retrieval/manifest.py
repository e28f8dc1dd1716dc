"""The manifest of an index: what it holds, what built it, and checksums that show damage."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any

from healthgym.errors import PassageIndexError

MANIFEST = "manifest.json"
VERSION = 2
"""Raised when an older healthgym could not read what this one writes."""

REMEDY = "Build it again: healthgym kb build --corpus PATH... --out"


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """Written last: a folder without it is no index."""

    encoder: str
    fingerprint: str
    dimension: int
    passages: int
    index: str
    """'exact' or 'hnsw'."""

    data: str
    """Sub-folder that holds the files."""

    sources: dict[str, int]
    licences: dict[str, int]
    parameters: dict[str, Any]
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Size in bytes and checksum by path below `data`."""

    version: int = VERSION

    @property
    def bytes(self) -> int:
        """Size of all files together."""
        return sum(entry["bytes"] for entry in self.files.values())

    def to_json(self) -> str:
        """Return the manifest with a checksum of itself."""
        values = asdict(self)
        return json.dumps({**values, "checksum": checksum_of(values)}, indent=1, ensure_ascii=False)


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of an index.

    Raises:
        PassageIndexError: no index there, an unfinished one, a damaged manifest or one of a newer version.
    """
    path = folder / MANIFEST
    if not path.is_file():
        state = "holds a build that never finished" if any(folder.glob(".building-*")) else "holds no passage index"
        if folder.is_file():
            raise PassageIndexError(f"{folder} is a file, not the folder of an index: give what kb build wrote to")
        where = f"{folder} {state}" if folder.is_dir() else f"There is no folder {folder}"
        raise PassageIndexError(f"{where}. Build one: healthgym kb build --corpus PATH... --out {folder}")
    try:
        values = json.loads(path.read_bytes())
        checksum = values.pop("checksum")
        version = values["version"]
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise PassageIndexError(f"{path} is damaged ({error}). {REMEDY} {folder}") from error
    if version != VERSION:
        raise PassageIndexError(f"{path} has version {version}, this healthgym reads {VERSION}. {REMEDY} {folder}")
    if checksum != checksum_of(values) or set(values) != {each.name for each in fields(Manifest)}:
        raise PassageIndexError(f"{path} was changed after the build: its checksum is wrong. {REMEDY} {folder}")
    return Manifest(**values)


def check_files(folder: Path, manifest: Manifest, *, checksums: bool) -> None:
    """Compare every file with the manifest: sizes always, contents when `checksums`.

    Raises:
        PassageIndexError: a file is missing, has another size or other content; names it.
    """
    for name, entry in manifest.files.items():
        path = folder / manifest.data / name
        if not path.is_file():
            raise PassageIndexError(f"{path} is missing. {REMEDY} {folder}")
        if (size := path.stat().st_size) != entry["bytes"]:
            raise PassageIndexError(
                f"{path} has {size} bytes instead of {entry['bytes']}: cut short or replaced. {REMEDY} {folder}"
            )
        if checksums and file_checksum(path) != entry["checksum"]:
            raise PassageIndexError(f"{path} is damaged: its checksum is wrong. {REMEDY} {folder}")


def describe_files(data: Path) -> dict[str, dict[str, Any]]:
    """Return size and checksum of every file below a folder, by relative path."""
    files = sorted(path for path in data.rglob("*") if path.is_file())
    return {
        path.relative_to(data).as_posix(): {"bytes": path.stat().st_size, "checksum": file_checksum(path)}
        for path in files
    }


def file_checksum(path: Path) -> str:
    """Return the BLAKE2b hash of a file's content, 32 hex digits."""
    digest = blake2b(digest_size=16)
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def checksum_of(values: Mapping[str, Any]) -> str:
    """Return the BLAKE2b hash of values as JSON, 32 hex digits."""
    return blake2b(json.dumps(values, ensure_ascii=False).encode(), digest_size=16).hexdigest()
