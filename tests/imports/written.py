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
