"""healthgym trains and measures language-model agents that practise medicine in many turns with tools."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "tool": "healthgym.toolkit",
    "Toolkit": "healthgym.toolkit",
    "ToolError": "healthgym.errors",
    "Task": "healthgym.tasks",
    "ClinicalEnv": "healthgym.envs",
    "load_domain": "healthgym.registry",
    "domain_names": "healthgym.registry",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    """Import public names when they are first used, so that `import healthgym` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'healthgym' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
