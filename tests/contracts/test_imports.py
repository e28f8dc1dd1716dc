"""Imports point one way, and `import healthgym` stays quick."""

import ast
import subprocess
import sys
from pathlib import Path

from healthgym.registry import domain_names

ROOT = Path(__file__).parents[2]
HEAVY = ("torch", "transformers", "trl", "peft", "datasets", "faiss", "sentence_transformers", "pydantic", "gymnasium")
FORBIDDEN = {
    "healthgym": ("healthgym.tools", "healthgym.knowledge_base", "recipes"),
    "healthgym/training": ("healthgym.evaluation",),
    "healthgym/toolkit": ("healthgym.envs", "healthgym.rollout", "healthgym.training", "healthgym.rewards"),
    "healthgym/world": (
        "healthgym.tasks",
        "healthgym.envs",
        "healthgym.rollout",
        "healthgym.rewards",
        "healthgym.training",
    ),
    "healthgym/tasks": ("healthgym.envs", "healthgym.rollout", "healthgym.training", "healthgym.rewards"),
    "healthgym/imports": (
        "healthgym.cli",
        "healthgym.envs",
        "healthgym.evaluation",
        "healthgym.rollout",
        "healthgym.training",
        "healthgym.validation",
    ),
    "healthgym/rewards": ("healthgym.envs", "healthgym.training"),
    "healthgym/envs": ("healthgym.rollout", "healthgym.training", "healthgym.diagnostics", "healthgym.evaluation"),
    "healthgym/retrieval": ("healthgym.envs", "healthgym.tasks", "healthgym.training", "healthgym.rollout"),
    "healthgym/rollout": ("healthgym.training", "healthgym.evaluation"),
    "healthgym/diagnostics": ("healthgym.training", "healthgym.evaluation"),
    "tools": (
        "healthgym.training",
        "healthgym.rollout",
        "healthgym.cli",
        "healthgym.diagnostics",
        "healthgym.evaluation",
    ),
    "knowledge_base": ("healthgym.training", "healthgym.rollout", "healthgym.cli", "healthgym.envs", "healthgym.tools"),
}
LIGHT = ("toolkit", "world", "tasks", "rewards", "envs", "cli", "diagnostics", "authoring", "imports")
"""Packages that never import torch and its kin at module level."""


def imported(path: Path, top_level: bool = False) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level else list(ast.walk(tree))
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def test_every_domain_folder_is_registered():
    folders = sorted(path.parent.name for path in (ROOT / "tools").glob("*/domain.yaml"))
    assert domain_names() == folders, "install again: pip install -e ."


def test_imports_point_one_way():
    broken = [
        f"{path.relative_to(ROOT)} imports {name}"
        for folder, forbidden in FORBIDDEN.items()
        for path in sorted((ROOT / folder).rglob("*.py"))
        for name in imported(path)
        if name in forbidden or any(name.startswith(f"{prefix}.") for prefix in forbidden)
    ]
    assert broken == []


def test_light_packages_import_no_heavy_library_at_module_level():
    broken = [
        f"{path.relative_to(ROOT)} imports {name}"
        for package in LIGHT
        for path in sorted((ROOT / "healthgym" / package).rglob("*.py"))
        for name in imported(path, top_level=True)
        if name.split(".")[0] in HEAVY[:7]
    ]
    assert broken == []


def test_importing_healthgym_loads_nothing_heavy():
    code = f"import sys, healthgym; print([name for name in {HEAVY!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
