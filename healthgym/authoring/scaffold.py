"""Writes the files of a new domain, tool or task family."""

import keyword
import re
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from healthgym.errors import ContentError
from healthgym.files import write_whole

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_DOMAIN_FILES = ("domain.yaml", "guideline.md", "toolkit.py", "tasks.py", "recipe.yaml", "README.md")


def new_domain(path: Path) -> list[Path]:
    """Write a small working domain into `path`, whose last part names it. Returns the files written.

    Raises:
        ContentError: the name is no identifier, or the folder already holds something.
    """
    name = _checked(path.name)
    if path.exists() and any(path.iterdir()):
        raise ContentError(f"{path} already holds files; choose a new folder, nothing was written")
    path.mkdir(parents=True, exist_ok=True)
    return [write_whole(path / file, _render(f"domain/{file}.j2", name=name)) for file in _DOMAIN_FILES]


def new_tool(name: str, domain: Path) -> list[Path]:
    """Add a tool method called `name` to the toolkit of the domain in folder `domain`."""
    name = _checked(name)
    path = _existing(domain, "toolkit.py")
    text = path.read_text(encoding="utf-8")
    if re.search(rf"def {name}\b", text):
        raise ContentError(f"{path} already has a function {name!r}; nothing was written")
    return [write_whole(path, text.rstrip() + "\n" + _render("tool.py.j2", name=name))]


def new_task(name: str, domain: Path) -> list[Path]:
    """Add a task family called `name` to the domain in folder `domain`."""
    name = _checked(name)
    path = _existing(domain, "tasks.py")
    text = path.read_text(encoding="utf-8")
    if re.search(rf"def {name}\b", text):
        raise ContentError(f"{path} already has a function {name!r}; nothing was written")
    if "def _case(" not in text:
        raise ContentError(
            f"{path} has no function _case(draw, prompt) to build on; write the family by hand after the example in "
            "docs/authoring.md"
        )
    return [write_whole(path, text.rstrip() + "\n" + _render("task.py.j2", name=name))]


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise ContentError(
            f"{name!r} cannot be a name here: use lower-case letters, digits and _, for example wound_care"
        )
    return name


def _existing(domain: Path, file: str) -> Path:
    path = domain / file
    if not path.is_file():
        raise ContentError(f"{path}: not found. Start a domain with: healthgym new domain {domain}")
    return path


def _render(template: str, **values: str) -> str:
    source = files("healthgym.authoring").joinpath("templates", *template.split("/")).read_text(encoding="utf-8")
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    title = values["name"].replace("_", " ").capitalize()
    camel = "".join(part.capitalize() for part in values["name"].split("_"))
    return environment.from_string(source).render(title=title, camel=camel, **values)
