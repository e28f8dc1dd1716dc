"""Tools that read the record: search with paging, one entry, laboratory results, vital signs, trend, urine, summary."""

from typing import Annotated

from pydantic import Field

from healthgym.errors import ToolError, nearest
from healthgym.knowledge_base import load
from healthgym.toolkit import Toolkit, tool
from healthgym.world import Chart

from .record import Entry, Resource, admitted, entries, find, now, select, valid
from .timeline import Moment, days_between, hours_between, window

PAGE_SIZE, MOST_ROWS = 10, 40


class ReadingTools(Toolkit):
    """Everything that looks at the record and changes nothing."""

    @tool(minutes=1)
    def patient_summary(self, patient_id: str) -> str:
        """Show age, sex, weight, allergies, the stay so far and how many entries of each kind the record holds.

        Args:
            patient_id: Patient id.
        """
        chart = self._chart(patient_id)
        facts = (
            ("age_years", chart.age_years, "years"), ("sex", chart.sex, ""), ("weight_kg", chart.weight_kg, "kg"),
            ("allergies", ", ".join(item.substance for item in chart.allergies) or "none", ""),
            ("admitted", admitted(chart), ""),
        )  # fmt: skip
        for key, value, unit in facts:
            self.world.reveal(patient_id, key, value, unit)
        allergies = select(chart, resource="AllergyIntolerance")
        self._show(patient_id, allergies)
        counts: dict[str, int] = {}
        for entry in entries(chart):
            counts[entry["resource"]] = counts.get(entry["resource"], 0) + 1
        return "\n".join(
            [
                f"{patient_id}: {chart.age_years:g} y, {chart.sex}, {chart.weight_kg:g} kg",
                "allergies: " + ("; ".join(entry["text"] for entry in allergies) or "none known"),
                f"admitted {admitted(chart)}, now {now(chart)} ({days_between(admitted(chart), now(chart))} days)"
                + f", unit {chart.extra.get('unit', 'ward')}",
                "record: " + ", ".join(f"{kind} {count}" for kind, count in counts.items()),
            ]
        )

    @tool(minutes=1)
    def search_records(
        self,
        patient_id: str,
        resource: Resource,
        code: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        page: Annotated[int, Field(ge=1, le=100)] = 1,
    ) -> str:
        """List entries of one kind, oldest first, ten a page; notes and reports show their title only.

        Args:
            patient_id: Patient id.
            resource: Kind of entry.
            code: Narrower, for example creatinine or progress_note.
            since: First moment, as 2025-03-09 or 2025-03-09 06:00.
            until: Last moment.
            page: Page number.
        """
        chart = self._chart(patient_id)
        first, last = window(since, until)
        found = select(chart, resource=resource, code=code, since=first, until=last)
        if not found:
            codes = {entry["code"] for entry in entries(chart) if entry["resource"] == resource}
            there = nearest(code or "", codes) if codes else " There are none at all."
            raise ToolError(f"No {resource} matches.{there} Try another code or window.")
        pages = -(-len(found) // PAGE_SIZE)
        if page > pages:
            raise ToolError(f"There is no page {page}: {len(found)} entries fill {pages}. Ask for page 1 to {pages}.")
        shown = found[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
        opened = [entry for entry in shown if not _has_body(entry)]
        self._show(patient_id, opened)
        head = f"{len(found)} {resource} entries, page {page} of {pages}"
        return "\n".join([head, *(line(entry) for entry in shown)])

    @tool(minutes=1)
    def read_record(self, patient_id: str, record_id: str) -> str:
        """Open one entry, for example a note or a culture report.

        Args:
            patient_id: Patient id.
            record_id: Id as the lists show it, for example progress_note-01.
        """
        chart = self._chart(patient_id)
        entry = find(chart, record_id.strip(" []"))
        if entry is None:
            raise ToolError(f"No entry {record_id[:40]!r}.{nearest(record_id[:40], [e['id'] for e in entries(chart)])}")
        self._show(patient_id, [entry])
        body = entry.get("detail", {}).get("text", "")
        return f"{line(entry)}\n{body}" if body else line(entry)

    @tool(minutes=1)
    def get_labs(self, patient_id: str, analyte: str, since: Moment | None = None, until: Moment | None = None) -> str:
        """List the results of one laboratory test or of blood gases, the last 40 of the window.

        Args:
            patient_id: Patient id.
            analyte: For example creatinine, hemoglobin or blood_gas.
            since: First moment, as 2025-03-09 or 2025-03-09 06:00.
            until: Last moment.
        """
        found = self._labs(patient_id, analyte, since, until)
        chart, shown = self._chart(patient_id), found[-MOST_ROWS:]
        self._show(patient_id, shown)
        head = f"{len(found)} results" + (f", the last {MOST_ROWS}" if len(found) > MOST_ROWS else "")
        known = load().analytes.get(found[0]["code"])
        if known is not None:
            limits = known.reference_range(chart.sex, chart.age_years)
            head += f", reference {limits.low:g} to {limits.high:g} {known.unit}"
        return "\n".join([head, *(line(entry) for entry in shown)])

    @tool(minutes=1)
    def lab_trend(self, patient_id: str, analyte: str, since: Moment | None = None, until: Moment | None = None) -> str:
        """Compare first, last, lowest and highest result of a laboratory test in a window; entries in error are left out.

        Args:
            patient_id: Patient id.
            analyte: For example creatinine.
            since: First moment, as 2025-03-09 or 2025-03-09 06:00.
            until: Last moment.
        """
        found = [entry for entry in valid(self._labs(patient_id, analyte, since, until)) if "value" in entry]
        if len(found) < 2:
            raise ToolError(f"{len(found)} result of {analyte} in this window; a trend needs two. Widen the window.")
        self._show(patient_id, found)
        lowest, highest = (choose(found, key=lambda entry: entry["value"]) for choose in (min, max))
        first, last = found[0], found[-1]
        change = last["value"] - first["value"]
        share = f" ({change / first['value']:+.0%})" if first["value"] else ""
        rows = (("first", first), ("last", last), ("lowest", lowest), ("highest", highest))
        text = [f"{name:<8}{entry['time']}  {entry['value']:g} {entry['unit']}" for name, entry in rows]
        hours = hours_between(first["time"], last["time"])
        return "\n".join(
            [*text, f"change {change:+.2f} {first['unit']}{share} over {hours:.0f} h, {len(found)} results"]
        )

    @tool(minutes=1)
    def get_vital_signs(self, patient_id: str, since: Moment | None = None, until: Moment | None = None) -> str:
        """List sets of vital signs, the last 40 of the window.

        Args:
            patient_id: Patient id.
            since: First moment, as 2025-03-09 or 2025-03-09 06:00.
            until: Last moment.
        """
        first, last = window(since, until)
        found = select(self._chart(patient_id), code="vital_signs", since=first, until=last)
        if not found:
            raise ToolError("No vital signs in this window; patient_summary tells when the stay began.")
        shown = found[-MOST_ROWS:]
        self._show(patient_id, shown)
        head = f"{len(found)} sets" + (f", the last {MOST_ROWS}" if len(found) > MOST_ROWS else "")
        return "\n".join([head, *(line(entry) for entry in shown)])

    @tool(minutes=1)
    def get_urine_output(self, patient_id: str, since: Moment | None = None, until: Moment | None = None) -> str:
        """List measured urine volumes with the rate per kg, and their sum.

        Args:
            patient_id: Patient id.
            since: First moment, as 2025-03-09 or 2025-03-09 06:00.
            until: Last moment.
        """
        first, last = window(since, until)
        found = select(self._chart(patient_id), code="urine_output", since=first, until=last)
        if not found:
            raise ToolError("Urine was not measured in this window.")
        self._show(patient_id, found)
        total = sum(entry["value"] for entry in found)
        hours = sum(entry["detail"]["hours"] for entry in found)
        return "\n".join([*(line(entry) for entry in found), f"sum {total:g} mL in {hours:g} h"])

    @tool(minutes=1)
    def list_encounters(self, patient_id: str, since: Moment | None = None, until: Moment | None = None) -> str:
        """List visits and stays: outpatient, emergency and inpatient, this one included.

        Args:
            patient_id: Patient id.
            since: First moment, as 2025-03-09.
            until: Last moment.
        """
        first, last = window(since, until)
        found = select(self._chart(patient_id), resource="Encounter", since=first, until=last)
        if not found:
            raise ToolError("No encounter in this window; leave since and until out to see all.")
        self._show(patient_id, found)
        return "\n".join(line(entry) for entry in found)

    @tool(minutes=1)
    def problem_list(self, patient_id: str) -> str:
        """List long-standing problems and diagnoses on record.

        Args:
            patient_id: Patient id.
        """
        found = select(self._chart(patient_id), resource="Condition")
        self._show(patient_id, found)
        self.world.reveal(patient_id, "problems", len(found))
        return "\n".join(line(entry) for entry in found) or "No problem is on record."

    def _chart(self, patient_id: str) -> Chart:
        return self.world.chart(patient_id)

    def _labs(self, patient_id: str, analyte: str, since: str | None, until: str | None) -> list[Entry]:
        chart = self._chart(patient_id)
        name, (first, last) = analyte.strip().lower().replace(" ", "_"), window(since, until)
        found = select(chart, resource="Observation", code=name, since=first, until=last)
        if not found:
            measured = {e["code"] for e in entries(chart) if e["resource"] == "Observation"}
            where = " in this window; widen it." if name in measured else f".{nearest(name[:40], measured)}"
            raise ToolError(f"No result of {analyte[:40]!r}{where}")
        return found

    def _show(self, patient_id: str, shown: list[Entry]) -> None:
        for entry in shown:
            self.world.reveal(patient_id, f"records.{entry['id']}", entry.get("value", True), entry.get("unit", ""))


def line(entry: Entry) -> str:
    """Return an entry as one line of a list."""
    flag = "" if entry["status"] == "final" else f" [{entry['status']}]"
    return f"[{entry['id']}] {entry['time']}  {entry['text']}{flag}"


def _has_body(entry: Entry) -> bool:
    """Say whether an entry tells more when it is opened."""
    return "text" in entry.get("detail", {})
