"""Checks of the questions to eICU."""

from collections.abc import Iterator

from healthgym.evaluation.ehr.answers import Value
from healthgym.evaluation.ehr.checks.rows import Fields, PatientRows, Row, plain_number

VASOPRESSORS = ("norepinephrine", "epinephrine", "dopamine", "vasopressin", "phenylephrine")
URINE = {"Urine", "URINE CATHETER", "Urine Output-Foley", "Urine Output-FOLEY", "Indwelling Catheter Output", "Foley cath",
         "Foley Cath", "foley", "Voided Amount", "Urine, void:", "SN Urine Output(ml)"}  # fmt: skip
URINE_BEGINS = ("Urinary Catheter Output:", "Output (mL)-Urethral Catheter")


def cuff_pressure_nadir(rows: PatientRows, fields: Fields) -> Value:
    readings = [row["noninvasivemean"] for row in _window(rows, fields, "vitalaperiodic", "observationoffset")]
    return min((reading for reading in readings if reading is not None and reading > 0), default=None)


def unit_length_of_stay(rows: PatientRows, fields: Fields) -> Value:
    return _only(rows, fields, "patient")["unitdischargeoffset"] / 60


def apache_score(rows: PatientRows, fields: Fields) -> Value:
    for row in _of_stay(rows, fields, "apachepatientresult"):
        if row["apacheversion"] == "IVa":
            score = row["apachescore"]
            return None if score is None or score < 0 else score
    return None


def apache_creatinine(rows: PatientRows, fields: Fields) -> Value:
    found = list(_of_stay(rows, fields, "apacheapsvar"))
    return None if not found or found[0]["creatinine"] == -1 else found[0]["creatinine"]


def apache_gcs(rows: PatientRows, fields: Fields) -> Value:
    for row in _of_stay(rows, fields, "apacheapsvar"):
        parts = [row["eyes"], row["motor"], row["verbal"]]
        return sum(parts) if all(part is not None and part >= 1 for part in parts) else None
    return None


def admission_diagnosis(rows: PatientRows, fields: Fields) -> Value:
    return next((row["admitdiagnosis"] for row in _of_stay(rows, fields, "apachepredvar")), None)


def vasopressor_infusion(rows: PatientRows, fields: Fields) -> Value:
    drips = _running(rows, fields)
    return "yes" if any((row["drugname"] or "").lower().startswith(VASOPRESSORS) for row in drips) else "no"


def first_norepinephrine(rows: PatientRows, fields: Fields) -> Value:
    offsets = [
        row["infusionoffset"]
        for row in _running(rows, fields)
        if (row["drugname"] or "").lower().startswith("norepinephrine")
    ]
    return min(offsets) if offsets else None


def highest_norepinephrine(rows: PatientRows, fields: Fields) -> Value:
    rates = [
        plain_number(row["drugrate"])
        for row in _running(rows, fields)
        if (row["drugname"] or "").lower().startswith("norepinephrine")
        and (row["drugname"] or "").lower().endswith("(mcg/min)")
    ]
    return max((rate for rate in rates if rate is not None), default=None)


def urine_output(rows: PatientRows, fields: Fields) -> Value:
    amounts = [
        row["cellvaluenumeric"]
        for row in _window(rows, fields, "intakeoutput", "intakeoutputoffset")
        if (row["celllabel"] in URINE or (row["celllabel"] or "").startswith(URINE_BEGINS))
        and "Output (ml)" in (row["cellpath"] or "")
        and row["cellvaluenumeric"] is not None
    ]
    return sum(amounts) if amounts else None


def fluid_balance(rows: PatientRows, fields: Fields) -> Value:
    balances = {
        row["intakeoutputoffset"]: row["nettotal"]
        for row in _window(rows, fields, "intakeoutput", "intakeoutputoffset")
        if row["nettotal"] is not None
    }
    return sum(balances.values()) if balances else None


def icu_readmission(rows: PatientRows, fields: Fields) -> Value:
    this = _only(rows, fields, "patient")
    later = [
        row
        for row in rows["patient"]
        if row["patienthealthsystemstayid"] == this["patienthealthsystemstayid"]
        and row["unitvisitnumber"] > this["unitvisitnumber"]
        and row["unitstaytype"] == "readmit"
    ]
    return "yes" if later else "no"


def discharge_location(rows: PatientRows, fields: Fields) -> Value:
    location: str | None = _only(rows, fields, "patient")["unitdischargelocation"]
    return location


def body_mass_index(rows: PatientRows, fields: Fields) -> Value:
    stay = _only(rows, fields, "patient")
    weight, height = stay["admissionweight"] or 0.0, stay["admissionheight"] or 0.0
    return weight / (height / 100) ** 2 if weight > 0 and height > 0 else None


def highest_fio2(rows: PatientRows, fields: Fields) -> Value:
    values = [
        plain_number(row["respchartvalue"])
        for row in _window(rows, fields, "respiratorycharting", "respchartoffset")
        if row["respchartvaluelabel"] == "FiO2"
    ]
    return max((value for value in values if value is not None and 21 <= value <= 100), default=None)


def distinct_drugs(rows: PatientRows, fields: Fields) -> Value:
    names = {
        row["drugname"]
        for row in _window(rows, fields, "medication", "drugstartoffset")
        if row["drugordercancelled"] == "No"
    }
    return len(names - {None}) or None


def culture_growth(rows: PatientRows, fields: Fields) -> Value:
    organisms = {row["organism"] for row in _of_stay(rows, fields, "microlab")} - {None}
    if not organisms:
        return None
    return "yes" if organisms - {"no growth"} else "no"


def _of_stay(rows: PatientRows, fields: Fields, table: str) -> Iterator[Row]:
    return (row for row in rows[table] if row["patientunitstayid"] == fields["patientunitstayid"])


def _only(rows: PatientRows, fields: Fields, table: str) -> Row:
    return next(_of_stay(rows, fields, table))


def _window(rows: PatientRows, fields: Fields, table: str, offset: str) -> Iterator[Row]:
    """Yield the stay's rows from admission to before the window's end."""
    minutes = range(fields["hours"] * 60)
    return (row for row in _of_stay(rows, fields, table) if row[offset] in minutes)


def _running(rows: PatientRows, fields: Fields) -> Iterator[Row]:
    """Yield the stay's drips charted with a rate above 0 between admission and discharge."""
    for row in _of_stay(rows, fields, "infusiondrug"):
        if 0 <= row["infusionoffset"] <= fields["unitdischargeoffset"] and (plain_number(row["drugrate"]) or 0) > 0:
            yield row


CHECKS = {
    check.__name__: check
    for check in (
        cuff_pressure_nadir, unit_length_of_stay, apache_score, apache_creatinine, apache_gcs, admission_diagnosis,
        vasopressor_infusion, first_norepinephrine, highest_norepinephrine, urine_output, fluid_balance,
        icu_readmission, discharge_location, body_mass_index, highest_fio2, distinct_drugs, culture_growth,
    )
}  # fmt: skip
