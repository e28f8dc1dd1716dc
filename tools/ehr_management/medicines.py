"""Tools about medicines: what is taken at home, what is ordered, the two side by side, and changing the orders."""

from typing import Annotated

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.knowledge_base.pharmacology import duplications, interaction_between, load_drugs
from healthgym.toolkit import Toolkit, tool

from .orders import active, allergy_reason, home_list, known_drug, need_active
from .reading import line
from .record import select

Dose = Annotated[float, Field(gt=0, le=20_000)]
Times = Annotated[float, Field(gt=0, le=12)]


class MedicineTools(Toolkit):
    """Reading and writing prescriptions. Harm is judged afterwards, not refused."""

    @tool(minutes=1)
    def home_medications(self, patient_id: str) -> str:
        """List the medicines taken before admission, as written down on arrival.

        Args:
            patient_id: Patient id.
        """
        found = select(self.world.chart(patient_id), resource="MedicationStatement")
        self.world.reveal(patient_id, "home_medications", len(found))
        for entry in found:
            self.world.reveal(patient_id, f"records.{entry['id']}")
        return "\n".join(line(entry) for entry in found) or "No medicine at home is on record."

    @tool(minutes=1)
    def active_orders(self, patient_id: str) -> str:
        """List the medicines ordered on the ward as they stand now.

        Args:
            patient_id: Patient id.
        """
        orders = active(self.world, patient_id)
        self.world.reveal(patient_id, "orders", ", ".join(orders) or "none")
        return "\n".join(str(order) for order in orders.values()) or "Nothing is ordered."

    @tool(minutes=1)
    def compare_medications(self, patient_id: str) -> str:
        """Put home list and active orders side by side, by drug; why they differ is in the notes.

        Args:
            patient_id: Patient id.
        """
        home, ward = home_list(self.world.chart(patient_id)), active(self.world, patient_id)
        self.world.reveal(patient_id, "home_medications", len(home))
        self.world.reveal(patient_id, "orders", ", ".join(ward) or "none")
        rows = [f"{'drug':<26}{'home':<20}ward"]
        for drug in sorted({*home, *ward}):
            cells = [f"{o.dose_mg:g} mg x{o.times_per_day:g}" if o else "-" for o in (home.get(drug), ward.get(drug))]
            rows.append(f"{drug:<26}{cells[0]:<20}{cells[1]}")
        return "\n".join(rows)

    @tool(minutes=1)
    def check_order(self, patient_id: str, drug: str) -> str:
        """Check a drug against this patient's allergies and active orders before ordering it.

        Args:
            patient_id: Patient id.
            drug: For example cefazolin.
        """
        chart, name = self.world.chart(patient_id), known_drug(drug)
        others = [other for other in active(self.world, patient_id) if other != name]
        found = []
        reason = allergy_reason(name, chart)
        if reason:
            found.append(f"ALLERGY: {reason}")
        for other in others:
            effect = interaction_between(name, other)
            if effect is not None and effect.severity in ("major", "contraindicated"):
                found.append(f"{effect.severity} interaction with {other}: {effect.effect}")
        same = [cls for cls, members in duplications([*others, name]) if name in members]
        found += [f"second drug of the class {cls.replace('_', ' ')}" for cls in same]
        self.world.reveal(patient_id, f"checked.{name}", len(found))
        return "; ".join(found) or f"{name}: no allergy, no grave interaction, no duplicate."

    @tool(effect="write", minutes=2)
    def order_medication(self, patient_id: str, drug: str, dose_mg: Dose, times_per_day: Times) -> str:
        """Order a medicine, or change the dose of one that is ordered.

        Args:
            patient_id: Patient id.
            drug: For example cefazolin.
            dose_mg: Single dose in mg.
            times_per_day: Doses a day; 0.5 is every other day.
        """
        name, before = known_drug(drug), active(self.world, patient_id)
        daily = round(dose_mg * times_per_day, 3)
        if name in before and before[name].daily_mg == daily and before[name].dose_mg == dose_mg:
            raise ToolError(f"{name} is ordered at this dose already; give another dose or leave it.")
        self.world.state.set(f"{patient_id}.order.{name}", {"dose_mg": dose_mg, "times_per_day": times_per_day})
        self.world.state.set(f"{patient_id}.daily_mg.{name}", daily)
        self._count_duplicates(patient_id)
        was = f" instead of {before[name].daily_mg:g}" if name in before else ""
        return f"{name} {dose_mg:g} mg x{times_per_day:g}/day ordered for {patient_id}: {daily:g} mg/day{was}."

    @tool(effect="write", minutes=1)
    def stop_order(self, patient_id: str, drug: str, reason: Annotated[str, Field(max_length=200)] = "") -> str:
        """Stop a medicine that is ordered on the ward.

        Args:
            patient_id: Patient id.
            drug: For example meropenem.
            reason: Why, in a few words.
        """
        name = known_drug(drug)
        need_active(self.world, patient_id, name)
        self.world.state.set(f"{patient_id}.order.{name}", "stopped")
        self.world.state.set(f"{patient_id}.daily_mg.{name}", 0)
        self._count_duplicates(patient_id)
        return f"{name} stopped for {patient_id}" + (f": {reason}." if reason else ".")

    def _count_duplicates(self, patient_id: str) -> None:
        """Keep on the chart how many classes are ordered twice, so that either of two duplicates may be stopped."""
        left = duplications(name for name in active(self.world, patient_id) if name in load_drugs())
        self.world.state.set(f"{patient_id}.duplications", len(left))
