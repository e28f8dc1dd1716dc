"""Every task can be solved, its gold follows from what is printed, and nothing but solving it earns the reward."""

from collections import Counter
from functools import lru_cache

import pytest

from healthgym.envs.episode import Episode
from healthgym.knowledge_base import load
from healthgym.registry import load_domain
from healthgym.rewards import compose
from healthgym.tasks import SPLITS, Call, Case, load_suite
from healthgym.tasks.answers import grade_field
from healthgym.tools.clinical_diagnosis.cases import held_out, icd10_field
from healthgym.tools.clinical_diagnosis.family_next_test import d_dimer_limit
from healthgym.tools.clinical_diagnosis.family_prescribing import ladder_for
from healthgym.tools.clinical_diagnosis.safety import obstacles
from healthgym.validation import validate

DOMAIN = "clinical_diagnosis"
FAMILIES = sorted(load_domain(DOMAIN).families)
INSTRUMENTS = (
    "curb65", "wells_pe", "wells_dvt", "cha2ds2_vasc", "has_bled", "meld_3_0", "child_pugh", "heart_score",
)  # fmt: skip


@lru_cache(maxsize=1)
def suite():
    return load_suite(DOMAIN)


def cases(family: str, split: str | None = None, every: int = 1) -> list[Case]:
    return [suite().case(task_id) for task_id in suite().ids(DOMAIN, split, [family])[::every]]


def play(case: Case, calls) -> Episode:
    episode = Episode(case, load_domain(DOMAIN))
    for call in calls:
        if episode.is_over:
            break
        message = {"function": {"name": call.tool, "arguments": dict(call.arguments)}}
        episode.apply({"content": "", "tool_calls": [message]})
    return episode


def gold(case: Case, name: str):
    return case.task.criteria.answer[name].gold


def printed(case: Case, name: str) -> float:
    return float(case.charts["P1"].lab_results[name].value)


def test_a_sample_of_the_domain_is_proved():
    proof = validate(load_domain(DOMAIN), sample=36)
    assert proof["failures"] == [] and proof["oracle_min"] == 1.0


def test_there_are_600_tasks_in_the_usual_shares():
    counts = Counter(task_id.split("/")[2] for task_id in suite().ids(DOMAIN))
    total = sum(counts.values())
    assert total >= 600
    for split, share in zip(SPLITS, (0.70, 0.08, 0.14, 0.08), strict=True):
        assert counts[split] / total == pytest.approx(share, abs=0.02), split


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_easy_medium_and_hard_tasks_and_no_commonest_answer(family):
    made = cases(family)
    assert {case.task.difficulty for case in made} == {"easy", "medium", "hard"}
    for name in made[0].task.criteria.answer:
        commonest = Counter(str(gold(case, name)) for case in made).most_common(1)[0][1]
        assert commonest / len(made) <= 0.35, name


def test_the_code_of_one_condition_is_never_that_of_another():
    # Codes are cut to as few characters as tell them apart: E11.9 and E11.65 share three.
    codes = {name: condition.icd10 for name, condition in load().conditions.items()}
    for name, own in codes.items():
        rule = icd10_field(name)
        assert rule.prefix >= 3
        assert [other for other, code in codes.items() if grade_field(rule, code) > 0] == [name], own


@pytest.mark.parametrize("family", FAMILIES)
def test_splits_share_no_template_and_test_ood_has_subjects_of_its_own(family):
    templates = {split: {case.task.template for case in cases(family, split)} for split in SPLITS}
    assert sum(map(len, templates.values())) == len(set().union(*templates.values()))
    elsewhere = {case.task.condition for split in SPLITS[:3] for case in cases(family, split)}
    assert not {case.task.condition for case in cases(family, "test_ood")} & elsewhere


def test_conditions_that_are_held_out_are_seen_in_test_ood_alone():
    for family in ("workup", "referral", "safe_prescribing"):
        for split in SPLITS:
            for case in cases(family, split):
                assert (case.task.condition in held_out()) == (split == "test_ood"), case.task.id


@pytest.mark.parametrize("family", FAMILIES)
def test_leaving_out_the_evidence_costs_the_reward(family):
    for case in cases(family, every=29):
        solution = case.task.solution
        reads = [
            i
            for i, call in enumerate(solution[:-1])
            if call.tool in ("examine_system", "order_labs", "earlier_results")
        ]
        for place in reads:
            left_out = [call for i, call in enumerate(solution) if i != place and solution[place] != call]
            assert compose(play(case, left_out).grade()) < 1.0, (case.task.id, solution[place])


def test_the_drug_to_give_is_the_first_of_its_ladder_that_nothing_bars():
    for case in cases("safe_prescribing"):
        chart, drugs = case.charts["P1"], ladder_for(case.charts["P1"])
        wanted = case.task.criteria.end_state["P1.prescribed"]
        for drug in drugs[: drugs.index(wanted)]:
            assert obstacles(chart, drug), (case.task.id, drug)
        assert not obstacles(chart, wanted), case.task.id
        if case.task.difficulty == "easy":
            assert wanted == drugs[0]


