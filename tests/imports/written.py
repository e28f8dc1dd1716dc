"""Small foreign files in their true formats, with content of our own."""

import csv
import json
from pathlib import Path
from typing import Any

import yaml

CONSULTATIONS = Path(__file__).parent / "consultations.yaml"


def osce(case: dict[str, Any]) -> dict[str, Any]:
    """Return one consultation in the shape of AgentClinic."""
    return {
        "OSCE_Examination": {
            "Objective_for_Doctor": f"Assess and diagnose the patient presenting with {case['complaint'].lower()}.",
            "Patient_Actor": {
                "Demographics": case["who"],
                "History": case["history"],
                "Symptoms": {"Primary_Symptom": case["complaint"], "Secondary_Symptoms": case["further"]},
                "Past_Medical_History": case["past"],
                "Social_History": case["social"],
                "Review_of_Systems": "Denies headache, rash or recent travel."
                if case["complaint"] == "Tiredness"
                else "",
            },
            "Physical_Examination_Findings": case["exam"],
            "Test_Results": case["tests"],
            "Correct_Diagnosis": case["diagnosis"],
        }
    }


def consultations() -> list[dict[str, Any]]:
    """Return all consultations."""
    return [osce(case) for case in yaml.safe_load(CONSULTATIONS.read_text(encoding="utf-8"))]


def write_lines(path: Path, items: list[Any]) -> Path:
    """Write JSON lines."""
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    return path


def concept(text: str, code: str = "", status: bool = False) -> dict[str, Any]:
    """Return a codeable concept; a status has a code only."""
    return (
        {"coding": [{"code": text}]} if status else {"coding": [{"code": code or text, "display": text}], "text": text}
    )


def measured(text: str, code: str, value: float, unit: str, day: str, **more: Any) -> dict[str, Any]:
    """Return an Observation of a number."""
    quantity = {"value": value, "unit": unit} if unit else {"value": value}
    return {
        "resourceType": "Observation",
        "status": "final",
        "code": concept(text, code),
        "effectiveDateTime": f"{day}T09:00:00+01:00",
        "valueQuantity": quantity,
        **more,
    }


def pressure(systolic: float, diastolic: float, day: str) -> dict[str, Any]:
    """Return a blood pressure panel."""
    parts = [("Systolic Blood Pressure", "8480-6", systolic), ("Diastolic Blood Pressure", "8462-4", diastolic)]
    return {
        "resourceType": "Observation",
        "status": "final",
        "code": concept("Blood Pressure", "85354-9"),
        "effectiveDateTime": f"{day}T09:00:00+01:00",
        "component": [
            {"code": concept(text, code), "valueQuantity": {"value": value, "unit": "mm[Hg]"}}
            for text, code, value in parts
        ],
    }


def resources() -> list[dict[str, Any]]:
    """Return the record of one patient, without subjects: two problems, one resolved, whose medicine still stands."""
    condition = {"resourceType": "Condition", "verificationStatus": concept("confirmed", status=True)}
    return [
        {"resourceType": "Patient", "id": "pat", "gender": "female", "birthDate": "1960-04-02", "name": [{"family": "Secretname"}]},
        {"resourceType": "Encounter", "id": "e1", "status": "finished", "class": {"code": "AMB"}, "period": {"start": "2018-03-01T10:00:00Z"}},
        {"resourceType": "Encounter", "id": "e2", "status": "finished", "class": {"code": "AMB"}, "period": {"start": "2019-05-01T10:00:00Z"}},
        {"resourceType": "Encounter", "id": "e3", "status": "finished", "class": {"code": "EMER"}, "period": {"start": "2020-02-01"}},
        {**condition, "id": "c1", "code": concept("Hypertension"), "clinicalStatus": concept("active", status=True), "onsetDateTime": "2010-01-01"},
        {**condition, "id": "c2", "code": concept("Bronchitis"), "clinicalStatus": concept("resolved", status=True), "onsetDateTime": "2019"},
        {
            "resourceType": "MedicationRequest", "id": "m1", "status": "active", "authoredOn": "2012-01-01",
            "medicationCodeableConcept": concept("Hydrochlorothiazide 25 MG"), "reasonReference": [{"reference": "Condition/c1"}],
        },
        {
            "resourceType": "MedicationRequest", "id": "m2", "status": "active", "authoredOn": "2019-05-01",
            "contained": [{"resourceType": "Medication", "id": "inner", "code": concept("Guaifenesin 200 MG")}],
            "medicationReference": {"reference": "#inner"}, "reasonReference": [{"reference": "urn:uuid:c2"}],
        },
        {
            "resourceType": "MedicationRequest", "id": "m3", "status": "stopped", "authoredOn": "2015-01-01",
            "medicationCodeableConcept": concept("Ibuprofen 200 MG"), "reasonReference": [{"reference": "Condition/gone"}],
        },
        {
            "resourceType": "MedicationRequest", "id": "m4", "status": "entered-in-error",
            "medicationCodeableConcept": concept("Warfarin 5 MG"), "authoredOn": "2015-01-01",
        },
        {
            "resourceType": "AllergyIntolerance", "id": "a1", "code": concept("Latex allergy"), "criticality": "low",
            "clinicalStatus": concept("active", status=True), "recordedDate": "2001-01-01",
        },
        {**measured("HbA1c", "4548-4", 7.123456, "%", "2018-03-01"), "id": "o1"},
        {**measured("HbA1c", "4548-4", 6.987654, "%", "2019-05-01"), "id": "o2"},
        {**measured("Body Weight", "29463-7", 80.0, "kg", "2017-01-01"), "id": "o3"},
        {**measured("Body Weight", "29463-7", 78.5, "kg", "2018-01-01"), "id": "o4"},
        {**measured("Body Weight", "29463-7", 75.25, "kg", "2019-01-01"), "id": "o5"},
        {**measured("Sodium", "2951-2", 140, "", "2019-01-01"), "id": "o6"},
        {**measured("Sodium", "2951-2", 141, "", "2018-01-01"), "id": "o7"},
        {**pressure(150, 92, "2018-03-01"), "id": "o8"},
        {**pressure(134, 84, "2019-05-01"), "id": "o9"},
        {"resourceType": "Immunization", "id": "i1", "status": "completed", "vaccineCode": concept("Influenza vaccine"), "occurrenceDateTime": "2018-10-01"},
        {"resourceType": "Immunization", "id": "i2", "status": "completed", "vaccineCode": concept("Influenza vaccine"), "occurrenceDateTime": "2019-10-02"},
        {"resourceType": "Immunization", "id": "i3", "status": "not-done", "vaccineCode": concept("Influenza vaccine"), "occurrenceDateTime": "2020-10-02"},
        {"resourceType": "Coverage", "id": "x1"},
    ]  # fmt: skip


