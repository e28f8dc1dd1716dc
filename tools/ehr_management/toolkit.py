"""The tools of ehr_management: the record, medicines, infections, codes, acting, and the typed submission."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.toolkit import tool

from ..evidence.toolkit import EvidenceToolkit
from ..scores.apache2 import apache2
from ..scores.charlson import charlson
from ..scores.kdigo_aki import kdigo_aki
from ..scores.lace import lace
from ..scores.quick_sofa import qsofa
from ..scores.renal import cockcroft_gault, egfr_ckd_epi
from ..scores.saps2 import saps2
from ..scores.sofa import sofa
from .acting import ActingTools
from .coding_tools import CodingTools, known_code
from .medicines import MedicineTools
from .orders import known_drug
from .reading import ReadingTools
from .record import find
from .stewardship import Organism, StewardshipTools
from .timeline import Moment

Trend = Literal["rising", "falling", "stable"]
Risk = Literal["low", "moderate", "high"]
Sign = Literal[
    "none", "temperature_c", "heart_rate_per_min", "respiratory_rate_per_min", "systolic_bp_mmhg", "spo2_percent", "gcs",
]  # fmt: skip
Drugs = Annotated[list[str], Field(max_length=12)]
Codes = Annotated[list[str], Field(max_length=15)]


class EhrToolkit(ReadingTools, MedicineTools, StewardshipTools, CodingTools, ActingTools):
    """Every tool of the domain."""

    domain = "ehr_management"
    shared = (EvidenceToolkit, sofa, qsofa, saps2, apache2, charlson, lace, kdigo_aki, cockcroft_gault, egfr_ckd_epi)

    @tool(effect="submit")
    def submit_record(
        self,
        patient_id: str,
        value: Annotated[float, Field(ge=-10_000, le=100_000)] | None = None,
        at: Moment | None = None,
        trend: Trend | None = None,
        score: Annotated[int, Field(ge=0, le=200)] | None = None,
        risk: Risk | None = None,
        daily_dose_mg: Annotated[float, Field(ge=0, le=50_000)] | None = None,
        omitted: Drugs = [],  # noqa: B006 - pydantic copies defaults
        duplicated: Drugs = [],  # noqa: B006 - pydantic copies defaults
        wrong_dose: Drugs = [],  # noqa: B006 - pydantic copies defaults
        organism: Organism | None = None,
        antibiotic: str | None = None,
        ready: bool | None = None,
        sign: Sign | None = None,
        principal_code: str | None = None,
        codes: Codes = [],  # noqa: B006 - pydantic copies defaults
        record_id: str | None = None,
        analyte: str | None = None,
    ) -> str:
        """Submit the answer and end; give the fields that the task names.

        Args:
            patient_id: Patient id.
            value: A number, in the unit of the record.
            at: Moment of an entry, as 2025-03-09 06:00.
            trend: Course of a result over a window.
            score: Total of a severity score, or a stage.
            risk: Band of a score.
            daily_dose_mg: Highest daily dose allowed; 0 when the drug is to be avoided.
            omitted: Home medicines left out by mistake, spelt as on the list.
            duplicated: The two medicines of one class.
            wrong_dose: Medicines ordered at another dose than at home without a reason.
            organism: What grew.
            antibiotic: Drug id, for example cefazolin; none when no antibiotic is right.
            ready: Fit to leave hospital.
            sign: The vital sign that forbids leaving, or none.
            principal_code: ICD-10-CM code of the principal diagnosis.
            codes: All further ICD-10-CM codes.
            record_id: Id of an entry, for example progress_note-02.
            analyte: Laboratory test, as get_labs spells it.
        """
        chart = self.world.chart(patient_id)
        for name in (*omitted, *duplicated, *wrong_dose, *([antibiotic] if antibiotic not in (None, "none") else [])):
            known_drug(str(name))
        for code in (*codes, *([principal_code] if principal_code else [])):
            known_code(code)
        if record_id is not None and find(chart, record_id) is None:
            raise ToolError(f"No entry {record_id[:40]!r} in this record; give the id as the lists show it.")
        return f"Submitted for {patient_id}."