def test_the_barred_first_drug_is_harm():
    case = next(
        c for c in cases("safe_prescribing") if "allergy" in obstacles(c.charts["P1"], ladder_for(c.charts["P1"])[0])
    )
    first = ladder_for(case.charts["P1"])[0]
    changed = [
        Call("prescribe", patient_id="P1", drug=first) if c.tool == "prescribe" else c for c in case.task.solution
    ]
    grade = play(case, changed).grade()
    assert grade.outcome == "unsafe" and grade.is_critical
    assert compose(grade) <= 0.1


def read_gas(case: Case) -> str:
    """Read printed results by the rules of Berend et al., 2014, independently of how they were made."""
    ph, pco2, bicarbonate = (printed(case, name) for name in ("ph_arterial", "pco2_arterial", "bicarbonate"))
    gap = printed(case, "sodium") - printed(case, "chloride") - bicarbonate + 2.5 * (4 - printed(case, "albumin"))
    if gap > 12:
        if pco2 < 1.5 * bicarbonate + 8 - 2.5:
            return "high_gap_acidosis_and_respiratory_alkalosis"
        ratio = (gap - 12) / (24 - bicarbonate)
        return "high_gap_acidosis_and_metabolic_alkalosis" if ratio > 2 else "high_gap_metabolic_acidosis"
    if ph > 7.41:
        return "acute_respiratory_alkalosis" if pco2 < 38 else "metabolic_alkalosis"
    if pco2 > 45:
        acute, chronic = 24 + (pco2 - 40) / 10, 24 + 4 * (pco2 - 40) / 10
        nearer_acute = abs(bicarbonate - acute) < abs(bicarbonate - chronic)
        return "acute_respiratory_acidosis" if nearer_acute else "chronic_respiratory_acidosis"
    return "normal_gap_metabolic_acidosis"


def test_the_disorder_of_acid_and_base_can_be_read_from_the_printed_results():
    read = 0
    for case in cases("acid_base_and_salts"):
        wanted = gold(case, "disorder")
        if "acidosis" in wanted or "alkalosis" in wanted:
            assert read_gas(case) == wanted, case.task.id
            read += 1
        elif "hyponatraemia" in wanted:
            # below 135 after 1.6 mmol/L for each 100 mg/dL of glucose above 100: truly low
            corrected = printed(case, "sodium") + 1.6 * (max(100, printed(case, "glucose")) - 100) / 100
            assert (corrected < 135) == (wanted == "hypotonic_hyponatraemia"), case.task.id
            assert printed(case, "sodium") < 136
        elif "calc" in wanted:
            corrected = printed(case, "calcium") + 0.8 * (4 - printed(case, "albumin"))
            band = "hypercalcaemia" if corrected > 10.2 else "hypocalcaemia" if corrected < 8.6 else "normal_calcium"
            assert band == wanted, case.task.id
        else:
            alveolar = 0.21 * 713 - printed(case, "pco2_arterial") / 0.8
            excess = alveolar - printed(case, "po2_arterial") - (2.5 + 0.21 * case.charts["P1"].age_years)
            assert (excess > 10) == (wanted == "gas_exchange_defect"), case.task.id
    assert read > 60


def test_the_instrument_itself_gives_the_score():
    for case in cases("risk_score"):
        said = [call.content for call in play(case, case.task.solution).world.calls if call.tool in INSTRUMENTS]
        assert f" {gold(case, 'score'):g}, " in f"{said[0]}, ", (case.task.id, said)


def test_d_dimer_counts_from_a_hundredth_of_the_age_above_50():
    assert [d_dimer_limit(age) for age in (30, 50, 51, 80)] == [0.5, 0.5, 0.51, 0.8]
    stages = [c for c in cases("next_best_test") if c.task.condition in ("suspected_pe", "suspected_dvt")]
    tested = [c for c in stages if "d_dimer" in c.charts["P1"].extra["earlier"]]
    assert tested
    for case in tested:
        is_high = printed(case, "d_dimer") >= d_dimer_limit(case.charts["P1"].age_years)
        assert (gold(case, "next_test") != "none") == is_high, case.task.id


def test_a_low_total_calcium_with_low_albumin_is_not_always_low():
    shown = {gold(case, "disorder") for case in cases("acid_base_and_salts") if printed(case, "calcium") < 8.6}
    assert {"normal_calcium", "hypocalcaemia"} <= shown


def test_the_work_up_uses_most_of_the_ward_illnesses_and_the_triage_desk_none():
    wards = {name for name, condition in load().conditions.items() if not condition.at_triage}
    seen = {case.task.condition for case in cases("workup")}
    assert len(wards) >= 30 and len(wards & seen) >= 30
    triage = load_suite("triage_emergency")
    drawn = {triage.case(task_id).task.condition for task_id in triage.ids("triage_emergency")[::7]}
    assert not wards & drawn
