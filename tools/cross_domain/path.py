"""The right path of one patient: the calls that walk it, by the clock, and the criteria that it is judged by."""

from dataclasses import dataclass, field
from typing import Any

from healthgym.knowledge_base import load
from healthgym.tasks import AnswerField, Call, Criteria, Deadline, Evidence, Hazard
from healthgym.tasks.criteria import Budget
from healthgym.world import Chart

from .doses import accepted, usual
from .notes import MAX_NOTE_WORDS, note_gold, note_text, note_unwanted
from .patient import swapped
from .questions import asking
from .schema import Branch, Pathway, Twist
from .steps import aim, done_path, split_step
from .toolkit import CrossDomainToolkit

P = "P1"
SPARE_CALLS = 10
OVERDOSE_FACTOR = 1.3
"""From this multiple of the highest right amount on, a dose is a hazard; a design choice."""
RECORD_FACTS = {"background": "weight_kg", "allergies": "allergies", "medicines": "medications"}


@dataclass
class Walk:
    """The calls so far, the minute they have come to, and when the last result is due."""

    calls: list[Call] = field(default_factory=list)
    minute: float = 0.0
    due: float = 0.0

    def make(self, call: Call) -> None:
        """Add a call and let its minutes pass."""
        started = self.minute
        self.calls.append(call)
        self.minute += CrossDomainToolkit.specs()[call.tool].minutes
        if call.tool == "wait":
            self.minute += float(call.arguments["minutes"])
        if call.tool == "order_test":
            kb, test = load(), str(call.arguments["test"])
            kind = kb.studies[test] if test in kb.studies else kb.analytes[test]
            self.due = max(self.due, started + kind.turnaround_minutes)

    def rest(self, minutes: float) -> None:
        """Wait in calls of at most an hour."""
        left = int(-(-minutes // 1))
        while left > 0:
            self.make(Call("wait", minutes=min(left, 60)))
            left -= 60


def steps_of(pathway: Pathway, branch: Branch, twist: Twist | None) -> list[str]:
    """Return the steps with a twist's looking steps put before the first dose or treatment, and its swaps made."""
    steps = list(branch.steps)
    if twist:
        first = next((i for i, step in enumerate(steps) if step.startswith(("give ", "start "))), len(steps))
        steps[first:first] = [step for step in twist.extra_steps if step not in steps[:first]]
    return [swapped(step, twist) for step in steps]


def walk(pathway: Pathway, branch: Branch, twist: Twist | None, chart: Chart) -> list[Call]:
    """Return the calls of the right path, from the brief to the submission."""
    going = Walk()
    going.make(Call("read_brief", patient_id=P))
    going.make(Call("pathway_guide", pathway=pathway.id))
    for step in steps_of(pathway, branch, twist):
        verb, item = split_step(step)
        if verb == "await":
            going.rest(going.due - going.minute)
        elif verb == "wait":
            going.rest(float(item))
        elif verb == "ask":
            for call in asking(chart, item):
                going.make(call)
        else:
            going.make(_call(pathway, branch, twist, chart, verb, item))
    going.make(Call("submit_pathway", **_answer(branch)))
    return going.calls


def _call(pathway: Pathway, branch: Branch, twist: Twist | None, chart: Chart, verb: str, item: str) -> Call:
    tool, where = aim(f"{verb} {item}".strip(), pathway)
    if verb == "directory":
        return Call(tool)
    if verb == "give":
        rule = pathway.doses[item]
        amount = usual(rule, chart.age_years, chart.weight_kg)
        return Call(tool, patient_id=P, drug=rule.drug, amount=amount, unit=rule.unit)
    if verb == "consult":
        return Call(tool, patient_id=P, **where, question=f"{pathway.title}: please advise.")
    if verb == "handover":
        return Call(tool, patient_id=P, **where, note=note_text(pathway, branch, twist, chart, item))
    return Call(tool, patient_id=P, **where)


def _answer(branch: Branch) -> dict[str, Any]:
    low, high = branch.next.minutes
    return {
        "decision": branch.decision, "disposition": branch.disposition, "next_action": branch.next.action,
        "due_in_minutes": round((low + high) / 2),
    }  # fmt: skip


def criteria(pathway: Pathway, branch: Branch, twist: Twist | None, chart: Chart, calls: int) -> Criteria:
    """Return what the episode is judged by; everything follows from the branch's steps."""
    low, high = branch.next.minutes
    return Criteria(
        answer={
            "decision": AnswerField(gold=branch.decision, weight=3),
            "disposition": AnswerField(gold=branch.disposition, weight=2),
            "next_action": AnswerField(gold=branch.next.action),
            "due_in_minutes": AnswerField(gold=(low + high) / 2, compare="range", tolerance=(high - low) / 2),
        },
        end_state=_end_state(pathway, branch, twist, chart),
        evidence=_evidence(pathway, branch, twist),
        hazards=_hazards(pathway, branch, twist, chart),
        deadlines=_deadlines(pathway, branch, twist),
        budget=Budget(turns=calls + SPARE_CALLS, tool_calls=calls + SPARE_CALLS + 6),
    )


def _end_state(pathway: Pathway, branch: Branch, twist: Twist | None, chart: Chart) -> dict[str, Any]:
    state: dict[str, Any] = {}
    route = [str(pathway.start)]
    for step in steps_of(pathway, branch, twist):
        verb, item = split_step(step)
        if verb == "give":
            rule = pathway.doses[item]
            low, high = accepted(rule, chart.age_years, chart.weight_kg)
            state[f"{P}.{done_path(verb, rule.drug)}"] = AnswerField(
                gold=(low + high) / 2, compare="range", tolerance=(high - low) / 2 + 1e-3 * high, unit=rule.unit
            )
        elif verb == "start":
            state[f"{P}.{done_path(verb, item)}"] = True
        elif verb == "consult":
            state[f"{P}.consulted.{item}"] = {"ne": None}
        elif verb == "handover":
            state[f"{P}.handover.{item}"] = AnswerField(
                gold=note_gold(pathway, branch, twist, chart, item),
                compare="mentions",
                unwanted=note_unwanted(chart),
                max_words=MAX_NOTE_WORDS,
                weight=3,
            )
        elif verb == "transfer":
            route.append(item)
    if len(route) > 1:
        state[f"{P}.route"] = " > ".join(route)
    return state


def _evidence(pathway: Pathway, branch: Branch, twist: Twist | None) -> tuple[Evidence, ...]:
    found: dict[str, Evidence] = {}
    tested: set[str] = set()
    for step in steps_of(pathway, branch, twist):
        verb, item = split_step(step)
        keys: tuple[str, ...] = ()
        if verb == "observe":
            keys = (f"{P}.vital_signs.systolic_bp_mmhg", f"{P}.vital_signs.heart_rate_per_min")
        elif verb == "record":
            keys = (f"{P}.{RECORD_FACTS[item]}",)
        elif verb == "ask":
            keys = (f"{P}.findings.{item}",)
        elif verb == "test":
            keys = (f"{P}.again.{item}",) if item in tested else (f"{P}.labs.{item}", f"{P}.studies.{item}")
            tested.add(item)
        elif verb == "directory":
            keys = ("hospital.directory",)
        elif verb == "start" and item in branch.reports:
            keys = (f"{P}.reports.{item}",)
        elif verb == "examine":
            names = [told.id for told in branch.told if told.system == item]
            kb = load()
            names += [name for name in branch.present if name in kb.signs and kb.signs[name].system == item]
            keys = tuple(f"{P}.findings.{name}" for name in names)
        if keys:
            label = f"{verb} {item}".strip().replace("_", " ")
            found[keys[0]] = Evidence(any_of=keys, label=label)
    return tuple(found.values())


def _hazards(pathway: Pathway, branch: Branch, twist: Twist | None, chart: Chart) -> tuple[Hazard, ...]:
    """Return what harms here: what the branch or twist forbids, what is not indicated, and overdoses."""
    steps = steps_of(pathway, branch, twist)
    used = {aim(step, pathway)[1].get(name) for step in steps for name in ("drug", "treatment")}
    avoid = {**branch.avoid, **(twist.avoid if twist else {})}
    hazards = []
    for tool, argument, names in (
        ("give_drug", "drug", dict.fromkeys(rule.drug for rule in pathway.doses.values())),
        ("start_treatment", "treatment", dict.fromkeys(pathway.treatments)),
    ):
        for name in names:
            if name in avoid:
                hazards.append(Hazard(tool=tool, where={argument: name}, severity="critical", label=avoid[name]))
            elif name not in used and name not in branch.neutral:
                hazards.append(Hazard(tool=tool, where={argument: name}, label=f"{name} is not indicated"))
    for step in steps:
        verb, item = split_step(step)
        if verb == "give":
            rule = pathway.doses[item]
            top = accepted(rule, chart.age_years, chart.weight_kg)[1] * OVERDOSE_FACTOR
            where = {"drug": rule.drug, "amount": {"gt": top}}
            hazards.append(Hazard(tool="give_drug", where=where, label=f"overdose of {rule.drug}"))
    for guard in pathway.guards:
        if guard.known:
            tool, where = aim(guard.step, pathway)
            known = tuple(f"{P}.{key}" for key in guard.known)
            hazards.append(
                Hazard(tool=tool, where=where, severity=guard.severity, label=guard.label, unless_known=known)
            )
    return tuple(hazards)


def _deadlines(pathway: Pathway, branch: Branch, twist: Twist | None) -> tuple[Deadline, ...]:
    made = []
    for limit in branch.limits:
        step = swapped(limit.step, twist)
        tool, where = aim(step, pathway)
        made.append(
            Deadline(
                tool=tool,
                where={"patient_id": P, **where},
                within_minutes=limit.within,
                severity=limit.severity,
                label=f"{step} later than {limit.within:g} min ({limit.source})",
            )
        )
    return tuple(made)
