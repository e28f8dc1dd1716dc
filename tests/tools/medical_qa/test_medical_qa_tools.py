"""The tools compute what they say, show what they reveal, and refuse what makes no sense."""

import math

import pytest

from healthgym.errors import ToolError
from healthgym.knowledge_base import load
from healthgym.tools.medical_qa.arithmetic import evaluate
from healthgym.tools.medical_qa.claims import near_numbers, numbered_sentences
from healthgym.tools.medical_qa.toolkit import MedicalQaToolkit
from healthgym.tools.medical_qa.units import conversions, convert
from healthgym.world import World


@pytest.fixture
def tools():
    return MedicalQaToolkit(World({}))


def text(tools, tool, **arguments):
    result = tools.call(tool, arguments)
    assert result.error is None, result.error
    return result.content


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(140 - 70) * 60 / (72 * 1.2)", 48.6111),  # 70 x 60 / 86.4
        ("2 ^ 3 - -1", 9),
        ("100 × 75 ÷ 300", 25),
        ("sqrt(16) + ln(exp(2)) + log10(1000)", 9),
        ("round(10 / 3, 2)", 3.33),
        ("max(1, 2.5) - min(3, 4) + abs(-1)", 0.5),
    ],
)
def test_arithmetic_gives_the_value(expression, value):
    assert math.isclose(evaluate(expression), value, rel_tol=1e-4)


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('true')", "a + 1", "1; 2", "[1][0]", "'x' * 3", "True + 1", "1 / 0", "9 ** 9 ** 9",
        "10 ^ 5000", "1e308 * 10", "(-8) ^ 0.5", "sqrt(-1)", "f(2)", "lambda: 1", "", "1" * 201, "(" * 150 + "1", "2 if 1 else 3",
        "round(1, 2, 3)", "min()", "1 < 2", "0x10 if 1",
    ],
)  # fmt: skip
def test_anything_but_arithmetic_is_refused(expression):
    with pytest.raises(ToolError):
        evaluate(expression)


@pytest.mark.parametrize(
    ("value", "units", "analyte", "expected"),
    [
        (1.0, ("mg/dL", "umol/L"), "creatinine", 88.4),
        (100.0, ("mg/dL", "mmol/L"), "glucose", 5.55),
        (2.5, ("mmol/L", "mg/dL"), "calcium", 10.0),
        (7.0, ("g/dL", "g/L"), "hemoglobin", 70.0),
        (0.25, ("g", "mg"), "", 250.0),
        (1.0, ("kPa", "mmHg"), "", 7.50062),
        (90.0, ("minute", "hour"), "", 1.5),
    ],
)
def test_units_convert_by_the_known_factor(value, units, analyte, expected):
    assert math.isclose(convert(value, *units, analyte), expected, rel_tol=1e-6)
    assert math.isclose(convert(expected, *reversed(units), analyte), value, rel_tol=1e-6)


@pytest.mark.parametrize(
    ("analyte", "grams_per_mole", "per_litre"),
    [("creatinine", 113.12, 1e6), ("glucose", 180.16, 1e3), ("calcium", 40.08, 1e3), ("uric_acid", 168.11, 1e6)],
)
def test_factors_agree_with_molar_masses(analyte, grams_per_mole, per_litre):
    # 1 mg/dL is 0.01 g/L, so 0.01 / M mol/L.
    assert conversions()[analyte].factor == pytest.approx(0.01 / grams_per_mole * per_litre, rel=0.005)


def test_converted_analytes_have_the_unit_that_the_laboratory_reports():
    for name, entry in conversions().items():
        assert load().analytes[name].unit == entry.conventional, name


def test_units_of_two_quantities_are_refused():
    with pytest.raises(ToolError, match="Cannot turn 'kg'"):
        convert(1, "kg", "mL")
    with pytest.raises(ToolError, match="between mg/dL and umol/L"):
        convert(1, "mg/dL", "mmol/L", "creatinine")


