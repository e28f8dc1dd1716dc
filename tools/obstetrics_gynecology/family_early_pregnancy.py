"""Pain or bleeding early in pregnancy: where is it, does it live, and what now."""

from dataclasses import dataclass, field

from healthgym.tasks import Call, Case, Hazard, task_family
from healthgym.tasks.families import Draw

from .cases import COUNTS, difficulty_of, make_case, pick, read, record_read, scenario, seen, whole
from .women import found, told, woman


@dataclass(frozen=True)
class Early:
    """One scenario: what the scan shows, hCG, and what decides between treatments."""

    diagnosis: str
    plan: str
    scan: str
    hcg: tuple[int, int]
    shocked: bool = False
    illness: str = ""
    can_return: bool = True
    labs: dict[str, float] = field(default_factory=dict)


MASS = "womb empty; beside the left ovary a ring of {mm} mm, {beat}, free fluid {fluid}"
SCENARIOS = {
    "ectopic_methotrexate": Early("ectopic", "methotrexate", "mass_small", (900, 4200)),
    "living": Early("living_pregnancy", "reassure", "living", (9000, 60000)),
    "ruptured": Early("ruptured_ectopic", "surgery_now", "mass_fluid", (2000, 9000), shocked=True),
    "nothing_seen": Early("unknown_location", "repeat_hcg", "empty", (300, 1600)),
    "loss_embryo": Early("pregnancy_loss", "miscarriage_care", "embryo_dead", (6000, 40000)),
    "ectopic_high_hcg": Early("ectopic", "surgery_planned", "mass_small", (5600, 12000)),
    "uncertain_embryo": Early("uncertain_viability", "repeat_scan", "embryo_small", (5000, 20000)),
    "ectopic_liver": Early("ectopic", "surgery_planned", "mass_small", (900, 4200), labs={"ast": 148, "alt": 171}),
    "loss_sac": Early("pregnancy_loss", "miscarriage_care", "sac_large", (6000, 30000)),
    "ectopic_cannot_return": Early("ectopic", "surgery_planned", "mass_small", (900, 4200), can_return=False),
    "uncertain_sac": Early("uncertain_viability", "repeat_scan", "sac_small", (4000, 15000)),
    "ectopic_heartbeat": Early("ectopic", "surgery_planned", "mass_beating", (2500, 4800)),
    "ectopic_large": Early("ectopic", "surgery_planned", "mass_large", (2500, 4800)),
    "ruptured_no_shock_yet": Early("ruptured_ectopic", "surgery_now", "mass_fluid", (2000, 9000)),
}
HELD_OUT = ("ectopic_heartbeat", "ectopic_large", "ruptured_no_shock_yet")
COMPLAINTS = (
    "I'm bleeding and my test was positive.",
    "My belly hurts low down on one side.",
    "I've had spotting since last night.",
)


