"""Hospital severity and comorbidity instruments at the boundaries of their published definitions."""

import pytest

from healthgym.tools.scores.apache2 import alveolar_arterial_gradient_mmhg, apache2, apache2_parts, oxygenation_points
from healthgym.tools.scores.charlson import age_points, charlson, charlson_points
from healthgym.tools.scores.kdigo_aki import creatinine_stage, kdigo_aki, urine_stage
from healthgym.tools.scores.lace import lace, lace_comorbidity_sum, lace_parts, lace_risk
from healthgym.tools.scores.saps2 import saps2_mortality, saps2_parts
from healthgym.tools.scores.sofa import mean_arterial_pressure_mmhg, sofa, sofa_parts

WELL_SOFA = {
    "pao2_mmhg": 95, "fio2": 0.21, "ventilated": False, "platelets_10_9_l": 250, "bilirubin_mg_dl": 0.6, "map_mmhg": 90,
    "gcs": 15, "creatinine_mg_dl": 0.9,
}  # fmt: skip
WELL_SAPS = {
    "age_years": 30, "heart_rate_per_min": 80, "systolic_bp_mmhg": 120, "temperature_c": 37, "pao2_fio2_mmhg": None,
    "urine_ml_day": 1500, "urea_nitrogen_mg_dl": 15, "wbc_10_9_l": 8, "potassium_mmol_l": 4, "sodium_mmol_l": 140,
    "bicarbonate_mmol_l": 24, "bilirubin_mg_dl": 1, "gcs": 15, "admission": "scheduled_surgical",
}  # fmt: skip
WELL_APACHE = {
    "age_years": 30, "temperature_c": 37, "map_mmhg": 90, "heart_rate_per_min": 80, "respiratory_rate_per_min": 16,
    "pao2_mmhg": 95, "fio2": 0.21, "paco2_mmhg": 40, "arterial_ph": 7.4, "sodium_mmol_l": 140, "potassium_mmol_l": 4,
    "creatinine_mg_dl": 1, "acute_kidney_failure": False, "hematocrit_percent": 42, "wbc_10_9_l": 8, "gcs": 15,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "organ", "points"),
    [
        ({"pao2_mmhg": 84}, "respiration", 0),  # 84 / 0.21 = 400
        ({"pao2_mmhg": 83}, "respiration", 1),  # 395
        ({"pao2_mmhg": 62}, "respiration", 2),  # 295
        ({"pao2_mmhg": 50, "fio2": 0.6}, "respiration", 2),  # 83, but unaided
        ({"pao2_mmhg": 60, "fio2": 0.4, "ventilated": True}, "respiration", 3),  # 150
        ({"pao2_mmhg": 59, "fio2": 0.6, "ventilated": True}, "respiration", 4),  # 98
        ({"platelets_10_9_l": 150}, "coagulation", 0),
        ({"platelets_10_9_l": 149}, "coagulation", 1),
        ({"platelets_10_9_l": 99}, "coagulation", 2),
        ({"platelets_10_9_l": 49}, "coagulation", 3),
        ({"platelets_10_9_l": 19}, "coagulation", 4),
        ({"bilirubin_mg_dl": 1.1}, "liver", 0),
        ({"bilirubin_mg_dl": 1.2}, "liver", 1),
        ({"bilirubin_mg_dl": 2.0}, "liver", 2),
        ({"bilirubin_mg_dl": 6.0}, "liver", 3),
        ({"bilirubin_mg_dl": 12.0}, "liver", 4),
        ({"map_mmhg": 70}, "cardiovascular", 0),
        ({"map_mmhg": 69}, "cardiovascular", 1),
        ({"dobutamine": True}, "cardiovascular", 2),
        ({"dopamine_ug_kg_min": 5}, "cardiovascular", 2),
        ({"dopamine_ug_kg_min": 6}, "cardiovascular", 3),
        ({"noradrenaline_ug_kg_min": 0.1}, "cardiovascular", 3),
        ({"noradrenaline_ug_kg_min": 0.11}, "cardiovascular", 4),
        ({"gcs": 14}, "neurological", 1),
        ({"gcs": 12}, "neurological", 2),
        ({"gcs": 9}, "neurological", 3),
        ({"gcs": 5}, "neurological", 4),
        ({"creatinine_mg_dl": 1.2}, "renal", 1),
        ({"creatinine_mg_dl": 2.0}, "renal", 2),
        ({"creatinine_mg_dl": 3.5}, "renal", 3),
        ({"creatinine_mg_dl": 5.0}, "renal", 4),
        ({"urine_ml_day": 499}, "renal", 3),
        ({"urine_ml_day": 199}, "renal", 4),
        ({"urine_ml_day": 500}, "renal", 0),
    ],
)
def test_sofa_changes_at_its_published_limits(change, organ, points):
    assert sofa_parts(**{**WELL_SOFA, **change})[organ] == points