def test_each_look_up_reveals_what_it_shows(tools):
    known = tools.world.facts
    assert "15 mg" in text(tools, "drug_aspect", drug="rivaroxaban", aspect="kidneys_and_liver")
    assert "kb.aspect.rivaroxaban.kidneys_and_liver" in known
    shown = text(tools, "compare_drugs", first="apixaban", second="dabigatran", aspect="kidneys_and_liver")
    assert shown.count("\n") == 1 and "kb.aspect.dabigatran.kidneys_and_liver" in known
    assert "major" in text(tools, "interaction_facts", drug="ibuprofen", other="warfarin")
    assert known["kb.pair.ibuprofen+warfarin"].value == "major"
    assert "no interaction recorded" in text(tools, "interaction_facts", drug="paracetamol", other="amlodipine")
    assert "kb.pair.amlodipine+paracetamol" in known
    assert "bisoprolol" in text(tools, "drug_class_members", drug_class="Beta-blockers")
    assert "136 to 145 mmol/L" in text(tools, "reference_limits", analyte="sodium", sex="male", age_years=50)
    assert "kb.limits.sodium.136-145" in known
    assert "A41.9" in text(tools, "condition_sheet", condition="septic shock")
    assert "kb.passage.condition:sepsis" in known
    assert "25 or more 3" in text(tools, "scoring_criteria", instrument="news2")
    assert "kb.criteria.news2" in known


def test_limits_are_those_of_the_person(tools):
    # Creatinine: women 0.5 to 1.1, children of 3 to 11 years 0.3 to 0.7 mg/dL.
    assert "0.5 to 1.1" in text(tools, "reference_limits", analyte="Creatinine", sex="female", age_years=40)
    assert "0.3 to 0.7" in text(tools, "reference_limits", analyte="creatinine", sex="female", age_years=7)
    assert "kb.limits.creatinine.0.3-0.7" in tools.world.facts


def test_a_finding_leads_to_the_conditions_that_show_it(tools):
    first = text(tools, "conditions_with_finding", finding="sudden pain, testicular").split("\n")[0]
    assert "Testicular torsion" in first


def test_a_claim_is_held_against_a_passage_only_after_it_was_read(tools):
    claim = {
        "claim": "Record a 12-lead ECG within 20 minutes of arrival",
        "passage_id": "guideline:ecg_within_10_minutes",
    }
    assert "was not read yet" in tools.call("check_claim", claim).error
    text(tools, "read_passage", passage_id=claim["passage_id"])
    assert "Numbers not in it: 20." in text(tools, "check_claim", **claim)
    said = {**claim, "claim": "Record a 12-lead ECG within 10 minutes of arrival"}
    assert "Numbers not in it: none." in text(tools, "check_claim", **said)


def test_every_unaltered_guideline_sentence_passes_the_check_and_every_altered_one_is_caught(tools):
    for name, items in numbered_sentences().items():
        text(tools, "read_passage", passage_id=f"guideline:{name}")
        for item in items:
            checked = {"passage_id": f"guideline:{name}"}
            assert "Numbers not in it: none." in text(
                tools, "check_claim", claim=item.saying(item.number), **checked
            ), name
            for other in near_numbers(item):
                said = text(tools, "check_claim", claim=item.saying(other), **checked)
                assert f"Numbers not in it: {float(other):g}." in said, (name, other)


def test_an_option_is_ruled_out_on_evidence_alone(tools):
    call = {"letter": "B", "fact_id": "warfarin", "reason": "needs INR control"}
    assert "Read it first" in tools.call("rule_out_option", call).error
    text(tools, "lookup_drug", name="warfarin")
    assert text(tools, "rule_out_option", **call) == "Ruled out so far: B."
    assert tools.world.state.get("ruled_out.B") == ["warfarin", "needs INR control"]


def test_an_empty_answer_is_refused(tools):
    assert "empty" in tools.call("submit_answer", {}).error
    assert tools.call("submit_answer", {"choices": []}).error is None
    assert tools.call("submit_answer", {"not_stated": True}).error is None


@pytest.mark.parametrize(
    "answer", [{"number": 500, "unit": "mg"}, {"choice": "A"}, {"choices": []}, {"term": "sepsis"}]
)
def test_an_answer_that_is_said_not_to_be_stated_is_refused(tools, answer):
    # both at once would be right whichever of the two the question has as its gold
    assert "no answer, yet one is given" in tools.call("submit_answer", {**answer, "not_stated": True}).error
    assert tools.call("submit_answer", {**answer, "not_stated": False}).error is None
