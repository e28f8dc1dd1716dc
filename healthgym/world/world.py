"""One episode's world: charts, what was changed, what was learnt, the time, and what services are at hand."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

from healthgym.errors import ToolError, nearest
from healthgym.world.chart import Chart, Event, VitalSigns, check_vital_signs
from healthgym.world.orders import Order
from healthgym.world.patient import Exchange, Patient, SimulatedPatient, topics_of
from healthgym.world.starting import starting_value
from healthgym.world.state import State

_UNWRITTEN = object()
FactValue = float | int | str | bool | None


@dataclass(frozen=True, slots=True)
class Fact:
    """Something the agent has learnt, and when."""

    key: str
    value: FactValue
    unit: str
    turn: int
    minutes: float
    """When this value was learnt."""
    first_minutes: float = 0.0
    """When any value of it was first learnt; deadlines run from then."""


@dataclass(frozen=True, slots=True)
class ExecutedCall:
    """One tool call that reached a tool: the record that scores and hazards are judged on."""

    tool: str
    arguments: Mapping[str, Any]
    effect: str
    turn: int
    minutes: float
    error: str | None = None
    content: str = ""
    """What the agent saw."""
    learnt: tuple[str, ...] = ()
    """Fact keys revealed by this call for the first time."""
    repeated: bool = False
    """True when the same tool with the same arguments ran before with the same result."""


@dataclass(frozen=True)
class Services:
    """What episodes share and tools may use; nothing here belongs to one patient."""

    retriever: Any = None
    """Has search(query, k), passage(id); see healthgym.retrieval."""
    patient: Patient = field(default_factory=SimulatedPatient)
    """Answers questions put to a patient."""


class World:
    """Everything a tool may read or change in one episode.

    `charts` are frozen and shared between episodes; `state` holds what this episode changed. Learning a fact or
    letting time pass leaves `state` and its hash alone.
    """

    def __init__(self, charts: Mapping[str, Chart], *, services: Services | None = None, seed: int = 0) -> None:
        self.charts = charts
        self.services = services or Services()
        self.seed = seed
        self.state = State(_charts_hash(charts))
        self.minutes = 0.0
        self.cost = 0.0
        self.turn = 0
        self.facts: dict[str, Fact] = {}
        self.calls: list[ExecutedCall] = []
        self.orders: dict[str, Order] = {}
        self.announced: set[str] = set()
        self.passed: set[tuple[str, int]] = set()
        """(patient id, place) of the charts' events that happened or were averted."""
        self.dialogue: tuple[Exchange, ...] = ()
        self.limits: Mapping[str, float | None] = {}
        self._learnt: list[str] = []

    def chart(self, patient_id: str) -> Chart:
        """Return a patient's chart. Raises ToolError, naming the patients there are, when the id is unknown."""
        chart = self.charts.get(patient_id)
        if chart is None:
            raise ToolError(f"No patient {patient_id[:40]!r}.{nearest(patient_id[:40], self.charts)}")
        return chart

    def vital_signs(self, patient_id: str) -> VitalSigns:
        """Return the vital signs in force now: the chart's, with what `change_vital_signs` has changed."""
        current = self.chart(patient_id).vital_signs_at(self.minutes)
        for since, changes in self.state.get(f"{patient_id}.vital_signs", ()):
            if since <= self.minutes:
                current = replace(current, **changes)
        return current

    def change_vital_signs(self, patient_id: str, *, after_minutes: float = 0.0, **changes: float | None) -> None:
        """Hold some vital signs at new values from `after_minutes` on, by their names in VitalSigns.

        It changes the state: `change_vital_signs("P1", after_minutes=20, systolic_bp_mmhg=105)` after a bolus of fluid.

        Raises:
            ContentError: There is no vital sign of that name.
        """
        self.chart(patient_id)
        check_vital_signs(changes)
        self.state.append(f"{patient_id}.vital_signs", [self.minutes + after_minutes, changes])

    def value(self, path: str) -> Any:
        """Return what holds at a state path now: what was written there, else what the chart says at the start."""
        written = self.state.get(path, _UNWRITTEN)
        return starting_value(self.charts, path) if written is _UNWRITTEN else written

    def reveal(self, patient_id: str, key: str, value: FactValue = True, unit: str = "") -> None:
        """Record that the agent has now seen fact '<patient_id>.<key>'."""
        full = f"{patient_id}.{key}"
        known = self.facts.get(full)
        if known is None:
            self._learnt.append(full)
        if known is None or known.value != value:
            first = self.minutes if known is None else known.first_minutes
            self.facts[full] = Fact(full, value, unit, self.turn, self.minutes, first)

    def knows(self, key: str) -> bool:
        """Say whether the agent has seen the fact with this full key ("P1.vital_signs.spo2_percent")."""
        return key in self.facts

    def take_learnt(self) -> tuple[str, ...]:
        """Return the keys revealed since the last call of this method, and forget them."""
        learnt, self._learnt = tuple(self._learnt), []
        return learnt

    def order(
        self,
        patient_id: str,
        item: str,
        turnaround_minutes: float,
        text: str,
        facts: Iterable[tuple[str, FactValue, str]] = (),
    ) -> Order:
        """Place an order whose result is ready after `turnaround_minutes`. It changes the state.

        Args:
            patient_id: Whom it is for.
            item: Analyte or study id.
            turnaround_minutes: Simulated minutes until the result.
            text: The result as the agent will read it.
            facts: (key, value, unit) revealed with the result; keys without the patient id.
        """
        self.chart(patient_id)
        number = len(self.orders) + 1
        due = self.minutes + turnaround_minutes
        order = Order(f"O{number}", patient_id, item, self.minutes, due, text, tuple(facts))
        self.orders[order.id] = order
        self.state.append(f"{patient_id}.orders", [item, order.id])
        return order

    def read_results(self, patient_id: str | None = None) -> list[Order]:
        """Return orders whose results are ready, revealing their facts."""
        ready = [o for o in self.orders.values() if o.due_at <= self.minutes and patient_id in (None, o.patient_id)]
        for order in ready:
            self.announced.add(order.id)
            for key, value, unit in order.facts:
                self.reveal(order.patient_id, key, value, unit)
        return ready

    def new_results(self) -> list[Order]:
        """Return results that became ready and were not announced yet, revealing their facts."""
        fresh = [o for o in self.orders.values() if o.due_at <= self.minutes and o.id not in self.announced]
        for order in fresh:
            self.announced.add(order.id)
            for key, value, unit in order.facts:
                self.reveal(order.patient_id, key, value, unit)
        return fresh

    def due_events(self) -> list[tuple[str, Event]]:
        """Return (patient id, event) of the charts' events whose time has come, each once, by time."""
        due = [
            (event.minute, patient_id, place, event)
            for patient_id, chart in self.charts.items()
            for place, event in enumerate(chart.events)
            if event.minute <= self.minutes and (patient_id, place) not in self.passed
        ]
        self.passed.update((patient_id, place) for _, patient_id, place, _ in due)
        return [(patient_id, event) for _, patient_id, _, event in sorted(due, key=lambda one: one[:3])]

    def happen(self, patient_id: str, event: Event) -> str:
        """Let an event happen and return how it is told."""
        for key, value, unit in event.facts:
            self.reveal(patient_id, key, value, unit)
        if event.vital_signs:
            self.state.append(f"{patient_id}.vital_signs", [event.minute, dict(event.vital_signs)])
        return f"[minute {event.minute:g}, {patient_id}] {event.text}"

    def advance(self, minutes: float) -> None:
        """Let simulated time pass."""
        self.minutes += minutes

    def ask(self, patient_id: str, question: str) -> str:
        """Put a question to the patient, revealing what the answer tells."""
        chart = self.chart(patient_id)
        asked = self._times_asked(patient_id, question)
        earlier = tuple(exchange for exchange in self.dialogue if exchange.patient_id == patient_id)
        answer = self.services.patient.answer(chart, question, times_asked=asked, seed=self.seed, history=earlier)
        self.dialogue = (*self.dialogue, Exchange(patient_id, question, answer.text))
        for finding in answer.findings:
            self.reveal(patient_id, f"findings.{finding.id}", finding.present)
        for key, value, unit in answer.facts:
            self.reveal(patient_id, key, value, unit)
        return answer.text

    def _times_asked(self, patient_id: str, question: str) -> int:
        """Count earlier questions to this patient about the topic of `question`."""
        chart = self.chart(patient_id)
        topics = topics_of(chart, question)
        earlier = (
            call.arguments.get("question")
            for call in self.calls
            if call.error is None and call.arguments.get("patient_id") == patient_id
        )
        return sum(isinstance(asked, str) and bool(topics & topics_of(chart, asked)) for asked in earlier)

    def fork(self) -> "World":
        """Return an independent copy of the episode's world at this moment."""
        copy = World.__new__(World)
        copy.__dict__.update(self.__dict__)
        copy.state = self.state.fork()
        copy.facts, copy.orders = dict(self.facts), dict(self.orders)
        copy.passed = set(self.passed)
        copy.calls, copy.announced, copy._learnt = list(self.calls), set(self.announced), list(self._learnt)
        return copy


_HASHES: dict[int, tuple[Chart, int]] = {}


def _charts_hash(charts: Mapping[str, Chart]) -> int:
    """Return the sum of the charts' digests; each frozen chart is digested once and remembered by identity."""
    total = 0
    for chart in charts.values():
        cached = _HASHES.get(id(chart))
        if cached is None or cached[0] is not chart:
            if len(_HASHES) > 20_000:
                _HASHES.clear()
            cached = (chart, int.from_bytes(blake2b(repr(chart).encode(), digest_size=16).digest(), "big"))
            _HASHES[id(chart)] = cached
        total += cached[1]
    return total
