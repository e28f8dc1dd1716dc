"""Obstetric instruments at the boundaries of their published definitions."""

from datetime import date

import pytest

from healthgym.errors import ToolError
from healthgym.tools.scores.biophysical import biophysical_band, biophysical_points, biophysical_profile
from healthgym.tools.scores.bishop import bishop_points, bishop_score
from healthgym.tools.scores.early_pregnancy import hcg_trend, minimal_rise_percent, viability
from healthgym.tools.scores.fetal_heart_tracing import deceleration_kind, tracing_category, variability_of
from healthgym.tools.scores.fetal_weight import fetal_weight_g, growth_band, median_weight_g
from healthgym.tools.scores.gestational_diabetes import gdm_two_step, one_step_diagnosis, two_step_diagnosis
from healthgym.tools.scores.labour_progress import alert_hours, progress_of
from healthgym.tools.scores.newborn_apgar import apgar_band, apgar_points
from healthgym.tools.scores.obstetric_haemorrhage import (
    bleeding_stage,
    haemorrhage_stage,
    has_abnormal_vital_signs,
    obstetric_shock_band,
    obstetric_shock_index,
)
from healthgym.tools.scores.preeclampsia import Signs, classify, organ_features
from healthgym.tools.scores.pregnancy_dating import (
    date_pregnancy,
    due_date_from_lmp,
    due_date_from_transfer,
    gestational_age,
    redating_limit_days,
    weeks_and_days,
)
from healthgym.tools.scores.preterm_birth import preterm_birth_risk, prevention, threatened_labour_risk
from healthgym.tools.scores.rh_immune_globulin import anti_d_dose_ug, fetomaternal_bleed_ml, vials_for_bleed
from healthgym.tools.scores.vaginal_birth_after_caesarean import flamm_points, success_percent, vbac_score


def test_the_due_date_lies_280_days_after_menses():
    # Naegele: 1 January, minus three months, plus seven days: 8 October of the same year (no leap day between)
    assert due_date_from_lmp(date(2025, 1, 1)) == date(2025, 10, 8)
    assert weeks_and_days(171) == "24w3d"
    assert gestational_age("2025-10-08", "2025-06-21") == "24w3d on 2025-06-21"  # 109 days before: 280 - 109 = 171


def test_redating_limits_change_at_the_printed_weeks():
    # ACOG 700, table 1: 8w6d / 9w0d, 15w6d / 16w0d, 21w6d / 22w0d, 27w6d / 28w0d
    assert [redating_limit_days(d) for d in (62, 63, 111, 112, 153, 154, 195, 196)] == [5, 7, 7, 10, 10, 14, 14, 21]


def test_a_difference_at_the_limit_keeps_menses_and_one_day_more_moves_the_date():
    # scan on 2025-03-05, 63 days after menses (9w0d): limit 7
    kept = date_pregnancy(lmp="2025-01-01", scan_date="2025-03-05", scan_weeks=8, scan_days=0)
    moved = date_pregnancy(lmp="2025-01-01", scan_date="2025-03-05", scan_weeks=7, scan_days=6)
    assert "keep menses, due 2025-10-08" in kept
    assert "redate by ultrasound, due 2025-10-16" in moved  # 280 - 55 = 225 days after 2025-03-05


def test_transfer_of_a_day_five_embryo_is_due_261_days_later():
    assert due_date_from_transfer(date(2025, 1, 1), 5) == date(2025, 9, 19)
    assert due_date_from_transfer(date(2025, 1, 1), 3) == date(2025, 9, 21)


@pytest.mark.parametrize(
    "arguments", [{}, {"lmp": "yesterday"}, {"lmp": "2025-01-01", "scan_date": "2023-01-01", "scan_weeks": 8}]
)
def test_dating_refuses_what_is_no_pregnancy(arguments):
    with pytest.raises(ToolError):
        date_pregnancy(**arguments)


