"""Domains by name or folder. The framework meets clinical content only here."""

import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from hashlib import blake2b
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from healthgym.content import import_part, line_of, place_of_function, read_yaml
from healthgym.errors import ContentError, NotRegistered, nearest
from healthgym.tasks.criteria import Budget, HazardHit
from healthgym.tasks.families import TaskFamily
from healthgym.tasks.task import Task
from healthgym.toolkit import Toolkit, ToolSpec
from healthgym.world import World

GROUP = "healthgym.domains"
HazardRule = Callable[[Task, World], list[HazardHit]]
"""Looks at a finished episode's world and calls and returns the harm that the chart, not the task, tells of."""


@dataclass(frozen=True, kw_only=True)
class Domain:
    """One clinical domain: guideline, tools, task families and hazard rules, loaded from a folder."""

    name: str
    title: str
    description: str
    guideline: str
    toolkit: type[Toolkit]
    families: Mapping[str, TaskFamily]
    hazard_rules: tuple[HazardRule, ...]
    budget: Budget
    folder: Path
    blind_guesses: tuple[Mapping[str, Any], ...] = ()

    @property
    def tools(self) -> dict[str, ToolSpec]:
        """Tools by name, shared ones included."""
        return self.toolkit.specs()

    @property
    def submit_tool(self) -> ToolSpec:
        """The one tool that ends an episode."""
        return next(spec for spec in self.tools.values() if spec.effect == "submit")


def domain_names() -> list[str]:
    """Return the names of the registered domains, sorted."""
    return sorted(point.name for point in entry_points(group=GROUP))


def load_domain(name_or_path: str | Path) -> Domain:
    """Return a domain by registered name or by folder. Loaded once, then kept.

    Raises:
        NotRegistered: no domain of that name; names the nearest one.
        ContentError: the folder lacks a part; names file and remedy.
    """
    text = str(name_or_path)
    folder = Path(text).expanduser()
    if folder.is_dir() and (folder / "domain.yaml").is_file():
        return _load_folder(folder.resolve(), None)
    for point in entry_points(group=GROUP):
        if point.name == text:
            spec = importlib.util.find_spec(point.value)
            if spec is None or not spec.submodule_search_locations:
                raise ContentError(f"domain {text!r} is registered as {point.value!r}, which cannot be imported")
            return _load_folder(Path(next(iter(spec.submodule_search_locations))), point.value)
    if "/" in text or folder.exists():
        raise ContentError(
            f"{text} is no domain folder: it has no domain.yaml. Start one with: healthgym new domain {text}"
        )
    raise NotRegistered.named("domain", text, domain_names())


@lru_cache(maxsize=64)
def _load_folder(folder: Path, package: str | None) -> Domain:
    settings = _settings(folder / "domain.yaml")
    package = package or _adopt(folder)
    toolkit = _toolkit(import_part(f"{package}.toolkit", folder / "toolkit.py"), folder)
    families = _families(import_part(f"{package}.tasks", folder / "tasks.py"), folder)
    rules: tuple[HazardRule, ...] = ()
    if (folder / "hazards.py").is_file():
        rules = tuple(import_part(f"{package}.hazards", folder / "hazards.py").HAZARD_RULES)
    guideline = folder / "guideline.md"
    if not guideline.is_file():
        raise ContentError(f"{guideline}: missing; write the rules the agent must follow in it")
    name = settings["name"]
    budget = _budget(folder / "domain.yaml", settings["budget"]) if "budget" in settings else None
    if toolkit.domain != name:
        raise ContentError(
            f"{_class_place(toolkit, folder)}: {toolkit.__name__}.domain is {toolkit.domain!r}, but domain.yaml says "
            f"{name!r}; give both the same name"
        )
    return Domain(
        name=name,
        title=settings["title"],
        description=settings["description"],
        guideline=guideline.read_text(encoding="utf-8").strip(),
        toolkit=toolkit,
        families={each.name: replace(each, budget=budget) for each in families.values()},
        hazard_rules=rules,
        budget=budget or Budget(),
        folder=folder,
        blind_guesses=tuple(settings.get("blind_guesses", ())),
    )


_KEYS = {"name": str, "title": str, "description": str, "budget": dict, "blind_guesses": list}


def _settings(path: Path) -> dict[str, Any]:
    settings = read_yaml(path)
    if not isinstance(settings, dict):
        raise ContentError(f"{path}: expected keys {', '.join(_KEYS)}, got {type(settings).__name__}")
    for key, value in settings.items():
        where = f"{path}, line {line_of(path, key)}"
        if key not in _KEYS:
            raise ContentError(f"{where}: unknown key {key!r}.{nearest(str(key), _KEYS)}")
        if not isinstance(value, _KEYS[key]):
            raise ContentError(f"{where}: {key} must be {_KEYS[key].__name__}, got {type(value).__name__}")
    for key in ("name", "title", "description"):
        if not settings.get(key):
            raise ContentError(f"{path}: key {key!r} is missing; add a line '{key}: ...'")
    return settings


def _budget(path: Path, limits: Mapping[str, Any]) -> Budget:
    known = [field.name for field in fields(Budget)]
    for key, value in limits.items():
        where = f"{path}, line {line_of(path, 'budget', key)}"
        if key not in known:
            raise ContentError(f"{where}: the budget has no {key!r}.{nearest(str(key), known)}")
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise ContentError(f"{where}: budget.{key} must be a number above 0, got {value!r}")
    return Budget(**limits)


def _adopt(folder: Path) -> str:
    """Make a folder outside the package importable under a name of its own, so that relative imports work in it."""
    package = f"healthgym_domain_{blake2b(str(folder).encode(), digest_size=6).hexdigest()}"
    if package not in sys.modules:
        module = ModuleType(package)
        module.__path__ = [str(folder)]
        sys.modules[package] = module
    return package


def _toolkit(module: ModuleType, folder: Path) -> type[Toolkit]:
    own = [
        item
        for item in vars(module).values()
        if isinstance(item, type) and issubclass(item, Toolkit) and item.__module__ == module.__name__
    ]
    if len(own) != 1:
        raise ContentError(
            f"{folder / 'toolkit.py'}: expected one Toolkit class, found {[item.__name__ for item in own] or 'none'}; "
            "what else it needs goes into other files"
        )
    submits = [spec.name for spec in own[0].specs().values() if spec.effect == "submit"]
    if len(submits) != 1:
        raise ContentError(
            f"{_class_place(own[0], folder)}: a domain ends by exactly one submit tool, found {submits or 'none'}; give "
            "effect='submit' to one"
        )
    return own[0]


def _class_place(toolkit: type[Toolkit], folder: Path) -> str:
    path = folder / "toolkit.py"
    lines = path.read_text(encoding="utf-8").splitlines()
    line = next((n for n, text in enumerate(lines, 1) if text.startswith(f"class {toolkit.__name__}")), 1)
    return f"{path}, line {line}"


def _families(module: ModuleType, folder: Path) -> dict[str, TaskFamily]:
    found: dict[str, TaskFamily] = {}
    for item in vars(module).values():
        family = getattr(item, "__task_family__", None)
        if isinstance(family, TaskFamily):
            if family.name in found and found[family.name] is not family:
                both = " and ".join(place_of_function(each.generate) for each in (found[family.name], family))
                raise ContentError(f"{both}: two task families are named {family.name!r}; rename one")
            found[family.name] = family
    if not found:
        raise ContentError(f"{folder / 'tasks.py'}: no task family; mark a generator with @task_family(counts=...)")
    return found