@task_family(counts={**COUNTS, "train": 24, "test": 6}, version=2)
def early_pregnancy(draw: Draw) -> Case:
    """Vital signs first; scan and hCG; then what decides between watching, methotrexate and surgery."""
    name, level = scenario(draw, tuple(SCENARIOS), HELD_OUT), difficulty_of(draw)
    e = SCENARIOS[name]
    hcg = whole(draw, *e.hcg)
    returns = (
        "Yes, I live round the corner and can come any time."
        if e.can_return
        else "I can't come back, I leave for sea on Monday."
    )
    chart = woman(
        draw,
        complaint=pick(draw, COMPLAINTS),
        gestation_days=whole(draw, 40, 62),
        weeks_text="early pregnancy",
        heart_rate_per_min=whole(draw, 122, 138) if e.shocked else None,
        systolic_bp_mmhg=whole(draw, 78, 92) if e.shocked else None,
        diastolic_bp_mmhg=whole(draw, 44, 54) if e.shocked else None,
        labs={**({"hemoglobin": 8.1} if e.shocked else {}), **e.labs},
        tests={"transvaginal_scan": _scan(draw, e.scan), "hcg": f"{hcg} IU/L"},
        findings=(
            told(
                "can_return", returns, ("return", "come", "back", "follow", "appointments", "visits", "live", "checks")
            ),
            told("pain", "It hurts low down on the left.", ("pain", "hurt", "ache", "belly")),
            found("belly", _belly(e), "abdominal"),
        ),
        record={
            "dates": "Test positive, last period about 7 weeks ago.",
            "scans": "No scan yet.",
            "visits": "First visit.",
        },
        reticent=("return", "come", "back", "follow") if level == "hard" and e.diagnosis == "ectopic" else (),
    )
    calls = [Call("take_vital_signs", patient_id="P1"), Call("order_test", patient_id="P1", test="transvaginal_scan")]
    evidence = [
        seen("P1.vital_signs.systolic_bp_mmhg", "vital signs"),
        seen("P1.tests.transvaginal_scan", "ultrasound"),
    ]
    if e.diagnosis != "living_pregnancy":
        evidence.append(seen("P1.tests.hcg", "hCG"))
        calls.append(Call("order_test", patient_id="P1", test="hcg"))
    if e.diagnosis == "ectopic":
        tests = ("liver_and_kidney", "full_blood_count")
        calls += [Call("order_test", patient_id="P1", test=test) for test in tests]
        asked = Call("ask_patient", patient_id="P1", question="Can you come back for checks?")
        calls += [read("illnesses"), *([asked] * (2 if chart.persona.reticent_topics else 1))]
        evidence += [seen(f"P1.tests.{test}", test.replace("_", " ")) for test in tests]
        evidence += [record_read("illnesses"), seen("P1.findings.can_return", "whether she can return")]
    calls.append(Call("wait", minutes=46))
    hazards = [
        Hazard(tool="submit_decision", where={"plan": {"in": list(plans)}}, severity="critical", label=label)
        for plans, label in dangers(e)
    ]
    return make_case(
        draw,
        [chart],
        answer={"diagnosis": e.diagnosis, "plan": e.plan},
        evidence=evidence,
        solution=calls,
        hazards=hazards,
        topic=name,
    )


def dangers(e: Early) -> list[tuple[tuple[str, ...], str]]:
    """Return plans that endanger this woman or a pregnancy that may live, and how.

    Source: ACOG practice bulletin 193, 2018: methotrexate neither before an ectopic pregnancy is found nor against liver, kidney,
    blood or lung disease nor without follow-up; an ectopic pregnancy is treated.
    """
    if e.diagnosis == "ruptured_ectopic":
        plans = ("methotrexate", "reassure", "repeat_scan", "repeat_hcg", "miscarriage_care")
        return [(plans, "ruptured ectopic not operated")]
    if e.diagnosis in ("living_pregnancy", "uncertain_viability", "unknown_location"):
        return [(("methotrexate", "miscarriage_care"), "a pregnancy that may live ended")]
    if e.diagnosis != "ectopic":
        return []
    found: list[tuple[tuple[str, ...], str]] = [(("reassure", "miscarriage_care"), "ectopic pregnancy left untreated")]
    if e.labs or not e.can_return:
        found.append((("methotrexate",), "methotrexate against a contraindication"))
    return found


def _scan(draw: Draw, kind: str) -> str:
    if kind.startswith("mass"):
        size = whole(draw, 42, 52) if kind == "mass_large" else whole(draw, 16, 34)
        beat = "heartbeat seen" if kind == "mass_beating" else "no heartbeat"
        fluid = "a lot, with clots" if kind == "mass_fluid" else "none"
        return MASS.format(mm=size, beat=beat, fluid=fluid)
    length, sac = {
        "living": (whole(draw, 5, 18), whole(draw, 18, 34)),
        "embryo_dead": (whole(draw, 7, 12), whole(draw, 20, 32)),
        "embryo_small": (whole(draw, 3, 6), whole(draw, 14, 22)),
        "sac_large": (0, whole(draw, 25, 34)),
        "sac_small": (0, whole(draw, 12, 23)),
        "empty": (0, 0),
    }[kind]
    if kind == "empty":
        return "womb empty, ovaries normal, no free fluid"
    embryo = (
        f"embryo {length} mm, {'heartbeat 138/min' if kind == 'living' else 'no heartbeat'}" if length else "no embryo"
    )
    return f"sac in the womb, mean diameter {sac} mm, {embryo}; no free fluid"


def _belly(e: Early) -> str:
    if e.diagnosis == "ruptured_ectopic":
        return "Rigid, tender everywhere, pain in the shoulder when lying."
    return "Soft; tender on the left." if e.diagnosis == "ectopic" else "Soft, not tender."