def test_bishop_bands():
    worst = {"dilation_cm": 0, "effacement_percent": 30, "station": -3, "consistency": "firm", "position": "posterior"}
    assert bishop_points(**worst) == 0
    assert [bishop_points(**{**worst, "dilation_cm": cm}) for cm in (1, 2, 3, 4, 5, 6)] == [1, 1, 2, 2, 3, 3]
    assert [bishop_points(**{**worst, "effacement_percent": e}) for e in (39, 40, 50, 60, 70, 80)] == [0, 1, 1, 2, 2, 3]
    assert [bishop_points(**{**worst, "station": s}) for s in (-2, -1, 0, 1, 2)] == [1, 2, 2, 3, 3]
    # 3 + 3 + 3 + 2 + 2 is the most
    assert bishop_score(6, 90, 2, "soft", "anterior") == "Bishop score 13, favourable"
    # 2 (3 cm) + 1 (50 %) + 1 (-2) + 1 (medium) + 1 (mid) = 6
    assert bishop_score(3, 50, -2, "medium", "mid") == "Bishop score 6, unfavourable"


def test_tracing_classes_at_their_bounds():
    assert [variability_of(a) for a in (0, 1, 5, 6, 25, 26)] == [
        "absent",
        "minimal",
        "minimal",
        "moderate",
        "moderate",
        "marked",
    ]
    assert deceleration_kind(29, 0, 60) == "variable"
    assert deceleration_kind(30, 0, 60) == "early"
    assert deceleration_kind(30, 5, 60) == "late"
    assert deceleration_kind(10, 0, 120) == "prolonged"


@pytest.mark.parametrize(
    ("tracing", "category"),
    [  # Macones 2008, box
        ((110, "moderate"), "I"),
        ((160, "moderate", "early", True), "I"),
        ((109, "moderate"), "II"),
        ((161, "moderate"), "II"),
        ((140, "minimal"), "II"),
        ((140, "absent"), "II"),
        ((140, "moderate", "late", True), "II"),
        ((140, "absent", "late", False), "II"),
        ((140, "absent", "late", True), "III"),
        ((140, "absent", "variable", True), "III"),
        ((100, "absent"), "III"),
        ((140, "moderate", "none", False, True), "III"),
        ((140, "marked"), "II"),
    ],
)
def test_tracing_categories(tracing, category):
    assert tracing_category(*tracing) == category


def test_biophysical_profile_counts_two_for_each_criterion_met():
    assert biophysical_points(30, 3, 1, 2.1, True) == 10
    assert biophysical_points(29, 2, 0, 1.9, False) == 0
    assert [biophysical_band(p) for p in (4, 6, 8)] == ["abnormal", "equivocal", "normal"]
    assert biophysical_profile(40, 4, 1, 1.8, True) == "BPP 8/10, normal; oligohydramnios"


def test_a_deepest_pocket_of_two_centimetres_is_oligohydramnios_and_only_more_earns_the_points():
    assert biophysical_profile(40, 4, 1, 2.0, True) == "BPP 8/10, normal; oligohydramnios"
    assert biophysical_profile(40, 4, 1, 2.1, True) == "BPP 10/10, normal"


def test_labour_limits():
    assert [alert_hours(cm) for cm in (4, 5, 6, 7, 8, 9, 10)] == [None, 6.0, 5.0, 3.0, 2.5, 2.0, None]
    assert progress_of(6, 4, True, True) == "arrest_of_dilation"
    assert progress_of(6, 3.9, True, True) == "progressing"
    assert (
        progress_of(6, 6, True, False, hours_of_oxytocin=5.9) == "slow"
    )  # not yet 6 h of oxytocin; WHO alert from 5 h
    assert progress_of(6, 6, True, False, hours_of_oxytocin=6) == "arrest_of_dilation"
    assert progress_of(7, 4, False, True) == "slow"  # membranes intact: no arrest
    assert progress_of(4, 9, True, True) == "latent"
    assert progress_of(10, 0, True, True, pushing_hours=3, is_nulliparous=True) == "progressing"
    assert progress_of(10, 0, True, True, pushing_hours=3, is_nulliparous=False) == "prolonged_second_stage"


