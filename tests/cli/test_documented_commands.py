"""Commands in README and docs: parsed as the command line parses them, so no page names an option that is not there."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from healthgym.cli.main import app
from healthgym.evaluation.benchmarks import benchmarks

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "recipes").glob("*/README.md"))]
ROOT_COMMAND = typer.main.get_command(app)
PARTS = re.compile(r"\.\.\.|[\[\]]")
"""What stands for more words, or around words that may be left out."""


def commands(page):
    """Yield the commands that begin a line, alone or after a prompt, and those that are a code span."""
    text = page.read_text(encoding="utf-8")
    for line in re.findall(
        r"^(?:\$ |    (?:\$ )?)?(healthgym [a-z].*)$", re.sub(r"`[^`\n]+`", "``", text), re.MULTILINE
    ):
        if not re.match(r"healthgym (trains|exports)\b", line):
            yield line
    yield from re.findall(r"`(healthgym [a-z][^`]*)`", text)


CASES = [(page.relative_to(ROOT).as_posix(), line) for page in PAGES for line in commands(page)]


@pytest.mark.parametrize(("page", "line"), CASES, ids=[f"{page}:{line[:50]}" for page, line in CASES])
def test_a_command_in_the_docs_is_one_that_the_command_line_takes(page, line):
    command, words = ROOT_COMMAND, shlex.split(PARTS.sub(" ", line), comments=True)[1:]
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    assert command is not ROOT_COMMAND
    options = {name for parameter in command.params for name in parameter.opts}
    given = [word.split("=")[0] for word in words if word.startswith("-")]
    assert not [word for word in given if word not in options]
    values = [words[place + 1] for place, word in enumerate(words[:-1]) if word == "--suite"]
    suites = {name for value in values for name in value.split(",")}
    assert suites <= {*benchmarks(), "NAME", "a", "b"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_files_that_a_page_points_to_are_there(page):
    text = page.read_text(encoding="utf-8")
    links = [page.parent / link for link in re.findall(r"\]\(([^):#]+)\)", text)]
    named = [ROOT / name for name in re.findall(r"\b(?:docs|benchmarks|recipes)/[\w./-]+\.(?:md|py|yaml)\b", text)]
    assert not [str(path) for path in (*links, *named) if not path.exists()]


def test_every_page_of_the_docs_is_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    names = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert names == set(re.findall(r"\]\(([\w-]+\.md)\)", index))


def test_the_python_block_of_the_evaluation_page_runs(capsys):
    (block,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8"), re.DOTALL
    )
    exec(compile(block, "evaluation.md", "exec"), {"__name__": "page"})
    assert capsys.readouterr().out.endswith("('agentic',) gym-success-2\n")
