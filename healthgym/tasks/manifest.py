"""The frozen suite on paper: how many cases each family has, and a digest that any change of a case changes."""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from healthgym.errors import ContentError
from healthgym.files import write_whole
from healthgym.tasks.suite import Suite
from healthgym.tasks.task import DIFFICULTIES, SPLITS

if TYPE_CHECKING:
    from healthgym.registry import Domain


def manifest_path(domain: "Domain", version: str = "v1") -> Path:
    """Return where a domain keeps its manifest: in its own folder."""
    return domain.folder / f"suite_{version}.json"


def make_manifest(suite: Suite, domain: str) -> dict[str, Any]:
    """Generate every case of a domain and return what pins it.

    Returns:
        {suite, domain, tasks, families: {name: {version, counts (by split), difficulty (tasks by level), digest}}}.
    """
    home = suite.domains[domain]
    families = {
        family.name: {
            "version": family.version,
            "counts": {split: family.counts[split] for split in SPLITS if family.counts.get(split)},
            "difficulty": _difficulty(suite, domain, family.name),
            "digest": suite.digest(domain, (family.name,)),
        }
        for family in home.families.values()
    }
    return {"suite": suite.version, "domain": domain, "tasks": len(suite.ids(domain)), "families": families}


def _difficulty(suite: Suite, domain: str, family: str) -> dict[str, int]:
    drawn = Counter(case.task.difficulty for case in suite.cases(domain, families=(family,)))
    return {level: drawn[level] for level in DIFFICULTIES if drawn[level]}


def write_manifest(suite: Suite, domain: str) -> Path:
    """Freeze a domain: write its manifest, whole or not at all, and return the file."""
    path = manifest_path(suite.domains[domain], suite.version)
    return write_whole(path, json.dumps(make_manifest(suite, domain), indent=1) + "\n")


def read_manifest(domain: "Domain", version: str = "v1") -> dict[str, Any]:
    """Return a domain's manifest. Raises ContentError when the domain has none or it is no JSON object."""
    path = manifest_path(domain, version)
    if not path.is_file():
        raise ContentError(f"{path}: missing; freeze the domain with: healthgym tasks freeze {domain.name}")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("families"), dict):
        raise ContentError(f"{path}: no manifest; write it anew with: healthgym tasks freeze {domain.name}")
    return found


def differences(suite: Suite, domain: str, *, counts_only: bool = False) -> list[str]:
    """Return what of a domain no longer agrees with its manifest, one line a family; empty when nothing changed.

    Args:
        suite: Holds the domain.
        domain: Its name.
        counts_only: Compare counts and versions without generating a case.
    """
    kept = read_manifest(suite.domains[domain], suite.version)["families"]
    families = suite.domains[domain].families
    lines = [f"{domain}/{name}: in the manifest, but no longer in the domain" for name in kept if name not in families]
    for name, family in families.items():
        if name not in kept:
            lines.append(f"{domain}/{name}: new, not in the manifest")
            continue
        counts = {split: number for split, number in family.counts.items() if number}
        if kept[name]["counts"] != counts:
            lines.append(f"{domain}/{name}: counts are {counts}, frozen were {kept[name]['counts']}")
        elif kept[name]["version"] != family.version:
            lines.append(f"{domain}/{name}: version is {family.version}, frozen was {kept[name]['version']}")
        elif not counts_only and kept[name]["digest"] != suite.digest(domain, (name,)):
            lines.append(f"{domain}/{name}: its cases have changed since they were frozen; raise the family's version")
    return lines
