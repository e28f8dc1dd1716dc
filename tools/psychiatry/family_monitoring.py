"""Lithium and clozapine: the right sample, what moves it, and the decision."""

from dataclasses import dataclass, replace

from healthgym.knowledge_base import load
from healthgym.knowledge_base.pharmacology import interaction_between
from healthgym.tasks import AnswerField, Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw
from healthgym.tasks.task import Difficulty
from healthgym.world import Chart, Finding, LabResult, Medication, Persona

from ..scores.clozapine_anc import anc_action, anc_band, routine_interval_days
from .asking import ask_calls, told
from .cases import chance, dealt, make_case, person, pick, pick_difficulty, who, wording

TOXIC_MMOL_L, HIGH_MMOL_L, LOW_MMOL_L = 1.5, 1.0, 0.6
"""Sources: FDA label lithium, 2022 (toxicity from 1.5); NICE CG185, updated 2023 (0.6 to 0.8, 0.8 to 1.0 after relapse)."""
NSAIDS = ("ibuprofen", "naproxen")
PRESCRIBED = ("hydrochlorothiazide", "indapamide")
HELD_OUT = ("lisinopril", "diclofenac")
"""Drugs that raise lithium and appear in test_ood only."""
LITHIUM_ACTIONS = (
    "stop_and_send_to_hospital", "repeat_level_at_12_hours", "stop_interacting_drug_and_recheck", "reduce_dose", "continue",
    "address_adherence", "increase_dose",
)  # fmt: skip
DOSE_WORDS = {
    12: "I took them at nine last night and the blood was drawn at nine this morning.",
    11: "My last ones were at ten in the evening, the needle came at nine.",
    13: "At eight last night, and the blood was taken at nine today.",
    3: "I had this morning's tablets at six, the blood was taken at nine.",
    2: "I took today's just before I left, at seven; the blood was at nine.",
    20: "The last ones were at one yesterday afternoon; the blood was taken at nine today.",
}


HARMLESS_WORDS = {
    "easy": "I buy nothing over the counter.",
    "medium": "Only paracetamol for headaches.",
    "hard": "Cetirizine for my hay fever, from the shop, nothing else.",
}
"""What patients buy who buy nothing that raises lithium."""


@dataclass(frozen=True)
class Lithium:
    """What decides about lithium."""

    level_mmol_l: float
    hours_since_dose: int
    toxic_signs: bool
    raised_by: str
    """A drug that raises lithium, or empty."""
    misses_doses: bool

    def action(self) -> str:
        """Return the first rule of the service's guide that fits; sources there."""
        if self.toxic_signs or self.level_mmol_l >= TOXIC_MMOL_L:
            return "stop_and_send_to_hospital"
        if not 10 <= self.hours_since_dose <= 14:
            return "repeat_level_at_12_hours"
        if self.level_mmol_l > HIGH_MMOL_L:
            return "stop_interacting_drug_and_recheck" if self.raised_by else "reduce_dose"
        if self.level_mmol_l >= LOW_MMOL_L:
            return "continue"
        return "address_adherence" if self.misses_doses else "increase_dose"


def _draw_lithium(draw: Draw, action: str) -> Lithium:
    """Draw facts that lead to an action; levels keep clear of the limits."""
    rng = draw.rng

    def level(low: float, high: float) -> float:
        return round(float(rng.uniform(low, high)), 2)

    made = Lithium(level(0.62, 0.98), int(pick(draw, (12, 12, 11, 13))), False, "", False)
    if action == "stop_and_send_to_hospital":
        toxic_signs = chance(draw, 0.7)
        return replace(made, toxic_signs=toxic_signs, level_mmol_l=level(1.1 if toxic_signs else 1.6, 2.4))
    if action == "repeat_level_at_12_hours":
        return replace(made, level_mmol_l=level(0.65, 1.4), hours_since_dose=int(pick(draw, (2, 3, 20))))
    if action == "stop_interacting_drug_and_recheck":
        drugs = HELD_OUT if draw.split == "test_ood" else (*NSAIDS, *PRESCRIBED)
        return replace(made, level_mmol_l=level(1.05, 1.4), raised_by=pick(draw, drugs))
    if action == "reduce_dose":
        return replace(made, level_mmol_l=level(1.05, 1.4))
    if action in ("address_adherence", "increase_dose"):
        return replace(made, level_mmol_l=level(0.2, 0.55), misses_doses=action == "address_adherence")
    return made


