"""A sound domain passes; a domain with one thing wrong is told which, where, and what to do."""

import json

import numpy as np
import pytest

from healthgym.authoring.scaffold import new_domain
from healthgym.registry import load_domain
from healthgym.validation import MAX_ATTACKER_REWARD, MAX_ATTACKER_SUCCESS, validate
from healthgym.validation.arguments import ValuePool
from healthgym.validation.failures import FailureLog
from healthgym.validation.tool_trials import ToolTrials


@pytest.fixture
def spoiled(tmp_path):
    """Return a function that writes the scaffold domain with some of its words exchanged, and validates it."""

    def build(file="", **swaps_or_sample):
        folder = tmp_path / "fever"
        new_domain(folder)
        for old, new in swaps_or_sample.pop("swaps", ()):
            path = folder / file
            text = path.read_text()
            assert old in text, f"the scaffold no longer holds {old!r}"
            path.write_text(text.replace(old, new))
        return validate(load_domain(folder), **swaps_or_sample)

    return build


def failure(result, kind, words):
    found = [f for f in result["failures"] if f["kind"] == kind and words in f["what"]]
    assert found, f"no {kind} failure says {words!r}; there were: {[f['what'] for f in result['failures']]}"
    assert found[0]["remedy"]
    return found[0]


def test_the_scaffold_domain_is_proved_and_its_result_is_json(spoiled):
    result = spoiled()
    assert result["failures"] == []
    assert (result["tasks"], result["oracle_min"], result["tools"]) == (60, 1.0, 4)  # 40 + 8 + 12 cases
    assert set(result["attackers"]) == {
        "immediate_submit", "silent", "random_calls", "parrot", "wrong_patient", "mention_not_do", "tool_spammer",
    }  # fmt: skip
    for scores in result["attackers"].values():
        assert scores["success"] <= MAX_ATTACKER_SUCCESS and scores["reward"] <= MAX_ATTACKER_REWARD
    assert json.loads(json.dumps(result)) == result


def test_a_sample_is_spread_over_the_splits(spoiled):
    # 60 tasks, about 20 wanted: every third of 40, 8 and 12, rounded up = 14 + 3 + 4.
    assert spoiled(sample=20)["tasks"] == 21


def test_progress_is_told_to_the_end(spoiled):
    seen = {}
    spoiled(sample=20, progress=lambda stage, done, total: seen.update({stage: (done, total)}))
    assert seen["tasks and tools"] == (21, 21)
    assert seen["attackers"][0] == seen["attackers"][1]


def test_an_oracle_that_skips_evidence_is_named(spoiled):
    call = '            Call("weigh_patient", patient_id="P1"),\n'
    result = spoiled("tasks.py", swaps=[(call, "")])
    found = failure(result, "family", "without its evidence")
    assert found["name"] == "fever_dose" and found["count"] == 60
    assert "body weight" in found["examples"][0]
    assert result["oracle_min"] < 1.0


def test_an_oracle_that_does_not_submit_is_named(spoiled):
    result = spoiled(
        "tasks.py", swaps=[('Call("submit_dose", dose_mg=dose)', 'Call("weigh_patient", patient_id="P1")')]
    )
    failure(result, "family", "did not end by submitting")


def test_an_oracle_whose_call_fails_is_named(spoiled):
    result = spoiled("tasks.py", swaps=[('question="Any allergies?"', 'query="Any allergies?"')])
    assert "'query'" in failure(result, "family", "oracle's call of ask_patient failed")["examples"][0]


def test_an_oracle_that_harms_is_named(spoiled):
    result = spoiled("tasks.py", swaps=[('where={"dose_mg": {"gt": dose + 1}}', 'where={"dose_mg": {"gt": 0}}')])
    failure(result, "family", "the oracle does harm")


def test_an_answer_without_evidence_is_open_to_guessers(spoiled):
    # Every dose is 500 mg and nothing needs to be seen: submitting at once is always right.
    swaps = [
        ("dose = 0.0 if allergic else min(round(weight * MG_PER_KG, 1), MAX_MG)", "dose = 500.0"),
        ('Evidence(any_of=("P1.weight_kg",), label="body weight"),', ""),
        ('Evidence(any_of=("P1.allergies",), label="allergies"),', ""),
    ]
    result = spoiled("tasks.py", swaps=swaps)
    assert "100.0%" in failure(result, "attacker", "succeeds in")["what"]
    assert result["attackers"]["immediate_submit"]["success"] == 1.0
    assert result["attackers"]["mention_not_do"]["success"] == 1.0
    assert result["attackers"]["silent"]["reward"] == 0.0


