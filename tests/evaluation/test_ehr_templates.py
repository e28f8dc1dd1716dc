"""Every template's answer, worked out by hand for invented patients; query and check must both give it."""

from pathlib import Path

import pytest
from ehr_tables import answers, eicu_rows, mimic3_rows, write_tables

from healthgym.evaluation.ehr.checks import checks_of
from healthgym.evaluation.ehr.schema import load_schema
from healthgym.evaluation.ehr.template import load_templates

# Stay 1000 lasts from day 1, 10:00 to day 3, 16:00; its first 24 hours end on day 2 at 10:00, which is no longer in them.
MIMIC3 = {
    # 4.2 at intime; at 09:59:59 the later row_id says 2.1; 1.5 at 10:00 is outside.
    "last_lactate_before": (24, {"1000": 2.1, "1001": None, "2000": None}),
    # "LESS THAN 0.4" at 10:10 has no number.
    "first_creatinine": (24, {"1000": 1.4, "1001": None, "2000": 0.8}),
    "worst_creatinine": (24, {"1000": 2.1, "1001": None, "2000": 0.8}),
    # 9.5 - 12.0; 8.0 comes after the stay; one value alone changes nothing.
    "haemoglobin_change": (None, {"1000": -2.5, "1001": None, "2000": None}),
    # 150 + 200; the irrigant, the row marked wrong and that of 10:00 do not count. 1001 is too short.
    "urine_output": (24, {"1000": 350.0, "2000": None}),
    # Lowest 45: below 50, not below 20.
    "sofa_coagulation": (24, {"1000": 3, "1001": None, "2000": None}),
    "sofa_liver": (24, {"1000": 2, "1001": None, "2000": None}),
    # Creatinine 2.1 gives 2, urine 350 gives 3.  Without urine 0.8 gives 0.
    "sofa_renal": (24, {"1000": 3, "2000": 0}),
    # Norepinephrine 0.08 for two hours gives 3; 0.2 ran for 30 minutes only.
    "sofa_cardiovascular": (24, {"1000": 3, "1001": None}),
    # 10:30-13:00 in three overlapping records, 14:00-15:00, and 15:30-16:00 at the end of the stay: 2.5 + 1 + 0.5.
    "vasopressor_hours": (None, {"1000": 4.0, "1001": 0.0}),
    # 10:00-18:30.
    "ventilation_hours": (None, {"1000": 8.5, "1001": 0.0}),
    "icu_length_of_stay": (None, {"1000": 54.0, "1001": 12.0, "2000": 66.0}),
    # 10 January 12:00 to 5 February 9:00 is 25 days and 21 hours.
    "readmission_30_days": (None, {"100": "yes", "101": "no"}),
    "icu_readmission": (None, {"1000": "yes", "1001": "no", "2000": "no"}),
    # 09:00 is before the stay, 10:05 was rewritten; 11:45:30 to the minute.
    "first_antibiotic_time": (None, {"1000": "2150-01-01 11:45", "1001": None}),
    "blood_culture_growth": (None, {"100": "yes", "101": None, "200": "no"}),
    # E. coli (twice, by antibiotic) and yeast.
    "distinct_organisms": (None, {"100": 2, "101": None, "200": 0}),
    "discharge_location": (None, {"100": "SNF", "101": "HOME", "200": "DEAD/EXPIRED"}),
    "primary_diagnosis": (None, {"100": "0389", "101": None, "200": "486"}),
    # 700 kg is marked as wrong; carevue charts item 762.
    "admission_weight": (None, {"1000": 70.5, "1001": None, "2000": 61.2}),
    # 3 + 1 + 5; 12:00 is marked as wrong, 13:00 lacks the motor response.
    "gcs_minimum": (24, {"1000": 9, "1001": None}),
    # Baseline 1.0, peak 3.1 within 48 hours: stage 3. Stay 1001: lowest of the 7 days before is 1.4, no later value.
    "kdigo_creatinine_stage": (48, {"1000": 3, "1001": None, "2000": None}),
    "distinct_drugs": (None, {"100": 2, "101": None, "200": None}),
}
EICU = {
    # 40 at -1 and 50 at 1440 are outside, 0 is no pressure.
    "cuff_pressure_nadir": (24, {"11": 62.0, "12": None, "21": None}),
    "unit_length_of_stay": (None, {"11": 50.0, "12": 10.0, "21": 25.0}),
    "apache_score": (None, {"11": 47, "12": None, "21": None}),
    "apache_creatinine": (None, {"11": 1.04, "12": None, "21": None}),
    "apache_gcs": (None, {"11": 9, "12": None, "21": None}),
    "admission_diagnosis": (None, {"11": "SEPSISPULM", "12": None, "21": None}),
    "vasopressor_infusion": (None, {"11": "yes", "21": "no"}),
    # -10 is before admission, OFF at 20 is no number.
    "first_norepinephrine": (None, {"11": 45.0, "21": None}),
    # 50 is before admission, 40 after discharge, 99 in another unit; 13.5 is of a bag that its name describes.
    "highest_norepinephrine": (None, {"11": 13.5, "21": None}),
    # 300 + 150 + 25; two voids that were not measured are no mL.
    "urine_output": (24, {"11": 475.0, "21": None}),
    # 200 once for both rows of offset 0, -150, 0, 40.
    "fluid_balance": (24, {"11": 90.0, "21": None}),
    "icu_readmission": (None, {"11": "yes", "12": "no", "21": "no"}),
    "discharge_location": (None, {"11": "Floor", "12": "Home", "21": None}),
    # 80 / 2.0^2; a height of 0 gives none.
    "body_mass_index": (None, {"11": 20.0, "12": None, "21": None}),
    # "60%" is no plain number, 0.9 no percent.
    "highest_fio2": (24, {"11": 40.0}),
    "distinct_drugs": (24, {"11": 2, "12": None, "21": None}),
    "culture_growth": (None, {"11": "yes", "12": None, "21": "no"}),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("icu")
    return {name: write_tables(root / name, name) for name in ("mimic3", "eicu")}


@pytest.mark.parametrize("name", sorted(MIMIC3))
def test_mimic3_answers_are_those_worked_out_by_hand(folders, name):
    hours, expected = MIMIC3[name]
    assert answers(folders["mimic3"], "mimic3", name, hours) == {unit: (gold, gold) for unit, gold in expected.items()}


@pytest.mark.parametrize("name", sorted(EICU))
def test_eicu_answers_are_those_worked_out_by_hand(folders, name):
    hours, expected = EICU[name]
    assert answers(folders["eicu"], "eicu", name, hours) == {unit: (gold, gold) for unit, gold in expected.items()}


@pytest.mark.parametrize(("database", "expected"), [("mimic3", MIMIC3), ("eicu", EICU)])
def test_every_template_has_a_check_and_a_worked_answer(database, expected):
    assert set(load_templates(database)) == set(checks_of(database)) == set(expected)


@pytest.mark.parametrize("database", ["mimic3", "eicu"])
def test_every_question_says_what_to_answer_when_there_is_nothing(database):
    silent = {
        "icu_length_of_stay",
        "unit_length_of_stay",
        "readmission_30_days",
        "icu_readmission",
        "vasopressor_infusion",
    }
    counted_as_zero = {"vasopressor_hours", "ventilation_hours"}
    for name, template in load_templates(database).items():
        says = "'not measured'" in template.question
        assert says != (name in silent | counted_as_zero), name


def test_the_page_on_the_benchmarks_has_a_line_for_every_template():
    page = (Path(__file__).parents[2] / "docs" / "ehr-benchmarks.md").read_text(encoding="utf-8")
    parts = dict(zip(("mimic3", "eicu"), page.split("### MIMIC-III")[1].split("### eICU"), strict=True))
    for database, part in parts.items():
        assert all(f"| `{name}` |" in part for name in load_templates(database))
        assert load_schema(database).attribution.split(". ")[0] in " ".join(page.split())


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("zipped", [False, True])
def test_names_and_columns_may_be_upper_or_lower_case_plain_or_gzipped(tmp_path, upper, zipped):
    folder = write_tables(tmp_path, "mimic3", upper=upper, zipped=zipped)
    assert answers(folder, "mimic3", "vasopressor_hours") == {"1000": (4.0, 4.0), "1001": (0.0, 0.0)}


@pytest.mark.parametrize(
    ("table", "name", "expected"),
    [
        ("inputevents_mv", "vasopressor_hours", 4.0),
        ("inputevents_mv", "sofa_cardiovascular", 3),
        ("inputevents_mv", "first_antibiotic_time", "2150-01-01 11:45"),
        ("procedureevents_mv", "ventilation_hours", 8.5),
    ],
)
@pytest.mark.parametrize("empty", ["starttime", "endtime"])
def test_a_record_without_one_of_its_times_does_not_count(tmp_path, table, name, expected, empty):
    rows = mimic3_rows()
    item = {"vasopressor_hours": 221906, "sofa_cardiovascular": 221289, "ventilation_hours": 225792}.get(name, 225799)
    whole = {"starttime": "2150-01-01 20:00:00", "endtime": "2150-01-02 02:00:00", "rate": 9.0, "rateuom": "mcg/kg/min"}
    rows[table].append({"subject_id": 1, "hadm_id": 100, "icustay_id": 1000, "itemid": item, **whole, empty: None})
    folder = write_tables(tmp_path, "mimic3", rows=rows)
    assert answers(folder, "mimic3", name)["1000"] == (expected, expected)


@pytest.mark.parametrize(("kind", "came_back"), [("readmit", "yes"), ("transfer", "no"), ("stepdown/other", "no")])
def test_coming_back_to_an_icu_is_no_transfer_or_step_down(tmp_path, kind, came_back):
    rows = eicu_rows()
    rows["patient"][1]["unitstaytype"] = kind
    folder = write_tables(tmp_path, "eicu", rows=rows)
    assert answers(folder, "eicu", "icu_readmission")["11"] == (came_back, came_back)


def kdigo(tmp_path, values):
    """Return the stage of stay 1000 for (time, creatinine) pairs."""
    rows = mimic3_rows()
    rows["labevents"] = [
        {"subject_id": 1, "itemid": 50912, "charttime": when, "valuenum": value} for when, value in values
    ]
    return answers(write_tables(tmp_path, "mimic3", rows=rows), "mimic3", "kdigo_creatinine_stage", 48)["1000"]


@pytest.mark.parametrize(
    ("values", "stage"),
    [
        ([("2149-12-31 00:00:00", 1.0), ("2150-01-01 12:00:00", 1.2)], 0),
        # A rise of 0.3 within 34 hours, though floating point makes 1.4 - 1.1 a little less.
        ([("2149-12-31 02:00:00", 1.1), ("2150-01-01 12:00:00", 1.4)], 1),
        # The rise of 0.3 took 3 days: no stage.
        ([("2149-12-29 12:00:00", 1.0), ("2150-01-01 12:00:00", 1.3)], 0),
        ([("2149-12-31 02:00:00", 1.0), ("2150-01-01 12:00:00", 2.0)], 2),
        # 4.2 is 1.31 times 3.2, but rose by 1.0 within 48 hours: at least 4.0 with a rise is stage 3.
        ([("2149-12-31 02:00:00", 3.2), ("2150-01-01 12:00:00", 4.2)], 3),
        # 4.1 from 4.0 is no injury.
        ([("2149-12-31 02:00:00", 4.0), ("2150-01-01 12:00:00", 4.1)], 0),
    ],
)
def test_kdigo_stages_follow_ratio_and_rise(tmp_path, values, stage):
    assert kdigo(tmp_path, values) == (stage, stage)
