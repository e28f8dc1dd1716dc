"""What an agent can look up in an imported record."""

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from healthgym.errors import ToolError, nearest
from healthgym.imports.fhir.questions import MAX_ROWS
from healthgym.toolkit import Toolkit, tool

Status = Literal["active", "not_active", "all"]
Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
Direction = Literal["up", "down", "unchanged"]
Row = Mapping[str, Any]


class RecordToolkit(Toolkit):
    """Query a record, submit an answer."""

    @tool()
    def read_patient(self, patient_id: str) -> str:
        """Read birth date, sex and how many entries each part of the record has.

        Args:
            patient_id: For example P1.
        """
        record = self.world.chart(patient_id).extra["record"]
        person = record["patient"]
        self.world.reveal(patient_id, "patient.birth_date", person["birth_date"])
        died = f", died {person['died']}" if person["died"] else ""
        parts = ", ".join(
            f"{len(rows)} {section.replace('_', ' ')}" for section, rows in record.items() if section != "patient"
        )
        return f"{person['sex']}, born {person['birth_date']}{died}. Record: {parts}."

    @tool()
    def list_encounters(
        self,
        patient_id: str,
        encounter_class: str | None = None,
        start_date: Day | None = None,
        end_date: Day | None = None,
    ) -> str:
        """List encounters by date.

        Args:
            patient_id: For example P1.
            encounter_class: Code of the class, for example AMB, EMER or IMP.
            start_date: First day, YYYY-MM-DD.
            end_date: Last day, YYYY-MM-DD.
        """
        known = sorted({row["class"] for row in self._rows(patient_id, "encounters")})
        if encounter_class and encounter_class.upper() not in {kind.upper() for kind in known}:
            raise ToolError(f"No encounter of class {encounter_class[:20]!r}.{nearest(encounter_class[:20], known)}")
        wanted = (encounter_class or "").upper()
        return self._show(
            patient_id, "encounters", lambda row: not wanted or row["class"].upper() == wanted, start_date, end_date,
            lambda row: f"{row['class']}: {row['name']}" + (f" (for {row['reason']})" if row["reason"] else ""),
        )  # fmt: skip

    @tool()
    def list_conditions(self, patient_id: str, status: Status = "all") -> str:
        """List conditions with status and onset.

        Args:
            patient_id: For example P1.
            status: Which.
        """
        return self._listed(
            patient_id, "conditions", status, lambda row: f", ended {row['ended']}" if row["ended"] else ""
        )

    @tool()
    def list_medications(self, patient_id: str, status: Status = "all") -> str:
        """List prescribed medicines with status, date and the condition they are for.

        Args:
            patient_id: For example P1.
            status: Which.
        """
        return self._listed(patient_id, "medications", status, lambda row: f", for {row['for']}" if row["for"] else "")

    @tool()
    def list_allergies(self, patient_id: str, status: Status = "all") -> str:
        """List allergies with status and criticality.

        Args:
            patient_id: For example P1.
            status: Which.
        """
        return self._listed(
            patient_id,
            "allergies",
            status,
            lambda row: f", criticality {row['criticality']}" if row["criticality"] else "",
        )

    @tool()
    def list_care_plans(self, patient_id: str, status: Status = "all") -> str:
        """List care plans with status and activities.

        Args:
            patient_id: For example P1.
            status: Which.
        """
        return self._listed(
            patient_id, "care_plans", status, lambda row: f": {row['activities']}" if row["activities"] else ""
        )

    @tool()
    def list_observation_types(self, patient_id: str) -> str:
        """List what was measured: name, code and how often.

        Args:
            patient_id: For example P1.
        """
        counts: dict[tuple[str, str], int] = {}
        for row in self._rows(patient_id, "observations"):
            key = (row["code"], row["name"])
            counts[key] = counts.get(key, 0) + 1
        self.world.reveal(patient_id, "observation_types", len(counts))
        return (
            "\n".join(f"[{code}] {name}: {count}" for (code, name), count in counts.items()) or "Nothing was measured."
        )

    @tool()
    def read_observations(
        self, patient_id: str, observation: str, start_date: Day | None = None, end_date: Day | None = None
    ) -> str:
        """Read the values of one measurement by date.

        Args:
            patient_id: For example P1.
            observation: Its code or full name, as list_observation_types shows them.
            start_date: First day, YYYY-MM-DD.
            end_date: Last day, YYYY-MM-DD.
        """
        rows = self._rows(patient_id, "observations")
        asked = observation.strip().lower()
        names = {row["code"] for row in rows} | {row["name"] for row in rows}
        if asked not in {name.lower() for name in names}:
            raise ToolError(f"No measurement {observation[:60]!r}.{nearest(observation[:60], names, limit=6)}")
        return self._show(
            patient_id, "observations", lambda row: asked in (row["code"].lower(), row["name"].lower()), start_date, end_date, _measured
        )  # fmt: skip

    @tool()
    def list_procedures(
        self, patient_id: str, name: str | None = None, start_date: Day | None = None, end_date: Day | None = None
    ) -> str:
        """List procedures by date.

        Args:
            patient_id: For example P1.
            name: Part of the name.
            start_date: First day, YYYY-MM-DD.
            end_date: Last day, YYYY-MM-DD.
        """
        return self._named(patient_id, "procedures", name, start_date, end_date)

    @tool()
    def list_immunizations(
        self, patient_id: str, name: str | None = None, start_date: Day | None = None, end_date: Day | None = None
    ) -> str:
        """List immunizations by date.

        Args:
            patient_id: For example P1.
            name: Part of the vaccine's name.
            start_date: First day, YYYY-MM-DD.
            end_date: Last day, YYYY-MM-DD.
        """
        return self._named(patient_id, "immunizations", name, start_date, end_date)

    @tool(effect="submit")
    def submit_answer(
        self,
        value: float | None = None,
        second_value: float | None = None,
        date: Day | None = None,
        names: list[str] | None = None,
        direction: Direction | None = None,
    ) -> str:
        """Submit what the question asks for and end.

        Args:
            value: A number.
            second_value: A second number, where one is asked for.
            date: YYYY-MM-DD.
            names: Names as the record writes them.
            direction: Of a change.
        """
        return "Submitted."

    def _rows(self, patient_id: str, section: str) -> list[Row]:
        return list(self.world.chart(patient_id).extra["record"][section])

    def _listed(self, patient_id: str, section: str, status: Status, more: Callable[[Row], str]) -> str:
        return self._show(
            patient_id, section, lambda row: status == "all" or row["active"] is (status == "active"), None, None,
            lambda row: f"{row['name']} [{row['status']}]{more(row)}",
        )  # fmt: skip

    def _named(self, patient_id: str, section: str, name: str | None, start: str | None, end: str | None) -> str:
        part = (name or "").strip().lower()
        return self._show(
            patient_id, section, lambda row: part in row["name"].lower(), start, end, lambda row: row["name"]
        )

    def _show(
        self,
        patient_id: str,
        section: str,
        wanted: Callable[[Row], bool],
        start: str | None,
        end: str | None,
        told: Callable[[Row], str],
    ) -> str:
        """Return the wanted rows in the window, and reveal each row that is shown."""
        rows = [
            (n, row)
            for n, row in enumerate(self._rows(patient_id, section))
            if wanted(row) and _inside(row, start, end)
        ]
        shown, rest = rows[-MAX_ROWS:], len(rows) - MAX_ROWS
        for number, _ in shown:
            self.world.reveal(patient_id, f"{section}.{number}")
        self.world.reveal(patient_id, f"{section}.looked")
        lines: Iterable[str] = (f"{row['date'] or 'undated'} {told(row)}" for _, row in shown)
        earlier = [f"{rest} earlier rows are not shown: narrow the search."] if rest > 0 else []
        return "\n".join([*earlier, *lines]) or f"No {section.replace('_', ' ')} of this kind."


def _inside(row: Row, start: str | None, end: str | None) -> bool:
    if not (start or end):
        return True
    day = str(row["date"])
    return len(day) == 10 and (start or day) <= day <= (end or day)


def _measured(row: Row) -> str:
    if row["parts"]:
        return f"{row['name']}: " + ", ".join(f"{part['name']} {_quantity(part)}" for part in row["parts"])
    return f"{row['name']}: {_quantity(row)}"


def _quantity(row: Row) -> str:
    value = row["value"]
    text = "no value" if value is None else f"{value:.10g}" if isinstance(value, float) else value
    return f"{text} {row['unit']}".strip()
