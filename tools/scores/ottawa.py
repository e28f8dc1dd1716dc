"""Ottawa ankle, foot and knee rules: which injured limbs need a radiograph."""

from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool


def needs_ankle_film(malleolar_pain: bool, lateral_malleolus: bool, medial_malleolus: bool, four_steps: bool) -> bool:
    """Say whether ankle films are needed. Source: Stiell et al., JAMA 1994;271:827-832, figure 1.

    `lateral_malleolus` and `medial_malleolus` mean bone tenderness at the posterior edge or tip; `four_steps` that the
    patient could take four steps both at once and in the department.
    """
    return malleolar_pain and (lateral_malleolus or medial_malleolus or not four_steps)


def needs_foot_film(midfoot_pain: bool, fifth_metatarsal_base: bool, navicular: bool, four_steps: bool) -> bool:
    """Say whether foot films are needed. Source: Stiell et al., JAMA 1994;271:827-832, figure 1."""
    return midfoot_pain and (fifth_metatarsal_base or navicular or not four_steps)


def needs_knee_film(
    age_years: float, patella_only: bool, fibular_head: bool, flexes_90: bool, four_steps: bool
) -> bool:
    """Say whether knee films are needed. Source: Stiell et al., JAMA 1996;275:611-615."""
    return age_years >= 55 or patella_only or fibular_head or not flexes_90 or not four_steps


@tool()
def ottawa_ankle(
    malleolar_pain: bool,
    midfoot_pain: bool,
    lateral_malleolus_tender: bool,
    medial_malleolus_tender: bool,
    fifth_metatarsal_base_tender: bool,
    navicular_tender: bool,
    can_take_four_steps: bool,
) -> str:
    """Apply the Ottawa ankle and foot rules: which films are needed.

    Args:
        malleolar_pain: Pain around the malleoli.
        midfoot_pain: Pain in the midfoot.
        lateral_malleolus_tender: Bone tenderness, posterior edge or tip.
        medial_malleolus_tender: Bone tenderness, posterior edge or tip.
        fifth_metatarsal_base_tender: Bone tenderness there.
        navicular_tender: Bone tenderness there.
        can_take_four_steps: Both at once and here.
    """
    ankle = needs_ankle_film(malleolar_pain, lateral_malleolus_tender, medial_malleolus_tender, can_take_four_steps)
    foot = needs_foot_film(midfoot_pain, fifth_metatarsal_base_tender, navicular_tender, can_take_four_steps)
    return f"Ottawa: ankle films {'yes' if ankle else 'no'}, foot films {'yes' if foot else 'no'}"


@tool()
def ottawa_knee(
    age_years: Annotated[float, Field(ge=0, le=110)],
    isolated_patella_tender: bool,
    fibular_head_tender: bool,
    flexes_to_90: bool,
    can_take_four_steps: bool,
) -> str:
    """Apply the Ottawa knee rule: are films needed.

    Args:
        age_years: Age in years.
        isolated_patella_tender: Patella tender and no other bone.
        fibular_head_tender: Tender at the head of the fibula.
        flexes_to_90: Can bend the knee to 90 degrees.
        can_take_four_steps: Both at once and here.
    """
    needed = needs_knee_film(age_years, isolated_patella_tender, fibular_head_tender, flexes_to_90, can_take_four_steps)
    return f"Ottawa: knee films {'yes' if needed else 'no'}"
