"""The QT interval corrected for heart rate."""

HIGH_RISK_MS = 500
"""Source: AHA/ACC scientific statement on torsade de pointes in hospital, Circulation 2010;121:1047-1060."""


def fridericia_ms(qt_ms: float, heart_rate_per_min: float) -> float:
    """Return QT divided by the cube root of the RR interval in seconds, in ms.

    Source: Fridericia, Acta Med Scand 1920;53:469-486; preferred over Bazett at fast rates, as in ICH E14, 2005.
    """
    return qt_ms / (60 / heart_rate_per_min) ** (1 / 3)
