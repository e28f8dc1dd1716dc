"""Tools about infection: cultures, the hospital's antibiogram, and which drug is the narrowest for an organism."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from healthgym.errors import ToolError
from healthgym.knowledge_base.pharmacology import interaction_between, load_drugs
from healthgym.knowledge_base.reading import read_yaml
from healthgym.toolkit import Toolkit, tool
from healthgym.world import Chart

from .admission import FOLDER
from .orders import allergy_reason, known_drug, uses_egfr
from .reading import line
from .record import select

Unit = Literal["ward", "intensive_care", "emergency"]
Organism = Literal[
    "escherichia_coli", "proteus_mirabilis", "klebsiella_pneumoniae", "pseudomonas_aeruginosa",
    "staphylococcus_aureus_mssa", "staphylococcus_aureus_mrsa", "streptococcus_pneumoniae", "haemophilus_influenzae",
    "enterococcus_faecalis", "streptococcus_pyogenes", "coagulase_negative_staphylococcus",
]  # fmt: skip
ESBL_LADDER = ("meropenem",)
"""What is left for a bloodstream infection by an ESBL producer. IDSA guidance, 2024."""


@lru_cache(maxsize=1)
def organisms() -> Mapping[str, Mapping[str, Any]]:
    """Return the organisms with their ladders."""
    return dict(read_yaml(FOLDER / "ladders.yaml"))


@lru_cache(maxsize=1)
def susceptible_percent() -> Mapping[str, Mapping[str, Mapping[str, int]]]:
    """Return the antibiogram: unit to organism to drug to % susceptible."""
    return dict(read_yaml(FOLDER / "antibiogram.yaml"))


def narrowest(chart: Chart, ladder: Sequence[str], works: Sequence[str], others: Sequence[str] = ()) -> str | None:
    """Return the first drug of a ladder that works, that no allergy forbids and that suits the other orders; or None."""
    for drug in ladder:
        grave = any(
            effect is not None and effect.severity in ("major", "contraindicated")
            for effect in (interaction_between(drug, other) for other in others)
        )
        if drug in works and not grave and allergy_reason(drug, chart) is None:
            return drug
    return None


class StewardshipTools(Toolkit):
    """Looking up what grows, what works here, and how doses follow the kidneys."""

    @tool(minutes=1)
    def culture_results(self, patient_id: str) -> str:
        """Read all culture reports in full, with susceptibilities where they are known.

        Args:
            patient_id: Patient id.
        """
        found = select(self.world.chart(patient_id), resource="DiagnosticReport", code="culture")
        self.world.reveal(patient_id, "cultures", len(found))
        for entry in found:
            self.world.reveal(patient_id, f"records.{entry['id']}")
        if not found:
            return "No culture was taken."
        return "\n".join(f"{line(entry)}\n  {entry['detail']['text']}" for entry in found)

    @tool(minutes=1)
    def antibiogram(self, organism: Organism, unit: Unit) -> str:
        """Show which share of an organism's isolates each drug covered in a unit of this hospital last year.

        Args:
            organism: Organism.
            unit: Where the patient lies, see patient_summary.
        """
        shares = susceptible_percent()[unit].get(organism)
        if shares is None:
            raise ToolError(f"The antibiogram has no line for {organism}: it counts as a contaminant.")
        self.world.reveal("kb", f"antibiogram.{unit}.{organism}")
        return f"{organism} in {unit}, % susceptible: " + ", ".join(f"{drug} {share}" for drug, share in shares.items())

    @tool(minutes=1)
    def narrowing_ladder(self, organism: Organism) -> str:
        """Show the formulary's drugs for a proven organism, narrowest first.

        Args:
            organism: Organism.
        """
        entry = organisms().get(organism)
        self.world.reveal("kb", f"ladder.{organism}")
        if entry is None:
            return f"{organism}: in one of several bottles a contaminant; no antibiotic for it."
        esbl = (
            "; ESBL producers in blood: meropenem, whatever the report says of others"
            if "meropenem" in entry["ladder"]
            else ""
        )
        return f"{entry['name']}, narrowest first: {', '.join(entry['ladder'])}{esbl}"

    @tool(minutes=1)
    def renal_limits(self, drug: str) -> str:
        """Show a drug's usual dose and how much may be given a day at which kidney function.

        Args:
            drug: For example gabapentin.
        """
        name = known_drug(drug)
        monograph = load_drugs()[name]
        self.world.reveal("kb", f"renal.{name}")
        measure = "eGFR" if uses_egfr(name) else "CrCl"
        usual = monograph.usual_dose
        rows = [
            f"{name}: usual {usual.dose_mg:g} mg x{usual.times_per_day:g}/day" if usual else f"{name}: dosed by levels"
        ]
        for band in monograph.renal:
            most = "avoid" if band.avoid else f"at most {band.max_daily_mg:g} mg/day" if band.max_daily_mg else "adjust"
            rows.append(
                f"{measure} {'at or ' if band.includes_limit else ''}below {band.below:g}: {most} ({band.note})"
            )
        return "\n".join(rows if monograph.renal else [*rows, "no adjustment for the kidneys on file"])
