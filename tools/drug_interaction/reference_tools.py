"""Tools that look a drug or a pair up; a few of them against one patient."""

from itertools import combinations
from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.knowledge_base.pharmacology import Interaction, duplications, interaction_between, load_drugs, renal_dose
from healthgym.toolkit import Toolkit, tool

from ..evidence.monograph import known_drug as monograph_of
from ..evidence.monograph import words
from .knowledge import (
    allergy_reason,
    contraindications,
    hours_apart,
    known_drug,
    pair_key,
    parameters_to_follow,
    share_to_keep,
    uses_egfr,
)
from .regimen import current

MAX_PAIRS = 8
"""Most pairs that one screening names."""


class ReferenceTools(Toolkit):
    """Pharmacology, one question a tool."""

    @tool(minutes=1)
    def check_pair(self, drug_a: str, drug_b: str) -> str:
        """Grade two drugs taken together: severity, mechanism, effect, advice.

        Args:
            drug_a: For example warfarin.
            drug_b: For example ibuprofen.
        """
        a, b = known_drug(drug_a), known_drug(drug_b)
        if a == b:
            raise ToolError(f"Both names mean {a}; give two different drugs.")
        found = interaction_between(a, b)
        self.world.reveal("kb", f"pair.{pair_key(a, b)}", found.severity if found else "none")
        if found is None:
            return f"{a} + {b}: no interaction on record."
        return f"{a} + {b}: {found.severity}; mechanism {found.mechanism}; {found.effect}; {_advice(found)}. Source: {found.source}"

    @tool(minutes=2)
    def screen_regimen(self, patient_id: str) -> str:
        """Name the interacting pairs among the medicines known, in alphabetical order, without grading them.

        Args:
            patient_id: Patient id.
        """
        taken = sorted(current(self.world, patient_id))
        self.world.reveal(patient_id, "screened", len(taken))
        pairs = [f"{a} + {b}" for a, b in combinations(taken, 2) if interaction_between(a, b)]
        more = f" (first {MAX_PAIRS} of {len(pairs)})" if len(pairs) > MAX_PAIRS else ""
        return ("; ".join(pairs[:MAX_PAIRS]) + more) if pairs else "No interacting pair among the medicines known."

    @tool(minutes=1)
    def cyp_profile(self, drug: str) -> str:
        """Show which CYP enzymes a drug is a substrate, inhibitor or inducer of.

        Args:
            drug: For example clarithromycin.
        """
        found = monograph_of(drug)
        roles = [f"{enzyme} {role} ({how})" for enzyme, part in found.cyp.items() for role, how in part.items()]
        self.world.reveal("kb", f"cyp.{found.id}")
        return f"{found.id}: {'; '.join(roles) or 'no relevant CYP role on record'}."

    @tool(minutes=1)
    def transporter_profile(self, drug: str) -> str:
        """Show a drug's part in P-gp, OATP and other transporters.

        Args:
            drug: For example digoxin.
        """
        found = monograph_of(drug)
        roles = [f"{name} {' and '.join(part)}" for name, part in found.transporters.items()]
        self.world.reveal("kb", f"transporter.{found.id}")
        return f"{found.id}: {'; '.join(roles) or 'no relevant transporter on record'}."

    @tool(minutes=1)
    def qt_risk(self, drug: str) -> str:
        """Show a drug's QT risk: known, possible, conditional or none.

        Args:
            drug: For example citalopram.
        """
        found = monograph_of(drug)
        self.world.reveal("kb", f"qt.{found.id}", found.qt_risk)
        return f"{found.id}: QT risk {found.qt_risk}."

    @tool(minutes=1)
    def check_duplication(self, drug_a: str, drug_b: str) -> str:
        """Say whether two drugs duplicate each other, being of a class of which one is enough.

        Args:
            drug_a: For example ibuprofen.
            drug_b: For example naproxen.
        """
        a, b = known_drug(drug_a), known_drug(drug_b)
        self.world.reveal("kb", f"duplicate.{pair_key(a, b)}")
        classes = [name for name, _ in duplications([a, b])] if a != b else []
        return f"{a} and {b}: {'both ' + words(classes) if classes else 'no duplication'}."

    @tool(minutes=1)
    def check_contraindications(self, patient_id: str, drug: str) -> str:
        """Compare one drug's contraindications with a patient's conditions, pregnancy and breastfeeding.

        Args:
            patient_id: Patient id.
            drug: For example sumatriptan.
        """
        chart, name = self.world.chart(patient_id), known_drug(drug)
        self.world.reveal(patient_id, f"contraindication.{name}")
        relative = load_drugs()[name].relative_contraindications
        cautions = [f"caution in {item.replace('_', ' ')}" for item in relative if item in chart.comorbidities]
        return f"{name}: {'; '.join((*contraindications(name, chart), *cautions)) or 'no contraindication on record'}."

    @tool(minutes=1)
    def renal_dose_advice(self, drug: str, clearance_ml_min: Annotated[float, Field(ge=0, le=250)]) -> str:
        """Show a drug's dose limit at one kidney function; says whether CrCl or eGFR counts.

        Args:
            drug: For example gabapentin.
            clearance_ml_min: CrCl in mL/min, or eGFR where the limits are eGFR.
        """
        found = monograph_of(drug)
        band = renal_dose(found.id, clearance_ml_min)
        self.world.reveal("kb", f"renal.{found.id}.{'full' if band is None else f'{band.below:g}'}")
        measure = "eGFR" if uses_egfr(found) else "CrCl"
        if band is not None:
            return f"{found.id} at {measure} {clearance_ml_min:g}: {_limit(band.avoid, band.max_daily_mg)}, {band.note} ({measure} below {band.below:g})."
        most = f"at most {found.max_daily_mg:g} mg/day" if found.max_daily_mg else "usual doses"
        return f"{found.id} at {measure} {clearance_ml_min:g}: no reduction, {most}."

    @tool(minutes=1)
    def hepatic_dose_advice(self, drug: str, child_pugh: Literal["A", "B", "C"]) -> str:
        """Show a drug's advice in liver disease.

        Args:
            drug: For example apixaban.
            child_pugh: Child-Pugh class.
        """
        found = monograph_of(drug)
        self.world.reveal("kb", f"hepatic.{found.id}.{child_pugh}")
        return f"{found.id}, Child-Pugh {child_pugh}: {found.hepatic.get(child_pugh, 'no advice on record')}."

    @tool(minutes=1)
    def pregnancy_safety(self, drug: str) -> str:
        """Show whether a drug may be used in pregnancy.

        Args:
            drug: For example lisinopril.
        """
        found = monograph_of(drug)
        self.world.reveal("kb", f"pregnancy.{found.id}")
        if found.pregnancy is None:
            return f"{found.id}, pregnancy: no advice on record."
        months = ", ".join(map(str, found.pregnancy.avoid_trimesters))
        when = f" (avoid in trimester {months})" if months else ""
        return f"{found.id}, pregnancy: {found.pregnancy.level}; {found.pregnancy.reason}{when}."

    @tool(minutes=1)
    def lactation_safety(self, drug: str) -> str:
        """Show whether a drug may be used while breastfeeding.

        Args:
            drug: For example codeine.
        """
        found = monograph_of(drug)
        self.world.reveal("kb", f"lactation.{found.id}")
        if found.lactation is None:
            return f"{found.id}, breastfeeding: no advice on record."
        return f"{found.id}, breastfeeding: {found.lactation.level}; {found.lactation.reason}."

    @tool(minutes=1)
    def beers_check(self, drug: str) -> str:
        """Show what the Beers Criteria say of a drug from 65 years on.

        Args:
            drug: For example diazepam.
        """
        found = monograph_of(drug)
        self.world.reveal("kb", f"beers.{found.id}")
        return f"{found.id}, 65 years and over: {found.beers or 'not listed'}."

    @tool(minutes=1)
    def allergy_check(self, patient_id: str, drug: str) -> str:
        """Compare one drug with a patient's recorded allergies, cross-reactivity included.

        Args:
            patient_id: Patient id.
            drug: For example amoxicillin.
        """
        chart, name = self.world.chart(patient_id), known_drug(drug)
        self.world.reveal(patient_id, f"allergy_check.{name}")
        return f"{name}: {allergy_reason(name, chart) or 'no conflict with the recorded allergies'}."

    @tool(minutes=1)
    def find_alternatives(self, drug: str) -> str:
        """List what may replace a drug, and when; whether it suits the patient must still be checked.

        Args:
            drug: For example omeprazole.
        """
        found = monograph_of(drug)
        self.world.reveal("kb", f"alternatives.{found.id}")
        lines = [
            f"{new} ({when}; for {words(load_drugs()[new].indications)})" for new, when in found.alternatives.items()
        ]
        return f"Instead of {found.id}: {'; '.join(lines) or 'nothing on record'}."


def _limit(avoid: bool, max_daily_mg: float | None) -> str:
    if avoid:
        return "avoid"
    return f"at most {max_daily_mg:g} mg/day" if max_daily_mg is not None else "caution"


def _advice(found: Interaction) -> str:
    if found.action == "monitor":
        return "monitor " + (" and ".join(parameters_to_follow(found)) or "clinically")
    if found.action == "separate_hours":
        return f"separate_doses by at least {hours_apart(found):g} h"
    if found.action == "reduce_dose":
        limit = (
            f"{found.limit_daily_mg:g} mg/day" if found.limit_daily_mg else f"{share_to_keep(found):.0%} of the dose"
        )
        return f"reduce_dose of {found.replace} to at most {limit}"
    if found.action == "change_drug" and found.alternative:
        return f"substitute {found.replace}, for example by {found.alternative}"
    return f"stop {found.replace}" if found.replace else "never together"