def test_a_lax_grader_is_caught_by_the_oracle_of_another_patient(spoiled):
    result = spoiled("tasks.py", swaps=[("tolerance=1.0", "tolerance=5000.0")])
    assert result["attackers"]["wrong_patient"]["success"] > MAX_ATTACKER_SUCCESS


def test_a_gold_in_the_prompt_is_found(spoiled):
    swaps = [("    task = Task(", '    prompt += f" Dose {dose:g} mg would be right."\n    task = Task(')]
    result = spoiled("tasks.py", swaps=swaps)
    assert "dose 738" in failure(result, "family", "gives away the gold of 'dose_mg'")["examples"][0]


def test_a_generator_with_its_own_randomness_is_caught(spoiled):
    swaps = [
        (
            "weight = round(float(draw.rng.uniform(6, 60)), 1)",
            "import random\n    weight = round(random.uniform(6, 60), 1)",
        )
    ]
    failure(spoiled("tasks.py", swaps=swaps), "family", "another case the second time")


def test_a_generator_that_raises_is_reported_with_its_place(spoiled):
    result = spoiled("tasks.py", swaps=[("    weight = round(", "    raise KeyError('weight')\n    weight = round(")])
    assert "tasks.py:" in failure(result, "family", "the generator raised KeyError")["what"]
    assert result["tasks"] == 0


def test_a_tool_that_crashes_on_an_unknown_patient_is_named(spoiled):
    swaps = [("weight = self.world.chart(patient_id).weight_kg", "weight = self.world.charts[patient_id].weight_kg")]
    found = failure(spoiled("toolkit.py", swaps=swaps), "tool", "raised KeyError")
    assert found["name"] == "weigh_patient" and "unknown id" in found["examples"][0]


def test_a_tool_that_crashes_on_one_patient_only_is_found(spoiled):
    swaps = [
        (
            "weight = self.world.chart(patient_id).weight_kg",
            "weight = self.world.chart(patient_id).weight_kg\n        1 / (self.world.chart(patient_id).sex == 'male')",
        )
    ]
    assert failure(spoiled("toolkit.py", swaps=swaps), "tool", "raised ZeroDivisionError")["name"] == "weigh_patient"


def test_a_tool_that_takes_any_patient_is_named(spoiled):
    swaps = [("        self.world.chart(patient_id)\n        self.world.state", "        self.world.state")]
    found = failure(spoiled("toolkit.py", swaps=swaps), "tool", "accepted an unknown id for 'patient_id'")
    assert found["name"] == "give_paracetamol"


def test_a_read_tool_that_writes_is_named(spoiled):
    swaps = [
        (
            'self.world.reveal(patient_id, "weight_kg", weight, "kg")',
            'self.world.reveal(patient_id, "weight_kg", weight, "kg"); self.world.state.append("seen", 1)',
        )
    ]
    assert failure(spoiled("toolkit.py", swaps=swaps), "tool", "declared 'read' and changed")["name"] == "weigh_patient"


def test_a_write_tool_that_writes_nothing_is_named(spoiled):
    swaps = [('        self.world.state.append(f"{patient_id}.given", ["paracetamol", dose_mg])\n', "")]
    assert (
        failure(spoiled("toolkit.py", swaps=swaps), "tool", "no oracle's call of it changed")["name"]
        == "give_paracetamol"
    )


def test_a_write_before_the_check_is_caught(spoiled):
    swaps = [
        ("        self.world.chart(patient_id)\n", ""),
        ('["paracetamol", dose_mg])\n', '["paracetamol", dose_mg])\n        self.world.chart(patient_id)\n'),
    ]
    assert failure(spoiled("toolkit.py", swaps=swaps), "tool", "changed the state and then refused")


def test_a_tool_that_never_runs_is_named(spoiled):
    swaps = [
        (
            "weight = self.world.chart(patient_id).weight_kg",
            'raise __import__("healthgym").errors.ToolError("broken scales")',
        )
    ]
    assert "broken scales" in failure(spoiled("toolkit.py", swaps=swaps), "tool", "no valid call ever ran")["what"]


