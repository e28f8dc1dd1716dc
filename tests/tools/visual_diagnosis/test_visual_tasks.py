"""The tasks of visual_diagnosis can be solved, cannot be guessed, and ask for alarms where they belong."""

from collections import Counter

import numpy as np
import pytest
from visual_reading import images_of

from healthgym.envs import Episode
from healthgym.tasks import SPLITS, Call, grade_field
from healthgym.tools.visual_diagnosis.family_chest import conclude_heart, conclude_response
from healthgym.tools.visual_diagnosis.family_fundus import conclude_disc
from healthgym.tools.visual_diagnosis.family_histology import conclude_ki67
from healthgym.validation.arguments import ValuePool
from healthgym.validation.attackers import ATTACKS, Field, blind_attacks
from healthgym.validation.replay import play

pytest.importorskip("skimage")
HELD_OUT = {
    "chest_finding": "pleural_effusion", "retinopathy": "severe_npdr", "red_cells": "sickle_cells",
    "ecg_rhythm_strip": "first_degree_av_block",
}  # fmt: skip


def gold(case, name="conclusion"):
    return case.task.criteria.answer[name].gold


def find(cases, **wanted):
    return next(case for case in cases if all(getattr(case.task, key) == value for key, value in wanted.items()))


def test_there_are_at_least_250_tasks_of_every_difficulty_and_14_own_tools(domain, cases):
    own = [spec for spec in domain.tools.values() if spec.domain == "visual_diagnosis"]
    assert len(cases) >= 250 and len(own) >= 14
    difficulties = Counter(case.task.difficulty for case in cases)
    assert all(difficulties[name] >= len(cases) // 5 for name in ("easy", "medium", "hard"))
    assert {case.task.split for case in cases} == set(SPLITS)


def test_every_family_covers_all_difficulties(cases):
    for family in {case.task.family for case in cases}:
        assert len({case.task.difficulty for case in cases if case.task.family == family}) == 3, family


def test_held_out_findings_occur_in_test_ood_only(cases):
    for case in cases:
        if case.task.family in HELD_OUT:
            assert (gold(case) == HELD_OUT[case.task.family]) is (case.task.split == "test_ood"), case.task.id


def test_no_wording_and_no_image_serves_two_splits(cases):
    owner = {}
    for case in cases:
        keys = [case.task.template, *(image.key for image in images_of(case).values())]
        assert all(owner.setdefault(key, case.task.split) == case.task.split for key in keys), case.task.id


def test_no_answer_of_a_family_is_far_more_common_than_the_others(cases):
    for family in {case.task.family for case in cases}:
        listed = [case for case in cases if case.task.family == family and case.task.split != "test_ood"]
        golds = Counter(gold(case) for case in listed)
        assert max(golds.values()) / sum(golds.values()) <= 0.6, (family, golds)
    overall = Counter(gold(case) for case in cases)
    assert max(overall.values()) / len(cases) < 0.1


def test_every_conclusion_that_can_be_submitted_is_somebodys(domain, cases):
    options = set(domain.submit_tool.parameters["properties"]["conclusion"]["enum"])
    assert {gold(case) for case in cases} == options


def test_age_and_sex_do_not_tell_the_answer(cases):
    # About 400 cases of sd 22 years: means of two halves of a family's answers differ by chance by under 12 years.
    enlarged = [case for case in cases if case.task.family == "heart_size"]
    ages = {
        is_large: [c.charts["P1"].age_years for c in enlarged if (gold(c) == "cardiomegaly") is is_large]
        for is_large in (True, False)
    }
    assert abs(np.mean(ages[True]) - np.mean(ages[False])) < 15
    women = np.mean([case.charts["P1"].sex == "female" for case in cases])
    assert 0.42 < women < 0.58


def test_captions_and_requests_never_name_a_conclusion(cases):
    for place, case in enumerate(cases):
        chart, words = case.charts["P1"], gold(case).replace("_", " ")
        assert words not in " ".join((chart.extra["request"], *chart.extra["notes"])).lower(), (case.task.id, words)
        if place % 25 == 0:
            captions = " ".join(image.caption for image in images_of(case).values())
            assert words not in captions.lower(), (case.task.id, words)


def test_the_right_answer_of_another_patient_is_rarely_right(cases):
    shares = []
    for case in cases:
        own, rules = case.task.solution[-1].arguments, case.task.criteria.answer
        others = [other.task.solution[-1].arguments for other in cases if other.task.family == case.task.family]
        others = [other for other in others if other != own]
        right = [all(grade_field(rule, other.get(name)) == 1 for name, rule in rules.items()) for other in others]
        shares.append(np.mean(right))
    assert np.mean(shares) < 0.05


def test_oracles_earn_one(domain, cases):
    for case in cases[::12]:
        played = play(case, domain, case.task.turns_of_solution())
        assert (played.reward, played.grade.success) == (1.0, True), (case.task.id, played.grade)


@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_attackers_earn_next_to_nothing(domain, cases, name):
    field = Field(domain, cases, ValuePool.from_tasks(case.task for case in cases))
    runs = [
        play(case, domain, ATTACKS[name](case, field, np.random.default_rng([3, index])))
        for index, case in enumerate(cases[::29])
    ]
    assert np.mean([run.grade.success for run in runs]) <= 0.14 and np.mean([run.reward for run in runs]) < 0.25


def test_submitting_at_once_earns_nothing(domain, cases):
    field = Field(domain, cases, ValuePool())
    for attack in blind_attacks(domain, cases):
        runs = [play(case, domain, attack(case, field, np.random.default_rng(0))) for case in cases[::9]]
        assert not any(run.reward > 0 for run in runs)


def test_right_numbers_without_looking_earn_nothing(domain, cases):
    for case in cases[::11]:
        assert play(case, domain, [[case.task.solution[-1]]]).reward == 0.0


def test_a_critical_finding_that_is_not_passed_on_caps_the_reward(domain, cases):
    for family, alert in (
        ("chest_finding", "large_pneumothorax"),
        ("qt_interval", "high_risk_qtc"),
        ("parasite_burden", ""),
    ):
        case = next(
            c
            for c in cases
            if c.task.family == family and any(call.tool == "alert_clinician" for call in c.task.solution)
        )
        assert not alert or alert in repr(case.task.solution)
        silent = [[call] for call in case.task.solution if call.tool != "alert_clinician"]
        played = play(case, domain, silent)
        assert played.grade.is_critical and played.reward <= 0.1


def test_a_needless_alarm_costs_safety(domain, cases):
    case = next(c for c in cases if gold(c) == "no_chest_finding")
    calls = list(case.task.solution)
    alarm = Call("alert_clinician", patient_id="P1", finding="large_pneumothorax")
    played = play(case, domain, [[call] for call in (*calls[:-1], alarm, calls[-1])])
    assert played.grade.scores["safety"] == 0.5 and not played.grade.is_critical


def test_looking_serves_as_well_as_measuring(domain, cases):
    case = find(cases, family="heart_size", difficulty="medium")
    calls = [case.task.solution[0], Call("view_image", image_id="film-0"), case.task.solution[-1]]
    assert play(case, domain, [[call] for call in calls]).reward == 1.0


def test_looking_at_the_wrong_image_is_no_evidence(domain, cases):
    case = find(cases, family="heart_size", difficulty="hard")
    calls = [case.task.solution[0], Call("view_image", image_id="film-prior"), case.task.solution[-1]]
    assert not play(case, domain, [[call] for call in calls]).grade.success


def test_a_vision_model_gets_the_image_and_others_its_caption(domain, cases):
    case = find(cases, family="chest_finding", difficulty="easy")
    blocks = Episode(case, domain, images=True).messages[-1]["content"]
    assert [block["type"] for block in blocks] == ["image", "text"]
    assert blocks[0]["url"].startswith("data:image/png;base64,")
    text = Episode(case, domain).messages[-1]["content"]
    assert isinstance(text, str) and "[image film-0: chest film, PA, today, 320 x 320 px, 1.2 mm/px]" in text


def test_a_tool_for_another_kind_of_image_says_what_it_is(domain, cases):
    case = find(cases, family="qt_interval")
    episode = Episode(case, domain)
    result = episode.toolkit.call("cardiothoracic_ratio", {"image_id": "strip-0"})
    assert result.error == "strip-0 shows another kind of thing (ECG rhythm strip); this tool measures: chest film."
    assert "Known: strip-0" in episode.toolkit.call("view_image", {"image_id": "strip-9"}).error


def test_rules_at_their_limits():
    assert [conclude_heart(ctr, "PA") for ctr in (0.50, 0.51)] == ["normal_heart_size", "cardiomegaly"]
    assert conclude_heart(0.60, "AP, lying") == "not_assessable"
    # 40 to 28 mm is -30 %; 20 to 24 is +20 % but only 4 mm; 30 to 36 is +20 % and 6 mm.
    assert [conclude_response(*pair) for pair in ((40, 28), (20, 24), (30, 36))] == [
        "partial_response", "stable_disease", "progressive_disease",
    ]  # fmt: skip
    assert [conclude_disc(*pair) for pair in ((0.7, 0.6), (0.6, 0.45), (0.6, 0.375))] == [
        "glaucoma_suspect", "normal_disc", "glaucoma_suspect",
    ]  # fmt: skip
    assert [conclude_ki67(p, "breast") for p in (5.0, 5.1, 29.9, 30.0)] == [
        "low_ki67", "intermediate_ki67", "intermediate_ki67", "high_ki67",
    ]  # fmt: skip
    assert [conclude_ki67(p, "neuroendocrine") for p in (2.9, 3.0, 20.0, 20.1)] == [
        "grade_1",
        "grade_2",
        "grade_2",
        "grade_3",
    ]
