"""Triage instruments at the boundaries of their published definitions."""

import pytest

from healthgym.errors import ToolError
from healthgym.tools.scores.cincinnati import cincinnati_stroke
from healthgym.tools.scores.ct_head_rule import canadian_ct_head, canadian_ct_head_risk
from healthgym.tools.scores.emergency_severity import count_resources, esi_level, is_danger_zone
from healthgym.tools.scores.glasgow_coma import gcs
from healthgym.tools.scores.heart import heart_band, heart_points
from healthgym.tools.scores.news2 import clinical_risk, news2, news2_parts
from healthgym.tools.scores.nexus_spine import nexus_needs_imaging
from healthgym.tools.scores.ottawa import needs_ankle_film, needs_foot_film, needs_knee_film
from healthgym.tools.scores.pecarn import pecarn_head, pecarn_two_and_over, pecarn_under_two
from healthgym.tools.scores.quick_sofa import qsofa_points
from healthgym.tools.scores.revised_trauma import rts, rts_codes, rts_weighted
from healthgym.tools.scores.shock_index import shock_index
from healthgym.tools.scores.stroke_nihss import nihss
from healthgym.world import VitalSigns

NORMAL = {
    "respiratory_rate_per_min": 16,
    "spo2_percent": 98,
    "systolic_bp_mmhg": 124,
    "heart_rate_per_min": 76,
    "temperature_c": 37.0,
}


@pytest.mark.parametrize(
    ("sign", "values", "points"),
    [  # RCP 2017, chart 1: the last value of each band
        ("respiratory_rate_per_min", (8, 9, 11, 12, 20, 21, 24, 25), (3, 1, 1, 0, 0, 2, 2, 3)),
        ("spo2_percent", (91, 92, 93, 94, 95, 96), (3, 2, 2, 1, 1, 0)),
        ("systolic_bp_mmhg", (90, 91, 100, 101, 110, 111, 219, 220), (3, 2, 2, 1, 1, 0, 0, 3)),
        ("heart_rate_per_min", (40, 41, 50, 51, 90, 91, 110, 111, 130, 131), (3, 1, 1, 0, 0, 1, 1, 2, 2, 3)),
        ("temperature_c", (35.0, 35.1, 36.0, 36.1, 38.0, 38.1, 39.0, 39.1), (3, 1, 1, 0, 0, 1, 1, 2)),
    ],
)
def test_news2_changes_points_at_the_printed_bounds(sign, values, points):
    assert [sum(news2_parts(**{**NORMAL, sign: value}).values()) for value in values] == list(points)


def test_news2_scale_two_expects_88_to_92_and_punishes_oxygen_above_it():
    def spo2(value, on_oxygen):
        return news2_parts(**{**NORMAL, "spo2_percent": value}, on_oxygen=on_oxygen, hypercapnic_scale=True)["spo2"]

    assert [spo2(v, True) for v in (83, 84, 85, 86, 87, 88, 92, 93, 94, 95, 96, 97)] == [
        3,
        2,
        2,
        1,
        1,
        0,
        0,
        1,
        1,
        2,
        2,
        3,
    ]
    assert spo2(97, False) == 0


def test_news2_bands_a_single_three_above_low():
    # respiration 25: 3 points, all in one parameter; 5 medium; 7 high
    assert clinical_risk({"a": 3}) == "low-medium"
    assert clinical_risk({"a": 2, "b": 2}) == "low"
    assert clinical_risk({"a": 3, "b": 2}) == "medium"
    assert clinical_risk({"a": 3, "b": 3, "c": 1}) == "high"


def test_news2_worked_example():
    # RR 22: 2, SpO2 93 on oxygen: 2 + 2, SBP 98: 2, HR 112: 2, confusion: 3, T 38.5: 1 -> 14
    assert news2(22, 93, 98, 112, 38.5, "confusion", on_oxygen=True) == "NEWS2 14, high risk"


def test_shock_index_is_raised_above_0_9_only():
    assert shock_index(90, 100) == "shock index 0.90, not raised"
    assert shock_index(120, 90) == "shock index 1.33, raised"


def test_gcs_bands():
    assert [gcs(4, 5, 4), gcs(4, 4, 4), gcs(3, 3, 3), gcs(2, 2, 4), gcs(1, 1, 1)] == [
        "GCS 13, mild", "GCS 12, moderate", "GCS 9, moderate", "GCS 8, severe", "GCS 3, severe",
    ]  # fmt: skip


