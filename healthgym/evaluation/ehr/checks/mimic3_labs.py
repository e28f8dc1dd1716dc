"""Checks of questions to laboratory values and charted measurements of MIMIC-III."""

from collections.abc import Iterator

from healthgym.evaluation.ehr.answers import Value
from healthgym.evaluation.ehr.checks.rows import Fields, PatientRows, Row, is_within, moment

LACTATE, CREATININE, HAEMOGLOBIN = 50813, 50912, 51222
_FORTY_EIGHT_HOURS, _SEVEN_DAYS = 48 * 3600, 7 * 24 * 3600


def lab_rows(rows: PatientRows, item: int, start: str, end: str, *, closed: bool = False) -> list[Row]:
    """Return results of an item with a number in the window, oldest first."""
    found = [
        row
        for row in rows["labevents"]
        if row["itemid"] == item
        and row["valuenum"] is not None
        and is_within(row["charttime"], start, end, closed=closed)
    ]
    return sorted(found, key=lambda row: (moment(row["charttime"]), row["row_id"]))


def last_lactate_before(rows: PatientRows, fields: Fields) -> Value:
    found = lab_rows(rows, LACTATE, fields["intime"], fields["end"])
    return found[-1]["valuenum"] if found else None


def first_creatinine(rows: PatientRows, fields: Fields) -> Value:
    return next(iter(_creatinine(rows, fields["intime"], fields["end"])), None)


def worst_creatinine(rows: PatientRows, fields: Fields) -> Value:
    return max(_creatinine(rows, fields["intime"], fields["end"]), default=None)


def haemoglobin_change(rows: PatientRows, fields: Fields) -> Value:
    found = lab_rows(rows, HAEMOGLOBIN, fields["intime"], fields["outtime"], closed=True)
    return found[-1]["valuenum"] - found[0]["valuenum"] if len(found) > 1 else None


def kdigo_creatinine_stage(rows: PatientRows, fields: Fields) -> Value:
    start, end = moment(fields["intime"]), moment(fields["end"])
    series = [
        (moment(row["charttime"]), row["valuenum"])
        for row in rows["labevents"]
        if row["itemid"] == CREATININE and row["valuenum"] is not None and row["valuenum"] > 0 and row["charttime"]
    ]
    before = [value for when, value in series if 0 <= (start - when).total_seconds() <= _SEVEN_DAYS]
    after = [(when, value) for when, value in series if start < when <= end]
    if not before or not after:
        return None
    ratio = max(value for _, value in after) / min(before)
    rises = [
        value - earlier
        for when, value in after
        for then, earlier in series
        if 0 < (when - then).total_seconds() <= _FORTY_EIGHT_HOURS
    ]
    is_injured = round(ratio, 9) >= 1.5 or round(max(rises, default=0.0), 6) >= 0.3
    if round(ratio, 9) >= 3 or (is_injured and max(value for _, value in after) >= 4):
        return 3
    if round(ratio, 9) >= 2:
        return 2
    return int(is_injured)


def admission_weight(rows: PatientRows, fields: Fields) -> Value:
    best: Row | None = None
    for row in rows["chartevents"]:
        if row["icustay_id"] != fields["icustay_id"] or row["itemid"] not in (226512, 762) or row["error"] == 1:
            continue
        if row["valuenum"] is None or row["valuenum"] <= 0 or row["charttime"] is None:
            continue
        if best is None or (moment(row["charttime"]), row["row_id"]) < (moment(best["charttime"]), best["row_id"]):
            best = row
    return best["valuenum"] if best else None


def _creatinine(rows: PatientRows, start: str, end: str) -> Iterator[float]:
    return (row["valuenum"] for row in lab_rows(rows, CREATININE, start, end) if row["valuenum"] > 0)


CHECKS = {
    check.__name__: check
    for check in (
        last_lactate_before, first_creatinine, worst_creatinine, haemoglobin_change, kdigo_creatinine_stage,
        admission_weight,
    )
}  # fmt: skip
