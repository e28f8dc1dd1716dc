"""Walks a pathway's right path, or the path with one mistake, on a patient whose figures a test fixes."""

import numpy as np

from healthgym.registry import load_domain
from healthgym.tasks import Call
from healthgym.tasks.families import Draw
from healthgym.tools.cross_domain.loading import pathways
from healthgym.tools.cross_domain.tasks import carry
from healthgym.validation.replay import play

DOMAIN = load_domain("cross_domain")
SERIOUS = 0.75 / 0.85
"""Reward of a right path with one serious hazard: safety 0.5 of weight 0.20, weights adding up to 0.85."""
CRITICAL = 0.1
"""The cap of a critical hazard."""


def patient(pathway, branch, twist=None, difficulty="medium", seed=3, **fixed):
    """Return a case of one branch; `fixed` replaces parts of the branch, such as weight_kg=(80, 80)."""
    path = pathways()[pathway]
    draw = Draw(
        domain="cross_domain", family=pathway, split="train", index=0, seed=seed, rng=np.random.default_rng(seed)
    )
    chosen = path.branch(branch).model_copy(update=fixed)
    complication = next((item for item in path.twists if item.id == twist), None)
    return carry(draw, path, chosen, complication, difficulty)


def calls(case):
    return list(case.task.solution)


def is_call(call, tool, item=None):
    return call.tool == tool and (item is None or item in call.arguments.values())


def place(made, tool, item=None):
    return next(index for index, call in enumerate(made) if is_call(call, tool, item))


def without(case, tool, item=None):
    made = calls(case)
    del made[place(made, tool, item)]
    return made


def late(case, minutes, tool, item=None):
    """Return the path with time lost before a call."""
    made = calls(case)
    index = place(made, tool, item)
    lost = [Call("wait", minutes=60)] * (minutes // 60)
    return [*made[:index], *lost, *([Call("wait", minutes=minutes % 60)] if minutes % 60 else []), *made[index:]]


def earlier(case, first, before):
    """Return the path with the call `first` (tool, item) moved to just before the call `before`."""
    made = calls(case)
    moved = made.pop(place(made, *first))
    index = place(made, *before)
    return [*made[:index], moved, *made[index:]]


def also(case, call):
    """Return the path with one more call before the submission."""
    return [*calls(case)[:-1], call, calls(case)[-1]]


def before_handover(case, call):
    """Return the path with one more call while still in the first service."""
    made = calls(case)
    made.insert(place(made, "write_handover"), call)
    return made


def changed(case, tool, item=None, **arguments):
    """Return the path with other arguments in one call."""
    made = calls(case)
    index = place(made, tool, item)
    made[index] = Call(tool, **{**made[index].arguments, **arguments})
    return made


def result(case, made):
    """Return the played episode of a list of calls, each a turn of its own."""
    return play(case, DOMAIN, [[call] for call in made])


def labels(played):
    return " | ".join(f"{hit.label}: {hit.detail}" for hit in played.grade.hazards)


def give(drug, amount, unit):
    return Call("give_drug", patient_id="P1", drug=drug, amount=amount, unit=unit)
