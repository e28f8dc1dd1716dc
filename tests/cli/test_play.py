"""A person plays: calls are typed as they are shown, slips cost nothing, and what happens can be seen."""

from io import StringIO

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from healthgym import screen
from healthgym.authoring import new_domain
from healthgym.cli.main import app
from healthgym.cli.play import read_call
from healthgym.envs import ClinicalEnv


@pytest.fixture(scope="module")
def fever(tmp_path_factory):
    folder = tmp_path_factory.mktemp("domains") / "fever"
    new_domain(folder)
    return str(folder)


@pytest.fixture
def env(fever):
    made = ClinicalEnv(fever)
    made.reset(seed=0)
    return made


def play(fever, *lines):
    told = CliRunner().invoke(app, ["play", fever, "--seed", "0"], input="\n".join(lines), env={"COLUMNS": "100"})
    assert told.exit_code == 0, told.output
    return " ".join(told.output.replace("│", " ").split())


def printed(shown):
    console = Console(width=90, record=True, file=StringIO())
    console.print(shown)
    return console.export_text()


@pytest.mark.parametrize(
    "value",
    [
        "P1",
        "Any allergies?",
        'it\'s "so"',
        "1,2",
        "17",
        "true",
        "null",
        "a,b c",
        3,
        2.5,
        True,
        None,
        ["a", "b"],
        {"x": [1]},
    ],
)
def test_a_call_is_read_as_it_is_shown(env, value):
    call = {"name": "ask_patient", "arguments": {"patient_id": "P1", "question": value}}
    assert read_call(screen.typed(call), env)["function"] == call


def test_the_opening_tells_the_case_the_clock_and_the_budget(fever):
    told = play(fever, "quit")
    assert "a child with fever" in told and "fever/fever_dose/train" in told
    assert "minute 0 | turn 0 of 8 | call 0 of 12" in told
    assert "nothing was scored" in told


def test_a_misspelt_tool_costs_no_turn_and_offers_the_nearest(fever):
    told = play(fever, "weigh_pateint patient_id=P1", "weigh_patient patient_id=P1", "quit")
    assert "No tool 'weigh_pateint' here. Did you mean 'weigh_patient'?" in told
    assert "turn 1 of 8" in told and "turn 2 of 8" not in told


def test_help_says_what_an_argument_takes(fever):
    told = play(fever, "help submit_dose", "tools", "quit")
    assert "number from 0 to 4000" in told and "Dose in mg." in told
    assert "give_paracetamol patient_id dose_mg" in told


def test_the_rules_that_an_agent_is_told_can_be_read(fever):
    assert "the dose is 15 mg per kg by mouth" in play(fever, "rules", "quit")


def test_status_lists_what_was_learnt(fever):
    assert "Nothing is known yet" in play(fever, "status", "quit")
    told = play(fever, "weigh_patient P1", "status", "quit")
    assert "fact value minute weight kg" in told


def test_the_end_shows_faults_and_a_way_to_full_marks(fever):
    told = play(fever, "submit_dose dose_mg=4000")
    assert "No success" in told and "Not looked at: body weight" in told and "Not met: answer.dose_mg" in told
    assert "One way to full marks: weigh_patient patient_id=P1" in told


def test_an_order_that_is_on_its_way_stands_below_the_clock(env):
    env.episode.world.order("P1", "crp", 20, "CRP 5 mg/L", [("labs.crp", 5.0, "mg/L")])
    assert "waiting for crp of P1 at minute 20" in printed(screen.clock(env.episode))


def test_a_limit_that_is_near_is_told_in_another_colour(env):
    env.episode.turns = 7  # of 8
    near = [span for span in screen.clock(env.episode).spans if span.style == "yellow"]
    line = screen.clock(env.episode).plain
    assert [line[span.start : span.end] for span in near] == ["turn 7 of 8"]


def test_a_picture_keeps_its_light_and_dark_halves():
    # Left half black, right half white, 40 x 80 px: 56 columns and 14 rows of letters, the first 28 of each dark.
    pixels = np.zeros((40, 80), np.uint8)
    pixels[:, 40:] = 255
    rows = screen._in_letters(pixels).plain.split("\n")
    assert set(rows) == {" " * 28 + "@" * 28}
    colours = screen._in_colours(pixels).spans
    assert {str(span.style) for span in colours} == {"rgb(0,0,0) on rgb(0,0,0)", "rgb(255,255,255) on rgb(255,255,255)"}