def test_rts_codes_and_published_maximum():
    # Champion 1989: 4 * (0.9368 + 0.7326 + 0.2908) = 7.8408
    assert rts_weighted(15, 120, 16) == pytest.approx(7.8408)
    assert [rts_codes(g, 120, 16)[0] for g in (13, 12, 9, 8, 6, 5, 4, 3)] == [4, 3, 3, 2, 2, 1, 1, 0]
    assert [rts_codes(15, p, 16)[1] for p in (90, 89, 76, 75, 50, 49, 1, 0)] == [4, 3, 3, 2, 2, 1, 1, 0]
    assert [rts_codes(15, 120, b)[2] for b in (30, 29, 10, 9, 6, 5, 1, 0)] == [3, 4, 4, 2, 2, 1, 1, 0]
    # GCS 10: 3 * 0.9368 = 2.8104; SBP 80: 3 * 0.7326 = 2.1978; RR 32: 3 * 0.2908 = 0.8724 -> 5.8806
    assert rts(10, 80, 32) == "RTS 5.88, triage sum 9/12"


def test_cincinnati_is_positive_with_one_sign():
    assert cincinnati_stroke(False, True, False) == "Cincinnati 1/3, positive"
    assert cincinnati_stroke(False, False, False) == "Cincinnati 0/3, negative"


def test_nihss_adds_up_to_42_and_names_bands():
    most = {"consciousness": 3, "visual_fields": 3, "facial_palsy": 3, "language": 3}
    most |= dict.fromkeys(("left_arm", "right_arm", "left_leg", "right_leg"), 4)
    most |= dict.fromkeys(("questions", "commands", "gaze", "ataxia", "sensory", "dysarthria", "neglect"), 2)
    assert nihss(**most) == "NIHSS 42, severe"  # 4 * 3 + 4 * 4 + 7 * 2
    assert [nihss(left_arm=4), nihss(left_arm=4, gaze=1), nihss()] == [
        "NIHSS 4, minor",
        "NIHSS 5, moderate",
        "NIHSS 0, no deficit",
    ]


CT_HEAD = {
    "age_years": 64, "gcs_two_hours": 15, "suspected_open_skull_fracture": False, "basal_skull_fracture_sign": False,
    "vomits": 1, "amnesia_before_minutes": 29, "dangerous_mechanism": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "risk"),
    [
        ({}, "none"), ({"age_years": 65}, "high"), ({"gcs_two_hours": 14}, "high"), ({"vomits": 2}, "high"),
        ({"basal_skull_fracture_sign": True}, "high"), ({"suspected_open_skull_fracture": True}, "high"),
        ({"amnesia_before_minutes": 30}, "medium"), ({"dangerous_mechanism": True}, "medium"),
    ],
)  # fmt: skip
def test_canadian_ct_head_rule_turns_on_each_criterion(change, risk):
    assert canadian_ct_head_risk(**{**CT_HEAD, **change}) == risk


@pytest.mark.parametrize("change", [{"age_years": 15}, {"gcs_two_hours": 12}, {"on_anticoagulant": True}])
def test_canadian_ct_head_rule_refuses_patients_it_was_not_made_for(change):
    with pytest.raises(ToolError):
        canadian_ct_head(**{**CT_HEAD, **change})


def test_pecarn_bands_by_age():
    assert pecarn_under_two(False, False, False, 4, False, False) == "very low"
    assert pecarn_under_two(False, False, False, 5, False, False) == "intermediate"
    assert pecarn_under_two(False, True, False, 0, False, False) == "high"
    assert pecarn_two_and_over(False, False, False, True, False, False) == "intermediate"
    assert pecarn_two_and_over(True, False, False, False, False, False) == "high"
    # any loss of consciousness counts from 2 years; under 2 years only 5 seconds or more
    assert pecarn_head(2, False, False, 3, False) == "PECARN: intermediate risk, observe or CT"
    assert pecarn_head(1.9, False, False, 3, False) == "PECARN: very low risk, no CT"