def test_sofa_runs_from_0_to_24():
    worst = {
        "pao2_mmhg": 50, "fio2": 1.0, "ventilated": True, "platelets_10_9_l": 5, "bilirubin_mg_dl": 20, "map_mmhg": 40,
        "gcs": 3, "creatinine_mg_dl": 6, "noradrenaline_ug_kg_min": 1.0,
    }  # fmt: skip
    assert sum(sofa_parts(**WELL_SOFA).values()) == 0 and sum(sofa_parts(**worst).values()) == 24
    assert sofa(**worst).startswith("SOFA 24")


def test_mean_pressure_is_two_thirds_diastolic():
    # (120 + 2 * 60) / 3 = 80
    assert mean_arterial_pressure_mmhg(120, 60) == 80


@pytest.mark.parametrize(
    ("change", "part", "points"),
    [
        ({"age_years": 39}, "age", 0), ({"age_years": 40}, "age", 7), ({"age_years": 60}, "age", 12),
        ({"age_years": 70}, "age", 15), ({"age_years": 75}, "age", 16), ({"age_years": 80}, "age", 18),
        ({"heart_rate_per_min": 39}, "heart_rate", 11), ({"heart_rate_per_min": 69}, "heart_rate", 2),
        ({"heart_rate_per_min": 120}, "heart_rate", 4), ({"heart_rate_per_min": 160}, "heart_rate", 7),
        ({"systolic_bp_mmhg": 69}, "systolic_bp", 13), ({"systolic_bp_mmhg": 99}, "systolic_bp", 5),
        ({"systolic_bp_mmhg": 200}, "systolic_bp", 2), ({"temperature_c": 38.9}, "temperature", 0),
        ({"temperature_c": 39.0}, "temperature", 3), ({"pao2_fio2_mmhg": 99}, "oxygenation", 11),
        ({"pao2_fio2_mmhg": 199}, "oxygenation", 9), ({"pao2_fio2_mmhg": 200}, "oxygenation", 6),
        ({"urine_ml_day": 499}, "urine", 11), ({"urine_ml_day": 999}, "urine", 4), ({"urine_ml_day": 1000}, "urine", 0),
        ({"urea_nitrogen_mg_dl": 28}, "urea", 6), ({"urea_nitrogen_mg_dl": 84}, "urea", 10),
        ({"wbc_10_9_l": 0.9}, "wbc", 12), ({"wbc_10_9_l": 19.9}, "wbc", 0), ({"wbc_10_9_l": 20}, "wbc", 3),
        ({"potassium_mmol_l": 2.9}, "potassium", 3), ({"potassium_mmol_l": 5.0}, "potassium", 3),
        ({"sodium_mmol_l": 124}, "sodium", 5), ({"sodium_mmol_l": 145}, "sodium", 1),
        ({"bicarbonate_mmol_l": 14}, "bicarbonate", 6), ({"bicarbonate_mmol_l": 19}, "bicarbonate", 3),
        ({"bilirubin_mg_dl": 4.0}, "bilirubin", 4), ({"bilirubin_mg_dl": 6.0}, "bilirubin", 9),
        ({"gcs": 13}, "gcs", 5), ({"gcs": 10}, "gcs", 7), ({"gcs": 8}, "gcs", 13), ({"gcs": 5}, "gcs", 26),
        ({"chronic_disease": "metastatic_cancer"}, "chronic_disease", 9),
        ({"chronic_disease": "haematological_malignancy"}, "chronic_disease", 10), ({"chronic_disease": "aids"}, "chronic_disease", 17),
        ({"admission": "medical"}, "admission", 6), ({"admission": "unscheduled_surgical"}, "admission", 8),
    ],
)  # fmt: skip
def test_saps2_changes_at_its_published_limits(change, part, points):
    assert saps2_parts(**{**WELL_SAPS, **change})[part] == points


