"""Checks of questions to fluids, infusions and ventilation of MIMIC-III."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from healthgym.evaluation.ehr.answers import Value
from healthgym.evaluation.ehr.checks.rows import Fields, PatientRows, Row, covered_seconds, is_within, moment

URINE_ITEMS = frozenset(
    [40055, 40056, 40057, 40061, 40065, 40069, 40085, 40094, 40096, 40405, 40428, 40473, 40651, 40715, 43175]
    + [*range(226557, 226562), *range(226563, 226566), 226567, 226584, 226627, 226631]
)
VASOPRESSORS = {221289: "epinephrine", 221662: "dopamine", 221749: "phenylephrine", 221906: "norepinephrine",
                222315: "vasopressin"}  # fmt: skip
INVASIVE_VENTILATION = 225792


def urine_of(rows: PatientRows, fields: Fields) -> float | None:
    """Return the urine of the window in mL; None without a row."""
    amounts = [
        row["value"]
        for row in rows["outputevents"]
        if row["icustay_id"] == fields["icustay_id"]
        and row["itemid"] in URINE_ITEMS
        and row["value"] is not None
        and row["iserror"] != 1
        and is_within(row["charttime"], fields["intime"], fields["end"])
    ]
    return sum(amounts) if amounts else None


def urine_output(rows: PatientRows, fields: Fields) -> Value:
    return urine_of(rows, fields)


def vasopressor_hours(rows: PatientRows, fields: Fields) -> Value:
    running = (
        row
        for row in rows["inputevents_mv"]
        if row["itemid"] in VASOPRESSORS and row["rate"] is not None and row["rate"] > 0
    )
    return covered_seconds(_spans(running, fields)) / 3600


def ventilation_hours(rows: PatientRows, fields: Fields) -> Value:
    return (
        covered_seconds(
            _spans((row for row in rows["procedureevents_mv"] if row["itemid"] == INVASIVE_VENTILATION), fields)
        )
        / 3600
    )


def first_antibiotic_time(rows: PatientRows, fields: Fields) -> Value:
    antibiotics = {row["itemid"] for row in rows["d_items"] if row["category"] == "Antibiotics"}
    starts = [
        moment(row["starttime"])
        for row in rows["inputevents_mv"]
        if row["icustay_id"] == fields["icustay_id"]
        and row["itemid"] in antibiotics
        and row["statusdescription"] != "Rewritten"
        and is_within(row["starttime"], fields["intime"], fields["outtime"], closed=True)
    ]
    return f"{min(starts):%Y-%m-%d %H:%M}" if starts else None


def _spans(records: Iterable[Row], fields: Fields) -> Iterator[tuple[datetime, datetime]]:
    """Yield the records of the stay that have both times and were not replaced, cut to it."""
    first, last = moment(fields["intime"]), moment(fields["outtime"])
    for row in records:
        is_whole = row["starttime"] is not None and row["endtime"] is not None
        if is_whole and row["icustay_id"] == fields["icustay_id"] and row["statusdescription"] != "Rewritten":
            yield max(first, moment(row["starttime"])), min(last, moment(row["endtime"]))


CHECKS = {
    check.__name__: check for check in (urine_output, vasopressor_hours, ventilation_hours, first_antibiotic_time)
}
