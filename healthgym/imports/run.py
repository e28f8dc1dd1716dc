"""`import_cases`: reads foreign files, converts them and writes a domain folder."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import healthgym
from healthgym.errors import ConfigError, ContentError, nearest
from healthgym.imports import agentclinic, ddxplus, fhir
from healthgym.imports.folder import Converted, check_out, write_folder
from healthgym.imports.report import ImportLog, ImportReport
from healthgym.imports.sources import Source, find_files, read_source


@dataclass(frozen=True)
class Format:
    """One foreign format: which of the files at a place are its own, and what they become."""

    choose: Callable[[list[Path]], list[Path]]
    """Of the files found, those that this format reads; by name alone."""
    recognises: Callable[[list[Source]], bool]
    convert: Callable[[list[Source], int | None, ImportLog], Converted]
    expected: str
    """What such files look like, for error messages."""


FORMATS: dict[str, Format] = {
    "agentclinic": Format(agentclinic.choose, agentclinic.recognises, agentclinic.convert, agentclinic.EXPECTED),
    "fhir": Format(fhir.choose, fhir.recognises, fhir.convert, fhir.EXPECTED),
    "ddxplus": Format(ddxplus.choose, ddxplus.recognises, ddxplus.convert, ddxplus.EXPECTED),
}


def import_cases(
    path: Path,
    out: Path,
    *,
    format: str | None = None,
    limit: int | None = None,
    licence: str = "not stated",
    origin: str = "not stated",
) -> ImportReport:
    """Turn foreign files into the domain folder `out`; the same files give the same bytes.

    Args:
        path: A file, or a folder of files; .gz is unpacked.
        out: New folder, whose last part names the domain.
        format: agentclinic, fhir or ddxplus; recognised by content when None.
        limit: Most cases (agentclinic), patients (fhir) or tasks of a family (ddxplus).
        licence: Licence of the files, kept beside them.
        origin: Where the files are from, kept beside them.

    Raises:
        ConfigError: There is no such format, or `limit` is below 1.
        ContentError: The files are not of this format, nothing in them can be played, or `out` is taken.
    """
    if format is not None and format not in FORMATS:
        raise ConfigError(f"No format {format!r}.{nearest(format, FORMATS)}")
    if limit is not None and limit < 1:
        raise ConfigError(f"limit must be at least 1, got {limit}")
    check_out(out)
    found = find_files(path)
    name, sources = _recognise(path, found) if format is None else (format, _read(path, found, format))
    log = ImportLog()
    converted = FORMATS[name].convert(sources, limit, log)
    if not any(converted.families.values()):
        why = "; ".join(f"{each.place}: {each.reason}" for each in log.refused[:3])
        raise ContentError(f"{path}: nothing in it can be played; nothing was written. {why or FORMATS[name].expected}")
    if licence == "not stated":
        log.notes.append("no licence was given: keep the source's beside the folder, or import again with --licence")
    stamps = tuple(source.stamp() for source in sources)
    kept = {"format": name, "licence": licence, "origin": origin, "sources": list(stamps), "notes": log.notes}
    write_folder(out, converted, {**kept, "made_by": f"healthgym {healthgym.__version__}"})
    return ImportReport(out, name, converted.families, log, stamps)


def _read(path: Path, found: list[Path], name: str) -> list[Source]:
    """Return the sources of a named format, or say what was found in their place."""
    sources = [read_source(each) for each in FORMATS[name].choose(found)]
    if sources and FORMATS[name].recognises(sources):
        return sources
    others = [other for other in FORMATS if other != name and _fits(other, found)]
    hint = f" It looks like --format {others[0]}." if others else ""
    raise ContentError(f"{path} is not in the format {name!r}: expected {FORMATS[name].expected}.{hint}")


def _recognise(path: Path, found: list[Path]) -> tuple[str, list[Source]]:
    fitting = [name for name in FORMATS if _fits(name, found)]
    if len(fitting) == 1:
        return fitting[0], [read_source(each) for each in FORMATS[fitting[0]].choose(found)]
    if fitting:
        raise ContentError(f"{path} holds files of {' and '.join(fitting)}; say which with --format")
    wanted = "; ".join(f"{name}: {each.expected}" for name, each in FORMATS.items())
    raise ContentError(f"{path}: no known format. Expected one of: {wanted}")


def _fits(name: str, found: list[Path]) -> bool:
    chosen = FORMATS[name].choose(found)
    return bool(chosen) and FORMATS[name].recognises([read_source(each) for each in chosen])
