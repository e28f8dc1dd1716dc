"""Arguments drawn for a tool fit its schema; slips cover every way of getting one wrong."""

from typing import Annotated, Literal

import numpy as np
import pytest
from pydantic import Field

from healthgym.errors import ToolError
from healthgym.toolkit import tool
from healthgym.toolkit.decorator import spec_of
from healthgym.validation.arguments import ValuePool, bad_calls, draw_arguments, examples


@tool()
def example(
    patient_id: str,
    level: Annotated[int, Field(ge=1, le=5)],
    dose_mg: Annotated[float, Field(gt=0, lt=4)],
    route: Literal["oral", "iv"],
    note: Annotated[str, Field(min_length=3, max_length=10)],
    drugs: Annotated[list[str], Field(min_length=1, max_length=2)],
    urgent: bool = False,
    weight_kg: float | None = None,
) -> str:
    """Try every kind of argument.

    Args:
        patient_id: For example P1.
        level: A level.
        dose_mg: A dose.
        route: A route.
        note: For example fever, cough or rash.
        drugs: Drugs.
        urgent: Whether to hurry.
        weight_kg: A weight.
    """
    return "ok"


class _Case:
    charts = {"P7": None}


SPEC = spec_of(example)


@pytest.mark.parametrize("seed", range(200))
def test_drawn_arguments_fit_the_schema(seed):
    arguments = draw_arguments(SPEC, _Case(), np.random.default_rng(seed), ValuePool())
    SPEC.validate(arguments)
    assert arguments["patient_id"] == "P7"


def test_every_slip_that_must_be_refused_is_refused_by_the_schema_or_is_an_id():
    good = draw_arguments(SPEC, _Case(), np.random.default_rng(0), ValuePool())
    tried = set()
    for slip in bad_calls(SPEC, good):
        tried.add(slip.slip)
        if not slip.must_refuse or (slip.argument == "patient_id" and slip.slip in ("an unknown id", "non-ASCII text")):
            continue
        if slip.slip == "a list with 10,000 characters in an item":
            continue
        with pytest.raises(ToolError):
            SPEC.validate(slip.arguments)
    assert {"a missing argument", "a wrong type", "a number above the range", "an unknown id", "non-ASCII text",
            "10,000 characters", "a value outside the list", "a wrong unit", "a value that is not finite"} <= tried  # fmt: skip


def test_examples_are_read_from_the_description():
    assert examples({"description": "A drug. For example warfarin, aspirin or ibuprofen."}) == [
        "warfarin",
        "aspirin",
        "ibuprofen",
    ]


def test_a_pool_prefers_the_place_a_value_was_used_in():
    pool = ValuePool()
    pool.add("a", "drug", "warfarin")
    pool.add("b", "drug", "aspirin")
    assert pool.values("a", "drug") == ["warfarin"]
    assert pool.values("c", "drug") == ["warfarin", "aspirin"]  # another tool: any drug will do