def test_apgar_by_sign():
    assert apgar_points(140, "good_cry", "active_motion", "cry_or_withdrawal", "pink") == 10
    assert apgar_points(0, "absent", "limp", "none", "blue_or_pale") == 0
    # 1 (99/min) + 1 + 1 + 1 + 1 = 5; at 100/min one more
    assert apgar_points(99, "weak_or_irregular", "some_flexion", "grimace", "blue_hands_and_feet") == 5
    assert apgar_points(100, "weak_or_irregular", "some_flexion", "grimace", "blue_hands_and_feet") == 6
    assert [apgar_band(p) for p in (3, 4, 6, 7)] == ["low", "moderately abnormal", "moderately abnormal", "reassuring"]


def pressure(systolic, diastolic, **others):
    return Signs(systolic_bp_mmhg=systolic, diastolic_bp_mmhg=diastolic, **others)


def test_hypertension_classes():
    assert classify(pressure(139, 89), onset_before_20_weeks=False) == "no_hypertension"
    assert classify(pressure(139, 90), onset_before_20_weeks=False) == "gestational_hypertension"
    assert (
        classify(pressure(140, 80, protein_creatinine_ratio=0.29), onset_before_20_weeks=False)
        == "gestational_hypertension"
    )
    assert classify(pressure(140, 80, protein_creatinine_ratio=0.3), onset_before_20_weeks=False) == "preeclampsia"
    assert classify(pressure(160, 80), onset_before_20_weeks=False) == "severe_preeclampsia"
    assert classify(pressure(150, 80, platelets_10e9_l=99), onset_before_20_weeks=False) == "severe_preeclampsia"
    assert classify(pressure(150, 95), onset_before_20_weeks=True) == "chronic_hypertension"
    assert (
        classify(pressure(150, 95, protein_creatinine_ratio=0.5), onset_before_20_weeks=True)
        == "superimposed_preeclampsia"
    )


def test_organ_features_lie_beyond_their_limits():
    at = pressure(150, 95, platelets_10e9_l=100, ast_times_upper_limit=2.0, creatinine_mg_dl=1.1)
    beyond = pressure(150, 95, platelets_10e9_l=99, ast_times_upper_limit=2.1, creatinine_mg_dl=1.2)
    assert organ_features(at) == [] and len(organ_features(beyond)) == 3


def test_glucose_limits_are_reached_by_equality():
    assert one_step_diagnosis(91, 179, 152) == "no_gestational_diabetes"
    assert {one_step_diagnosis(*v) for v in ((92, 100, 100), (80, 180, 100), (80, 100, 153))} == {
        "gestational_diabetes"
    }
    assert one_step_diagnosis(126, 100, 100) == "overt_diabetes"
    assert two_step_diagnosis(95, 179, 154, 139) == "no_gestational_diabetes"  # one value only
    assert two_step_diagnosis(95, 179, 154, 140) == "gestational_diabetes"
    assert gdm_two_step(139) == "challenge negative: no_gestational_diabetes"
    assert gdm_two_step(140) == "challenge positive: 100 g test needed"


def dose(**changes):
    usual = {
        "mother_is_rhd_negative": True,
        "has_anti_d_antibody": False,
        "event": "birth",
        "gestation_weeks": 39,
        "newborn_is_rhd_positive": True,
    }
    return anti_d_dose_ug(**{**usual, **changes})


def test_anti_d_doses():
    assert dose() == 300
    assert dose(newborn_is_rhd_positive=False) == 0
    assert dose(mother_is_rhd_negative=False) == 0
    assert dose(has_anti_d_antibody=True) == 0
    assert dose(event="pregnancy_loss", gestation_weeks=11) == 0
    assert dose(event="pregnancy_loss", gestation_weeks=12) == 300
    # worked example: 1.3 % of 5,000 mL is 65 mL; 65 / 30 = 2.17, rounded 2, plus 1: 3 vials, 900 ug
    assert fetomaternal_bleed_ml(1.3) == pytest.approx(65)
    assert dose(fetal_cells_percent=1.3) == 900
    assert [vials_for_bleed(ml) for ml in (0, 14.9, 15, 44.9, 45)] == [1, 1, 2, 2, 3]


