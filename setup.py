"""Lists packages and domains: `tools/` and `knowledge_base/` are content that installs inside `healthgym`."""

from pathlib import Path

from setuptools import find_namespace_packages, setup

CONTENT = {"healthgym.tools": "tools", "healthgym.knowledge_base": "knowledge_base"}


def packages() -> list[str]:
    """Return every package, so that a new sub-folder needs no edit here."""
    found = find_namespace_packages(include=["healthgym", "healthgym.*"])
    for name, folder in CONTENT.items():
        found += [
            name,
            *(f"{name}.{package}" for package in find_namespace_packages(folder, exclude=["*__pycache__*"])),
        ]
    return found


def domains() -> list[str]:
    """Return the entry point of every domain folder, so that a new one needs no edit here."""
    names = sorted(path.parent.name for path in (Path(__file__).parent / "tools").glob("*/domain.yaml"))
    return [f"{name} = healthgym.tools.{name}" for name in names]


setup(
    packages=packages(),
    package_dir={"healthgym": "healthgym", **CONTENT},
    entry_points={
        "console_scripts": ["healthgym = healthgym.cli.main:main"],
        "healthgym.domains": domains(),
        "healthgym.passages": ["healthgym = healthgym.knowledge_base.render:passages"],
    },
    package_data={
        "": ["*.yaml", "*.yml", "*.md", "*.json", "*.jsonl", "*.csv", "*.j2", "*.html", "*.css", "*.js", "py.typed"]
    },
)
