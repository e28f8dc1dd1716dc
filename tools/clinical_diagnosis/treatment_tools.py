"""Tools that check and act: safety checks, differential, prescriptions, referrals. Harm is judged afterwards, not refused."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.knowledge_base.pharmacology import cross_reactive, interaction_between, renal_dose
from healthgym.toolkit import Toolkit, tool

from ..evidence.monograph import known_drug
from .chart_tools import words
from .safety import trimester_of
from .tables import known_condition

Service = Literal[
    "cardiology", "cardiothoracic_surgery", "endocrinology", "gastroenterology", "general_surgery", "gynaecology",
    "haematology", "hepatology", "intensive_care", "nephrology", "neurosurgery", "ophthalmology", "orthopaedics",
    "rheumatology", "spinal_surgery", "stroke_team", "urology", "vascular_surgery", "toxicology",
]  # fmt: skip
Urgency = Literal["immediate", "within_24_hours", "urgent_outpatient", "routine"]


class TreatmentTools(Toolkit):
    """Checking a drug against facts the agent has gathered, and acting on the patient."""

    @tool()
    def check_cross_reactivity(self, allergy: str, drug: str) -> str:
        """Say whether a recorded allergy forbids a drug.

        Args:
            allergy: Substance or group, for example penicillin.
            drug: For example cefalexin.
        """
        reason = cross_reactive(allergy[:80], known_drug(drug).id)
        return f"Avoid: {reason}." if reason else "No cross-reactivity on record."

    @tool()
    def check_interactions(self, drug: str, taken: Annotated[list[str], Field(max_length=15)]) -> str:
        """List interactions of a drug with medicines taken.

        Args:
            drug: The new drug, for example clarithromycin.
            taken: Medicines taken, for example simvastatin, warfarin.
        """
        new = known_drug(drug).id
        lines = []
        for name in dict.fromkeys(known_drug(item).id for item in taken):
            pair = interaction_between(new, name)
            if pair is not None:
                lines.append(f"{words(name)}: {pair.severity}, {pair.effect} ({words(pair.action)})")
        return "\n".join(lines) or "No interaction on record."

    @tool()
    def check_renal_dose(self, drug: str, creatinine_clearance_ml_min: Annotated[float, Field(ge=1, le=250)]) -> str:
        """Say what a drug needs at a creatinine clearance.

        Args:
            drug: For example nitrofurantoin.
            creatinine_clearance_ml_min: Cockcroft-Gault clearance in mL/min.
        """
        band = renal_dose(known_drug(drug).id, creatinine_clearance_ml_min)
        if band is None:
            return "No adjustment on record."
        return f"{'Avoid' if band.avoid else 'Reduce'}: {band.note or f'at most {band.max_daily_mg:g} mg a day'}"

    @tool()
    def check_contraindications(
        self,
        drug: str,
        illnesses: Annotated[list[str], Field(max_length=15)] = [],  # noqa: B006 - pydantic copies defaults
        pregnancy_weeks: Annotated[float, Field(ge=0, le=43)] = 0,
        breastfeeding: bool = False,
    ) -> str:
        """Check a drug against illnesses, pregnancy and breastfeeding.

        Args:
            drug: For example ibuprofen.
            illnesses: Long-standing or present, for example heart_failure.
            pregnancy_weeks: Weeks of gestation, 0 when not pregnant.
            breastfeeding: Whether the patient breastfeeds.
        """
        found = known_drug(drug)
        lines = []
        for illness in illnesses:
            name = "_".join(illness.lower().split())[:80]
            against = found.contraindicated_in(name)
            if against is not None:
                lines.append(
                    f"{words(name)}: {'avoid' if against.absolute else 'only with good reason'}, {against.reason}"
                )
        if pregnancy_weeks:
            unsafe = found.avoid_in_trimester(trimester_of(pregnancy_weeks))
            known = "no advice on record" if found.pregnancy is None else f"no bar at {pregnancy_weeks:g} weeks"
            reason = found.pregnancy.reason if found.pregnancy else ""
            lines.append(f"pregnancy: {f'avoid, {reason}' if unsafe else known}")
        if breastfeeding and found.lactation is not None:
            lines.append(f"breastfeeding: {found.lactation.level}, {found.lactation.reason}")
        return "\n".join(lines) or "No contraindication on record."

    @tool(effect="write", minutes=1)
    def record_differential(
        self, patient_id: str, conditions: Annotated[list[str], Field(min_length=1, max_length=5)]
    ) -> str:
        """Write the differential diagnosis into the notes, most likely first; a later one replaces it.

        Args:
            patient_id: For example P1.
            conditions: Conditions, for example pneumonia, pulmonary_embolism.
        """
        self.world.chart(patient_id)
        names = list(dict.fromkeys(known_condition(name).id for name in conditions))
        self.world.state.set(f"{patient_id}.differential", names)
        return f"Differential of {patient_id}: {', '.join(names)}"

    @tool(effect="write", minutes=1)
    def prescribe(self, patient_id: str, drug: str) -> str:
        """Prescribe a drug at its usual dose.

        Args:
            patient_id: For example P1.
            drug: Generic name, for example amoxicillin.
        """
        name = known_drug(drug).id
        self.world.chart(patient_id)
        path = f"{patient_id}.prescribed"
        given = {*str(self.world.state.get(path) or "").split("+"), name} - {""}
        self.world.state.set(path, "+".join(sorted(given)))
        return f"{words(name)} prescribed for {patient_id}"

    @tool(effect="write", minutes=3)
    def refer(self, patient_id: str, service: Service, urgency: Urgency) -> str:
        """Refer a patient to a service; a later referral replaces it.

        Args:
            patient_id: For example P1.
            service: To whom.
            urgency: Immediate is within the hour, urgent_outpatient within three weeks.
        """
        self.world.chart(patient_id)
        self.world.state.set(f"{patient_id}.referred_to", service)
        self.world.state.set(f"{patient_id}.referral_urgency", urgency)
        return f"{patient_id} referred to {words(service)}, {words(urgency)}"
