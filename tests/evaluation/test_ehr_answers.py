"""Typed grading: a value in its unit, times to the minute, words as they stand; padding changes nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healthgym.evaluation.ehr.answers import canonical, grade_submission


def content(kind, gold, unit="", tolerance=0.0):
    return {"kind": kind, "gold": gold, "unit": unit, "tolerance": tolerance}


LACTATE = content("number", 2.1, "mmol/L", 0.05)
CREATININE = content("number", 1.4, "mg/dL", 0.05)
HOURS = content("number", 4.0, "h", 0.05)


@pytest.mark.parametrize(
    ("item", "value", "unit", "score"),
    [
        (LACTATE, 2.1, "mmol/L", 1.0),
        (LACTATE, 2.14, "MMOL / L", 1.0),
        (LACTATE, "2.1", "mmol/l", 1.0),
        (LACTATE, 2.16, "mmol/L", 0.0),
        (LACTATE, 2.1, "", 0.0),
        (LACTATE, 2.1, "mg/dL", 0.0),
        (LACTATE, 18.9, "mg/dL", 0.0),  # by molar mass, which is not exact
        (LACTATE, "2.1 mmol/L", "mmol/L", 0.0),
        (LACTATE, "not measured", "", 0.0),
        (LACTATE, True, "mmol/L", 0.0),
        (CREATININE, 14, "mg/L", 1.0),  # ten decilitres a litre
        (CREATININE, 1.4, "mg/L", 0.0),
        (CREATININE, 124, "umol/L", 0.0),
        (HOURS, 240, "minutes", 1.0),
        (HOURS, 4, "days", 0.0),
        (HOURS, 4.0, "hours", 1.0),
        (content("number", 2500.0, "mL", 1.0), 2.5, "L", 1.0),
        (content("number", -2.5, "g/dL", 0.05), -25, "g/L", 1.0),
        (content("number", 40.0, "%", 0.5), 0.4, "fraction", 1.0),
        (content("count", 3), 3, "", 1.0),
        (content("count", 3), 3.0, "organisms", 1.0),
        (content("count", 3), 3.4, "", 0.0),
        (content("score", 0), 0, "", 1.0),
        (content("score", 0), False, "", 0.0),
        (content("score", 0), "not measured", "", 0.0),
        (content("time", "2150-01-01 11:45"), "2150-01-01 11:45", "", 1.0),
        (content("time", "2150-01-01 11:45"), "2150-01-01T11:45:30", "", 1.0),
        (content("time", "2150-01-01 11:45"), "2150-01-01 11:46", "", 0.0),
        (content("time", "2150-01-01 11:45"), "around 2150-01-01 11:45", "", 0.0),
        (content("yes_no", "yes"), "Yes", "", 1.0),
        (content("yes_no", "yes"), True, "", 1.0),
        (content("yes_no", "no"), False, "", 1.0),
        (content("yes_no", "yes"), "yes and no", "", 0.0),
        (content("yes_no", "yes"), 1, "", 0.0),
        (content("code", "51881"), "518.81", "", 1.0),
        (content("code", "51881"), 51881, "", 1.0),
        (content("code", "0389"), "389", "", 0.0),
        (content("code", "S-CABGAOV"), "s-cabgaov", "", 1.0),
        (content("category", "DEAD/EXPIRED"), "dead/expired", "", 1.0),
        (content("category", "HOME"), "HOME HEALTH CARE", "", 0.0),
        (content("category", None), " Not  measured ", "", 1.0),
        (content("number", None, "h", 0.1), 0, "h", 0.0),
        (content("number", None, "h", 0.1), "none", "", 0.0),
    ],
)
def test_a_submission_is_right_only_as_the_kind_says(item, value, unit, score):
    assert grade_submission(item, {"value": value, "unit": unit}) == score


def test_nothing_submitted_is_wrong():
    assert grade_submission(LACTATE, {}) == 0.0


@settings(max_examples=40)
@given(st.floats(-1e6, 1e6), st.text(alphabet=" \t\n", max_size=5), st.text(alphabet=" \t\n", max_size=5))
def test_white_space_around_a_number_changes_nothing(number, before, after):
    assert canonical("number", "mL", f"{before}{number}{after}", f" {after}mL") == number


@settings(max_examples=40)
@given(st.one_of(st.text(max_size=200), st.floats(), st.booleans()), st.text(max_size=20))
def test_whatever_is_submitted_is_graded_right_or_wrong(value, unit):
    for kind in ("number", "count", "score", "time", "yes_no", "code", "category"):
        gold = {"number": 1.5, "count": 2, "score": 1, "time": "2150-01-01 11:45", "yes_no": "no"}.get(kind, "A1")
        item = content(kind, gold, "mL" if kind == "number" else "", 0.1)
        assert grade_submission(item, {"value": value, "unit": unit}) in (0.0, 1.0)


@settings(max_examples=40)
@given(st.text(min_size=1, max_size=40))
def test_text_around_a_number_makes_it_unreadable(padding):
    stripped = padding.strip()
    if stripped and not any(character in "0123456789.eE+-" for character in stripped):
        assert grade_submission(LACTATE, {"value": f"2.1{padding}", "unit": "mmol/L"}) == 0.0
