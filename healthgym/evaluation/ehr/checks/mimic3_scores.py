"""Checks of the bedside scores of MIMIC-III."""

from collections.abc import Sequence

from healthgym.evaluation.ehr.answers import Value
from healthgym.evaluation.ehr.checks.mimic3_labs import CREATININE, lab_rows
from healthgym.evaluation.ehr.checks.mimic3_treatment import urine_of
from healthgym.evaluation.ehr.checks.rows import Fields, PatientRows, is_within, moment

PLATELETS, BILIRUBIN = 51265, 50885
NOREPINEPHRINE, EPINEPHRINE, DOPAMINE, DOBUTAMINE = 221906, 221289, 221662, 221653
MEAN_PRESSURES = (220052, 220181, 225312)
EYES, VERBAL, MOTOR = 220739, 223900, 223901


def sofa_coagulation(rows: PatientRows, fields: Fields) -> Value:
    counts = [row["valuenum"] for row in lab_rows(rows, PLATELETS, fields["intime"], fields["end"])]
    return _points(-min(counts), (-150, -100, -50, -20), strict=True) if counts else None


def sofa_liver(rows: PatientRows, fields: Fields) -> Value:
    values = [row["valuenum"] for row in lab_rows(rows, BILIRUBIN, fields["intime"], fields["end"])]
    return _points(max(values), (1.2, 2.0, 6.0, 12.0)) if values else None


def sofa_renal(rows: PatientRows, fields: Fields) -> Value:
    values = [row["valuenum"] for row in lab_rows(rows, CREATININE, fields["intime"], fields["end"])]
    values = [value for value in values if value > 0]
    urine = urine_of(rows, fields)
    points = [_points(max(values), (1.2, 2.0, 3.5, 5.0))] if values else []
    if urine is not None:
        points.append(4 if urine < 200 else 3 if urine < 500 else 0)
    return max(points, default=None)


def sofa_cardiovascular(rows: PatientRows, fields: Fields) -> Value:
    start, end = moment(fields["intime"]), moment(fields["end"])
    points: list[int] = []
    for row in rows["inputevents_mv"]:
        if row["icustay_id"] != fields["icustay_id"] or row["rate"] is None or row["rate"] <= 0:
            continue
        if row["rateuom"] != "mcg/kg/min" or row["statusdescription"] == "Rewritten":
            continue
        if row["starttime"] is None or row["endtime"] is None:
            continue
        begun, ended = moment(row["starttime"]), moment(row["endtime"])
        if (ended - begun).total_seconds() < 3600 or begun >= end or ended <= start:
            continue
        if row["itemid"] in (NOREPINEPHRINE, EPINEPHRINE):
            points.append(4 if row["rate"] > 0.1 else 3)
        elif row["itemid"] == DOPAMINE:
            points.append(4 if row["rate"] > 15 else 3 if row["rate"] > 5 else 2)
        elif row["itemid"] == DOBUTAMINE:
            points.append(2)
    pressures = [
        row["valuenum"]
        for row in rows["chartevents"]
        if row["icustay_id"] == fields["icustay_id"]
        and row["itemid"] in MEAN_PRESSURES
        and row["error"] != 1
        and row["valuenum"] is not None
        and 20 <= row["valuenum"] <= 200
        and is_within(row["charttime"], fields["intime"], fields["end"])
    ]
    points += [int(pressure < 70) for pressure in pressures]
    return max(points, default=None)


def gcs_minimum(rows: PatientRows, fields: Fields) -> Value:
    charted: dict[str, dict[int, float]] = {}
    for row in rows["chartevents"]:
        if row["itemid"] not in (EYES, VERBAL, MOTOR) or row["icustay_id"] != fields["icustay_id"]:
            continue
        if row["error"] == 1 or row["valuenum"] is None:
            continue
        if is_within(row["charttime"], fields["intime"], fields["end"]):
            at = charted.setdefault(row["charttime"], {})
            at[row["itemid"]] = min(row["valuenum"], at.get(row["itemid"], row["valuenum"]))
    totals = [sum(parts.values()) for parts in charted.values() if len(parts) == 3]
    return min(totals, default=None)


def _points(value: float, bounds: Sequence[float], *, strict: bool = False) -> int:
    """Count the bounds that a value reaches, or with strict exceeds."""
    return sum(value > bound if strict else value >= bound for bound in bounds)


CHECKS = {
    check.__name__: check for check in (sofa_coagulation, sofa_liver, sofa_renal, sofa_cardiovascular, gcs_minimum)
}
