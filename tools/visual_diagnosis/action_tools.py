"""Tools that act: pass on a critical finding."""

from typing import Literal

from healthgym.toolkit import Toolkit, tool

Alert = Literal["large_pneumothorax", "high_risk_qtc", "malaria_parasites", "proliferative_retinopathy"]


class ActionTools(Toolkit):
    """What is done with a reading."""

    @tool(effect="write", minutes=2)
    def alert_clinician(self, patient_id: str, finding: Alert) -> str:
        """Ring the requesting clinician about a finding that cannot wait.

        Args:
            patient_id: For example P1.
            finding: What was found.
        """
        self.world.chart(patient_id)
        self.world.state.append(f"{patient_id}.alerts", finding)
        return f"Clinician of {patient_id} told: {finding.replace('_', ' ')}. Read back."
