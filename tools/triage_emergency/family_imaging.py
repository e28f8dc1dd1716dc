"""Injuries to several regions: the decision rules say which studies are needed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from healthgym.tasks import AnswerField, Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Finding

from ..scores.ct_head_rule import canadian_ct_head_risk
from ..scores.nexus_spine import nexus_needs_imaging
from ..scores.ottawa import needs_ankle_film, needs_foot_film, needs_knee_film
from ..scores.pecarn import pecarn_two_and_over
from .cases import introduction, make_case, pick, pick_difficulty, sample, wording
from .oracle import must_reveal
from .reference import table

Facts = Mapping[str, bool]
Studies = Callable[[float, int, Facts], list[str]]


@dataclass(frozen=True)
class Region:
    """A hurt region: the facts its rule asks for, those that alone make it positive, and the rule."""

    name: str
    facts: tuple[str, ...]
    criteria: tuple[str, ...]
    studies: Studies


def _head(age_years: float, gcs: int, facts: Facts) -> list[str]:
    """Canadian CT Head Rule; whoever takes an anticoagulant is outside it and gets CT (NICE NG232, 2023)."""
    risk = canadian_ct_head_risk(
        age_years,
        gcs,
        facts["open_skull_fracture"],
        facts["basal_fracture_sign"],
        2 if facts["vomited_twice"] else 0,
        45 if facts["forgot_half_hour_before"] else 0,
        facts["dangerous_mechanism"],
    )
    return ["ct_head"] if risk != "none" or facts["takes_blood_thinner"] else []


def _child_head(age_years: float, gcs: int, facts: Facts) -> list[str]:
    risk = pecarn_two_and_over(
        facts["altered_mental_status"] or gcs < 15,
        facts["basal_fracture_sign"],
        facts["brief_blackout"],
        facts["child_vomited"],
        facts["severe_fall"],
        facts["severe_headache"],
    )
    return {"high": ["ct_head"], "intermediate": ["observe_head"], "very low": []}[risk]


def _neck(age_years: float, gcs: int, facts: Facts) -> list[str]:
    needed = nexus_needs_imaging(
        facts["midline_neck_tender"],
        facts["focal_deficit"],
        facts["intoxicated"],
        gcs < 15,
        facts["distracting_injury"],
    )
    return ["ct_cervical_spine"] if needed else []


def _ankle(age_years: float, gcs: int, facts: Facts) -> list[str]:
    steps = facts["can_take_four_steps"]
    ankle = needs_ankle_film(
        facts["malleolar_pain"], facts["lateral_malleolus_tender"], facts["medial_malleolus_tender"], steps
    )
    foot = needs_foot_film(facts["midfoot_pain"], facts["fifth_metatarsal_tender"], facts["navicular_tender"], steps)
    return ["xray_ankle"] * ankle + ["xray_foot"] * foot


def _knee(age_years: float, gcs: int, facts: Facts) -> list[str]:
    needed = needs_knee_film(
        age_years,
        facts["patella_only_tender"],
        facts["fibular_head_tender"],
        facts["knee_flexes_90"],
        facts["can_take_four_steps"],
    )
    return ["xray_knee"] if needed else []


HEAD = Region(
    "head",
    ("vomited_twice", "forgot_half_hour_before", "dangerous_mechanism", "takes_blood_thinner", "open_skull_fracture", "basal_fracture_sign", "brief_blackout"),
    ("vomited_twice", "forgot_half_hour_before", "dangerous_mechanism", "takes_blood_thinner", "open_skull_fracture", "basal_fracture_sign"),
    _head,
)  # fmt: skip
CHILD_HEAD = Region(
    "head",
    ("child_vomited", "severe_headache", "severe_fall", "brief_blackout", "altered_mental_status", "basal_fracture_sign"),
    ("child_vomited", "severe_headache", "severe_fall", "brief_blackout", "altered_mental_status", "basal_fracture_sign"),
    _child_head,
)  # fmt: skip
NECK = Region(
    "neck",
    ("midline_neck_tender", "focal_deficit", "intoxicated", "distracting_injury"),
    ("midline_neck_tender", "focal_deficit", "intoxicated", "distracting_injury"),
    _neck,
)
ANKLE = Region(
    "ankle",
    ("malleolar_pain", "midfoot_pain", "lateral_malleolus_tender", "medial_malleolus_tender", "fifth_metatarsal_tender", "navicular_tender", "can_take_four_steps"),
    ("lateral_malleolus_tender", "medial_malleolus_tender", "fifth_metatarsal_tender", "navicular_tender"),
    _ankle,
)  # fmt: skip
KNEE = Region(
    "knee",
    ("patella_only_tender", "fibular_head_tender", "knee_flexes_90", "can_take_four_steps"),
    ("patella_only_tender", "fibular_head_tender", "knee_flexes_90"),
    _knee,
)
NORMALLY_TRUE = frozenset({"can_take_four_steps", "knee_flexes_90", "brief_blackout"})
"""Facts that are no criterion when true: walking and bending; the blackout by which the adult head rule applies."""


def _regions(draw: Draw, difficulty: str) -> list[Region]:
    if draw.split == "test_ood":
        return [CHILD_HEAD, ANKLE, NECK] if difficulty == "hard" else [CHILD_HEAD, ANKLE]
    if difficulty == "easy":
        return [pick(draw, (HEAD, NECK)), ANKLE, KNEE]
    return [HEAD, NECK, ANKLE] if difficulty == "medium" else [HEAD, NECK, ANKLE, KNEE]


def _draw_facts(draw: Draw, regions: list[Region]) -> dict[str, bool]:
    """Draw the facts: each region is made positive by one criterion, in two of three draws."""
    adult = CHILD_HEAD not in regions
    facts = {name: name in NORMALLY_TRUE and (adult or name != "brief_blackout") for r in regions for name in r.facts}
    for region in regions:
        if draw.rng.random() < 0.67:
            criterion = pick(draw, region.criteria)
            facts[criterion] = not facts[criterion]
    if ANKLE in regions:
        sides = pick(draw, (("malleolar_pain",), ("midfoot_pain",), ("malleolar_pain", "midfoot_pain")))
        facts |= dict.fromkeys(sides, True)
        facts["can_take_four_steps"] = bool(draw.rng.random() < 0.75)
    return facts


def _finding(name: str, is_true: bool) -> Finding:
    row = table("injuries")[name]
    return Finding(
        id=name,
        reveal=row["reveal"],
        present=is_true,
        text=row["text"] if is_true else row["absent"],
        lay=row.get("lay" if is_true else "no_lay", ""),
        topics=tuple(row.get("topics", ())),
        system=row.get("system", ""),
    )


@task_family(counts={"train": 60, "val": 10, "test": 24, "test_ood": 12})
def imaging_rules(draw: Draw) -> Case:
    """Two to four hurt regions; each needs its rule's facts, and the answer is the set of studies."""
    difficulty = pick_difficulty(draw)
    regions = _regions(draw, difficulty)
    age = float(draw.rng.integers(3, 15)) if CHILD_HEAD in regions else float(draw.rng.integers(18, 75))
    base = sample(draw, "minor_head_injury", age_years=age)
    facts = _draw_facts(draw, regions)
    relative = replace(base.persona, style="plain", informant="relative" if age < 12 else "patient", reticent_topics=())
    chart = replace(
        base, chief_complaint="I fell.", persona=relative,
        findings=tuple(_finding(name, value) for name, value in facts.items()), comorbidities=(), medications=(),
    )  # fmt: skip
    gcs = chart.vital_signs_at(0).gcs or 15
    studies = sorted({study for region in regions for study in region.studies(age, gcs, facts)})
    evidence = [Evidence(any_of=("P1.vital_signs.gcs",), label="vital signs")]
    evidence.append(Evidence(any_of=("P1.age_years",), label="age"))
    calls = [Call("take_vital_signs", patient_id="P1"), Call("check_history", patient_id="P1")]
    for name in facts:
        label = f"{table('injuries')[name].get('system') or 'injury'} facts of the rule"
        evidence.append(Evidence(any_of=(f"P1.findings.{name}",), label=label))
        calls += [call for call in must_reveal(chart, name) if call not in calls]
    return make_case(
        draw,
        [chart],
        prompt=wording(draw, who=introduction(chart, difficulty), regions=", ".join(region.name for region in regions)),
        difficulty=difficulty,
        answer={"imaging": AnswerField(gold=studies, compare="set")},
        evidence=evidence,
        solution=(*calls, Call("submit_triage", imaging=studies)),
        condition="+".join(region.name for region in regions),
    )
