"""Heart-rate corrected QT interval by Bazett."""

from healthgym.errors import ToolError

PROLONGED_FROM_MS = {"male": 450.0, "female": 460.0}
HIGH_RISK_FROM_MS = 500.0


def qtc_bazett_ms(qt_ms: float, rr_ms: float) -> float:
    """Return QT divided by the square root of RR in seconds, in ms.

    Raises:
        ToolError: An interval is outside what a heart can do.
    """
    # Source: Bazett, Heart 1920;7:353-370.
    if not 150 <= qt_ms <= 900:
        raise ToolError(f"qt_ms must lie in 150 to 900 ms, got {qt_ms:g}. Measure it again.")
    if not 250 <= rr_ms <= 3000:
        raise ToolError(f"rr_ms must lie in 250 to 3000 ms, got {rr_ms:g}. Measure it again.")
    return qt_ms / (rr_ms / 1000) ** 0.5


def qtc_class(qtc_ms: float, sex: str) -> str:
    """Return normal_qtc, prolonged_qtc or high_risk_qtc for adults."""
    # Source: AHA/ACCF/HRS 2009, Circulation 2009;119:e241-e250: prolonged from 450 ms in men, 460 ms in women. AHA/ACCF
    # scientific statement, Circulation 2010;121:1047-1060: above 500 ms torsades becomes likely.
    if qtc_ms >= HIGH_RISK_FROM_MS:
        return "high_risk_qtc"
    return "prolonged_qtc" if qtc_ms >= PROLONGED_FROM_MS[sex] else "normal_qtc"
