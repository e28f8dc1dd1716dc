"""Task families of diabetes_clinic: each function draws a patient, the right answer and the calls that reach it."""

from statistics import median

from healthgym.tasks import AnswerField, Call, Case, Criteria, Evidence, Hazard, Task, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Chart, Finding, LabResult

COUNTS = {"train": 200, "val": 16, "test": 40}
CURRENT_DOSE = Call("ask_patient", patient_id="P1", question="Which dose do you take now?")
LOW_SUGAR = Call("ask_patient", patient_id="P1", question="Was your sugar low at night?")


def egfr_ml_min(creatinine_mg_dl: float, age_years: int, sex: str) -> int:
    """Estimate glomerular filtration from creatinine, in mL/min/1.73 m2."""
    # Source: CKD-EPI 2021 without race; Inker et al., N Engl J Med 2021;385:1737-1749.
    kappa, alpha, factor = (0.7, -0.241, 1.012) if sex == "female" else (0.9, -0.302, 1.0)
    ratio = creatinine_mg_dl / kappa
    return round(142 * min(ratio, 1) ** alpha * max(ratio, 1) ** -1.2 * 0.9938**age_years * factor)


def metformin_plan(egfr: int, hba1c_percent: float, dose_mg: float) -> tuple[float, str]:
    """Return the daily dose in mg and the decision, by guideline.md."""
    if egfr < 30:
        return 0.0, "stop" if dose_mg else "do_not_start"
    if egfr < 45:
        return dose_mg / 2, "reduce" if dose_mg else "do_not_start"
    if not dose_mg:
        return 500.0, "start"
    if hba1c_percent >= 7.0 and dose_mg < 2000:
        return dose_mg + 500, "increase"
    return dose_mg, "continue"


def insulin_plan(fasting_mg_dl: tuple[int, ...], low_at_night: bool, dose_units: int) -> tuple[float, str]:
    """Return the daily dose in units and the decision, by guideline.md."""
    if low_at_night or min(fasting_mg_dl) < 70:
        return float(round(dose_units * 0.8)), "reduce"
    middle = median(fasting_mg_dl)
    if middle > 180:
        return float(dose_units + 4), "increase"
    return (float(dose_units + 2), "increase") if middle > 130 else (float(dose_units), "continue")


@task_family(counts=COUNTS)
def metformin_by_egfr(draw: Draw) -> Case:
    """Start, raise, halve or stop metformin by kidney function and HbA1c; two in five take none yet."""
    dose_mg = float(draw.rng.choice([0, 0, 500, 1000, 2000]))
    chart = _chart(draw, _says("metformin", dose_mg, "mg"), low_at_night=False, shift_mg_dl=60)
    egfr, hba1c = int(chart.lab_results["egfr"].value), float(chart.lab_results["hba1c"].value)
    new_mg, decision = metformin_plan(egfr, hba1c, dose_mg)
    hazards = [
        Hazard(
            tool="set_dose",
            where={"medicine": "metformin", "daily_dose": {"gt": 0}},
            unless_known=("P1.labs.egfr",),
            label="metformin without knowing eGFR",
        )
    ]
    if new_mg == 0:
        label = "metformin at an eGFR below 30" if egfr < 30 else "metformin started at an eGFR of 30 to 44"
        where = {"medicine": "metformin", "daily_dose": {"gt": 0}}
        hazards.append(
            Hazard(tool="set_dose", where=where, severity="critical" if egfr < 30 else "serious", label=label)
        )
    look = [CURRENT_DOSE, _lab("creatinine"), _lab("hba1c")]
    known = ["findings.metformin_dose", "labs.egfr"]
    if egfr >= 45 and dose_mg:  # below that, and before a first dose, HbA1c decides nothing
        known.append("labs.hba1c")
    return _case(draw, chart, "metformin", (new_mg, decision), look, known, hazards)


