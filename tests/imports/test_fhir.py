import json
from pathlib import Path
from typing import Any

import pytest
from written import about, bundle, measured, resources, write_json, write_lines

from healthgym.errors import ContentError
from healthgym.imports import import_cases
from healthgym.imports.fhir.questions import latest_pair
from healthgym.imports.fhir.recheck import agrees, answer_again
from healthgym.imports.fhir.record import is_void
from healthgym.registry import load_domain
from healthgym.tasks import AnswerField, Call, Suite
from healthgym.validation import validate
from healthgym.validation.replay import play

# Worked out by hand from tests/imports/written.py.
GOLDS = {
    "active_medicines": {"names": ("Guaifenesin 200 MG", "Hydrochlorothiazide 25 MG")},  # warfarin was entered in error
    "active_problems": {"names": ("Hypertension",)},
    "active_allergies": {"names": ("Latex allergy",)},
    "outlived_medicines": {"names": ("Guaifenesin 200 MG",)},  # for bronchitis, which is resolved
    "latest_pair": {"value": 134.0, "second_value": 84.0, "date": "2019-05-01"},
    "value_change": {"value": -4.75, "direction": "down"},  # 75.25 - 80
    "vaccine_doses": {"value": 2.0, "date": "2019-10-02"},  # the third was not done
}


def load(path: Path, out: Path, **options: Any) -> tuple[dict[str, Any], Any]:
    """Import and return {family: golds of its first task} and the report."""
    report = import_cases(path, out, **options)
    suite = Suite([load_domain(out)])
    golds = {}
    for family in report.tasks:
        task = suite.task(f"{out.name}/{family}/train/0000")
        golds[family] = {
            name: field.gold for name, field in task.criteria.answer.items() if isinstance(field, AnswerField)
        }
    return golds, report


def test_the_golds_of_a_bundle_are_those_worked_out_by_hand(tmp_path: Path):
    file = write_json(tmp_path / "one.json", bundle(about(resources(), "urn:uuid:pat")))
    golds, report = load(file, tmp_path / "records", licence="CC0-1.0")
    assert {name: golds[name] for name in GOLDS} == GOLDS
    assert report.tasks["latest_value"] == {"train": 2}  # HbA1c and weight; sodium has no unit
    assert report.log.refused == []
    assert report.log.left_out["Coverage resources"] == 1
    assert report.log.left_out["dangling references"] == 1
    assert report.log.left_out["entered in error or not done"] == 2
    assert report.log.left_out["values without a unit: shown, but no question rests on them"] == 2
    assert report.log.left_out["partial dates: shown, but no question rests on them"] == 1


@pytest.mark.parametrize("form", ["collection", "full urls", "bulk files", "one bulk file", "bundles as lines"])
def test_every_form_of_an_export_gives_the_same_golds(tmp_path: Path, form: str):
    items = about(resources(), "Patient/pat")
    folder = tmp_path / "in"
    folder.mkdir()
    if form == "collection":
        write_json(folder / "a.json", bundle(items, "collection"))
    elif form == "full urls":
        whole = bundle(about(resources(), "http://example.org/fhir/Patient/pat"), "searchset")
        for entry in whole["entry"]:
            entry["fullUrl"] = f"http://example.org/fhir/{entry['resource']['resourceType']}/{entry['resource']['id']}"
        write_json(folder / "a.json", whole)
    elif form == "bulk files":
        for kind in sorted({item["resourceType"] for item in items}):
            write_lines(folder / f"{kind}.ndjson", [item for item in items if item["resourceType"] == kind])
    elif form == "one bulk file":
        write_lines(folder / "export.ndjson", items)
    else:
        write_lines(folder / "bundles.ndjson", [bundle(items)])
    golds, _ = load(folder, tmp_path / "records")
    assert {name: golds[name] for name in GOLDS} == GOLDS


def test_names_and_addresses_of_the_person_are_left_out(tmp_path: Path):
    file = write_json(tmp_path / "one.json", bundle(about(resources(), "urn:uuid:pat")))
    import_cases(file, tmp_path / "records")
    assert "Secretname" not in (tmp_path / "records" / "data" / "patients.jsonl").read_text(encoding="utf-8")


def test_an_oracle_earns_full_marks_and_no_tool_fails_even_with_one_patient(tmp_path: Path):
    file = write_json(tmp_path / "one.json", bundle(about(resources(), "urn:uuid:pat")))
    report = import_cases(file, tmp_path / "records")
    proof = validate(load_domain(tmp_path / "records"))
    assert proof["oracle_min"] == 1.0
    assert {failure["kind"] for failure in proof["failures"]} <= {"attacker"}
    assert "few patients (1) give few different answers" in report.log.notes[0]


def test_the_right_answer_without_looking_is_a_guess(tmp_path: Path):
    file = write_json(tmp_path / "one.json", bundle(about(resources(), "urn:uuid:pat")))
    import_cases(file, tmp_path / "records")
    domain = load_domain(tmp_path / "records")
    case = Suite([domain]).case("records/latest_pair/train/0000")
    *look, last = case.task.turns_of_solution()
    assert play(case, domain, [*look, last]).reward == 1.0
    assert play(case, domain, [last]).reward == 0.0
    assert play(case, domain, [[Call("read_patient", patient_id="P1")], last]).reward == 0.0


def test_a_second_query_that_disagrees_is_told_from_one_that_agrees():
    assert agrees({"value": 6.99, "date": "2019-05-01"}, {"value": 6.987654, "date": "2019-05-01"})
    assert not agrees({"value": 6.99, "date": "2019-05-01"}, {"value": 6.95, "date": "2019-05-01"})
    assert not agrees({"names": ["A"]}, {"names": ["A", "B"]})


