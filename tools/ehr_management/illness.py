"""Patients whose long-standing problems are planted, so that comorbidity indices have one answer."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from healthgym.knowledge_base.reading import read_yaml
from healthgym.tasks.families import Draw
from healthgym.world import Chart

from ..scores.charlson import GRADES
from .admission import FOLDER, Admission, admit, conditions_for, pick, write_background, write_visit

STAYS = (
    "pneumonia",
    "sepsis",
    "pyelonephritis",
    "cellulitis",
    "acute_pancreatitis",
    "pulmonary_embolism",
    "cholecystitis",
    "hip_fracture",
)
HARMLESS = frozenset(
    {
        "hypertension", "hyperlipidaemia", "osteoarthritis", "reflux", "gout", "hypothyroidism", "depression", "migraine",
        "gallstones", "epilepsy",
    }
)  # fmt: skip
"""Illnesses of the drawn patient that count in neither index; patients with others are not taken."""
OLDEST = 89.0


@lru_cache(maxsize=1)
def problems() -> Sequence[Mapping[str, Any]]:
    """Return the problems with what they count as."""
    return tuple(read_yaml(FOLDER / "problems.yaml"))


def stay_with_problems(
    draw: Draw, hours: float, count: int, bland: int, *, apart: int = 0
) -> tuple[Admission, list[Mapping[str, Any]]]:
    """Return a stay and the planted problems that count.

    Args:
        draw: Randomness and split.
        hours: Length of the stay.
        count: Problems that count in an index.
        bland: Problems that count in neither.
        apart: How many of those that count stand in earlier encounters instead of the problem list.
    """
    rng = draw.rng
    condition = str(pick(rng, conditions_for(draw, STAYS)))
    stay = admit(draw, condition, hours=hours, fits=_fits)
    weighty = [item for item in problems() if item["charlson"]]
    plain = [item for item in problems() if not item["charlson"]]
    chosen: list[Mapping[str, Any]] = []
    for index in rng.permutation(len(weighty)):
        if len(chosen) < count and _goes_with(weighty[int(index)], chosen):
            chosen.append(weighty[int(index)])
    others = [plain[int(i)]["text"] for i in rng.permutation(len(plain))[:bland]]
    listed = [item["text"] for item in chosen[apart:]] + others
    stay.chart = replace(stay.chart, comorbidities=(), medications=())
    write_background(stay, problems=[listed[int(i)] for i in rng.permutation(len(listed))])
    for item in chosen[:apart]:
        write_visit(stay, float(rng.integers(200, 900)), "inpatient", f"stay elsewhere; diagnosis: {item['text']}")
    return stay, chosen


def _fits(chart: Chart) -> bool:
    return chart.age_years <= OLDEST and set(chart.comorbidities) <= HARMLESS


def _goes_with(item: Mapping[str, Any], chosen: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether a problem repeats none of the others and is no second grade of one."""
    taken = {name for other in chosen for name in (*other["charlson"], *other["lace"])}
    mine = {*item["charlson"], *item["lace"]}
    grades = [{*pair} for pair in GRADES]
    clash = any(pair & mine and pair & taken for pair in grades)
    organs = {"moderate_or_severe_liver_or_renal_disease", "mild_liver_or_renal_disease"}
    return not (mine & taken) and not clash and not (organs & mine and organs & taken)
