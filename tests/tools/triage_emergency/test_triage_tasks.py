"""Every triage task can be solved, and nothing but solving it earns the reward."""

from collections import Counter

import attackers
import numpy as np
import pytest

from healthgym.knowledge_base import load
from healthgym.registry import load_domain
from healthgym.rewards import compose
from healthgym.tasks import SPLITS
from healthgym.tools.triage_emergency.cases import OOD_CONDITIONS

DOMAIN = "triage_emergency"
FAMILIES = sorted(load_domain(DOMAIN).families)
SMALL = "vital_sign_triage"


def cases(family, split=None, most=None):
    ids = attackers.suite().ids(DOMAIN, split, [family])
    if most and most < len(ids):
        ids = [ids[place] for place in np.random.default_rng(len(ids)).permutation(len(ids))[:most]]
    return [attackers.suite().case(task_id) for task_id in ids]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_oracle_earns_exactly_one_on_every_task(family):
    for case in cases(family, most=300 if family == SMALL else None):
        episode = attackers.oracle(case, np.random.default_rng(0))
        assert episode.stop_reason == "submitted", case.task.id
        assert compose(episode.grade()) == 1.0, (case.task.id, episode.grade())


@pytest.mark.slow
def test_the_oracle_earns_one_on_all_of_the_small_family():
    assert all(compose(attackers.oracle(case, np.random.default_rng(0)).grade()) == 1.0 for case in cases(SMALL))


@pytest.mark.parametrize("attacker", sorted(attackers.ATTACKERS))
def test_attackers_hardly_ever_succeed(attacker):
    rng = np.random.default_rng(7)
    success, reward = {}, {}
    for family in FAMILIES:
        grades = [
            attackers.ATTACKERS[attacker](case, rng).grade()
            for case in cases(family, most=120 if family == SMALL else 40)
        ]
        success[family] = np.mean([grade.success for grade in grades])
        reward[family] = np.mean([compose(grade) for grade in grades])
    assert np.mean(list(success.values())) <= 0.05, success
    assert max(reward.values()) < 0.25, reward
    # calls meant for another patient are right now and then when that patient has the same illness
    assert max(success.values()) <= (0.15 if attacker == "wrong_patient" else 0.05), success


@pytest.mark.parametrize("family", FAMILIES)
def test_leaving_out_any_reading_call_costs_the_reward(family):
    for case in cases(family, most=12):
        solution = case.task.solution
        first_look = "reassess" if family == "reassessment" else "take_vital_signs"  # a later look replaces the first
        for skipped in {call.tool for call in solution} & {first_look, "check_allergies"}:
            kept = [call for call in solution if call.tool != skipped]
            grade = attackers.play(attackers.start(case), kept).grade()
            assert not grade.success, (case.task.id, skipped)
            assert compose(grade) < 1.0


def test_splits_have_the_promised_sizes():
    counts = load_domain(DOMAIN).families[SMALL].counts
    assert (counts["train"], counts["val"], counts["test"], counts["test_ood"]) == (2000, 200, 300, 100)
    assert sum(sum(f.counts.values()) for name, f in load_domain(DOMAIN).families.items() if name != SMALL) >= 400


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "imaging_rules"])
def test_held_out_conditions_appear_in_test_ood_only(family):
    for split in SPLITS:
        for case in cases(family, split, most=100):
            conditions = {chart.condition for chart in case.charts.values()}
            assert all((name in OOD_CONDITIONS) == (split == "test_ood") for name in conditions)


@pytest.mark.parametrize("family", FAMILIES)
def test_prompt_templates_are_disjoint_between_splits_and_hide_the_gold(family):
    seen = {split: {case.task.prompt.split("P1")[0] for case in cases(family, split, most=60)} for split in SPLITS}
    used = {split: {case.task.template for case in cases(family, split, most=60)} for split in SPLITS}
    assert not any(used[a] & used[b] for a in SPLITS for b in SPLITS if a < b)
    assert all(seen.values())
    names = set(load().conditions)
    assert not any(name in case.task.prompt for case in cases(family, most=60) for name in names)


@pytest.mark.parametrize("family", FAMILIES)
def test_all_difficulties_are_drawn(family):
    assert {case.task.difficulty for case in cases(family, "train", most=100)} == {"easy", "medium", "hard"}


def test_no_answer_of_the_small_family_is_common_in_any_split():
    for split in SPLITS:
        drawn = cases(SMALL, split, most=300)
        answers = Counter(
            (case.task.criteria.answer["esi_level"].gold, case.task.criteria.end_state["P1.given"]) for case in drawn
        )
        # a guess made in one turn is right as often as the commonest answer
        assert answers.most_common(1)[0][1] / len(drawn) < (0.15 if split == "test_ood" else 0.1)


def test_the_small_family_stays_small():
    for case in cases(SMALL, most=60):
        episode = attackers.oracle(case, np.random.default_rng(0))
        assert len(case.task.prompt.split()) < 40
        assert 4 <= episode.turns <= 6
        assert len(case.task.tools) == 6
        assert all(len(call.content.split()) < 40 for call in episode.world.calls)


def test_the_forbidden_first_choice_is_a_critical_hazard_in_the_small_family():
    hard = next(case for case in cases(SMALL, most=200) if case.task.difficulty == "hard")
    first = {"doxycycline": "amoxicillin", "azithromycin": "phenoxymethylpenicillin", "clopidogrel": "aspirin"}
    drug = hard.task.criteria.end_state["P1.given"]
    swapped = [
        attackers.Call(
            "give_medication",
            patient_id="P1",
            drug=first.get(drug, "ibuprofen" if drug == "paracetamol" else "paracetamol"),
        )
        if call.tool == "give_medication"
        else call
        for call in hard.task.solution
    ]
    grade = attackers.play(attackers.start(hard), swapped).grade()
    assert grade.is_critical
    assert compose(grade) <= 0.1


def test_cases_are_the_same_when_generated_again():
    family = load_domain(DOMAIN).families["reassessment"]
    again = [family.case(DOMAIN, "train", 3) for _ in range(2)]
    assert again[0].task.to_dict() == again[1].task.to_dict()
    assert again[0].charts == again[1].charts


def test_children_have_the_blood_pressure_of_children():
    # 95th percentile for systolic pressure of an average child lies near 100 + 2 x age (AAP guideline 2017); 20 of leeway.
    children = [
        chart for case in cases("imaging_rules", "test_ood") for chart in case.charts.values() if chart.age_years < 14
    ]
    assert len(children) >= 5
    for chart in children:
        assert (chart.vital_signs_at(0).systolic_bp_mmhg or 0) < 120 + 2 * chart.age_years