def _asked(name: str, text: str, present: bool, lay: str, topics: tuple[str, ...]) -> Finding:
    return Finding(id=name, reveal="ask", present=present, text=text, lay=lay, topics=topics)


def _lithium_chart(draw: Draw, facts: Lithium, difficulty: Difficulty) -> Chart:
    chart = person(
        draw, "bipolar_depression", age_years=float(draw.rng.integers(22, 70)), pregnancy_weeks=0.0, allergies=()
    )
    bought = facts.raised_by in (*NSAIDS, "diclofenac")
    kept = tuple(m for m in chart.medications if m.drug != "lithium" and interaction_between("lithium", m.drug) is None)
    medications = (*kept, Medication(drug="lithium", dose_mg=400, times_per_day=2, indication="bipolar_disorder"))
    if facts.raised_by and not bought:
        medications = (
            *medications,
            Medication(drug=facts.raised_by, dose_mg=10 if facts.raised_by == "lisinopril" else 12.5),
        )
    sign = Finding(
        id="ataxia_slurring",
        reveal="examine",
        present=facts.toxic_signs,
        text=load().signs["ataxia_slurring"].text if facts.toxic_signs else load().signs["ataxia_slurring"].absent,
        system="neurological",
    )
    shop = f"I take {facts.raised_by} from the shop for my knee, every day." if bought else HARMLESS_WORDS[difficulty]
    regular = "To be honest I forget it every other day." if facts.misses_doses else "I never miss a dose."
    findings = (
        _asked(
            "dose_timing",
            "the time of your last tablets",
            True,
            DOSE_WORDS[facts.hours_since_dose],
            ("last", "time", "clock", "before", "hours"),
        ),
        _asked(
            "bought_medicines",
            "anything bought over the counter",
            bought,
            shop,
            ("bought", "counter", "shop", "painkiller", "remedies"),
        ),
        _asked(
            "missed_doses",
            "doses you forget or miss",
            facts.misses_doses,
            regular,
            ("miss", "missed", "forget", "regularly", "skip"),
        ),
        sign,
    )
    illnesses = tuple(name for name in chart.comorbidities if name not in ("chronic_kidney_disease", "heart_failure"))
    labs = {
        **chart.lab_results,
        "lithium_level": LabResult(analyte="lithium_level", value=facts.level_mmol_l, unit="mmol/L"),
    }
    return replace(
        chart,
        comorbidities=illnesses,
        chief_complaint="It's only my lithium check.",
        medications=medications,
        findings=findings,
        lab_results=labs,
        extra={"bought": [facts.raised_by] if bought else [], "notes": "Blood for routine tests is drawn at nine."},
    )


@task_family(counts={"train": 49, "val": 6, "test": 10, "test_ood": 6})
def lithium_monitoring(draw: Draw) -> Case:
    """A lithium level with its timing, signs, adherence and other medicines; hard patients tell what they buy late."""
    difficulty = pick_difficulty(draw)
    actions = (
        ("stop_interacting_drug_and_recheck", "reduce_dose", "continue")
        if draw.split == "test_ood"
        else LITHIUM_ACTIONS
    )
    facts = _draw_lithium(draw, dealt(draw, actions))
    chart = _lithium_chart(draw, facts, difficulty)
    if difficulty == "hard":
        held_back = chart.findings[1] if facts.raised_by else chart.findings[2]
        chart = replace(chart, persona=Persona(reticent_topics=held_back.topics))
    asked = [finding for finding in chart.findings if finding.reveal == "ask"]
    stop = [Call("stop_medicine", patient_id="P1", drug=facts.raised_by)] if facts.raised_by else []
    return make_case(
        draw,
        [chart],
        prompt=wording(draw, who=who(chart)),
        difficulty=difficulty,
        answer={"action": AnswerField(gold=facts.action())},
        end_state={
            "P1.stopped": facts.raised_by or ("lithium" if facts.action() == "stop_and_send_to_hospital" else None)
        },
        evidence=(
            Evidence(any_of=("P1.labs.lithium_level",), label="lithium level"),
            Evidence(any_of=("P1.medications",), label="medicines"),
            Evidence(any_of=("P1.body_examined",), label="signs of toxicity"),
            *(told(chart, finding.id) for finding in asked),
        ),
        solution=(
            Call("order_test", patient_id="P1", test="lithium_level"),
            Call("read_record", patient_id="P1", section="medicines"),
            *(call for finding in asked for call in ask_calls(chart, finding.id)),
            Call("examine_body", patient_id="P1"),
            Call("wait", minutes=120),
            *(
                stop
                or (
                    [Call("stop_medicine", patient_id="P1", drug="lithium")]
                    if facts.action() == "stop_and_send_to_hospital"
                    else []
                )
            ),
            Call("submit_assessment", action=facts.action()),
        ),
    )


