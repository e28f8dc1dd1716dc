"""The tools of radiology_report: look, measure, look up rules, alert, and the structured report that ends an episode."""

from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool

from ..evidence.toolkit import EvidenceToolkit
from ..scores.aspects import aspects
from ..scores.bi_rads import bi_rads
from ..scores.bosniak import bosniak_2019
from ..scores.fleischner import fleischner_2017
from ..scores.li_rads import li_rads
from ..scores.lung_rads import lung_rads
from ..scores.recist import recist_1_1
from ..scores.ti_rads import ti_rads
from .report_tools import Entry, ReportTools, check_entries


class RadiologyReportToolkit(ReportTools):
    """Every tool of the domain."""

    domain = "radiology_report"
    shared = (
        lung_rads, fleischner_2017, bi_rads, li_rads, ti_rads, bosniak_2019, aspects, recist_1_1, EvidenceToolkit,
    )  # fmt: skip

    @tool(effect="submit")
    def submit_report(
        self,
        patient_id: str,
        findings: Annotated[list[Entry], Field(max_length=20)],
        category: str = "",
        follow_up: str = "",
    ) -> str:
        """Sign the structured report and end, after any critical result was called.

        Args:
            patient_id: For example P1.
            findings: One entry for each finding, and for each negative that the template wants stated.
            category: Of the reporting system, as the template names it.
            follow_up: What is advised, as the template names it.
        """
        check_entries(self._template(patient_id), findings, category, follow_up)
        return f"Report of {patient_id} signed."