def test_saps2_runs_from_0_to_163():
    worst = {
        "age_years": 85, "heart_rate_per_min": 30, "systolic_bp_mmhg": 60, "temperature_c": 40, "pao2_fio2_mmhg": 80,
        "urine_ml_day": 100, "urea_nitrogen_mg_dl": 100, "wbc_10_9_l": 0.5, "potassium_mmol_l": 6, "sodium_mmol_l": 120,
        "bicarbonate_mmol_l": 10, "bilirubin_mg_dl": 8, "gcs": 3, "admission": "unscheduled_surgical", "chronic_disease": "aids",
    }  # fmt: skip
    assert sum(saps2_parts(**WELL_SAPS).values()) == 0 and sum(saps2_parts(**worst).values()) == 163


@pytest.mark.parametrize(("points", "mortality"), [(29, 0.10), (40, 0.25), (52, 0.50), (64, 0.75), (77, 0.90)])
def test_saps2_predicts_the_mortality_of_the_paper(points, mortality):
    # Le Gall 1993, probability by score; for 40: logit -7.7631 + 2.948 + 0.9971 ln 41 = -1.112, that is 24.7 %.
    assert saps2_mortality(points) == pytest.approx(mortality, abs=0.013)


@pytest.mark.parametrize(
    ("change", "part", "points"),
    [
        ({"temperature_c": 41}, "temperature", 4), ({"temperature_c": 38.5}, "temperature", 1),
        ({"temperature_c": 38.4}, "temperature", 0), ({"temperature_c": 29.9}, "temperature", 4),
        ({"map_mmhg": 160}, "map", 4), ({"map_mmhg": 110}, "map", 2), ({"map_mmhg": 69}, "map", 2), ({"map_mmhg": 49}, "map", 4),
        ({"heart_rate_per_min": 140}, "heart_rate", 3), ({"heart_rate_per_min": 54}, "heart_rate", 3),
        ({"heart_rate_per_min": 39}, "heart_rate", 4), ({"respiratory_rate_per_min": 25}, "respiratory_rate", 1),
        ({"respiratory_rate_per_min": 35}, "respiratory_rate", 3), ({"respiratory_rate_per_min": 5}, "respiratory_rate", 4),
        ({"arterial_ph": 7.32}, "ph", 2), ({"arterial_ph": 7.24}, "ph", 3), ({"arterial_ph": 7.14}, "ph", 4),
        ({"sodium_mmol_l": 155}, "sodium", 2), ({"sodium_mmol_l": 129}, "sodium", 2), ({"sodium_mmol_l": 110}, "sodium", 4),
        ({"potassium_mmol_l": 5.5}, "potassium", 1), ({"potassium_mmol_l": 3.4}, "potassium", 1), ({"potassium_mmol_l": 2.4}, "potassium", 4),
        ({"creatinine_mg_dl": 0.5}, "creatinine", 2), ({"creatinine_mg_dl": 1.5}, "creatinine", 2),
        ({"creatinine_mg_dl": 2.0, "acute_kidney_failure": True}, "creatinine", 6),
        ({"creatinine_mg_dl": 3.5, "acute_kidney_failure": True}, "creatinine", 8),
        ({"hematocrit_percent": 46}, "hematocrit", 1), ({"hematocrit_percent": 29.9}, "hematocrit", 2),
        ({"wbc_10_9_l": 15}, "wbc", 1), ({"wbc_10_9_l": 2.9}, "wbc", 2), ({"wbc_10_9_l": 0.9}, "wbc", 4),
        ({"gcs": 3}, "gcs", 12), ({"age_years": 44}, "age", 0), ({"age_years": 45}, "age", 2), ({"age_years": 75}, "age", 6),
        ({"chronic_health": "elective_postoperative"}, "chronic_health", 2),
        ({"chronic_health": "nonoperative_or_emergency_postoperative"}, "chronic_health", 5),
    ],
)  # fmt: skip
def test_apache2_changes_at_its_published_limits(change, part, points):
    assert apache2_parts(**{**WELL_APACHE, **change})[part] == points


