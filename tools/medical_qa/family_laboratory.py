"""Questions on laboratory values: which lie outside their limits, and how far a condition moves them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from healthgym.errors import TaskError
from healthgym.knowledge_base import load
from healthgym.knowledge_base.schema import Analyte
from healthgym.tasks import AnswerField, Call, Case, task_family
from healthgym.tasks.families import Draw

from .drawing import choose, difficulty_of, ranked
from .finding import analyte_fact, by_search, passage_saying
from .partition import asked_in, held_out, may_name
from .questions import Lookup, Option, Question, make_case, mid_sentence
from .units import conversions

CHILD_YEARS = (4, 11)
"""Ages of children in questions; only analytes whose limits are banded by age are asked about in them."""
LOW_MATTERS = frozenset({
    "sodium", "potassium", "chloride", "bicarbonate", "calcium", "magnesium", "phosphate", "albumin",
    "total_protein", "hemoglobin", "hematocrit", "mcv", "wbc", "neutrophils", "lymphocytes", "platelets",
    "iron", "ferritin", "vitamin_b12", "tsh", "free_t4", "fibrinogen", "osmolality", "ph_arterial", "ph_venous",
    "pco2_arterial", "pco2_venous", "glucose", "csf_glucose",
})  # fmt: skip
"""Analytes of which a value below the lower limit means something; of the others only high ones are asked about."""
CLEARLY_RAISED = 1.25
"""Times the upper limit from which a typical value counts as raised."""


@task_family(counts={"train": 38, "val": 4, "test": 8, "test_ood": 4})
def laboratory_flags(draw: Draw) -> Case:
    """Which of several results lie outside, or within, the limits for a person, or beyond the critical ones."""
    difficulty = difficulty_of(draw)
    size = {"easy": 5, "medium": 6, "hard": 6}[difficulty]
    variant = choose(draw, ("outside", "within", "critical"))
    sex = choose(draw, ("female", "male"))
    is_child = difficulty != "easy" and variant != "critical" and draw.rng.random() < 0.4
    age = int(draw.rng.integers(*CHILD_YEARS)) if is_child else int(draw.rng.integers(20, 85))
    pool = {
        analyte.id: 8.0 if draw.split == "test_ood" and held_out("analyte", analyte.id) else 1.0
        for analyte in load().analytes.values()
        if may_name(draw.split, "analyte", analyte.id)
        and _is_graded(analyte)
        and (not is_child or any(band.from_years > 0 or band.to_years < 200 for band in analyte.ranges))
        and (variant != "critical" or analyte.critical_high is not None)
    }
    options: list[Option] = []
    lookups: list[Lookup] = []
    working: list[Call] = []
    for name in ranked(draw, pool):
        is_extreme = bool(draw.rng.integers(2))
        drawn = _result(draw, load().analytes[name], sex, age, is_extreme, variant, difficulty == "hard")
        if drawn is None or len(options) == size:
            continue
        options.append(Option(text=drawn.text, is_right=is_extreme is not (variant == "within")))
        lookups.append(analyte_fact(name, sex, age))
        working += drawn.working
    if len(options) < size:
        raise TaskError(f"laboratory_flags {draw.split} {draw.index}: only {len(options)} of {size} results")
    person = {"female": "girl" if is_child else "woman", "male": "boy" if is_child else "man"}[sex]
    article = "an" if age in (8, 11, 18) or str(age)[0] == "8" else "a"
    question = Question(
        names={"person": f"{article} {age}-year-old {person}"},
        options=options,
        takes_several=True,
        lookups=lookups,
        difficulty=difficulty,
        condition="laboratory",
        working=working,
        variant=variant,
    )
    return make_case(draw, question)


@dataclass(frozen=True, slots=True)
class _Drawn:
    text: str
    working: tuple[Call, ...]


def _is_graded(analyte: Analyte) -> bool:
    """Say whether results are numbers on a wide scale, not of a drug and not marks such as 0 to 3."""
    is_scale = " to " in analyte.unit or " or " in analyte.unit
    return not analyte.drug and not is_scale and analyte.id not in ("beta_hcg", "po2_arterial")


def _result(
    draw: Draw, analyte: Analyte, sex: str, age: float, is_extreme: bool, variant: str, may_convert: bool
) -> _Drawn | None:
    """Return a result near a limit, on the wanted side of it; None where rounding would blur the side."""
    limits = analyte.reference_range(sex, age)
    width, step = limits.high - limits.low, float(draw.rng.uniform(0.06, 0.25))
    has_low = analyte.id in LOW_MATTERS and limits.low - 0.3 * width > 0
    at_high = variant == "critical" or not has_low or bool(draw.rng.integers(2))
    if variant == "critical":
        edge = analyte.critical_high or 0.0
        value = edge + (edge - limits.high) * step * (1 if is_extreme else -1)
    else:
        edge = limits.high if at_high else limits.low
        value = edge + width * step * (1 if at_high is is_extreme else -1)
    value = round(value, analyte.decimals)
    if not _is_on_side(value, edge, at_high, is_extreme):
        return None
    conversion = conversions().get(analyte.id)
    if not may_convert or conversion is None or conversion.conventional != analyte.unit:
        return _Drawn(f"{analyte.name} {value:g} {analyte.unit}", ())
    converted = float(f"{value * conversion.factor:.3g}")
    if not _is_on_side(converted / conversion.factor, edge, at_high, is_extreme):
        return None
    back = Call(
        "convert_unit", value=converted, from_unit=conversion.si, to_unit=conversion.conventional, analyte=analyte.id
    )
    return _Drawn(f"{analyte.name} {converted:g} {conversion.si}", (back,))


def _is_on_side(value: float, edge: float, at_high: bool, is_extreme: bool) -> bool:
    """Say whether a value is at least half a percent of the limit on the wanted side of it."""
    beyond = (value - edge if at_high else edge - value) * (1 if is_extreme else -1)
    return beyond > 0.005 * abs(edge)


@task_family(counts={"train": 38, "val": 4, "test": 8, "test_ood": 4})
def laboratory_shift(draw: Draw) -> Case:
    """How far above its upper limit a condition typically puts an analyte: a ratio, or a difference in either unit."""
    difficulty = difficulty_of(draw)
    shifts = {shift.key: shift for shift in _shifts() if _is_asked(draw, shift)}
    if difficulty == "hard":
        usable = {key: shift for key, shift in shifts.items() if shift.analyte in conversions()}
        shifts = usable or shifts
    key = choose(draw, list(shifts))
    shift = shifts[key]
    sex = choose(draw, ("female", "male"))
    age = int(draw.rng.integers(25, 70))
    analyte, condition = load().analytes[shift.analyte], load().conditions[shift.condition]
    upper = analyte.reference_range(sex, age).high
    variant, gold, working = "ratio", shift.mean / upper, [Call("calculate", expression=f"{shift.mean:g} / {upper:g}")]
    answer = {"number": AnswerField(gold=round(gold, 2), compare="range", tolerance=0.02 * gold)}
    unit = ""
    if difficulty != "easy":
        variant, gold = "gap", shift.mean - upper
        working = [Call("calculate", expression=f"{shift.mean:g} - {upper:g}")]
        answer = {"number": AnswerField(gold=round(gold, 3), compare="range", tolerance=0.01 * gold)}
        if difficulty == "hard" and shift.analyte in conversions():
            entry = conversions()[shift.analyte]
            variant, unit = "converted", entry.si
            working.append(
                Call(
                    "convert_unit", value=round(gold, 3), from_unit=entry.conventional, to_unit=unit, analyte=analyte.id
                )
            )
            gold *= entry.factor
            answer = {"number": AnswerField(gold=round(gold, 3), compare="range", tolerance=0.02 * gold)}
        else:
            answer["unit"] = AnswerField(gold=analyte.unit)
    said = f"{analyte.name} about {shift.mean:g}"
    person = f"{age}-year-old {'woman' if sex == 'female' else 'man'}"
    question = Question(
        names={
            "condition": mid_sentence(condition.name),
            "level": shift.level,
            "analyte": mid_sentence(analyte.name),
            "person": f"{'an' if str(age)[0] == '8' else 'a'} {person}",
            "unit": unit,
        },
        lookups=(
            by_search(
                f"typical values in {condition.name}",
                f"{condition.name} {shift.level} presentation laboratory",
                passage_saying(f"condition:{condition.id}:{shift.level}", said),
                condition.source,
            ),
            analyte_fact(analyte.id, sex, age),
        ),
        difficulty=difficulty,
        condition=condition.id,
        answer=answer,
        working=working,
        variant=variant,
    )
    return make_case(draw, question)


@dataclass(frozen=True, slots=True)
class _Shift:
    condition: str
    level: str
    analyte: str
    mean: float

    @property
    def key(self) -> str:
        return f"{self.analyte} in {self.level} {self.condition}"


@lru_cache(maxsize=1)
def _shifts() -> tuple[_Shift, ...]:
    return tuple(_raised())


def _raised() -> Iterator[_Shift]:
    """Yield every typical value that lies clearly above the upper limit of either sex."""
    for condition in load().conditions.values():
        for level, profile in condition.severities.items():
            for name, (mean, _) in profile.labs.items():
                analyte = load().analytes[name]
                upper = max(analyte.reference_range(sex, 40).high for sex in ("female", "male"))
                if (_is_graded(analyte) and upper > 0) and mean >= CLEARLY_RAISED * upper:
                    yield _Shift(condition.id, level, name, mean)


def _is_asked(draw: Draw, shift: _Shift) -> bool:
    return asked_in(draw.split, shift.key, ("condition", shift.condition), ("analyte", shift.analyte))
