"""Families about one medicine that this patient should not have: illness, pregnancy, breastfeeding, age or allergy."""

from collections.abc import Callable

from healthgym.errors import TaskError
from healthgym.knowledge_base.pharmacology import cross_reactive, load_drugs
from healthgym.tasks import Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Allergy, Chart

from .assembly import Finding, make_case
from .charts import make_chart
from .knowledge import OLD_AGE_YEARS, ages_of, is_unfit_in_old_age, trimester
from .remedies import Remedy, stop_or_substitute
from .sampling import Regimen, accompany, choose, difficulty_of, may_cause, prescribable

COMPANIONS = {"easy": 2, "medium": 4, "hard": 6}
ATTEMPTS = 60
ALLERGIES: tuple[tuple[str, str], ...] = (
    ("penicillin", "anaphylaxis"), ("sulfonamide_antibiotic", "widespread rash"), ("nsaid", "wheeze"),
    ("cephalosporin", "hives"), ("amoxicillin", "hives"), ("cefalexin", "hives"), ("ampicillin", "hives"),
    ("trimethoprim_sulfamethoxazole", "blisters"), ("ibuprofen", "swelling of the face"),
)  # fmt: skip
"""Allergies of the family, by group or by drug, with a reaction."""
MAY_JUST_STOP = frozenset(
    {"statin", "nsaid", "benzodiazepine", "z_drug", "first_generation_antihistamine", "muscle_relaxant"}
)
"""Classes that may end without a successor when nothing safe serves the same purpose."""


@task_family(counts={"train": 30, "val": 6, "test": 9, "test_ood": 6})
def contraindication(draw: Draw) -> Case:
    """One medicine is contraindicated by an illness on the record."""
    options = _options(draw, lambda drug: bool(load_drugs()[drug].contraindications))

    def attempt(drug: str) -> tuple[Chart, Regimen] | None:
        illness = choose(draw, sorted(load_drugs()[drug].contraindications))
        regimen = Regimen(conditions=[illness])
        if illness.startswith("children") or not regimen.add(drug, draw.rng, excused=(drug,)):
            return None
        _accompany(draw, regimen, drug, lambda other: True, excused=(drug,))
        return make_chart(draw, regimen.medications(), comorbidities=regimen.comorbidities), regimen

    return _culprit_case(draw, options, "contraindication", attempt, "check_contraindications")


@task_family(counts={"train": 40, "val": 8, "test": 12, "test_ood": 8})
def pregnancy_lactation(draw: Draw) -> Case:
    """A pregnant or breastfeeding woman takes one medicine that endangers the child."""
    is_pregnant = draw.index % 4 != 3 or draw.split == "val"
    weeks = float(draw.rng.integers(6, 39)) if is_pregnant else None

    def harms(drug: str) -> bool:
        monograph = load_drugs()[drug]
        if weeks is not None:
            return monograph.avoid_in_trimester(trimester(weeks))
        return monograph.lactation is not None and monograph.lactation.level == "avoid"

    def suits(drug: str) -> bool:
        monograph = load_drugs()[drug]
        advice = monograph.pregnancy if is_pregnant else monograph.lactation
        return advice is not None and advice.level != "avoid" and not harms(drug)

    def attempt(drug: str) -> tuple[Chart, Regimen] | None:
        regimen = Regimen(sex="female", ages=(20, 42))
        if not regimen.add(drug, draw.rng):
            return None
        _accompany(draw, regimen, drug, suits)
        chart = make_chart(
            draw,
            regimen.medications(),
            age_years=int(draw.rng.integers(max(20, ages_of(regimen.comorbidities)[0]), 43)),
            sex="female",
            comorbidities=regimen.comorbidities,
            pregnancy_weeks=weeks,
            lactating=not is_pregnant,
        )
        return chart, regimen

    problem, tool = ("pregnancy", "pregnancy_safety") if is_pregnant else ("lactation", "lactation_safety")
    return _culprit_case(draw, _options(draw, harms), problem, attempt, tool, fits=suits)


@task_family(counts={"train": 30, "val": 6, "test": 9, "test_ood": 4})
def beers(draw: Draw) -> Case:
    """An older patient takes one medicine that the Beers Criteria advise against in everyone."""
    options = _options(draw, is_unfit_in_old_age)

    def attempt(drug: str) -> tuple[Chart, Regimen] | None:
        regimen = Regimen(ages=(OLD_AGE_YEARS + 1, 92))
        if not regimen.add(drug, draw.rng) or regimen.indication_by_drug[drug] in ("epilepsy", "seizure"):
            return None
        _accompany(draw, regimen, drug, lambda other: not is_unfit_in_old_age(other))
        age = int(draw.rng.integers(OLD_AGE_YEARS + 1, 93))
        return make_chart(draw, regimen.medications(), age_years=age, comorbidities=regimen.comorbidities), regimen

    return _culprit_case(draw, options, "beers", attempt, "beers_check")