def test_apache2_runs_from_0_to_71():
    # 10 variables of 4, doubled creatinine 8 and GCS 12 make 60; age 6 and chronic health 5 more.
    worst = {
        "age_years": 80, "temperature_c": 42, "map_mmhg": 40, "heart_rate_per_min": 190, "respiratory_rate_per_min": 55,
        "pao2_mmhg": 50, "fio2": 1.0, "paco2_mmhg": 40, "arterial_ph": 7.0, "sodium_mmol_l": 185, "potassium_mmol_l": 7.5,
        "creatinine_mg_dl": 5, "acute_kidney_failure": True, "hematocrit_percent": 65, "wbc_10_9_l": 50, "gcs": 3,
        "chronic_health": "nonoperative_or_emergency_postoperative",
    }  # fmt: skip
    assert sum(apache2_parts(**WELL_APACHE).values()) == 0 and sum(apache2_parts(**worst).values()) == 71
    assert apache2(**worst).startswith("APACHE II 71")


def test_apache2_judges_oxygen_by_gradient_from_half_oxygen_on():
    # 0.5 * 713 - 40 / 0.8 - 100 = 206.5, that is 2 points; the same PaO2 at 0.4 gives none.
    assert alveolar_arterial_gradient_mmhg(100, 0.5, 40) == 206.5
    assert (oxygenation_points(100, 0.5, 40), oxygenation_points(100, 0.4, 40)) == (2, 0)
    assert [oxygenation_points(pao2, 0.3, 40) for pao2 in (71, 70, 61, 60, 55, 54)] == [0, 1, 1, 3, 3, 4]


def test_charlson_adds_the_1987_weights_and_a_point_a_decade_from_fifty():
    # heart failure 1, diabetes with organ damage 2 (simple diabetes then not), metastatic tumour 6 (solid tumour then not)
    illnesses = {"heart_failure", "diabetes", "diabetes_with_organ_damage", "solid_tumour", "metastatic_tumour"}
    assert charlson_points(illnesses) == 9
    assert [age_points(age) for age in (49, 50, 59, 60, 70, 80, 90)] == [0, 1, 1, 2, 3, 4, 5]
    assert charlson(comorbidities=["heart_failure", "hemiplegia"], age_years=72).startswith(
        "Charlson 3 without age, 6 with age"
    )


def test_lace_points_follow_the_published_table():
    stay = [lace_parts(days, False, 0, 0)["stay"] for days in (0, 1, 2, 3, 4, 6, 7, 13, 14, 40)]
    assert stay == [0, 1, 2, 3, 4, 4, 5, 5, 7, 7]
    assert [lace_parts(1, True, n, 9)["comorbidity"] for n in (0, 3, 4, 12)] == [0, 3, 5, 5]
    assert sum(lace_parts(20, True, 9, 7).values()) == 19  # 7 + 3 + 5 + 4
    assert [lace_risk(points) for points in (4, 5, 9, 10)] == ["low", "moderate", "moderate", "high"]


def test_lace_counts_the_higher_grade_of_an_illness_once():
    assert lace_comorbidity_sum({"diabetes", "diabetes_with_organ_damage", "dementia"}) == 5
    text = lace(
        length_of_stay_days=5, acute_admission=True, comorbidities=["heart_failure"], emergency_visits_6_months=1
    )
    assert text.startswith("LACE 10, high")  # 4 + 3 + 2 + 1


def test_kdigo_stages_change_at_the_published_limits():
    # baseline 1.0: ratios 1.49, 1.5, 2.0, 3.0; a rise of 0.3 within 48 hours; 4.0 mg/dL only with acute injury
    assert [creatinine_stage(1.0, value) for value in (1.49, 1.5, 1.99, 2.0, 2.99, 3.0)] == [0, 1, 1, 2, 2, 3]
    assert (creatinine_stage(1.0, 1.3, 0.29), creatinine_stage(1.0, 1.3, 0.3)) == (0, 1)
    assert (creatinine_stage(3.5, 4.0), creatinine_stage(3.5, 4.0, 0.5)) == (0, 3)
    assert [urine_stage(hours) for hours in (5, 6, 11, 12)] == [0, 1, 1, 2]
    assert (urine_stage(24, 24), urine_stage(12, 0, 12), urine_stage(24, 23)) == (3, 3, 2)


def test_dialysis_and_the_worse_of_two_criteria_decide():
    assert kdigo_aki(baseline_creatinine_mg_dl=1.0, current_creatinine_mg_dl=1.1, on_dialysis=True).startswith(
        "KDIGO stage 3"
    )
    text = kdigo_aki(baseline_creatinine_mg_dl=1.0, current_creatinine_mg_dl=1.6, hours_below_0_5_ml_kg_h=13)
    assert text.startswith("KDIGO stage 2: by creatinine 1")
