"""Steps of a pathway file as tool calls: `verb argument`, such as `test ecg`, `give alteplase` or `transfer cath_lab`."""

from collections.abc import Mapping
from typing import Any

from healthgym.errors import ContentError
from healthgym.tasks import Call

from .schema import Pathway

VERBS: Mapping[str, tuple[str, str]] = {
    "observe": ("take_observations", ""),
    "record": ("review_record", "section"),
    "examine": ("examine", "system"),
    "test": ("order_test", "test"),
    "give": ("give_drug", "drug"),
    "start": ("start_treatment", "treatment"),
    "consult": ("consult", "specialty"),
    "handover": ("write_handover", "to"),
    "transfer": ("transfer", "to"),
    "directory": ("service_directory", ""),
    "ask": ("ask_patient", ""),
    "await": ("wait", ""),
    "wait": ("wait", ""),
}
"""Verb to (tool, argument that carries the object)."""


def split_step(step: str) -> tuple[str, str]:
    """Return verb and object. Raises ContentError for an unknown verb."""
    verb, _, item = step.partition(" ")
    if verb not in VERBS:
        raise ContentError(f"step {step!r}: no verb {verb!r}; known: {', '.join(VERBS)}")
    return verb, item


def aim(step: str, pathway: Pathway) -> tuple[str, dict[str, Any]]:
    """Return the tool of a step and the arguments that tell it from other calls of that tool."""
    verb, item = split_step(step)
    tool, argument = VERBS[verb]
    if verb == "give":
        item = pathway.doses[item].drug
    return tool, {argument: item} if argument else {}


def is_step(call: Call | Any, tool: str, where: Mapping[str, Any]) -> bool:
    """Say whether a call (made or executed) carries out a step given by `aim`; names are read as the tools read them."""
    return call.tool == tool and all(
        str(call.arguments.get(name)).strip().lower() == value.lower() for name, value in where.items()
    )


def done_path(verb: str, item: str) -> str:
    """Return the state path that a drug's amount or a treatment's mark stands at, without the patient."""
    return f"doses.{item}" if verb == "give" else f"started.{item}"