def test_fetal_weight_by_hand():
    # BPD 9.0, HC 33, AC 33, FL 7.0 cm: 1.3596 - 0.89166 + 0.2112 + 0.18117 + 1.3992 + 1.218 = 3.47751; 10^3.47751 = 3003 g
    assert fetal_weight_g(90, 330, 330, 70) == pytest.approx(3003, abs=2)
    # Hadlock 1991, table: 50th percentile 1,559 g at 30 weeks and 3,619 g at 40; 10th 1,294 g at 30
    assert median_weight_g(30) == pytest.approx(1559, abs=2)
    assert median_weight_g(40) == pytest.approx(3619, abs=3)
    assert [growth_band(g, 30) for g in (1168, 1171, 1293, 1296, 1823, 1826)] == [
        "below_3rd", "3rd_to_9th", "3rd_to_9th", "10th_to_90th", "10th_to_90th", "above_90th",
    ]  # fmt: skip


def test_cervical_length_in_preterm_contractions():
    assert [threatened_labour_risk(mm) for mm in (19.9, 20, 29.9, 30)] == [
        "high",
        "test_fibronectin",
        "test_fibronectin",
        "low",
    ]
    assert preterm_birth_risk(25, True) == "high risk" and preterm_birth_risk(25, False) == "low risk"
    assert (prevention(25, False), prevention(25.1, False)) == ("vaginal_progesterone", "no_treatment")
    assert prevention(20, True) == "cerclage_or_progesterone"


def test_flamm_score():
    # 2 (under 40) + 4 + 1 + 2 (76 %) + 1 (4 cm) = 10
    assert flamm_points(39, "before_and_after_caesarean", False, 76, 4) == 10
    assert flamm_points(40, "none", True, 24, 3) == 0
    assert [flamm_points(40, "none", True, e, 0) for e in (25, 75, 76)] == [1, 1, 2]
    assert [success_percent(p) for p in (2, 3, 4, 5, 6, 7, 8)] == [49, 60, 67, 77, 89, 93, 95]
    assert vbac_score(30, "none", False, 50, 2, "classical_or_t_incision").startswith("labour not to be offered")


def test_bleeding_after_birth():
    assert [obstetric_shock_band(p, 100) for p in (89, 90, 169, 170)] == ["normal", "raised", "raised", "urgent"]
    assert obstetric_shock_index(110, 90) == "obstetric shock index 1.22, raised"
    assert not has_abnormal_vital_signs(95, 110, 60, 95)
    assert [
        has_abnormal_vital_signs(*v)
        for v in ((110, 130, 70, 98), (70, 85, 60, 98), (70, 110, 45, 98), (70, 110, 60, 94))
    ] == [True] * 4
    assert [bleeding_stage(ml, False) for ml in (499, 500, 999, 1000, 1500, 1501)] == [0, 1, 1, 2, 2, 3]
    assert bleeding_stage(600, True) == 3 and bleeding_stage(600, False, 2) == 2
    assert haemorrhage_stage(700, 120, 100, 60) == "stage 3; abnormal vital signs"


def test_early_pregnancy_criteria():
    assert [minimal_rise_percent(h) for h in (1499, 1500, 3000, 3001)] == [49, 40, 40, 33]
    assert hcg_trend(1000, 1480).endswith("too slow for a viable pregnancy")  # +48 %
    assert hcg_trend(1000, 1500).endswith("as in a viable pregnancy")
    assert hcg_trend(1000, 800).endswith("falls")
    assert viability(6.9, False, 20) == "uncertain" and viability(7, False, 20) == "loss"
    assert viability(None, False, 24.9) == "uncertain" and viability(None, False, 25) == "loss"
    assert viability(3, True, 12) == "living"