@task_family(counts={"train": 49, "val": 6, "test": 10, "test_ood": 6})
def clozapine_monitoring(draw: Draw) -> Case:
    """A neutrophil count on clozapine; test_ood has benign ethnic neutropenia, with limits of its own."""
    difficulty = pick_difficulty(draw)
    has_ben = draw.split == "test_ood"
    bands = {"normal": (1550, 6500), "mild": (1010, 1480), "moderate": (520, 980), "severe": (60, 480)}
    if has_ben:
        bands = {"normal": (1050, 2600), "mild": (520, 980), "severe": (60, 480)}
    low, high = bands[dealt(draw, ("normal", *bands))]
    count_10_9_l = round(float(draw.rng.uniform(low, high)) / 1000, 2)
    anc = count_10_9_l * 1000
    months = int(pick(draw, (1, 3, 5, 7, 9, 11, 14, 30, 60)))
    chart = person(draw, "first_episode_psychosis", pregnancy_weeks=0.0, allergies=())
    notes = f"On clozapine for {months} months without a break."
    if difficulty == "hard":  # the stated months count from the restart, not from the first dose
        notes = f"First clozapine {months + 14} months ago, stopped for two months by choice, restarted {months} months ago; no break since."
    if has_ben:
        notes += " Haematology letter: benign ethnic neutropenia confirmed."
    kept = tuple(m for m in chart.medications if interaction_between("clozapine", m.drug) is None)
    labs = {**chart.lab_results, "neutrophils": LabResult(analyte="neutrophils", value=count_10_9_l, unit="10^9/L")}
    chart = replace(
        chart,
        findings=(),
        medications=(
            *kept,
            Medication(drug="clozapine", dose_mg=150, times_per_day=2, indication="treatment_resistant_schizophrenia"),
        ),
        lab_results=labs,
        extra={"notes": notes},
    )
    band, action = anc_band(anc, has_ben), anc_action(anc, has_ben)
    days = {"normal": routine_interval_days(months), "mild": 2}.get(band, 1)
    stop = band in ("moderate", "severe")
    return make_case(
        draw,
        [chart],
        prompt=wording(draw, who=who(chart)),
        difficulty=difficulty,
        answer={"action": AnswerField(gold=action), "next_check_days": AnswerField(gold=days)},
        end_state={"P1.stopped": "clozapine" if stop else None},
        evidence=(
            Evidence(any_of=("P1.labs.neutrophils",), label="neutrophils"),
            Evidence(any_of=("P1.notes",), label="months on clozapine"),
        ),
        solution=(
            Call("order_test", patient_id="P1", test="neutrophils"),
            Call("read_record", patient_id="P1", section="notes"),
            Call("wait", minutes=60),
            Call("clozapine_anc", anc_per_ul=anc, months_on_clozapine=months, benign_ethnic_neutropenia=has_ben),
            *([Call("stop_medicine", patient_id="P1", drug="clozapine")] if stop else []),
            Call("submit_assessment", action=action, next_check_days=days),
        ),
    )
