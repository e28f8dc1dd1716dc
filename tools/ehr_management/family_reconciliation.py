"""The family about two lists: what was taken at home and what is ordered, why they differ, and putting it right."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from healthgym.errors import TaskError
from healthgym.knowledge_base.data import read_data
from healthgym.knowledge_base.pharmacology import Dose, duplications, interaction_between, load_drugs
from healthgym.tasks import AnswerField, Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Medication

from .admission import FOLDER, Admission, admit, conditions_for, pick, write_background, write_home, write_order
from .assembly import difficulty_of, make_case, seen, wording
from .course import draw_labs, draw_vital_signs, morning_hours
from .illness import HARMLESS
from .notes import write_admission_note, write_note, write_nursing_notes, write_progress_notes
from .orders import clearance
from .record import select

STAYS = (
    "pneumonia",
    "pyelonephritis",
    "cellulitis",
    "acute_pancreatitis",
    "pulmonary_embolism",
    "cholecystitis",
    "hip_fracture",
)
REASONS = (
    (
        ("ace_inhibitor", "arb", "beta_blocker", "calcium_channel_blocker", "loop_diuretic"),
        "low blood pressure on arrival",
    ),
    (("biguanide",), "contrast for CT, to be restarted after 48 hours"),
    (("gabapentinoid", "antidepressant", "ssri"), "drowsiness on arrival"),
    ((), "nothing by mouth before the procedure"),
)
"""Why the doctors hold a medicine, by its class; the first that fits."""
SOURCE = "WHO High 5s, standard operating protocol on medication reconciliation, 2014: every difference is documented or put right"
ATTEMPTS = 60


@dataclass
class Plan:
    """What becomes of each home medicine on the ward."""

    omitted: list[str] = field(default_factory=list)
    duplicated: list[str] = field(default_factory=list)
    """Home drug and the formulary's drug of its class."""
    wrong_dose: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    """Left out on purpose; a note says why."""
    ended: list[str] = field(default_factory=list)
    """Ended by a clinic before admission; the list is stale."""
    substituted: dict[str, str] = field(default_factory=dict)


@lru_cache(maxsize=1)
def _medicines() -> Sequence[Mapping[str, Any]]:
    return tuple(read_data(FOLDER / "home_medicines.yaml"))


def dose_of(drug: str) -> Dose:
    """Return the usual dose. Raises TaskError for a drug without one."""
    dose = load_drugs()[drug].usual_dose
    if dose is None:
        raise TaskError(f"{drug} has no usual dose; take it out of home_medicines.yaml")
    return dose


def _choose(draw: Draw, count: int) -> list[Mapping[str, Any]] | None:
    """Return home medicines that suit one another, with their equivalents; None when chance did not allow it."""
    is_ood = draw.split == "test_ood"
    pool = [item for item in _medicines() if is_ood or not item.get("held_out")]
    order = [pool[int(i)] for i in draw.rng.permutation(len(pool))]
    if is_ood:
        order.sort(key=lambda item: not item.get("held_out"))
        lead = int(draw.rng.integers(2, 4))
        order = [*order[:lead], *[item for item in order[lead:] if not item.get("held_out")]]
    chosen: list[Mapping[str, Any]] = []
    for item in order:
        if len(chosen) < count and _suits(item, chosen):
            chosen.append(item)
    return chosen if len(chosen) == count else None


def _drugs(item: Mapping[str, Any]) -> list[str]:
    return [item["drug"], *([item["equivalent"]] if "equivalent" in item else [])]


