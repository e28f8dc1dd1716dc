"""Tools show what the record holds and no more; golds follow hand-worked records; harm is judged by what was done."""

from datetime import datetime

import pytest

from healthgym.tasks import AnswerField, Call, Criteria, Task
from healthgym.tools.ehr_management.family_coding import combined
from healthgym.tools.ehr_management.family_kidney import aki_stage, baseline
from healthgym.tools.ehr_management.family_values import trend_of
from healthgym.tools.ehr_management.hazards import HAZARD_RULES
from healthgym.tools.ehr_management.orders import active, clearance
from healthgym.tools.ehr_management.record import IN_ERROR, Book, values
from healthgym.tools.ehr_management.stewardship import narrowest
from healthgym.tools.ehr_management.timeline import days_between, window
from healthgym.tools.ehr_management.toolkit import EhrToolkit
from healthgym.world import Allergy, Chart, ExecutedCall, World

ADMITTED = datetime(2025, 3, 10, 9)


def creatinine(book, hours, value, status="final"):
    book.add("Observation", "creatinine", hours, f"creatinine {value} mg/dL", value=value, unit="mg/dL", status=status)


def order(book, drug, dose_mg, times=1.0):
    detail = {"drug": drug, "dose_mg": dose_mg, "times_per_day": times, "route": "oral"}
    book.add("MedicationRequest", "order", 2, f"{drug} {dose_mg} mg", detail=detail)


def chart(fill=lambda book: None, **changes):
    book = Book(ADMITTED)
    fill(book)
    extra = {"admitted": "2025-03-10 09:00", "now": "2025-03-15 12:00", "record": book.entries()}
    base = {"patient_id": "P7", "age_years": 70, "sex": "male", "weight_kg": 72.0, "extra": extra}
    return Chart(**{**base, **changes})


def ordinary(book):
    for day in range(14):
        creatinine(book, 24 * day / 3, round(1.0 + day / 10, 2))
    creatinine(book, 50, 9.9, IN_ERROR)
    book.add("DocumentReference", "progress_note", 20, "progress note", detail={"text": "The secret word is heron."})
    book.add("Encounter", "encounter", -2400, "outpatient: check", detail={"class": "outpatient"})
    for drug, dose in (("apixaban", 5), ("amlodipine", 5), ("ibuprofen", 400), ("simvastatin", 20)):
        order(book, drug, dose)


class Desk:
    """A toolkit over one patient that records executed calls as an episode does."""

    def __init__(self, fill=ordinary, **changes):
        self.world = World({"P7": chart(fill, **changes)})
        self.tools = EhrToolkit(self.world)

    def __call__(self, tool, **arguments):
        result = self.tools.call(tool, {"patient_id": "P7", **arguments})
        self.world.calls.append(
            ExecutedCall(
                tool=tool, arguments=result.arguments, effect=result.effect, turn=1, minutes=0, error=result.error
            )
        )
        return result.content

    def hazards(self, **tags):
        task = Task(
            id="t", domain="ehr_management", split="train", prompt="p", provenance="test",
            criteria=Criteria(answer={"score": AnswerField(gold=1)}), solution=(Call("submit_record"),), tags=tags,
        )  # fmt: skip
        return [(hit.label, hit.severity) for rule in HAZARD_RULES for hit in rule(task, self.world)]


def test_search_pages_by_ten_and_reveals_only_the_page_shown():
    desk = Desk()
    text = desk("search_records", resource="Observation", code="creatinine", page=2)
    assert text.startswith("15 Observation entries, page 2 of 2") and text.count("\n") == 5
    shown = [key for key in desk.world.facts if key.startswith("P7.records.")]
    assert len(shown) == 5 and "P7.records.creatinine-11" in shown
    assert desk("search_records", resource="Observation", page=3).startswith("Error: There is no page 3")


def test_a_note_is_known_only_once_opened():
    desk = Desk()
    assert "heron" not in desk("search_records", resource="DocumentReference")
    assert not desk.world.knows("P7.records.progress_note-01")
    assert "heron" in desk("read_record", record_id="progress_note-01")
    assert desk.world.knows("P7.records.progress_note-01")


