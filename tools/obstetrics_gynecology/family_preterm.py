"""Contractions before 37 weeks: is it labour, and which of lungs, womb and brain need a drug."""

from dataclasses import dataclass

from healthgym.tasks import Call, Case, Hazard, task_family
from healthgym.tasks.families import Draw

from .cases import COUNTS, done, make_case, pick, read, record_read, scenario, seen, whole
from .women import child, found, woman


@dataclass(frozen=True)
class Early:
    """One scenario: weeks, cervix, fibronectin, and infection or abruption."""

    weeks: tuple[int, int]
    cervix_mm: tuple[int, int]
    fibronectin: str = ""
    trouble: str = ""


SCENARIOS = {
    "high_before_32": Early((25, 31), (6, 18)),
    "long_cervix": Early((26, 33), (31, 42)),
    "high_before_34": Early((32, 33), (6, 18)),
    "middle_negative": Early((26, 33), (21, 29), "negative"),
    "infection": Early((26, 31), (6, 18), trouble="infection"),
    "middle_positive_early": Early((25, 31), (21, 29), "positive"),
    "high_late": Early((34, 36), (6, 18)),
    "abruption": Early((28, 33), (10, 25), trouble="abruption"),
    "middle_positive_later": Early((32, 33), (21, 29), "positive"),
    "infection_late": Early((34, 36), (6, 18), trouble="infection"),
    "abruption_late": Early((34, 36), (8, 20), trouble="abruption"),
    "long_cervix_late": Early((34, 36), (31, 42)),
}
HELD_OUT = ("infection_late", "abruption_late", "long_cervix_late")


@task_family(counts={**COUNTS, "train": 22, "test": 5}, version=2)
def preterm_labour(draw: Draw) -> Case:
    """Vital signs and womb for infection and abruption, cervix and fibronectin for risk, then the drugs that the week calls for."""
    name = scenario(draw, tuple(SCENARIOS), HELD_OUT)
    e = SCENARIOS[name]
    days = whole(draw, e.weeks[0] * 7, e.weeks[1] * 7 + 6)
    cervix = whole(draw, *e.cervix_mm)
    risk = "high_risk" if cervix < 20 or e.fibronectin == "positive" else "low_risk"
    infected, bleeding = e.trouble == "infection", e.trouble == "abruption"
    diagnosis = e.trouble or risk
    plan = "deliver" if e.trouble else "admit_and_treat" if risk == "high_risk" else "discharge_home"
    drugs = drugs_due(days, diagnosis)
    mother = woman(
        draw,
        complaint=pick(draw, ("My belly goes hard every few minutes.", "I have pains like a period.")),
        gestation_days=days,
        heart_rate_per_min=whole(draw, 112, 126) if infected or bleeding else None,
        temperature_c=whole(draw, 384, 392) / 10 if infected else 36.9,
        systolic_bp_mmhg=whole(draw, 98, 108) if bleeding else None,
        labs={"wbc": 19.4} if infected else {},
        tests={
            "transvaginal_scan": f"cervix {cervix} mm, placenta clear of the os",
            "fetal_fibronectin": e.fibronectin or "negative",
        },
        findings=(found("womb", _womb(e.trouble), "abdominal"), found("canal", _canal(e.trouble), "genitourinary")),
        record={"labour_notes": "Contractions every 4 minutes for 3 h, membranes intact."},
    )
    calls = [
        Call("take_vital_signs", patient_id="P1"),
        Call("examine", patient_id="P1", region="abdominal"),
        read("dates"),
        read("medicines"),
        read("illnesses"),
    ]
    evidence = [
        seen("P1.vital_signs.temperature_c", "temperature"),
        seen("P1.findings.womb", "womb"),
        record_read("dates"),
    ]
    if not e.trouble:
        calls += [Call("order_test", patient_id="P1", test="transvaginal_scan"), Call("wait", minutes=30)]
        evidence.append(seen("P1.tests.transvaginal_scan", "cervical length"))
        if e.fibronectin:
            calls += [Call("order_test", patient_id="P1", test="fetal_fibronectin"), Call("wait", minutes=60)]
            evidence.append(seen("P1.tests.fetal_fibronectin", "fibronectin"))
    calls += [Call("give_drug", patient_id="P1", drug=drug) for drug in drugs]
    fetus = child("fetus", ctg=[{
        "minute": 0, "baseline": 172 if infected else whole(draw, 132, 152), "amplitude": 4 if bleeding else whole(draw, 8, 16),
        "accelerations": 0 if e.trouble else 2, "contractions": 3,
    }])  # fmt: skip
    hazards = [
        Hazard(
            tool="give_drug",
            where={"drug": {"in": ["indometacin", "nifedipine"]}},
            severity="critical",
            label="labour held up",
        ),
        Hazard(
            tool="submit_decision",
            where={"plan": "discharge_home"},
            severity="critical",
            label="infection or abruption sent home",
        ),
    ]
    return make_case(
        draw,
        [mother, fetus],
        answer={"diagnosis": diagnosis, "plan": plan},
        end_state={"P1.given": done(*drugs)},
        evidence=evidence,
        solution=calls,
        hazards=hazards if e.trouble else (),
        topic=name,
        difficulty="hard" if e.trouble else "medium" if e.fibronectin else "easy",
    )


def drugs_due(gestation_days: int, diagnosis: str) -> tuple[str, ...]:
    """Return the drugs of the protocol `preterm_labour`, in order.

    Source: ACOG practice bulletin 171, 2016; committee opinions 712 and 713, 2017.
    """
    weeks = gestation_days // 7
    if diagnosis == "low_risk":
        return ()
    lungs = ("betamethasone",) if weeks < 34 or diagnosis == "high_risk" else ()
    brain = ("magnesium_sulfate",) if weeks < 32 else ()
    if diagnosis == "infection":
        return ("ampicillin", "gentamicin", *lungs, *brain)
    if diagnosis == "abruption":
        return (*lungs, *brain)
    womb = ("indometacin",) if weeks < 32 else ("nifedipine",) if weeks < 34 else ()
    return (*lungs, *womb, *brain)


def _womb(trouble: str) -> str:
    return {
        "infection": "Womb tender all over.",
        "abruption": "Womb hard as wood between pains, very tender.",
    }.get(trouble, "Soft between contractions, not tender.")


def _canal(trouble: str) -> str:
    return {
        "infection": "Foul fluid at the cervix.",
        "abruption": "Dark blood, about 200 mL.",
    }.get(trouble, "No blood, no fluid.")