@task_family(counts={"train": 40, "val": 8, "test": 12, "test_ood": 8})
def allergy(draw: Draw) -> Case:
    """One medicine meets a recorded allergy: the drug itself, its group, or a shared side chain."""
    listed = (
        ALLERGIES
        if draw.split != "test_ood"
        else tuple(item for item in ALLERGIES if item[0] in ("penicillin", "nsaid"))
    )
    substance, reaction = listed[int(draw.rng.integers(len(listed)))]

    def attempt(drug: str) -> tuple[Chart, Regimen] | None:
        regimen = Regimen()
        if not regimen.add(drug, draw.rng):
            return None
        _accompany(draw, regimen, drug, lambda other: cross_reactive(substance, other) is None)
        recorded = [Allergy(substance=substance, reaction=reaction, severity="severe")]
        if difficulty_of(draw) == "hard":
            recorded.insert(int(draw.rng.integers(2)), Allergy(substance="latex", reaction="itching", severity="mild"))
        return make_chart(draw, regimen.medications(), comorbidities=regimen.comorbidities, allergies=recorded), regimen

    options = _options(draw, lambda drug: cross_reactive(substance, drug) is not None)
    return _culprit_case(draw, options, "allergy", attempt, "allergy_check")


def _options(draw: Draw, harms: Callable[[str], bool]) -> list[str]:
    return sorted(drug for drug in load_drugs() if prescribable(drug) and may_cause(draw, drug) and harms(drug))


def _accompany(
    draw: Draw, regimen: Regimen, culprit: str, fits: Callable[[str], bool], excused: tuple[str, ...] = ()
) -> None:
    """Add companions; hard cases let moderate interactions in, which must not distract from the culprit."""
    difficulty = difficulty_of(draw)
    limit = 2 if difficulty == "hard" else 0
    accompany(regimen, draw, COMPANIONS[difficulty], below_rank=limit, fits=fits, excused=excused)
    order = [str(drug) for drug in draw.rng.permutation(regimen.drugs)]
    regimen.indication_by_drug = {drug: regimen.indication_by_drug[drug] for drug in order}


def _culprit_case(
    draw: Draw,
    options: list[str],
    problem: str,
    attempt: Callable[[str], tuple[Chart, Regimen] | None],
    tool: str,
    *,
    fits: Callable[[str], bool] = lambda new: True,
) -> Case:
    """Try culprits until one can be put right in the patient drawn for it.

    Args:
        draw: Where the case stands.
        options: Drugs that may be the culprit.
        problem: Kind of problem the review must name.
        attempt: Draws chart and regimen around a culprit, or None when they do not fit.
        tool: Tool that shows the problem.
        fits: Further condition on a replacement.
    """
    for _ in range(ATTEMPTS):
        drug = choose(draw, options)
        drawn = attempt(drug)
        if drawn is None:
            continue
        chart = drawn[0]
        remedy = stop_or_substitute(drug, chart, fits=fits)
        if remedy.action == "substitute" or MAY_JUST_STOP & set(load_drugs()[drug].classes):
            return make_case(draw, chart, _finding(chart, drug, problem, tool, remedy), difficulty=difficulty_of(draw))
    raise TaskError(f"{draw.family} {draw.split} {draw.index}: no culprit among {len(options)} could be put right")


def _finding(chart: Chart, drug: str, problem: str, tool: str, remedy: Remedy) -> Finding:
    pid = chart.patient_id
    by_patient = {"check_contraindications": "contraindication", "allergy_check": "allergy_check"}
    by_drug = {"pregnancy_safety": "pregnancy", "lactation_safety": "lactation", "beers_check": "beers"}
    keys: tuple[str, ...]
    if tool in by_patient:
        call, keys = Call(tool, patient_id=pid, drug=drug), (f"{pid}.{by_patient[tool]}.{drug}",)
    else:
        call, keys = Call(tool, drug=drug), (f"kb.{by_drug[tool]}.{drug}", f"kb.drug.{drug}")
    return Finding(
        problem=problem,
        drugs=(drug,),
        remedy=remedy,
        look=(call,),
        evidence=(Evidence(any_of=keys, label="what is known of the medicine at fault"),),
        sources=(load_drugs()[drug].source,),
    )