def test_a_question_on_which_two_queries_disagree_is_refused_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def another(family: str, asks: Any, items: Any, scope: Any) -> dict[str, Any]:
        again = answer_again(family, asks, items, scope)
        return {**again, "value": again["value"] + 1} if family == "vaccine_doses" else again

    monkeypatch.setattr("healthgym.imports.fhir.conversion.answer_again", another)
    file = write_json(tmp_path / "one.json", bundle(about(resources(), "urn:uuid:pat")))
    report = import_cases(file, tmp_path / "records")
    assert "vaccine_doses" not in report.tasks
    assert [each.kind for each in report.log.refused] == ["second query disagrees"]
    assert "{'value': 2.0, 'date': '2019-10-02'} and {'value': 3.0" in report.log.refused[0].reason


def test_the_second_query_answers_from_resources_alone():
    items = about(resources(), "urn:uuid:pat")
    again = answer_again("value_change", {"code": "29463-7"}, items, scope=None)  # type: ignore[arg-type]
    assert again == {"value": pytest.approx(-4.75), "direction": "down"}


def test_a_tie_or_a_changed_unit_makes_no_question(tmp_path: Path):
    extra = [
        {**measured("HbA1c", "4548-4", 9.0, "%", "2019-05-01"), "id": "tie"},
        {**measured("Body Weight", "29463-7", 166.0, "lb", "2020-01-01"), "id": "pounds"},
    ]
    file = write_json(tmp_path / "one.json", bundle(about([*resources(), *extra], "urn:uuid:pat")))
    report = import_cases(file, tmp_path / "records")
    assert not {"latest_value", "value_change"} & set(report.tasks)


def changed(change: Any) -> list[dict[str, Any]]:
    items = about(resources(), "urn:uuid:pat")
    change(items)
    return items


def _set(place: int, **values: Any) -> Any:
    return lambda items: items[place].update(values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set(4, clinicalStatus="active"), r"entry 5: Condition.clinicalStatus is a text, as in STU3"),
        (_set(1, **{"class": "ambulatory"}), r"entry 2: Encounter.class is a text, as in DSTU2"),
        (_set(1, **{"class": [{"code": "AMB"}]}), r"Encounter.class is a list, as in R5"),
        (_set(6, resourceType="MedicationOrder"), r"entry 7: MedicationOrder is a resource of DSTU2"),
        (_set(0, birthDate=None), r"Patient.birthDate must be a date"),
        (_set(0, gender="unknown"), r"Patient.gender must be female or male"),
        (lambda items: items.pop(0), r"no Patient resource"),
    ],
)
def test_what_is_no_r4_record_is_refused_saying_why(tmp_path: Path, change: Any, message: str):
    file = write_json(tmp_path / "one.json", bundle(changed(change)))
    with pytest.raises(ContentError, match=message):
        import_cases(file, tmp_path / "records")
    assert not (tmp_path / "records").exists()


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (_set(1, period=["2018"]), "Encounter"),
        (_set(11, valueQuantity="7 %"), "Observation"),
        (_set(4, code=None), "Condition"),
        (_set(11, effectiveDateTime="last spring"), "Observation"),
        (_set(8, reasonReference="Condition/c1"), "MedicationRequest"),
        (_set(19, vaccineCode=7), "Immunization"),
        (_set(17, component=3), "Observation"),
    ],
)
def test_a_misshapen_resource_costs_no_more_than_its_patient(tmp_path: Path, change: Any, kind: str):
    twin = json.loads(
        json.dumps(bundle(about(resources(), "urn:uuid:pat")))
        .replace('"pat"', '"twin"')
        .replace("uuid:pat", "uuid:twin")
    )
    folder = tmp_path / "in"
    folder.mkdir()
    write_json(folder / "a.json", bundle(changed(change)))
    write_json(folder / "b.json", twin)
    report = import_cases(folder, tmp_path / "records")
    assert validate(load_domain(tmp_path / "records"), sample=8)["oracle_min"] == 1.0, kind
    assert report.total >= 8


def test_the_same_patient_twice_is_refused(tmp_path: Path):
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a.json", "b.json"):
        write_json(folder / name, bundle(about(resources(), "urn:uuid:pat")))
    report = import_cases(folder, tmp_path / "records")
    assert [(each.place, each.kind) for each in report.log.refused] == [("b.json, Patient pat", "duplicate")]


def test_versions_are_no_record(tmp_path: Path):
    file = write_json(tmp_path / "one.json", bundle(about(resources(), "urn:uuid:pat"), "history"))
    with pytest.raises(ContentError, match="holds versions, not one record"):
        import_cases(file, tmp_path / "records")


@pytest.mark.parametrize(("units", "asked"), [(("mmHg", "mmHg"), 1), (("mmHg", "kPa"), 0)])
def test_a_pair_is_asked_for_in_one_unit_only(units, asked):
    rows = [
        {
            "name": "Blood pressure", "code": "85354-9", "date": day, "at": f"{day}T10:00:00+00:00",
            "parts": [{"name": "systolic", "value": 120.0, "unit": units[0]}, {"name": "diastolic", "value": 80.0, "unit": units[1]}],
        }
        for day in ("2020-01-01", "2020-02-01")
    ]  # fmt: skip
    assert len(list(latest_pair({"observations": rows}, 0))) == asked


def test_a_request_not_to_give_a_medicine_is_no_active_medicine():
    request = {"resourceType": "MedicationRequest", "status": "active", "doNotPerform": True}
    assert is_void(request) and not is_void({**request, "doNotPerform": False})
