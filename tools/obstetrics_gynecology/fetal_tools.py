"""Tools that look at the fetus, the cervix, labour, bleeding and the newborn."""

from collections.abc import Mapping, Sequence
from typing import Any

from healthgym.errors import ToolError
from healthgym.toolkit import tool
from healthgym.world import Chart, World

from .chart_tools import ChartTools, is_fetus


def in_force(world: World, states: Sequence[Mapping[str, Any]], owner: str) -> Mapping[str, Any]:
    """Return the last of `states` whose minute has come and whose `needs` (measures taken on `owner`) are met."""
    taken = set(world.state.get(f"{owner}.measures", ()))
    current = states[0]
    for state in states:
        if state["minute"] <= world.minutes and set(state.get("needs", ())) <= taken:
            current = state
    return current


def _signed(station: int) -> str:
    return f"{station:+d}" if station else "0"


def trace_text(trace: Mapping[str, Any]) -> str:
    """Return how a tracing reads: figures, not names of patterns."""
    parts = [f"baseline {trace['baseline']}/min"]
    if trace.get("sinusoidal"):
        parts.append("smooth waves of 10/min, 4 a minute, for the whole 20 min")
    else:
        parts.append(
            f"variability about {trace['amplitude']}/min" if trace["amplitude"] else "variability undetectable"
        )
    parts.append(f"accelerations: {trace['accelerations'] or 'none'}")
    dips = trace.get("dips")
    if dips:
        place = (
            "lowest at the peak of the contraction"
            if dips["lag_s"] == 0
            else f"lowest {dips['lag_s']} s after the peak"
        )
        parts.append(
            f"dips with {dips['count']} of {trace['contractions'] * 2} contractions: falling over {dips['onset_s']} s by "
            f"{dips['depth']}/min, {place}, over after {dips['duration_s']} s"
        )
    else:
        parts.append("dips: none")
    parts.append(f"{trace['contractions']} contractions in 10 min")
    return "20 min of tracing: " + "; ".join(parts)


class FetalTools(ChartTools):
    """Looking at fetus, cervix, labour, blood loss and newborn."""

    @tool(minutes=5)
    def view_ctg(self, patient_id: str) -> str:
        """Read the present fetal heart and contraction tracing.

        Args:
            patient_id: The fetus, for example F1.
        """
        chart = self._fetus(patient_id, "ctg")
        state = in_force(self.world, chart.extra["ctg"], chart.extra["mother"])
        place = chart.extra["ctg"].index(state)
        self.world.reveal(patient_id, "ctg", place)
        self.world.reveal(patient_id, f"ctg.{place}", True)
        return f"minute {self.world.minutes:g}, {trace_text(state)}"

    @tool(minutes=30)
    def scan_fetus(self, patient_id: str) -> str:
        """Scan for 30 minutes: biometry, fluid, breathing, movement, tone, with a non-stress test.

        Args:
            patient_id: The fetus, for example F1.
        """
        s = self._fetus(patient_id, "scan").extra["scan"]
        self.world.reveal(patient_id, "scan", True)
        self.world.reveal(patient_id, "scan.deepest_pocket_cm", s["pocket_cm"], "cm")
        return (
            f"BPD {s['bpd_mm']:g} mm, HC {s['hc_mm']:g} mm, AC {s['ac_mm']:g} mm, FL {s['fl_mm']:g} mm; "
            f"deepest pocket {s['pocket_cm']:g} cm. In 30 min: longest breathing {s['breathing_s']} s, "
            f"{s['movements']} movements, {s['tone']} extensions with return. Heart rate in 20 min: "
            f"{s['accelerations']} accelerations of 15/min for 15 s. Umbilical artery flow normal."
        )

    @tool(minutes=2)
    def examine_cervix(self, patient_id: str) -> str:
        """Examine the cervix: dilation, effacement, station, consistency, position, membranes.

        Args:
            patient_id: The mother, for example P1.
        """
        chart = self.mother(patient_id)
        c = chart.extra.get("cervix")
        if c is None:
            raise ToolError(f"{patient_id} has no reason for a cervical examination today.")
        self.world.reveal(patient_id, "cervix", True)
        return (
            f"{c['dilation_cm']} cm, {c['effacement_percent']} % effaced, station {_signed(c['station'])}, {c['consistency']}, "
            f"{c['position']}; membranes {c.get('membranes', 'intact')}"
        )

    @tool()
    def view_partogram(self, patient_id: str) -> str:
        """Read the partogram: dilation, contractions, membranes and oxytocin by time.

        Args:
            patient_id: The mother, for example P1.
        """
        rows = self.mother(patient_id).extra.get("partogram")
        if not rows:
            raise ToolError(f"{patient_id} has no partogram.")
        self.world.reveal(patient_id, "partogram", True)
        return "\n".join(rows)

    @tool(minutes=1)
    def measure_blood_loss(self, patient_id: str) -> str:
        """Weigh drapes and swabs: blood lost since birth.

        Args:
            patient_id: The mother, for example P1.
        """
        steps = self.mother(patient_id).extra.get("blood_loss")
        if not steps:
            raise ToolError(f"{patient_id} is not bleeding after a birth; there is nothing to weigh.")
        lost = in_force(self.world, steps, patient_id)["ml"]
        self.world.reveal(patient_id, "blood_loss_ml", lost, "mL")
        return f"{lost} mL so far"

    @tool(minutes=0.5)
    def assess_newborn(self, patient_id: str) -> str:
        """Look at the newborn: heart rate, breathing, tone, reaction, colour.

        Args:
            patient_id: The newborn, for example F1.
        """
        chart = self._fetus(patient_id, "newborn")
        s = in_force(self.world, chart.extra["newborn"], patient_id)
        self.world.reveal(patient_id, f"newborn.minute_{self._apgar_minute()}", s["heart_rate"], "/min")
        return (
            f"{self.world.minutes:g} min after birth: heart rate {s['heart_rate']}/min, {s['breathing']}, {s['tone']}, "
            f"{s['reflex']}, {s['colour']}"
        )

    def _apgar_minute(self) -> int:
        return 5 if self.world.minutes >= 4.5 else 1

    def _fetus(self, patient_id: str, what: str) -> Chart:
        chart = self.world.chart(patient_id)
        if not is_fetus(chart):
            known = ", ".join(name for name, other in self.world.charts.items() if is_fetus(other)) or "none here"
            raise ToolError(f"{patient_id} is not a fetus or newborn. Known: {known}.")
        if what not in chart.extra:
            raise ToolError(f"{patient_id} has no {what} today.")
        return chart