def about(items: list[dict[str, Any]], patient: str) -> list[dict[str, Any]]:
    """Return resources with their patient referred to."""
    return [
        item if item["resourceType"] == "Patient" else {**item, "subject": {"reference": patient}} for item in items
    ]


def bundle(items: list[dict[str, Any]], kind: str = "transaction") -> dict[str, Any]:
    """Return a bundle as servers and Synthea write it: full URLs are urn:uuid of the ids."""
    entries = [{"fullUrl": f"urn:uuid:{item['id']}", "resource": item} for item in items]
    return {"resourceType": "Bundle", "type": kind, "entry": entries}


def write_json(path: Path, value: Any) -> Path:
    """Write one JSON document."""
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def evidence(
    code: str, question: str, kind: str = "B", values: dict[str, str] | None = None, default: Any = 0
) -> dict[str, Any]:
    """Return one entry of a DDXPlus evidences file."""
    meanings = {value: {"fr": text, "en": text} for value, text in (values or {}).items()}
    return {
        "name": code, "code_question": code, "question_fr": question, "question_en": question, "is_antecedent": False,
        "default_value": default, "value_meaning": meanings, "possible-values": list(meanings), "data_type": kind,
    }  # fmt: skip


def ddxplus() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a small conditions file and evidences file in the shape of DDXPlus."""
    evidences = [
        evidence("E_1", "Do you have a cough?"),
        evidence("E_2", "Do you have a fever?"),
        evidence("E_3", "Do you have a runny nose?"),
        evidence("E_4", "Do you have a sore throat?"),
        evidence("E_5", "Do you have burning behind the breastbone?"),
        evidence("E_6", "Do you have a sour taste in your mouth?"),
        evidence("E_7", "Do you smoke?"),
        evidence("E_8", "Do you bring up colored sputum?"),
        evidence("E_9", "Where is the pain?", "M", {"V_0": "nowhere", "V_1": "chest", "V_2": "throat"}, "V_0"),
        evidence("E_10", "Are you worse lying down?"),
    ]
    listed = {
        "Bronchitis": (["E_1", "E_2", "E_8", "E_9"], ["E_7"]),
        "URTI": (["E_1", "E_3", "E_4", "E_9"], []),
        "GERD": (["E_1", "E_5", "E_6", "E_10"], ["E_7"]),
    }
    conditions = {
        name: {
            "condition_name": name, "cond-name-fr": name, "cond-name-eng": name, "icd10-id": "x", "severity": 4,
            "symptoms": {code: {} for code in symptoms}, "antecedents": {code: {} for code in antecedents},
        }
        for name, (symptoms, antecedents) in listed.items()
    }  # fmt: skip
    return conditions, {item["name"]: item for item in evidences}


def write_ddxplus(folder: Path, patients: list[dict[str, str]] | None = None) -> Path:
    """Write the two files, and the patients as DDXPlus releases them, into a new folder."""
    folder.mkdir()
    conditions, evidences = ddxplus()
    write_json(folder / "release_conditions.json", conditions)
    write_json(folder / "release_evidences.json", evidences)
    if patients is not None:
        with (folder / "release_test_patients.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(patients)
    return folder


COLUMNS = ["AGE", "DIFFERENTIAL_DIAGNOSIS", "SEX", "PATHOLOGY", "EVIDENCES", "INITIAL_EVIDENCE"]


def patient(**changes: str) -> dict[str, str]:
    """Return one row of the patients' file."""
    row = {
        "AGE": "34",
        "DIFFERENTIAL_DIAGNOSIS": "[['URTI', 0.6], ['Bronchitis', 0.395], ['GERD', 0.005]]",
        "SEX": "F",
        "PATHOLOGY": "URTI",
        "EVIDENCES": "['E_1', 'E_3', 'E_4', 'E_9_@_V_2']",
        "INITIAL_EVIDENCE": "E_1",
    }
    return row | changes