LATE_TOOLS = '''
    @tool(effect="write")
    def order_level(self, patient_id: str) -> str:
        """Order a blood level.

        Args:
            patient_id: For example P1.
        """
        order = self.world.order(patient_id, "level", 30, "level 12 mg/L")
        return f"Ordered [{order.id}]."

    @tool()
    def read_level(self, order_id: str) -> str:
        """Read the result of an order.

        Args:
            order_id: As order_level gave it.
        """
        if order_id not in self.world.orders:
            raise ToolError(f"No order {order_id[:40]!r}.")
        if self.world.orders[order_id].due_at > self.world.minutes:
            raise ToolError("Not ready yet.")
        return "level 12 mg/L"

    @tool(effect="submit")
    def submit_dose('''


def test_a_tool_that_needs_an_order_time_and_a_shown_id_is_reached(spoiled):
    swaps = [
        ("from healthgym.toolkit import Toolkit, tool", "from healthgym.toolkit import Toolkit, ToolError, tool"),
        ('\n    @tool(effect="submit")\n    def submit_dose(', LATE_TOOLS),
    ]
    assert spoiled("toolkit.py", swaps=swaps)["failures"] == []


def test_ids_that_one_tool_shows_in_plenty_hide_no_other_tools_id(spoiled):
    # weigh_patient shows 40 ids of its own before order_level shows the one that read_level takes
    many = 'return " ".join(f"[row-{n}]" for n in range(40)) + f"{patient_id} weighs'
    swaps = [
        ("from healthgym.toolkit import Toolkit, tool", "from healthgym.toolkit import Toolkit, ToolError, tool"),
        ('\n    @tool(effect="submit")\n    def submit_dose(', LATE_TOOLS),
        ('return f"{patient_id} weighs', many),
    ]
    assert spoiled("toolkit.py", swaps=swaps)["failures"] == []


def test_a_gold_that_is_an_everyday_word_is_no_leak_in_the_prompt(spoiled):
    swaps = [
        ('            answer={"dose_mg"', '            answer={"note": AnswerField(gold="none"), "dose_mg"'),
        ("P1, a child with fever", "None of the nurses is free. P1, a child with fever"),
    ]
    whats = [failure["what"] for failure in spoiled("tasks.py", swaps=swaps)["failures"]]
    assert whats and not any("gives away" in what for what in whats)


def test_a_tool_that_crashes_only_after_other_changes_is_named(tmp_path):
    # The trial of tools that have not run yet first uses every write tool; what one of them raises there is a failure too.
    folder = tmp_path / "fever"
    new_domain(folder)
    path = folder / "toolkit.py"
    path.write_text(
        path.read_text().replace("        self.world.state.append(", "        1 / 0\n        self.world.state.append(")
    )
    domain, log = load_domain(folder), FailureLog()
    case = domain.families["fever_dose"].case(domain.name, "train", 0)
    trials = ToolTrials(domain, ValuePool.from_tasks([case.task]), log)
    trials._try_late(case, ["give_paracetamol"], np.random.default_rng(0))
    assert (
        "after other changes" in failure({"failures": log.to_list()}, "tool", "raised ZeroDivisionError")["examples"][0]
    )


def test_a_gold_that_rests_on_what_no_call_shows_is_found(spoiled):
    # Three weights only, so that many children look alike; every other one is to get 100 mg more for no visible reason.
    result = spoiled(
        "tasks.py",
        swaps=[
            ("round(float(draw.rng.uniform(6, 60)), 1)", "float(draw.rng.integers(6, 9))"),
            ("else min(round", "else draw.index % 2 * 100 + min(round"),
        ],
    )
    found = failure(result, "family", "no call of the oracle shows")
    assert "their golds are" in json.dumps(found)


def test_an_option_inside_the_gold_counts_only_where_it_stands_by_itself():
    from healthgym.validation.oracle import _without

    prompt = "submit one of no diabetes, diabetes"
    assert _without(prompt, ["no diabetes"], "diabetes") == "submit one of  , diabetes"
    assert _without("there is no diabetes", ["no diabetes"], "diabetes") == "there is  "
    assert _without(prompt, ["diabetes"], "no diabetes") == prompt
