"""Tools that order tests, wait for them and read them."""

from functools import lru_cache
from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError, nearest
from healthgym.knowledge_base import load
from healthgym.toolkit import Toolkit, tool
from healthgym.world.world import FactValue

from .chart_tools import words
from .lab_text import result_text
from .tables import fold, table, word_list

MAX_LINES = 12
Sex = Literal["female", "male"]
PANEL_MINUTES = {"arterial_gas": 15.0, "urine_dipstick": 5.0}
"""Panels measured at the bedside; the others take as long as their slowest test."""


@lru_cache(maxsize=1)
def _menu() -> tuple[tuple[str, frozenset[str]], ...]:
    """Return a line for every panel, analyte and study, with the words it can be found by."""
    kb = load()
    lines = [(f"{name}: panel of {', '.join(row['tests'])}", name) for name, row in table("panels").items()]
    lines += [
        (f"{a.id}: {a.name}, {a.turnaround_minutes:g} min, cost {a.cost:g}", f"{a.id} {a.name} {a.plain}")
        for a in kb.analytes.values()
    ]
    lines += [
        (f"{s.id}: {s.name}, {s.turnaround_minutes:g} min, cost {s.cost:g}", f"{s.id} {s.name}")
        for s in kb.studies.values()
    ]
    return tuple((line, frozenset(word_list(text))) for line, text in lines)


class InvestigationTools(Toolkit):
    """Ordering and reading tests."""

    @tool()
    def test_menu(self, about: str) -> str:
        """Find tests and panels by name, with minutes to the result and cost.

        Args:
            about: A few words, for example thyroid or chest.
        """
        wanted = frozenset(word_list(about))
        lines = [line for line, known in _menu() if wanted & known]
        if not lines:
            every = [*table("panels"), *load().analytes, *load().studies]
            raise ToolError(f"No test about {about[:60]!r}.{nearest(fold(about[:60]), every)}")
        return "\n".join(lines[:MAX_LINES])

    @tool(effect="write", minutes=2)
    def order_labs(self, patient_id: str, tests: Annotated[list[str], Field(min_length=1, max_length=8)]) -> str:
        """Take samples for laboratory tests or panels; results come after their turnaround.

        Args:
            patient_id: For example P1.
            tests: Names, for example full_blood_count, liver, tsh.
        """
        chart, kb = self.world.chart(patient_id), load()
        names = [fold(test) for test in tests]
        for name in names:
            if name not in table("panels") and name not in chart.lab_results:
                raise ToolError(
                    f"No laboratory test {name[:60]!r}.{nearest(name[:60], [*table('panels'), *kb.analytes])}"
                )
        lines = []
        for name in dict.fromkeys(names):
            analytes = table("panels")[name]["tests"] if name in table("panels") else [name]
            values = {item: float(chart.lab_results[item].at(self.world.minutes)) for item in analytes}
            minutes = PANEL_MINUTES.get(name) or max(kb.analytes[item].turnaround_minutes for item in analytes)
            text = "; ".join(result_text(chart, item, value) for item, value in values.items())
            facts: list[tuple[str, FactValue, str]] = [
                (f"labs.{item}", value, kb.analytes[item].unit) for item, value in values.items()
            ]
            order = self.world.order(patient_id, name, minutes, f"{name}: {text}", facts)
            lines.append(f"{order.id}: {name}, result in {minutes:g} min")
        return "\n".join(lines)

    @tool(effect="write", minutes=2)
    def order_study(self, patient_id: str, study: str) -> str:
        """Order an imaging or other study; the report comes after its turnaround.

        Args:
            patient_id: For example P1.
            study: Name, for example chest_xray, ct_head, echocardiography.
        """
        chart, kb = self.world.chart(patient_id), load()
        name = fold(study)
        kind = kb.studies.get(name)
        if kind is None:
            raise ToolError(f"No study {study[:60]!r}.{nearest(name[:60], kb.studies)}")
        report = chart.studies[name].report if name in chart.studies else kind.normal
        text = f"{kind.name}: {report}"
        order = self.world.order(patient_id, name, kind.turnaround_minutes, text, [(f"studies.{name}", True, "")])
        return f"{order.id}: {kind.name}, report in {kind.turnaround_minutes:g} min"

    @tool(minutes=5)
    def bedside_test(self, patient_id: str, test: Literal["ecg", "glucose", "urine_dipstick"]) -> str:
        """Do a bedside test and read it at once.

        Args:
            patient_id: For example P1.
            test: 12-lead ECG, capillary glucose or urine dipstick.
        """
        chart = self.world.chart(patient_id)
        if test == "ecg":
            self.world.reveal(patient_id, "studies.ecg")
            return f"ECG: {chart.studies['ecg'].report if 'ecg' in chart.studies else load().studies['ecg'].normal}"
        if test == "glucose":
            glucose = self.world.vital_signs(patient_id).glucose_mg_dl
            self.world.reveal(patient_id, "vital_signs.glucose_mg_dl", glucose, "mg/dL")
            return f"Capillary glucose {glucose:g} mg/dL"
        parts = []
        for name in table("panels")["urine_dipstick"]["tests"]:
            value = float(chart.lab_results[name].value)
            self.world.reveal(patient_id, f"labs.{name}", value, load().analytes[name].unit)
            parts.append(f"{words(name.removeprefix('urine_'))} {value:g}")
        return "Urine: " + ", ".join(parts)

    @tool()
    def results_so_far(self, patient_id: str) -> str:
        """Read all results that are back, and what is still pending.

        Args:
            patient_id: For example P1.
        """
        self.world.chart(patient_id)
        lines = [f"{order.id} {order.text}" for order in self.world.read_results(patient_id)]
        lines += [
            f"{o.id} {o.item} pending until minute {o.due_at:g}"
            for o in self.world.orders.values()
            if o.patient_id == patient_id and o.due_at > self.world.minutes
        ]
        return "\n".join(lines) or "Nothing was ordered."

    @tool()
    def wait_for_results(self, minutes: Annotated[int, Field(ge=5, le=240)]) -> str:
        """Let time pass; results that come back are shown.

        Args:
            minutes: Minutes to wait.
        """
        self.world.advance(minutes)
        return f"It is minute {self.world.minutes:g}."

    @tool()
    def reference_range(self, test: str, age_years: Annotated[float, Field(ge=0, le=110)], sex: Sex) -> str:
        """Look up a laboratory test's reference and critical limits for age and sex.

        Args:
            test: For example sodium.
            age_years: Age in years.
            sex: Sex.
        """
        kb, name = load(), fold(test)
        if name not in kb.analytes:
            raise ToolError(f"No laboratory test {test[:60]!r}.{nearest(name[:60], kb.analytes)}")
        analyte = kb.analytes[name]
        limits = analyte.reference_range(sex, age_years)
        text = f"{analyte.name}: {limits.low:g} to {limits.high:g} {analyte.unit}"
        if analyte.critical_low is not None:
            text += f", critical below {analyte.critical_low:g}"
        return text + (f", critical above {analyte.critical_high:g}" if analyte.critical_high is not None else "")
