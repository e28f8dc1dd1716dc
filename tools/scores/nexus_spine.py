"""NEXUS criteria: whose neck needs imaging after blunt injury."""

from healthgym.toolkit import tool


def nexus_needs_imaging(
    midline_tenderness: bool, focal_deficit: bool, intoxicated: bool, altered_alertness: bool, distracting_injury: bool
) -> bool:
    """Say whether any of the five criteria is present. Source: Hoffman et al., N Engl J Med 2000;343:94-99."""
    return midline_tenderness or focal_deficit or intoxicated or altered_alertness or distracting_injury


@tool()
def nexus(
    midline_tenderness: bool, focal_deficit: bool, intoxicated: bool, altered_alertness: bool, distracting_injury: bool
) -> str:
    """Apply the NEXUS criteria to a neck after blunt injury: is imaging needed.

    Args:
        midline_tenderness: Tender over the cervical spine in the midline.
        focal_deficit: Focal neurological deficit.
        intoxicated: Evidence of intoxication.
        altered_alertness: Not fully alert.
        distracting_injury: Another painful injury.
    """
    needed = nexus_needs_imaging(midline_tenderness, focal_deficit, intoxicated, altered_alertness, distracting_injury)
    return f"NEXUS: cervical spine imaging {'needed' if needed else 'not needed'}"
