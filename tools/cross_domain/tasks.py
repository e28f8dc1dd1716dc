"""One task family a pathway: a branch, at times a complication, and a patient."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from healthgym.content import read_yaml
from healthgym.tasks import Case, Task, task_family
from healthgym.tasks.families import Draw
from healthgym.tasks.task import Difficulty

from .loading import pathways
from .look_tools import age_text
from .path import criteria, walk
from .patient import draw_patient
from .schema import Branch, Pathway, Twist

COUNTS = {"train": 17, "val": 2, "test": 4, "test_ood": 2}
DIFFICULTIES: tuple[Difficulty, ...] = ("easy", "medium", "hard")


def carry(draw: Draw, pathway: Pathway, branch: Branch, twist: Twist | None, difficulty: Difficulty) -> Case:
    """Return the case of one patient on one branch, complicated by `twist`."""
    chart = draw_patient(draw.rng, pathway, branch, twist, difficulty)
    calls = walk(pathway, branch, twist, chart)
    who = "P1"
    if difficulty != "hard":
        who = f"P1, {age_text(chart.age_years)}, {chart.sex}"
    if difficulty == "easy":
        who += f' ("{chart.chief_complaint}")'
    templates = _prompts()
    number = int(draw.rng.integers(len(templates[draw.split])))
    prompt = templates[draw.split][number].format(who=who, service=pathway.start.replace("_", " "))
    task = Task(
        id=draw.task_id,
        domain=draw.domain,
        split=draw.split,
        family=draw.family,
        seed=draw.seed,
        prompt=f"{prompt} {templates['ask'][0]}",
        template=f"{draw.family}/{draw.split}/{number}",
        difficulty=difficulty,
        condition=branch.condition,
        criteria=criteria(pathway, branch, twist, chart, len(calls)),
        solution=tuple(calls),
        provenance=f"synthetic patient on pathway {pathway.id}, branch {branch.id}, seed {draw.seed}",
        tags={"branch": branch.id, "twist": twist.id if twist else "none"},
    )
    return Case(task, {"P1": chart})


def draw_case(draw: Draw, *, name: str) -> Case:
    """Draw difficulty, branch and, for hard tasks where there is one, a complication; branches take turns."""
    pathway = pathways()[name]
    difficulty = DIFFICULTIES[int(draw.rng.integers(3))]
    branches = [branch for branch in pathway.branches if branch.held_out == (draw.split == "test_ood")]
    offset = {"train": 0, "val": 1, "test": 2, "test_ood": 0}[draw.split]
    branch = branches[(draw.index + offset) % len(branches)]
    twists = [twist for twist in pathway.twists if branch.id in twist.branches]
    twist = twists[int(draw.rng.integers(len(twists)))] if difficulty == "hard" and twists else None
    return carry(draw, pathway, branch, twist, difficulty)


@lru_cache(maxsize=1)
def _prompts() -> dict[str, list[str]]:
    return read_yaml(Path(__file__).parent / "prompts.yaml")


def _family(name: str, version: int = 1) -> Callable[[Draw], Case]:
    def generate(draw: Draw) -> Case:
        return draw_case(draw, name=name)

    return task_family(counts=COUNTS, name=name, version=version)(generate)


chest_pain = _family("chest_pain")
dka = _family("dka")
stroke = _family("stroke")
sepsis = _family("sepsis")
postoperative_pe = _family("postoperative_pe")
paediatric_fever = _family("paediatric_fever")
gi_bleed = _family("gi_bleed")
eclampsia = _family("eclampsia", version=2)
overdose = _family("overdose")
hip_fracture = _family("hip_fracture")
