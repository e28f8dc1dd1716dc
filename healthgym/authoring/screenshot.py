"""A drawing of one episode on the screen: its opening and the oracle's first steps, the same bytes every time."""

import re
from collections.abc import Iterator
from io import StringIO

from rich.console import Console
from rich.text import Text

from healthgym import screen
from healthgym.envs.episode import Episode
from healthgym.registry import Domain
from healthgym.rewards import compose
from healthgym.tasks import Call, Suite
from healthgym.validation.replay import as_message

STEPS = 3
LINES = 12
"""Most lines of one answer that are shown."""
WIDTH = 100
_FETCHED = re.compile(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", re.DOTALL)
"""What names other places: fonts to load, and the maker's address."""


def screenshot(domain: Domain) -> str:
    """Return an SVG of `healthgym play`: the domain's first training task and the first steps of its solution."""
    suite = Suite([domain])
    episode = Episode(suite.case(suite.ids(domain.name, "train")[0]), domain, profile="bare")
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, color_system="truecolor")
    console.print(screen.opening(episode, colour=False))
    for call, answer in _first_steps(episode):
        typed = screen.typed({"name": call.tool, "arguments": dict(call.arguments)})
        console.print(Text(f"\n> {typed}", style="bold cyan", overflow="fold"))
        if answer:
            console.print(screen.reply(answer, episode, colour=False, lines=LINES))
    if episode.is_over:
        grade = episode.grade()
        console.print(screen.ending(episode, grade, compose(grade)))
    drawn = console.export_svg(title=f"healthgym play {domain.name}", unique_id=domain.name.replace("_", "-"))
    # Pages are read offline, and a drawing fetches nothing: whatever fixed-width font there is will do.
    return "\n".join(line.rstrip() for line in _FETCHED.sub("", drawn).splitlines()) + "\n"


def _first_steps(episode: Episode) -> Iterator[tuple[Call, str]]:
    """Play the solution's first turns and yield their calls with the answers, '' for a submission, STEPS in all."""
    shown = 0
    for turn in episode.task.turns_of_solution():
        answers = episode.apply(as_message(turn))
        for number, call in enumerate(turn):
            if shown < STEPS:
                yield call, str(answers[number]["content"]) if number < len(answers) else ""
            shown += 1
        if shown >= STEPS:
            return
