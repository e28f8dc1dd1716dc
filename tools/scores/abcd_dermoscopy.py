"""ABCD rule of dermatoscopy: total score of a pigmented skin lesion."""

from healthgym.errors import ToolError

LIMITS = {"asymmetric_axes": (0, 2), "abrupt_eighths": (0, 8), "colours": (1, 6), "structures": (1, 5)}
SUSPICIOUS_FROM, MALIGNANT_OVER = 4.75, 5.45


def total_dermatoscopy_score(asymmetric_axes: int, abrupt_eighths: int, colours: int, structures: int) -> float:
    """Return 1.3 A + 0.1 B + 0.5 C + 0.5 D, 1.0 to 8.9.

    Raises:
        ToolError: A number lies outside the rule's range.
    """
    # Source: Nachbar et al., J Am Acad Dermatol 1994;30:551-559; Stolz et al., Eur J Dermatol 1994;4:521-527.
    given = {
        "asymmetric_axes": asymmetric_axes,
        "abrupt_eighths": abrupt_eighths,
        "colours": colours,
        "structures": structures,
    }
    for name, value in given.items():
        low, high = LIMITS[name]
        if not low <= value <= high:
            raise ToolError(f"{name} must lie in {low} to {high}, got {value}. Count it again.")
    return round(1.3 * asymmetric_axes + 0.1 * abrupt_eighths + 0.5 * colours + 0.5 * structures, 2)


def abcd_class(score: float) -> str:
    """Return benign_lesion (under 4.75), suspicious_lesion (to 5.45) or malignant_lesion (above)."""
    if score < SUSPICIOUS_FROM:
        return "benign_lesion"
    return "suspicious_lesion" if score <= MALIGNANT_OVER else "malignant_lesion"
