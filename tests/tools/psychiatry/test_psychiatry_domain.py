"""Psychiatry as a whole: solvable, guarded, spread, and harmful to no one who plays it well."""

from collections import Counter
from functools import lru_cache

import pytest

from healthgym.registry import load_domain
from healthgym.rewards import compose
from healthgym.tasks import SPLITS, Call
from healthgym.tools.psychiatry import family_differential, family_medicines, family_screening, family_suicide
from healthgym.validation import validate
from healthgym.validation.replay import play

DOMAIN = load_domain("psychiatry")
FAMILIES = sorted(DOMAIN.families)


@lru_cache(maxsize=2048)
def case(family, split="train", index=0):
    return DOMAIN.families[family].case("psychiatry", split, index)


def cases(family, split="train", most=12):
    return [case(family, split, index) for index in range(min(most, DOMAIN.families[family].counts[split]))]


def find(family, wanted, most=49):
    return next(one for one in cases(family, most=most) if wanted(one))


def graded(one, calls):
    return play(one, DOMAIN, [[call] for call in calls])


def test_a_sample_of_the_domain_is_proved():
    proof = validate(DOMAIN, sample=45)
    assert proof["failures"] == []
    assert proof["oracle_min"] == 1.0


def test_there_are_at_least_300_tasks_and_18_tools_of_its_own():
    assert sum(sum(family.counts.values()) for family in DOMAIN.families.values()) >= 300
    own = [name for name, spec in DOMAIN.tools.items() if spec.domain == "psychiatry"]
    assert len(own) >= 18, own


@pytest.mark.parametrize("family", FAMILIES)
def test_prompts_are_disjoint_between_splits_and_all_difficulties_are_drawn(family):
    used = {split: {one.task.template for one in cases(family, split, 14)} for split in SPLITS}
    assert not any(used[a] & used[b] for a in SPLITS for b in SPLITS if a < b)
    assert {one.task.difficulty for one in cases(family, most=25)} == {"easy", "medium", "hard"}


@pytest.mark.parametrize("family", FAMILIES)
def test_no_answer_is_common(family):
    answers = Counter(repr([f.gold for f in one.task.criteria.answer.values()]) for one in cases(family, most=49))
    # a guess made at once is right as often as the commonest answer
    assert answers.most_common(1)[0][1] / sum(answers.values()) <= 0.3


def test_what_is_held_out_appears_in_test_ood_only():
    for split in SPLITS:
        ood = split == "test_ood"
        for one in cases("differential", split, 20):
            assert (one.task.condition in family_differential.HELD_OUT) == ood
        for one in cases("suicide_risk", split, 20):
            assert (one.task.condition in family_suicide.HELD_OUT) == ood
        for one in cases("screening", split, 20):
            form = one.task.solution[0].arguments["instrument"]
            assert (form in family_screening.HELD_OUT) == ood
        held_out = {family_medicines.CONDITION_OF[name] for name in family_medicines.HELD_OUT}
        for one in cases("medicine_choice", split, 20):
            assert (one.task.condition in held_out) == ood


@pytest.mark.parametrize("family", FAMILIES)
def test_leaving_out_one_look_costs_the_reward(family):
    looks = {
        "ask_patient",
        "observe_withdrawal",
        "observe_behaviour",
        "order_test",
        "assess_ability",
        "cognitive_tasks",
    }
    for one in cases(family, most=4):
        solution = list(one.task.solution)
        place = next((i for i, call in enumerate(solution) if call.tool in looks or call.tool == "read_record"), None)
        assert place is not None
        kept = [call for i, call in enumerate(solution) if i != place and call != solution[place]]
        played = graded(one, kept)
        assert not played.grade.success and played.reward < 1.0, one.task.id


def test_high_suicide_risk_left_alone_or_sent_home_is_critical():
    one = find("suicide_risk", lambda c: c.task.criteria.answer["risk_level"].gold == "high")
    alone = [call for call in one.task.solution if call.tool != "set_observation"]
    labels = [hit.label for hit in graded(one, alone).grade.hazards]
    assert labels == ["high risk left alone"]
    *before, last = one.task.solution
    home = Call("submit_assessment", **{**last.arguments, "disposition": "home"})
    played = graded(one, [*before, home])
    assert played.grade.is_critical and played.reward <= 0.1


def test_a_plan_copied_from_another_patient_is_no_safety_plan():
    level = ("low", "moderate")
    plans = [c for c in cases("suicide_risk", most=49) if c.task.criteria.answer["risk_level"].gold in level]
    one = plans[0]
    texts = [next(call for call in c.task.solution if call.tool == "write_safety_plan") for c in plans]
    other = next(call for call in texts if not set(call.arguments.values()) & (set(texts[0].arguments.values()) - {"P1", texts[0].arguments["professionals"]}))  # fmt: skip
    swapped = [other if call.tool == "write_safety_plan" else call for call in one.task.solution]
    grade = graded(one, swapped).grade
    # of five parts only the crisis line is this patient's too, and two are plainly another's: 1 - 2 of 5
    assert grade.parts["state.P1.safety_plan"] == 0.0
    assert not grade.success