def test_windows_include_both_ends_and_a_date_means_its_whole_day():
    assert window("2025-03-10", "2025-03-11") == ("2025-03-10", "2025-03-11 23:59")
    # samples every 8 hours from 09:00: 09:00, 17:00, 01:00, 09:00, 17:00 on the first two days, and the in-error one later
    text = Desk()("get_labs", analyte="creatinine", since="2025-03-10 09:00", until="2025-03-11")
    assert text.startswith("5 results")
    assert days_between("2025-03-10 23:00", "2025-03-12 01:00") == 2


def test_what_was_entered_in_error_is_marked_in_lists_and_left_out_of_trends():
    desk = Desk()
    assert "9.9 mg/dL [entered-in-error]" in desk("get_labs", analyte="creatinine")
    assert "highest 2025-03-14 17:00  2.3" in desk("lab_trend", analyte="creatinine")


def test_a_change_of_a_fifth_is_a_trend():
    # 100 to 120 is +20 %: rising; 119: stable; 80: falling
    for last, expected in ((120, "rising"), (119, "stable"), (81, "stable"), (80, "falling")):
        assert trend_of([{"value": 100}, {"value": last}]) == expected


def test_baseline_is_the_last_creatinine_a_week_to_a_year_before():
    def fill(book):
        for hours, value in ((-24 * 400, 0.7), (-24 * 100, 0.9), (-24 * 30, 1.0), (-24 * 3, 1.4), (1, 1.5)):
            creatinine(book, hours, value)

    assert baseline(chart(fill))["value"] == 1.0


@pytest.mark.parametrize(
    ("course", "urine_ml", "stage"),
    [
        ((1.0, 1.1), 400, 0),
        ((1.0, 1.35), 400, 1),  # +0.35 within 24 h
        ((1.2, 2.05), 400, 2),  # 2.05 x
        ((1.2, 3.1), 400, 3),
        ((1.0, 1.1), 150, 2),  # 150 mL / 72 kg / 6 h = 0.35 mL/kg/h in two blocks: 12 h
        ((1.0, 1.1), 100, 2),  # 0.23 mL/kg/h, but for 12 h only
    ],
)
def test_kidney_injury_is_staged_by_the_worse_of_creatinine_and_urine(course, urine_ml, stage):
    def fill(book):
        creatinine(book, -24 * 50, 1.0)
        creatinine(book, 1, course[0])
        creatinine(book, 25, course[1])
        for block in (1, 2):
            book.add("Observation", "urine_output", 6 * block, "urine", value=urine_ml, unit="mL", detail={"hours": 6})

    assert aki_stage(chart(fill)) == stage


def test_clearance_uses_the_last_valid_creatinine():
    # (140 - 70) * 72 / (72 * 2.0) = 35 mL/min; the later 0.5 was entered in error
    def fill(book):
        creatinine(book, 1, 1.0)
        creatinine(book, 50, 2.0)
        creatinine(book, 60, 0.5, IN_ERROR)

    assert clearance(chart(fill)) == 35.0 and len(values(chart(fill), "creatinine")) == 2


def test_the_narrowest_drug_respects_culture_and_allergy():
    ladder = ("ampicillin", "cefazolin", "ceftriaxone", "meropenem")
    assert narrowest(chart(), ladder, ladder) == "ampicillin"
    assert narrowest(chart(allergies=(Allergy(substance="penicillin"),)), ladder, ladder) == "cefazolin"
    assert (
        narrowest(chart(allergies=(Allergy(substance="cephalosporin"),)), ladder, ("ceftriaxone", "meropenem"))
        == "meropenem"
    )
    assert narrowest(chart(), ladder, ()) is None