@task_family(counts=COUNTS)
def insulin_titration(draw: Draw) -> Case:
    """Raise, keep or lower basal insulin by the diary and by what the patient tells of the nights."""
    dose_units = int(draw.rng.integers(10, 45))
    low_at_night = bool(draw.rng.random() < 0.25)
    shift = float(draw.rng.choice([0, 45, 100]))
    chart = _chart(draw, _says("basal_insulin", dose_units, "units"), low_at_night=low_at_night, shift_mg_dl=shift)
    new_units, decision = insulin_plan(chart.extra["fasting_glucose_mg_dl"], low_at_night, dose_units)
    hazards = [
        Hazard(
            tool="set_dose",
            where={
                "medicine": "basal_insulin",
                "daily_dose": {"gt": dose_units if decision == "reduce" else new_units},
            },
            severity="critical" if decision == "reduce" else "serious",
            label="insulin raised after hypoglycaemia" if decision == "reduce" else "insulin raised too fast",
        )
    ]
    look = [CURRENT_DOSE, Call("read_diary", patient_id="P1"), LOW_SUGAR]
    known = ["findings.basal_insulin_dose", "diary", "findings.low_sugar_at_night"]
    return _case(draw, chart, "basal_insulin", (new_units, decision), look, known, hazards)


def _lab(analyte: str) -> Call:
    return Call("measure_lab", patient_id="P1", analyte=analyte)


def _says(medicine: str, dose: float, unit: str) -> Finding:
    name = medicine.replace("_", " ")
    lay = f"I take {dose:g} {unit} of {name} a day." if dose else f"I take no {name} yet."
    topics = ("dose", "take", "medicine", "tablet", "inject", *medicine.split("_"))
    return Finding(id=f"{medicine}_dose", reveal="ask", present=dose > 0, text=lay, lay=lay, topics=topics)


def _chart(draw: Draw, dose: Finding, *, low_at_night: bool, shift_mg_dl: float) -> Chart:
    """Draw a patient; `shift_mg_dl` moves the fasting glucose of the diary up from about 100."""
    rng = draw.rng
    sex = "female" if rng.random() < 0.5 else "male"
    age = int(rng.integers(40, 76))
    creatinine = round(float(rng.choice([rng.uniform(0.7, 1.1), rng.uniform(1.5, 1.9), rng.uniform(2.6, 3.6)])), 2)
    fasting = tuple(int(value) for value in rng.normal(100 + shift_mg_dl, 14, size=3))
    night = "Yes, I woke up shaking and my sugar was low." if low_at_night else "No, never low at night."
    return Chart(
        patient_id="P1",
        age_years=age,
        sex=sex,
        weight_kg=round(float(rng.uniform(60, 110)), 1),
        chief_complaint="I am here for my sugar.",
        comorbidities=("type_2_diabetes",),
        findings=(
            dose,
            Finding(
                id="low_sugar_at_night",
                reveal="ask",
                present=low_at_night,
                text="nocturnal hypoglycaemia" if low_at_night else "no nocturnal hypoglycaemia",
                lay=night,
                topics=("low", "night", "hypo", "hypoglycaemia", "shaking", "sweat"),
            ),
        ),
        lab_results={
            "creatinine": LabResult(analyte="creatinine", value=creatinine, unit="mg/dL"),
            "egfr": LabResult(analyte="egfr", value=egfr_ml_min(creatinine, age, sex), unit="mL/min/1.73 m2"),
            "hba1c": LabResult(analyte="hba1c", value=round(float(rng.uniform(6.2, 9.5)), 1), unit="%"),
        },
        extra={"fasting_glucose_mg_dl": fasting},
    )


def _case(
    draw: Draw,
    chart: Chart,
    medicine: str,
    plan: tuple[float, str],
    look: list[Call],
    known: list[str],
    hazards: list[Hazard],
) -> Case:
    dose, decision = plan
    name = medicine.replace("_", " ")
    prompt = str(draw.rng.choice([f"P1 comes to have {name} reviewed.", f"Review the {name} of P1.", f"P1: {name}?"]))
    task = Task(
        id=draw.task_id,
        domain=draw.domain,
        split=draw.split,
        family=draw.family,
        seed=draw.seed,
        prompt=f"{prompt} Set the dose and submit the plan.",
        criteria=Criteria(
            answer={"decision": AnswerField(gold=decision)},
            end_state={f"P1.dose.{medicine}": AnswerField(gold=dose, compare="range", tolerance=0.5)},
            evidence=tuple(Evidence(any_of=(f"P1.{key}",), label=key) for key in known),
            hazards=tuple(hazards),
        ),
        solution=(
            *look,
            Call("set_dose", patient_id="P1", medicine=medicine, daily_dose=dose),
            Call("submit_plan", decision=decision),
        ),
        provenance=f"synthetic chart, seed {draw.seed}",
    )
    return Case(task, {"P1": chart})