def test_one_plan_for_everybody_is_no_safety_plan():
    level = ("low", "moderate")
    one = find("suicide_risk", lambda c: c.task.criteria.answer["risk_level"].gold in level)
    words = family_suicide.table("suicide_words")
    said = {part: ", ".join(choice["note"] for choice in words[part]["choices"]) for part in family_suicide.PLAN_PARTS}
    parts = ("warning_signs", "coping", "people", "safe_place")
    everything = Call(
        "write_safety_plan",
        patient_id="P1",
        professionals="crisis line",
        **dict(zip(parts, said.values(), strict=True)),
    )
    played = graded(one, [everything if call.tool == "write_safety_plan" else call for call in one.task.solution])
    # all five parts are said, and with them three comforts and three friends of others: 5 - 6 of 5
    assert played.grade.parts["state.P1.safety_plan"] == 0.0
    assert not played.grade.success


def test_a_relative_knows_what_a_patient_denies():
    one = find("suicide_risk", lambda c: "R1" in c.charts and c.charts["R1"].findings[0].present)
    said = one.charts["P1"].finding("behaviour_within_3_months")
    assert said is not None and not said.present
    assert one.task.criteria.answer["risk_level"].gold == "high"


def test_a_benzodiazepine_below_ten_is_a_hazard_and_a_late_score_differs_by_treatment():
    mild = find("alcohol_withdrawal", lambda c: c.task.criteria.answer["total"].gold < 10)
    dose = Call("give_dose", patient_id="P1", drug="diazepam")
    played = graded(mild, [Call("observe_withdrawal", patient_id="P1"), dose, mild.task.solution[-1]])
    assert "sedated without need" in [hit.label for hit in played.grade.hazards]
    treated = find("alcohol_withdrawal", lambda c: c.task.criteria.answer["total"].gold >= 10)
    missed = [call for call in treated.task.solution if call.tool != "give_dose"]
    seen = [call.content for call in graded(treated, missed).episode.world.calls if call.tool == "observe_withdrawal"]
    right = [
        c.content for c in graded(treated, treated.task.solution).episode.world.calls if c.tool == "observe_withdrawal"
    ]
    assert seen[0] == right[0] and seen[1] != right[1]


def test_toxic_lithium_left_on_the_chart_is_critical():
    one = find("lithium_monitoring", lambda c: c.task.criteria.answer["action"].gold == "stop_and_send_to_hospital")
    left = [call for call in one.task.solution if call.tool != "stop_medicine"]
    assert "lithium left in danger" in [hit.label for hit in graded(one, left).grade.hazards]


def test_a_wash_out_cut_short_is_critical():
    one = find("antidepressant_switch", lambda c: c.task.criteria.answer["start_in_days"].gold > 0)
    at_once = [
        Call("prescribe", **{**call.arguments, "start_in_days": 0}) if call.tool == "prescribe" else call
        for call in one.task.solution
    ]
    played = graded(one, at_once)
    assert played.grade.is_critical and compose(played.grade) <= 0.1


def test_an_allergy_makes_the_first_choice_critical():
    one = find("medicine_choice", lambda c: any(a.substance == "sertraline" for a in c.charts["P1"].allergies))
    wrong = [
        Call("prescribe", patient_id="P1", drug="sertraline") if call.tool == "prescribe" else call
        for call in one.task.solution
    ]
    assert graded(one, wrong).grade.is_critical


def test_a_binding_refusal_overridden_is_critical():
    one = find("capacity", lambda c: c.task.criteria.answer["action"].gold == "follow_advance_decision")
    *before, last = one.task.solution
    forced = Call("submit_assessment", **{**last.arguments, "action": "treat_in_best_interests"})
    assert graded(one, [*before, forced]).grade.is_critical


def test_an_antidepressant_for_a_hidden_bipolar_disorder_is_critical():
    one = find("differential", lambda c: c.task.condition == "bipolar_depression")
    before = one.task.solution[:-1]
    wrong = Call("submit_assessment", diagnosis="major_depression", action="start_antidepressant")
    assert graded(one, [*before, wrong]).grade.is_critical


def test_thoughts_of_self_harm_in_a_questionnaire_must_lead_on():
    one = find("screening", lambda c: c.task.criteria.answer["action"].gold == "suicide_screen", most=70)
    *before, last = one.task.solution
    passed_over = Call("submit_assessment", **{**last.arguments, "action": "routine"})
    assert graded(one, [*before, passed_over]).grade.is_critical


def test_cases_are_the_same_when_generated_again():
    for family in FAMILIES:
        again = DOMAIN.families[family].case("psychiatry", "test", 1)
        assert again.task.to_dict() == case(family, "test", 1).task.to_dict()
        assert again.charts == case(family, "test", 1).charts
