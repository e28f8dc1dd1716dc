"""Risk of violence on a ward: checklist against the usual, response, and the right rapid tranquillisation."""

from dataclasses import dataclass, replace

from healthgym.tasks import AnswerField, Call, Case, Evidence, Order, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Chart

from ..scores.broset import broset_band
from .cases import by_split, chance, dealt, make_case, person, pick, pick_difficulty, who, wording
from .qt import fridericia_ms
from .tables import table

CONDITIONS = (
    "bipolar_mania",
    "first_episode_psychosis",
    "alcohol_withdrawal",
    "post_traumatic_stress",
    "opioid_withdrawal",
)
HELD_OUT = ("alcohol_withdrawal", "opioid_withdrawal")
ACTION = {"small": "routine_care", "moderate": "de_escalate", "high": "plan_for_violence"}
PAIR = ("haloperidol", "promethazine")
PROLONGED_QTC_MS = 450
"""Limit of men, taken for all: AHA/ACCF/HRS recommendations on the ECG, part IV, J Am Coll Cardiol 2009;53:982-991."""
EARLIER = ("nothing", "partial_lorazepam", "none_lorazepam", "partial_pair", "none_pair")
EARLIER_NOTE = {
    "nothing": "No injection today.",
    "partial_lorazepam": "Intramuscular lorazepam two hours ago, partial response.",
    "none_lorazepam": "Intramuscular lorazepam two hours ago, no response.",
    "partial_pair": "Intramuscular haloperidol with promethazine two hours ago, partial response.",
    "none_pair": "Intramuscular haloperidol with promethazine two hours ago, no response. No lorazepam so far.",
}


@dataclass(frozen=True)
class Tranquilliser:
    """What decides the injection."""

    earlier: str
    had_antipsychotic: bool
    has_heart_disease: bool
    qt_ms: int | None
    """None when no ECG has been done."""
    heart_rate_per_min: int

    @property
    def allows_haloperidol(self) -> bool:
        """No heart disease, and an ECG with a QTc that is not prolonged."""
        return (
            self.had_antipsychotic
            and not self.has_heart_disease
            and self.qt_ms is not None
            and fridericia_ms(self.qt_ms, self.heart_rate_per_min) < PROLONGED_QTC_MS
        )

    def drugs(self) -> tuple[str, ...]:
        """Return the intramuscular drugs. Source: NICE NG10, 2015, on rapid tranquillisation."""
        if self.earlier == "partial_lorazepam" or not self.allows_haloperidol:
            return ("lorazepam",)
        return ("lorazepam",) if self.earlier == "none_pair" else PAIR


@task_family(counts={"train": 49, "val": 6, "test": 10, "test_ood": 6})
def violence_risk(draw: Draw) -> Case:
    """Score what is new, respond; hard cases are known patients whose usual behaviour must be taken off."""
    difficulty = pick_difficulty(draw)
    band = dealt(draw, ("small", "moderate", "high", "high"))
    chart = person(draw, pick(draw, by_split(draw, CONDITIONS, HELD_OUT)), pregnancy_weeks=0.0)
    names = list(table("behaviour_words"))
    count = {"small": 0, "moderate": int(draw.rng.integers(1, 3)), "high": int(draw.rng.integers(3, 6))}[band]
    new = {names[i] for i in draw.rng.permutation(len(names))[:count].tolist()}
    is_known = difficulty != "easy" and (difficulty == "hard" or chance(draw, 0.5))
    spare = [name for name in names if name not in new and name not in ("physical_threats", "attacks_objects")]
    usual = set(spare[: int(draw.rng.integers(1, 3))]) if is_known else set()
    chart, need = _with_history(draw, chart, difficulty, usual, new | usual)
    points = len(new)
    drugs = need.drugs() if band == "high" else ()
    solution = [
        Call("observe_behaviour", patient_id="P1"),
        Call("read_record", patient_id="P1", section="care_plan"),
        Call("broset", **{name: name in new for name in names}),
        *([Call("de_escalate", patient_id="P1")] if band != "small" else []),
    ]
    evidence = [
        Evidence(any_of=("P1.behaviour.irritable",), label="behaviour seen"),
        Evidence(any_of=("P1.care_plan",), label="usual behaviour"),
    ]
    if drugs:
        solution += [Call("read_record", patient_id="P1", section=part) for part in ("notes", "history")]
        evidence += [
            Evidence(any_of=("P1.notes",), label="what was given before"),
            Evidence(any_of=("P1.comorbidities",), label="heart disease"),
        ]
        if need.qt_ms is not None:
            solution.append(Call("corrected_qt", qt_ms=need.qt_ms, heart_rate_per_min=need.heart_rate_per_min))
        solution += [Call("give_dose", patient_id="P1", drug=drug, route="intramuscular") for drug in drugs]
    solution.append(Call("submit_assessment", total=points, category=band, action=ACTION[band]))
    return make_case(
        draw,
        [chart],
        prompt=wording(draw, who=who(chart)),
        difficulty=difficulty,
        answer={
            "total": AnswerField(gold=points),
            "category": AnswerField(gold=broset_band(points)),
            "action": AnswerField(gold=ACTION[band]),
        },
        end_state={"P1.doses": "+".join(drugs) or None, "P1.de_escalated": True if band != "small" else None},
        evidence=evidence,
        order=[Order(first="de_escalate", then="give_dose", label="talk before the needle")] if drugs else (),
        solution=solution,
    )


def _with_history(
    draw: Draw, chart: Chart, difficulty: str, usual: set[str], seen: set[str]
) -> tuple[Chart, Tranquilliser]:
    """Write what decides the injection into the chart: earlier doses, ECG, antipsychotics before, heart disease."""
    earlier = "nothing" if difficulty == "easy" else pick(draw, EARLIER)
    clear = earlier in ("none_lorazepam", "partial_pair", "none_pair")  # the next step then rests on a sound heart
    had = clear or chance(draw, 0.7)
    rate = int(draw.rng.integers(76, 106))
    qtc = int(draw.rng.integers(385, 431)) if clear or chance(draw, 0.7) else int(draw.rng.integers(480, 520))
    qt = None if not clear and chance(draw, 0.25) else round(qtc * (60 / rate) ** (1 / 3))
    hearts = {"coronary_disease", "heart_failure", "atrial_fibrillation"}
    illnesses = tuple(name for name in chart.comorbidities if name not in hearts)
    sick = not clear and chance(draw, 0.2)
    ecg = "No ECG on file." if qt is None else f"ECG on admission: rate {rate}/min, QT {qt} ms."
    antipsychotic = "Has had antipsychotics before." if had else "Has never had an antipsychotic."
    words = table("behaviour_words")
    plan = (
        "Well known here. Usual behaviour: " + " ".join(words[name]["seen"] for name in sorted(usual)) if usual else ""
    )
    extra = {
        "behaviour": {name: name in seen for name in words},
        "care_plan": plan or "New to this ward; usual behaviour calm.",
        "notes": f"{EARLIER_NOTE[earlier]} {antipsychotic} {ecg}",
    }
    need = Tranquilliser(earlier, had, sick, qt, rate)
    extra["haloperidol_objection"] = "" if need.allows_haloperidol else "heart disease, QTc, no ECG or never had one"
    chart = replace(
        chart,
        comorbidities=(*illnesses, "coronary_disease") if sick else illnesses,
        findings=(),
        allergies=(),
        medications=(),
        extra=extra,
    )
    return chart, need


__all__ = ["Tranquilliser", "violence_risk"]
