"""Schemas come from signatures and docstrings; arguments are checked gently and explained."""

from enum import Enum
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from healthgym.errors import ContentError, ToolError
from healthgym.toolkit import Toolkit, tool


class Route(Enum):
    oral = "oral"
    iv = "iv"


class Dose(BaseModel):
    """A dose."""

    amount_mg: float = Field(description="Milligrams.")
    times_per_day: int = 1


class Ward(Toolkit):
    domain = "ward"

    @tool(effect="write", minutes=2)
    def give(
        self,
        patient_id: str,
        dose: Dose,
        level: Literal[1, 2, 3] = 2,
        routes: list[Route] | None = None,
        gcs: Annotated[int, Field(ge=3, le=15)] = 15,
        note: str | None = None,
    ) -> str:
        """Give a dose. A second sentence.

        Args:
            patient_id: Whom.
            dose: What,
                over two lines.
            level: How urgent.
            routes: By which ways.
            gcs: Coma scale.
            note: Free text.
        """
        return f"{patient_id} {dose.amount_mg} {level} {[r.value for r in routes or []]} {gcs} {note}"


SPEC = Ward.specs()["give"]


def test_schema_carries_types_enums_nested_models_bounds_and_texts():
    properties = SPEC.parameters["properties"]
    assert properties["level"] == {"default": 2, "description": "How urgent.", "enum": [1, 2, 3], "type": "integer"}
    assert properties["routes"]["items"]["enum"] == ["oral", "iv"]
    assert properties["dose"]["properties"]["amount_mg"]["type"] == "number"
    assert properties["dose"]["description"] == "What, over two lines."
    assert properties["gcs"]["minimum"] == 3
    assert properties["gcs"]["maximum"] == 15
    assert properties["note"]["type"] == "string"
    assert SPEC.parameters["required"] == ["patient_id", "dose"]
    assert "$ref" not in str(SPEC.schema)


def test_compact_schema_keeps_names_and_drops_argument_texts():
    compact = SPEC.schema_for("compact")["function"]
    assert compact["description"] == "Give a dose."
    assert "description" not in compact["parameters"]["properties"]["level"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"level": "3"}, "P1 5.0 3 [] 15 None"),  # a number written as text
        ({"routes": "IV"}, "P1 5.0 2 ['iv'] 15 None"),  # a lone value, other case
        ({"note": "null"}, "P1 5.0 2 [] 15 null"),  # text is text: "null" is a legal note
        ({"gcs": "none"}, "P1 5.0 2 [] 15 None"),  # absent, spelled out
    ],
)
def test_slips_with_one_meaning_are_accepted(arguments, expected):
    result = Ward(None).call("give", {"patient_id": "P1", "dose": {"amount_mg": 5}, **arguments})
    assert (result.error, result.content) == (None, expected)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, ["missing argument 'patient_id'", "missing argument 'dose'", "give(patient_id, dose, level?"]),
        ({"patient_id": "P1", "dose": {"amount_mg": 5}, "levl": 1}, ["unknown argument 'levl'", "'level'"]),
        ({"patient_id": "P1", "dose": {"amount_mg": 5}, "gcs": 99}, ["less than or equal to 15", "99"]),
        ({"patient_id": "P1" * 3000, "dose": {"amount_mg": 5}}, ["6,000 characters"]),
        ({"patient_id": "P1", "dose": "five"}, ["dose", "'five'"]),
    ],
)
def test_a_bad_call_says_what_arrived_and_what_is_expected(arguments, words):
    result = Ward(None).call("give", arguments)
    assert result.error is not None
    assert all(word in result.content for word in words), result.content


def test_an_unknown_tool_is_answered_with_the_nearest_name():
    assert "Did you mean 'give'" in Ward(None).call("giv", {}).content


def test_a_tool_error_is_an_observation_and_a_bug_raises():
    class Broken(Toolkit):
        domain = "broken"

        @tool()
        def refuse(self) -> str:
            """Refuse."""
            raise ToolError("not now; wait first")

        @tool()
        def crash(self) -> str:
            """Crash."""
            raise KeyError("ours")

    assert Broken(None).call("refuse", {}).content == "Error: not now; wait first"
    with pytest.raises(KeyError):
        Broken(None).call("crash", {})


def test_declarations_that_cannot_be_described_are_refused_at_import():
    with pytest.raises(ContentError, match="not described"):

        @tool()
        def undescribed(x: int) -> int:
            """Do."""
            return x

    with pytest.raises(ContentError, match="docstring is empty"):

        @tool()
        def silent() -> int:
            return 1

    with pytest.raises(ContentError, match="which are not parameters"):

        @tool()
        def stray() -> int:
            """Do.

            Args:
                ghost: Not there.
            """
            return 1


def test_shared_functions_and_toolkits_are_offered_and_named_shared():
    @tool()
    def double(x: float) -> float:
        """Double a number.

        Args:
            x: The number.
        """
        return 2 * x

    class Aid(Toolkit):
        @tool(effect="think")
        def think(self, thought: str) -> str:
            """Think.

            Args:
                thought: The thought.
            """
            return f"{self.world}:{thought}"

    class Home(Toolkit):
        domain = "home"
        shared = (double, Aid)

    kit = Home("world")
    assert kit.call("double", {"x": 2}).content == "4.0"
    assert kit.call("think", {"thought": "a"}).content == "world:a"
    assert {spec.domain for spec in Home.specs().values()} == {"shared"}
