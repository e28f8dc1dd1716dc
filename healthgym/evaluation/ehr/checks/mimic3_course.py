"""Checks of questions to stays, admissions, cultures and orders of MIMIC-III."""

from datetime import timedelta

from healthgym.evaluation.ehr.answers import Value
from healthgym.evaluation.ehr.checks.rows import Fields, PatientRows, moment


def icu_length_of_stay(rows: PatientRows, fields: Fields) -> Value:
    stay = next(row for row in rows["icustays"] if row["icustay_id"] == fields["icustay_id"])
    return (moment(stay["outtime"]) - moment(stay["intime"])) / timedelta(hours=1)


def readmission_30_days(rows: PatientRows, fields: Fields) -> Value:
    gone = moment(fields["dischtime"])
    waits = [
        moment(row["admittime"]) - gone
        for row in rows["admissions"]
        if row["hadm_id"] != fields["hadm_id"] and row["admittime"] is not None
    ]
    return "yes" if any(timedelta(0) < wait <= timedelta(days=30) for wait in waits) else "no"


def icu_readmission(rows: PatientRows, fields: Fields) -> Value:
    left = moment(fields["outtime"])
    for row in rows["icustays"]:
        is_other = row["hadm_id"] == fields["hadm_id"] and row["icustay_id"] != fields["icustay_id"]
        if is_other and row["intime"] is not None and moment(row["intime"]) >= left:
            return "yes"
    return "no"


def blood_culture_growth(rows: PatientRows, fields: Fields) -> Value:
    organisms = [
        row["org_name"]
        for row in rows["microbiologyevents"]
        if row["hadm_id"] == fields["hadm_id"] and row["spec_type_desc"] == "BLOOD CULTURE"
    ]
    if not organisms:
        return None
    return "yes" if any(organisms) else "no"


def distinct_organisms(rows: PatientRows, fields: Fields) -> Value:
    cultures = [row for row in rows["microbiologyevents"] if row["hadm_id"] == fields["hadm_id"]]
    return len({row["org_name"] for row in cultures} - {None}) if cultures else None


def discharge_location(rows: PatientRows, fields: Fields) -> Value:
    for row in rows["admissions"]:
        if row["hadm_id"] == fields["hadm_id"]:
            return row["discharge_location"]
    return None


def primary_diagnosis(rows: PatientRows, fields: Fields) -> Value:
    codes = [
        row["icd9_code"] for row in rows["diagnoses_icd"] if row["hadm_id"] == fields["hadm_id"] and row["seq_num"] == 1
    ]
    return codes[0] if codes else None


def distinct_drugs(rows: PatientRows, fields: Fields) -> Value:
    drugs = {
        row["drug"]
        for row in rows["prescriptions"]
        if row["hadm_id"] == fields["hadm_id"] and row["drug_type"] == "MAIN" and row["drug"] is not None
    }
    return len(drugs) or None


CHECKS = {
    check.__name__: check
    for check in (
        icu_length_of_stay, readmission_30_days, icu_readmission, blood_culture_growth, distinct_organisms,
        discharge_location, primary_diagnosis, distinct_drugs,
    )
}  # fmt: skip
