import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from written import consultations, write_lines

from healthgym.errors import ContentError
from healthgym.imports import import_cases
from healthgym.imports.agentclinic.facts import demographics
from healthgym.imports.names import naming
from healthgym.registry import load_domain
from healthgym.tasks import Call, Suite
from healthgym.validation import validate
from healthgym.validation.replay import play
from healthgym.world import World


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("imports")
    import_cases(write_lines(folder / "osce.jsonl", consultations()), folder / "my_clinic", licence="CC0-1.0")
    yield folder / "my_clinic"


def test_imported_consultations_are_proved(clinic: Path):
    proof = validate(load_domain(clinic))
    assert proof["failures"] == []
    assert (proof["tasks"], proof["oracle_min"]) == (21, 1.0)


def test_no_gold_is_in_anything_an_oracle_reads_before_it_submits(clinic: Path):
    domain = load_domain(clinic)
    for case in Suite([domain]).cases():
        played = play(case, domain, case.task.turns_of_solution())
        (field,) = case.task.criteria.answer.values()
        shown = [message for message in played.episode.messages if message["role"] != "assistant"]
        assert shown and all(naming(str(message["content"]), [field.gold, *field.accept]) == "" for message in shown)


@pytest.mark.parametrize(
    ("task", "wrong"),
    [
        ("train/0002", "Type 2 diabetes mellitus"),
        ("train/0002", "Diabetes mellitus"),
        ("train/0001", "Chronic appendicitis"),
        ("train/0001", "No acute appendicitis"),
        ("test/0000", "Right ureterolithiasis"),
    ],
)
def test_a_near_miss_earns_nothing_and_the_right_name_everything(clinic: Path, task: str, wrong: str):
    domain = load_domain(clinic)
    case = Suite([domain]).case(f"my_clinic/diagnose/{task}")
    turns = case.task.turns_of_solution()
    assert play(case, domain, turns).reward == 1.0
    assert play(case, domain, [*turns[:-1], [Call("submit_diagnosis", diagnosis=wrong)]]).reward == 0.0


def test_the_patient_tells_facts_only_when_asked_for_them(clinic: Path):
    case = Suite([load_domain(clinic)]).case("my_clinic/diagnose/train/0001")
    world = World(case.charts)
    assert world.ask("P1", "Have you vomited?") == "He has vomited once and does not want to eat."
    assert world.ask("P1", "Any allergies?") == "No medicines, no allergies."
    assert "navel" not in world.ask("P1", "Any other symptoms?")
    assert world.ask("P1", "Where did you go on holiday?").startswith("I'm not sure what you mean")


def test_what_the_case_does_not_tell_is_not_made_up(clinic: Path):
    case = Suite([load_domain(clinic)]).case("my_clinic/diagnose/train/0002")  # nothing on allergies
    assert World(case.charts).ask("P1", "Are you allergic to anything?") == "I can't tell you anything about allergies."


def edited(**changes: object) -> dict[str, object]:
    """Return the second consultation with some parts changed; None leaves a part out."""
    inner = {**consultations()[1]["OSCE_Examination"], **changes}
    return {"OSCE_Examination": {key: value for key, value in inner.items() if value is not None}}


def actor(**changes: object) -> dict[str, object]:
    return {**consultations()[1]["OSCE_Examination"]["Patient_Actor"], **changes}


@pytest.mark.parametrize(
    ("entry", "kind", "reason"),
    [
        (edited(Correct_Diagnosis=None), "incomplete", "Correct_Diagnosis is missing"),
        (edited(Correct_Diagnosis="..."), "incomplete", "has no word"),
        (edited(Correct_Diagnosis=["Appendicitis"]), "incomplete", "must be text, got list"),
        (edited(Patient_Actor="a man"), "incomplete", "Patient_Actor must be an object"),
        (edited(Patient_Actor=actor(Demographics="adult", History="Pain.")), "incomplete", "tells the age"),
        (
            edited(Patient_Actor=actor(Demographics="30-year-old patient", History="Pain.")),
            "incomplete",
            "tells the sex",
        ),
        (edited(Test_Results={}, Physical_Examination_Findings={}), "nothing to find out", "neither"),
        (
            edited(Objective_for_Doctor="Confirm appendicitis."),
            "names the diagnosis",
            "the opening says 'appendicitis'",
        ),
        (edited(Test_Results={"CT": {"Findings": "Acute Appendicitis."}}), "names the diagnosis", "tests CT"),
        (edited(Test_Results={"Appendicitis_Score": "8"}), "names the diagnosis", "tests Appendicitis_Score"),
        (
            edited(Patient_Actor=actor(History="Боль в животе со вчерашнего дня, тошнота и рвота. " * 12)),
            "not English",
            "not Latin",
        ),
        ({"question": "Which drug?"}, "not a case", "no OSCE_Examination in it; keys: question"),
        (7, "not a case", "a int, not an object"),
    ],
)
def test_a_case_that_cannot_be_played_fairly_is_refused_with_its_line(
    tmp_path: Path, entry: object, kind: str, reason: str
):
    good = consultations()[0]
    report = import_cases(
        write_lines(tmp_path / "osce.jsonl", [good, entry]), tmp_path / "clinic", format="agentclinic"
    )
    (refusal,) = report.log.refused
    assert (refusal.kind, refusal.place) == (kind, "osce.jsonl, line 2")
    assert reason in refusal.reason
    assert report.total == 1


