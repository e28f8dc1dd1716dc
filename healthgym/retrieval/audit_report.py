"""An audit as files: JSON for scripts, Markdown for readers, and the list of passages to exclude."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from healthgym.retrieval.audit import Audit, VectorOverlap, WordOverlap
from healthgym.retrieval.exclusions import write_exclusions

JSON_NAME, TEXT_NAME, EXCLUSIONS = "audit.json", "audit.md", "exclude.txt"
SHOWN = 50
"""Overlaps of each kind that the readable report shows; the JSON has all."""


def write_audit(audit: Audit, folder: Path) -> dict[str, Path]:
    """Write audit.json, audit.md and exclude.txt into a folder and return their paths by name."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / JSON_NAME).write_text(json.dumps(audit.as_dict(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    (folder / TEXT_NAME).write_text(audit_text(audit), encoding="utf-8")
    reason = f"passages that overlap with {', '.join(audit.files)}; see {JSON_NAME}"
    write_exclusions(folder / EXCLUSIONS, audit.excluded, reason)
    return {name: folder / name for name in (JSON_NAME, TEXT_NAME, EXCLUSIONS)}


def audit_text(audit: Audit) -> str:
    """Return the audit as Markdown."""
    lines = [
        "# Overlap of passages with evaluation sets",
        "",
        f"{audit.passages:,} passages against {audit.items:,} items ({audit.texts:,} texts) of {', '.join(audit.files)}.",
        "",
        f"- Runs of {audit.words} words, and whole questions of 8 to {audit.words - 1}: "
        f"{len(audit.word_overlaps):,} pairs, {_passages(audit.word_overlaps):,} passages.",
    ]
    if audit.similarity is None:
        lines.append("- Vectors were not compared.")
    else:
        near = ", ".join(f"{name} {value:.3f}" for name, value in audit.nearest.items())
        lines.append(
            f"- Vectors of {audit.encoder} with a cosine of {audit.similarity} or more: {len(audit.vector_overlaps):,} "
            f"pairs, {_passages(audit.vector_overlaps):,} passages. Nearest passage of each text: {near}."
        )
    lines += [f"- To exclude: {len(audit.excluded):,} passages.", ""]
    if audit.word_overlaps:
        lines += [
            "## Shared words",
            "",
            "| passage | item | part | words | share | run |",
            "|---|---|---|---:|---:|---|",
        ]
        lines += [
            f"| {_cell(each.passage)} | {_cell(each.item)} | {each.part} | {each.words} | {each.share:.2f} | {_cell(each.text)} |"
            for each in audit.word_overlaps[:SHOWN]
        ]
        lines += [*_by_file(audit.word_overlaps), ""]
    if audit.vector_overlaps:
        lines += ["## Close vectors", "", "| passage | item | part | cosine | begins |", "|---|---|---|---:|---|"]
        nearest = sorted(audit.vector_overlaps, key=lambda each: -each.similarity)[:SHOWN]
        lines += [
            f"| {_cell(each.passage)} | {_cell(each.item)} | {each.part} | {each.similarity:.3f} | {_cell(each.text[:80])} |"
            for each in nearest
        ]
        lines += [*_by_file(audit.vector_overlaps), ""]
    return "\n".join(lines)


def _by_file(overlaps: Sequence[WordOverlap | VectorOverlap]) -> list[str]:
    counts = Counter((each.file, each.source) for each in overlaps)
    return ["", *(f"{file} and {source}: {count:,} pairs." for (file, source), count in sorted(counts.items()))]


def _passages(overlaps: Sequence[WordOverlap | VectorOverlap]) -> int:
    return len({each.passage for each in overlaps})


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
