"""Tools that measure ECG strips."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

from ..scores.bazett import qtc_bazett_ms, qtc_class
from .look_tools import LookTools
from .measures.ecg import intervals, rhythm


class EcgTools(LookTools):
    """Measurements on the pixels of a one-lead strip, 25 mm/s and 10 mm/mV."""

    @tool(minutes=2)
    def ecg_rhythm(self, image_id: str) -> str:
        """Measure rate, mean RR, how much RR varies, and the share of beats led by a P wave.

        Args:
            image_id: For example strip-0.
        """
        image = self.image(image_id, "ecg_strip")
        found = image.measure(rhythm)
        self.measured(image, "rhythm", round(found["rate_per_min"]), "/min")
        return (
            f"rate {found['rate_per_min']:.0f}/min, mean RR {found['rr_ms']:.0f} ms, RR varies by {100 * found['rr_spread']:.0f} % "
            f"(SD over mean), P wave before {100 * found['p_share']:.0f} % of beats"
        )

    @tool(minutes=2)
    def ecg_intervals(self, image_id: str) -> str:
        """Measure PR, QRS and QT; the ends of P and T by tangent.

        Args:
            image_id: For example strip-0.
        """
        image = self.image(image_id, "ecg_strip")
        found = image.measure(intervals)
        self.measured(image, "intervals", round(found["qt_ms"]), "ms")
        pr = "no P wave" if found["pr_ms"] is None else f"PR {found['pr_ms']:.0f} ms"
        return f"{pr}, QRS {found['qrs_ms']:.0f} ms, QT {found['qt_ms']:.0f} ms"

    @tool()
    def qtc_bazett(
        self,
        qt_ms: Annotated[float, Field(ge=150, le=900)],
        rr_ms: Annotated[float, Field(ge=250, le=3000)],
        sex: Literal["female", "male"],
    ) -> str:
        """Correct QT for the heart rate by Bazett and compare with the adult limits of that sex.

        Args:
            qt_ms: QT interval in ms.
            rr_ms: Mean RR interval in ms.
            sex: Sex of the patient.
        """
        value = qtc_bazett_ms(qt_ms, rr_ms)
        return f"QTc {value:.0f} ms ({sex}): {qtc_class(value, sex).replace('_', ' ')}"