def _suits(item: Mapping[str, Any], chosen: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether a medicine and its equivalent neither clash with, nor repeat the class of, those chosen before."""
    conditions = {other["condition"] for other in (*chosen, item)}
    every = [drug for other in (*chosen, item) for drug in _drugs(other)]
    if any(
        load_drugs()[drug].usual_dose is None or conditions & set(load_drugs()[drug].contraindications)
        for drug in every
    ):
        return False
    for mine in _drugs(item):
        for other in chosen:
            for drug in _drugs(other):
                effect = interaction_between(mine, drug)
                is_grave = effect is not None and effect.severity in ("major", "contraindicated")
                if is_grave or mine == drug or duplications([mine, drug]):
                    return False
    return True


@task_family(counts={"train": 44, "val": 5, "test": 9, "test_ood": 6})
def reconcile_medicines(draw: Draw) -> Case:
    """Compare the lists, tell oversights from decisions, order what was forgotten, stop one of two, mend the dose."""
    difficulty, rng = difficulty_of(draw), draw.rng
    count = {"easy": 4, "medium": 6, "hard": 8}[difficulty]
    for _ in range(ATTEMPTS):
        chosen = _choose(draw, count)
        plan = _plan(draw, chosen, difficulty) if chosen else None
        if chosen and plan:
            break
    else:
        raise TaskError(f"{draw.family} {draw.split} {draw.index}: no set of {count} medicines goes together")
    stay = _stay(draw, [drug for item in chosen for drug in _drugs(item)])
    write_background(stay, problems=list(dict.fromkeys(item["problem"] for item in chosen)))
    wrong = _write_lists(stay, chosen, plan)
    write_admission_note(stay)
    write_progress_notes(stay)
    write_nursing_notes(stay)
    draw_labs(
        stay.book,
        stay.chart,
        rng,
        morning_hours(stay.admission_hour, stay.hours),
        plans={"creatinine": ((0.0, 0.8), (200.0, 0.8))},
    )
    draw_vital_signs(stay.book, stay.chart, rng, stay.hours)
    chart = stay.finish()
    pid = chart.patient_id
    act, end_state = _mend(pid, plan, rng.random() < 0.5)
    reasons = [*select(chart, code="medication_note"), *select(chart, code="clinic_letter")]
    look = [
        Call("compare_medications", patient_id=pid),
        Call("search_records", patient_id=pid, resource="DocumentReference"),
        *(Call("read_record", patient_id=pid, record_id=note["id"]) for note in reasons),
    ]
    evidence = [
        Evidence(any_of=(f"{pid}.home_medications",), label="the list of medicines at home"),
        Evidence(any_of=(f"{pid}.orders",), label="what is ordered now"),
        *(seen(chart, [note], "notes that explain differences") for note in reasons),
    ]
    return make_case(
        draw,
        chart,
        prompt=wording(draw, patient=pid),
        answer={
            "omitted": AnswerField(gold=tuple(sorted(plan.omitted)), compare="set", weight=2.0),
            "duplicated": AnswerField(gold=tuple(sorted(plan.duplicated)), compare="set"),
            "wrong_dose": AnswerField(gold=tuple(sorted(plan.wrong_dose)), compare="set"),
        },
        evidence=evidence,
        look=look,
        act=act,
        end_state=end_state,
        source=f"{SOURCE}; doses {wrong}" if wrong else SOURCE,
        condition="+".join(sorted([*plan.omitted, *plan.duplicated[:1], *plan.wrong_dose])),
        tags={
            "targets": ",".join(plan.duplicated),
            "keep_one": ",".join(plan.duplicated),
            "not_to_order": ",".join([*plan.held, *plan.ended]),
        },
    )


def _stay(draw: Draw, drugs: Sequence[str]) -> Admission:
    """Return a stay of a patient without allergies, whose kidneys allow usual doses of all the drugs."""
    condition = str(pick(draw.rng, conditions_for(draw, STAYS)))
    stay = admit(
        draw, condition, hours=24.0 + float(draw.rng.integers(4, 40)),
        fits=lambda c: not c.allergies and set(c.comorbidities) <= HARMLESS and clearance(c, 0.8) >= 75,
    )  # fmt: skip
    stay.chart = replace(stay.chart, comorbidities=(), medications=())
    return stay


def _plan(draw: Draw, chosen: Sequence[Mapping[str, Any]], difficulty: str) -> Plan | None:
    """Draw what happened to each medicine; None when nothing at all would be amiss."""
    rng, plan = draw.rng, Plan()
    order = [chosen[int(i)] for i in rng.permutation(len(chosen))]
    doubled = difficulty != "easy" or rng.random() < 0.4
    with_equivalent = [item for item in order if "equivalent" in item]
    if doubled and with_equivalent:
        item = with_equivalent[0]
        plan.duplicated = [item["drug"], item["equivalent"]]
        order.remove(item)
    if difficulty == "hard" and len(with_equivalent) > 1:
        item = with_equivalent[1]
        plan.substituted[item["drug"]] = item["equivalent"]
        order.remove(item)
    omitted = int(rng.integers(*{"easy": (0, 3), "medium": (0, 3), "hard": (1, 3)}[difficulty]))
    plan.omitted = [order.pop()["drug"] for _ in range(omitted)]
    if rng.random() < {"easy": 0.3, "medium": 0.5, "hard": 0.6}[difficulty]:
        plan.wrong_dose = [order.pop()["drug"]]
    if difficulty != "easy" and order:
        plan.held = [order.pop()["drug"]]
    if difficulty == "hard" and order:
        plan.ended = [order.pop()["drug"]]
    return plan if plan.omitted or plan.duplicated or plan.wrong_dose else None


def _write_lists(stay: Admission, chosen: Sequence[Mapping[str, Any]], plan: Plan) -> str:
    """Write home list, orders and the notes that explain decisions; return the wrong doses in words."""
    wrong = []
    for item in chosen:
        drug, dose = item["drug"], dose_of(item["drug"])
        route = load_drugs()[drug].routes[0]
        write_home(
            stay,
            Medication(drug=drug, dose_mg=dose.dose_mg, times_per_day=dose.times_per_day, route=route),
            remark=f"for {item['problem']}",
        )
        if drug in (*plan.omitted, *plan.held, *plan.ended):
            continue
        hours = 3.0 + float(stay.rng.uniform(0, 2))
        other = plan.substituted.get(drug) or (plan.duplicated[1] if drug in plan.duplicated else "")
        if other:
            usual = dose_of(other)
            write_order(
                stay, other, usual.dose_mg, usual.times_per_day, hours=hours, route=load_drugs()[other].routes[0]
            )
        if drug not in plan.substituted:
            amount = dose.dose_mg * (float(stay.rng.choice([0.5, 2.0])) if drug in plan.wrong_dose else 1.0)
            if drug in plan.wrong_dose:
                wrong.append(f"{drug} {amount:g} mg")
            write_order(stay, drug, amount, dose.times_per_day, hours=hours, route=route)
    lines = [f"{drug} is held: {_reason(drug)}. Restart when that is over, not yet." for drug in plan.held]
    lines += [f"{new} is given in place of {old}, which the formulary lacks." for old, new in plan.substituted.items()]
    if lines:
        write_note(stay, "medication_note", 4.0, "ward pharmacist", " ".join(lines))
    for drug in plan.ended:
        text = f"Seen in clinic. {drug} was ended for good because of side effects; please take it off the list."
        write_note(stay, "clinic_letter", -24.0 * 20, "outpatient clinic", text)
    return ", ".join(wrong)


def _reason(drug: str) -> str:
    classes = set(load_drugs()[drug].classes)
    return next(reason for names, reason in REASONS if not names or classes & set(names))


def _mend(pid: str, plan: Plan, stops_first: bool) -> tuple[list[Call], dict[str, Any]]:
    """Return the oracle's changes and how the chart must then look."""
    act: list[Call] = []
    end_state: dict[str, Any] = {}
    for drug in (*plan.omitted, *plan.wrong_dose):
        dose = dose_of(drug)
        act.append(
            Call("order_medication", patient_id=pid, drug=drug, dose_mg=dose.dose_mg, times_per_day=dose.times_per_day)
        )
        end_state[f"{pid}.daily_mg.{drug}"] = round(dose.dose_mg * dose.times_per_day, 3)
    if plan.duplicated:
        act.append(Call("stop_order", patient_id=pid, drug=plan.duplicated[0 if stops_first else 1]))
        end_state[f"{pid}.duplications"] = 0
    for drug in (*plan.held, *plan.ended):
        end_state[f"{pid}.daily_mg.{drug}"] = None
    return act, end_state