def test_hypertension_heart_failure_and_kidney_disease_are_coded_together():
    none = {"hypertension": False, "heart_failure": "", "kidney": "", "diabetes": False}
    assert combined(**{**none, "hypertension": True}) == ["I10"]
    assert combined(**{**none, "hypertension": True, "kidney": "N18.4"}) == ["I12.9", "N18.4"]
    everything = {"hypertension": True, "heart_failure": "I50.23", "kidney": "N18.32", "diabetes": True}
    assert combined(**everything) == ["I13.0", "I50.23", "E11.22", "N18.32"]
    assert combined(**{**none, "heart_failure": "I50.21", "diabetes": True}) == ["I50.21", "E11.9"]


def test_icd10_search_finds_either_spelling():
    desk = Desk()
    for words in ("acute posthemorrhagic anemia", "acute posthaemorrhagic anaemia"):
        assert desk.tools.call("icd10_search", {"words": words}).content.startswith("D62")


def test_orders_change_and_a_refused_change_leaves_them_alone():
    desk = Desk()
    desk("stop_order", drug="ibuprofen")
    desk("order_medication", drug="amlodipine", dose_mg=10, times_per_day=1)
    assert "ibuprofen" not in active(desk.world, "P7") and active(desk.world, "P7")["amlodipine"].daily_mg == 10
    before = desk.world.state.hash()
    assert desk("stop_order", drug="ibuprofen").startswith("Error")
    assert desk("order_medication", drug="amlodipine", dose_mg=10, times_per_day=1).startswith("Error")
    assert desk.world.state.hash() == before


@pytest.mark.parametrize(
    ("tool", "arguments", "changes", "tags", "hazard"),
    [
        ("order_medication", {"drug": "ampicillin", "dose_mg": 1000, "times_per_day": 4},
         {"allergies": (Allergy(substance="penicillin"),)}, {}, ("allergy", "critical")),
        ("order_medication", {"drug": "felodipine", "dose_mg": 5, "times_per_day": 1}, {}, {}, ("second drug of a class", "serious")),
        ("order_medication", {"drug": "clarithromycin", "dose_mg": 500, "times_per_day": 2}, {}, {}, ("grave interaction", "critical")),
        # creatinine 2.3: (140 - 70) * 72 / (72 * 2.3) = 30.4 mL/min; gabapentin at 30 to 60: at most 1,400 mg
        ("order_medication", {"drug": "gabapentin", "dose_mg": 800, "times_per_day": 3}, {}, {}, ("dose above the limit", "serious")),
        ("stop_order", {"drug": "amlodipine"}, {}, {}, ("stopped a medicine not at fault", "serious")),
        ("stop_order", {"drug": "apixaban"}, {}, {}, ("stopped a medicine not at fault", "critical")),
        ("order_medication", {"drug": "levothyroxine", "dose_mg": 0.1, "times_per_day": 1}, {}, {"not_to_order": "levothyroxine"},
         ("ordered what is held or was ended", "serious")),
        ("discharge", {"destination": "home"}, {}, {}, ("discharged without being asked", "critical")),
    ],
)  # fmt: skip
def test_harm_that_was_done_is_found(tool, arguments, changes, tags, hazard):
    desk = Desk(**changes)
    assert not desk(tool, **arguments).startswith("Error")
    assert hazard in desk.hazards(**tags)


def test_stopping_the_drug_at_fault_harms_nobody_but_stopping_both_duplicates_does():
    desk = Desk()
    desk("stop_order", drug="ibuprofen")
    assert desk.hazards(targets="ibuprofen") == []
    pair = "ibuprofen,simvastatin"
    desk("stop_order", drug="simvastatin")
    assert ("stopped a medicine not at fault", "serious") in desk.hazards(targets=pair, keep_one=pair)


def test_a_submission_that_names_what_does_not_exist_is_refused():
    desk = Desk()
    assert desk("submit_record", record_id="progress_note-77").startswith("Error")
    assert desk("submit_record", codes=["Q99.99"]).startswith("Error")
    assert desk("submit_record", antibiotic="cefazoline").startswith("Error")
    assert desk("submit_record", antibiotic="none") == "Submitted for P7."