def test_repeats_and_repeated_ids_are_refused_naming_the_first(tmp_path: Path):
    first, second = consultations()[:2]
    lines = [{"id": "a", **first}, {"id": "b", **first}, {"id": "a", **second}]
    report = import_cases(write_lines(tmp_path / "osce.jsonl", lines), tmp_path / "clinic")
    assert [refusal.reason for refusal in report.log.refused] == [
        "the same case as osce.jsonl, line 1",
        "the same id 'a' as osce.jsonl, line 1",
    ]


def test_a_broken_line_is_refused_and_the_others_are_kept(tmp_path: Path):
    file = write_lines(tmp_path / "osce.jsonl", consultations()[:2])
    file.write_text(file.read_text(encoding="utf-8") + '{"OSCE_Examination": {"Obj', encoding="utf-8")  # cut short
    report = import_cases(file, tmp_path / "clinic")
    assert report.total == 2
    assert [(refusal.place, refusal.kind) for refusal in report.log.refused] == [("osce.jsonl, line 3", "not JSON")]


def test_a_list_in_one_file_is_read_as_lines_are(tmp_path: Path):
    file = tmp_path / "osce.json"
    file.write_text(json.dumps(consultations(), indent=1), encoding="utf-8")
    assert import_cases(file, tmp_path / "clinic", limit=3).total == 3


def test_the_image_question_variant_is_read_without_its_image(tmp_path: Path):
    entry = {
        "question": "A 50-year-old man woke with a painful toe. What is the diagnosis?",
        "image_url": "images/toe.png",
        "answers": [{"text": "Cellulitis", "correct": False}, {"text": "Acute gouty arthritis", "correct": True}],
        "patient_info": "You are a 50-year-old man. Your right big toe has hurt since last night. You drank beer.",
        "physical_exams": "Joint aspiration: needle-shaped negatively birefringent crystals.",
    }
    report = import_cases(write_lines(tmp_path / "q.jsonl", [entry]), tmp_path / "toes")
    assert (report.total, report.log.left_out["images"]) == (1, 1)
    assert validate(load_domain(tmp_path / "toes"))["oracle_min"] == 1.0


def test_few_diagnoses_are_announced(tmp_path: Path):
    report = import_cases(write_lines(tmp_path / "osce.jsonl", consultations()[:3]), tmp_path / "clinic")
    assert "3 different diagnoses" in report.log.notes[0]
    assert "3 different diagnoses" in (tmp_path / "clinic" / "README.md").read_text(encoding="utf-8")


def test_a_bound_that_one_case_cannot_meet_is_reported_with_its_reason(tmp_path: Path):
    import_cases(write_lines(tmp_path / "osce.jsonl", consultations()[:1]), tmp_path / "clinic")
    proof = validate(load_domain(tmp_path / "clinic"))
    assert proof["oracle_min"] == 1.0
    told = [failure["what"] for failure in proof["failures"]]
    assert told and all("different answers: 1, so who guesses among them is right in 1 of 1" in what for what in told)


def test_a_file_of_cases_that_all_fail_writes_nothing(tmp_path: Path):
    file = write_lines(tmp_path / "osce.jsonl", [edited(Correct_Diagnosis=None)])
    with pytest.raises(ContentError, match=r"osce.jsonl, line 1: Correct_Diagnosis is missing"):
        import_cases(file, tmp_path / "clinic", format="agentclinic")
    assert not (tmp_path / "clinic").exists()


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["35-year-old female", ""], (35.0, "female")),
        (["8-month-old boy", ""], (0.67, "male")),  # 8 / 12
        (["Newborn, female", ""], (0.0, "female")),
        (["Age: 62, woman", ""], (62.0, "female")),
        (["Adult", "A 1-month history in a 40-year-old man whose wife called."], (40.0, "male")),
    ],
)
def test_age_and_sex_are_read_from_demographics_first(texts: list[str], expected: tuple[float, str]):
    assert demographics(texts) == expected


def test_a_duration_is_no_age():
    with pytest.raises(ContentError, match="tells the age"):
        demographics(["Adult woman", "She tells of a 1-month history of cough."])


def test_synonyms_that_the_case_lists_are_accepted(tmp_path: Path):
    case = consultations()[13]  # Graves disease
    case["OSCE_Examination"]["Diagnosis_Synonyms"] = ["Basedow's disease"]
    import_cases(write_lines(tmp_path / "osce.jsonl", [case]), tmp_path / "clinic")
    domain = load_domain(tmp_path / "clinic")
    played = Suite([domain]).case("clinic/diagnose/train/0000")
    look = played.task.turns_of_solution()[:-1]
    for name, reward in (("Basedow disease", 1.0), ("Graves' disease", 1.0), ("Graves ophthalmopathy", 0.0)):
        assert play(played, domain, [*look, [Call("submit_diagnosis", diagnosis=name)]]).reward == reward
