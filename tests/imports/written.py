"""Small foreign files in their true formats, with content of our own."""

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
