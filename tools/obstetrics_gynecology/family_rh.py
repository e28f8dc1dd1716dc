"""Anti-D immune globulin: whether, and how many micrograms."""

from healthgym.tasks import Call, Case, task_family
from healthgym.tasks.families import Draw

from ..scores.rh_immune_globulin import RhEvent, anti_d_dose_ug
from .cases import COUNTS, difficulty_of, make_case, pick, read, record_read, scenario, seen, whole
from .women import child, found, woman

EVENTS: dict[str, RhEvent] = {
    "routine": "routine_28_weeks",
    "birth_positive": "birth",
    "bleeding_small": "bleeding_or_procedure",
    "birth_large_bleed": "birth",
    "sensitised": "bleeding_or_procedure",
    "birth_negative": "birth",
    "fall_large_bleed": "bleeding_or_procedure",
    "rhd_positive": "bleeding_or_procedure",
    "passive_antibody": "birth",
    "early_loss": "pregnancy_loss",
    "weak_d": "bleeding_or_procedure",
    "later_loss": "pregnancy_loss",
}
HELD_OUT = ("early_loss", "weak_d", "later_loss")
LARGE = ("birth_large_bleed", "fall_large_bleed")
WEEKS = {
    "routine": (28, 28), "early_loss": (6, 11), "later_loss": (13, 18), "bleeding_small": (22, 34),
    "fall_large_bleed": (24, 36), "sensitised": (22, 34), "rhd_positive": (22, 34), "weak_d": (22, 34),
}  # fmt: skip
COMPLAINTS = {
    "routine_28_weeks": ("I'm here for my 28-week visit.",),
    "birth": ("My baby was born this morning.", "I had my baby last night."),
    "bleeding_or_procedure": ("I fell on my belly.", "I've had some bleeding."),
    "pregnancy_loss": ("I'm losing the pregnancy.",),
}


@task_family(counts={**COUNTS, "train": 20})
def rh_prophylaxis(draw: Draw) -> Case:
    """Read blood group and antibodies, measure the fetal bleed where it counts, give the right dose or none."""
    name = scenario(draw, tuple(EVENTS), HELD_OUT)
    event = EVENTS[name]
    weeks = whole(draw, *WEEKS.get(name, (38, 40)))
    cells = whole(draw, 9, 24) / 10 if name in LARGE else whole(draw, 0, 4) / 10
    baby_positive = name != "birth_negative" if event == "birth" else None
    negative, own = name not in ("rhd_positive", "weak_d"), name == "sensitised"
    counted = weeks >= 20 and event != "routine_28_weeks" and negative and not own and baby_positive is not False
    dose = anti_d_dose_ug(
        mother_is_rhd_negative=negative,
        has_anti_d_antibody=own,
        event=event,
        gestation_weeks=weeks,
        newborn_is_rhd_positive=baby_positive,
        fetal_cells_percent=cells if counted else 0.0,
    )
    born = event == "birth"
    baby = f"A RhD {'positive' if baby_positive else 'negative'}, direct antiglobulin test negative"
    mother = woman(
        draw,
        complaint=pick(draw, COMPLAINTS[event]),
        gestation_days=None if born else weeks * 7 + (0 if name == "routine" else whole(draw, 0, 6)),
        weeks_text="after birth" if born else None,
        tests={
            "kleihauer": f"{cells:g} % fetal cells" if cells else "no fetal cells",
            "antibody_screen": _screen(name),
        },
        record={
            "blood_results": f"{_group(draw, name)}, antibody screen {_screen(name)}.",
            "visits": "28 weeks: anti-D 300 ug given." if born else "No anti-D so far.",
            **({"dates": f"Gave birth today at {weeks} weeks."} if born else {}),
        },
        findings=[found("cervix_state", _seen(event), "genitourinary")],
    )
    charts = [mother]
    evidence, calls = [record_read("blood_results")], [read("blood_results")]
    if not born:
        evidence.append(record_read("dates"))
        calls.append(read("dates"))
    else:
        charts.append(child("newborn", tests={"cord_blood_group": baby}))
        if negative and not own:
            evidence.append(seen("F1.tests.cord_blood_group", "cord blood group"))
            calls.append(Call("order_test", patient_id="F1", test="cord_blood_group"))
    if name == "passive_antibody":
        evidence.append(record_read("visits"))
        calls.append(read("visits"))
    if counted:
        evidence.append(seen("P1.tests.kleihauer", "fetal cells"))
        calls.append(Call("order_test", patient_id="P1", test="kleihauer"))
    if any(call.tool == "order_test" for call in calls):
        calls.append(Call("wait", minutes=60 if counted else 30))
    if dose:
        calls.append(Call("give_anti_d", patient_id="P1", dose_ug=dose))
    return make_case(
        draw,
        charts,
        answer={"anti_d_ug": dose, "plan": "give_anti_d" if dose else "no_anti_d"},
        end_state={"P1.anti_d_ug": dose or None},
        evidence=evidence,
        solution=calls,
        topic=name,
        difficulty="hard" if name in ("passive_antibody", "weak_d") else difficulty_of(draw),
    )


def _group(draw: Draw, name: str) -> str:
    group = pick(draw, ("O", "A", "B", "AB"))
    if name == "weak_d":
        return f"{group} RhD weak D type {pick(draw, (1, 2, 3))} (genotyped)"
    return f"{group} RhD {'positive' if name == 'rhd_positive' else 'negative'}"


def _screen(name: str) -> str:
    if name == "sensitised":
        return "anti-D, titre 32, present since the first visit at 8 weeks"
    if name == "passive_antibody":
        return "anti-D, titre 1, first seen after the injection at 28 weeks"
    return "negative"


def _seen(event: str) -> str:
    return {
        "birth": "Womb firm, no tear.",
        "pregnancy_loss": "Cervix open, tissue at the os.",
        "routine_28_weeks": "Nothing abnormal.",
        "bleeding_or_procedure": "Cervix closed, no fresh blood.",
    }[event]
