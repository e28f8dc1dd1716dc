"""Lists the packages: `tools/` and `knowledge_base/` are content that installs inside `healthgym`."""

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


setup(
    packages=packages(),
    package_dir={"healthgym": "healthgym", **CONTENT},
    package_data={
        "": ["*.yaml", "*.yml", "*.md", "*.json", "*.jsonl", "*.csv", "*.j2", "*.html", "*.css", "*.js", "py.typed"]
    },
)