def test_ottawa_rules_need_pain_in_the_zone_and_a_criterion():
    assert needs_ankle_film(True, False, False, four_steps=False)
    assert needs_ankle_film(True, False, True, four_steps=True)
    assert not needs_ankle_film(False, True, True, four_steps=False)
    assert needs_foot_film(True, True, False, four_steps=True)
    assert not needs_foot_film(True, False, False, four_steps=True)
    assert needs_knee_film(55, False, False, flexes_90=True, four_steps=True)
    assert not needs_knee_film(54, False, False, flexes_90=True, four_steps=True)
    assert needs_knee_film(30, False, False, flexes_90=False, four_steps=True)


def test_nexus_clears_only_when_all_five_are_absent():
    assert not nexus_needs_imaging(False, False, False, False, False)
    for position in range(5):
        assert nexus_needs_imaging(*[index == position for index in range(5)])


def test_heart_points_change_at_age_45_and_65_and_at_one_and_three_times_the_limit():
    assert [heart_points(0, 0, age, 0, False, 0) for age in (44, 45, 64, 65)] == [0, 1, 1, 2]
    assert [heart_points(0, 0, 30, 0, False, ratio) for ratio in (1, 1.01, 3, 3.01)] == [0, 1, 1, 2]
    assert [heart_points(0, 0, 30, n, False, 0) for n in (0, 1, 2, 3)] == [0, 1, 1, 2]
    assert heart_points(0, 0, 30, 0, True, 0) == 2
    assert [heart_band(points) for points in (3, 4, 6, 7)] == ["low", "moderate", "moderate", "high"]


def test_qsofa_bounds_are_22_100_and_15():
    assert [
        qsofa_points(21, 101, 15),
        qsofa_points(22, 101, 15),
        qsofa_points(22, 100, 15),
        qsofa_points(22, 100, 14),
    ] == [0, 1, 2, 3]


def vital_signs(**changes):
    return VitalSigns(
        **{
            "heart_rate_per_min": 80,
            "respiratory_rate_per_min": 16,
            "spo2_percent": 98,
            "gcs": 15,
            "pain_0_10": 2,
            **changes,
        }
    )


@pytest.mark.parametrize(
    ("age", "heart", "breath"),
    [(0.05, 190, 60), (0.5, 180, 55), (2, 140, 40), (4, 120, 35), (8, 120, 30), (12, 100, 20), (40, 100, 20)],
)
def test_esi_danger_zone_starts_just_above_the_limit_for_age(age, heart, breath):
    assert not is_danger_zone(age, vital_signs(heart_rate_per_min=heart, respiratory_rate_per_min=breath))
    assert is_danger_zone(age, vital_signs(heart_rate_per_min=heart + 1, respiratory_rate_per_min=breath))
    assert is_danger_zone(age, vital_signs(heart_rate_per_min=heart, respiratory_rate_per_min=breath + 1))


def test_esi_danger_zone_takes_spo2_below_92():
    assert not is_danger_zone(40, vital_signs(spo2_percent=92))
    assert is_danger_zone(40, vital_signs(spo2_percent=91))


@pytest.mark.parametrize(
    ("changes", "immediate", "risk", "resources", "level"),
    [
        ({}, True, False, 0, 1), ({"gcs": 8}, False, False, 0, 1), ({"gcs": 9}, False, False, 0, 2),
        ({}, False, True, 0, 2), ({"gcs": 14}, False, False, 0, 2), ({"pain_0_10": 7}, False, False, 0, 2),
        ({"pain_0_10": 6}, False, False, 0, 5), ({}, False, False, 1, 4), ({}, False, False, 2, 3),
        ({"heart_rate_per_min": 101}, False, False, 2, 2), ({"heart_rate_per_min": 101}, False, False, 1, 4),
    ],
)  # fmt: skip
def test_esi_levels_follow_the_decision_points(changes, immediate, risk, resources, level):
    assert level == esi_level(
        age_years=40,
        vital_signs=vital_signs(**changes),
        needs_immediate_intervention=immediate,
        is_high_risk=risk,
        resources=resources,
    )


def test_a_febrile_newborn_is_level_two_up_to_28_days():
    def level(days, temperature):
        return esi_level(
            age_years=days / 365.25, vital_signs=vital_signs(temperature_c=temperature), needs_immediate_intervention=False,
            is_high_risk=False, resources=0,
        )  # fmt: skip

    assert [level(28, 38.0), level(28, 37.9), level(29, 38.0)] == [2, 5, 5]


def test_a_kind_of_resource_counts_once_and_a_complex_procedure_twice():
    assert count_resources(("labs", "labs", "ecg")) == 2
    assert count_resources(("complex_procedure",)) == 2
