"""Questions on doses by kidney function: one ceiling, several drugs at one clearance, two drugs compared."""

from healthgym.errors import TaskError
from healthgym.knowledge_base.pharmacology import load_drugs, renal_dose
from healthgym.tasks import AnswerField, Call, Case, task_family
from healthgym.tasks.families import Draw

from .drawing import balanced, choose, difficulty_of, ranked
from .finding import drug_fact
from .kidneys import CLEARANCES, ceiling_mg, dosed_by_clearance, is_clear_of, state_kidneys
from .partition import asked_in, held_out, may_name
from .questions import Lookup, Option, Question, make_case

SILENT_EVERY = 11
"""One question of so many asks for a limit that the monograph does not state."""
SHARE_GAP = 5.0
"""Percentage points by which two compared drugs differ at least."""


def kidney_fact(drug: str) -> Lookup:
    """Return how to find a drug's doses by kidney function."""
    bands = load_drugs()[drug].renal
    return drug_fact(drug, "kidneys_and_liver", f"{min(band.below for band in bands):g} mL/min" if bands else "")


@task_family(counts={"train": 38, "val": 4, "test": 8, "test_ood": 4})
def renal_ceiling(draw: Draw) -> Case:
    """The highest daily dose of one drug at a kidney function that is stated or must be computed."""
    difficulty = difficulty_of(draw)
    if draw.index % SILENT_EVERY == SILENT_EVERY - 1:
        return make_case(draw, _silent(draw))
    pool = [drug for drug in dosed_by_clearance() if asked_in(draw.split, f"ceiling {drug}", ("drug", drug))]
    for drug in ranked(draw, pool):
        for wanted in ranked(draw, [str(value) for value in _by_band(drug, draw)]):
            limit = ceiling_mg(drug, float(wanted))
            if limit is None or not is_clear_of(drug, float(wanted)):
                continue
            kidneys = state_kidneys(draw, float(wanted), difficulty, (drug,))
            if ceiling_mg(drug, kidneys.clearance_ml_min) != limit:
                continue
            question = Question(
                names={"drug": load_drugs()[drug].name, "kidneys": kidneys.text},
                lookups=(kidney_fact(drug), drug_fact(drug, "use_and_dose", "Usual adult dose"))
                if renal_dose(drug, float(wanted)) is None and load_drugs()[drug].usual_dose
                else (kidney_fact(drug),),
                difficulty=difficulty,
                condition=drug,
                answer={
                    "number": AnswerField(gold=limit, compare="range", tolerance=0.01 * limit, weight=2.0),
                    "unit": AnswerField(gold="mg", accept=("mg/day", "mg per day", "mg a day", "mg daily", "mg/d")),
                },
                working=kidneys.working,
            )
            return make_case(draw, question)
    raise TaskError(f"renal_ceiling {draw.split} {draw.index}: no drug can be asked about")


def _by_band(drug: str, draw: Draw) -> list[float]:
    """Return clearances of one band, drawn first so that each band of a drug is asked about alike."""
    groups: dict[str, list[float]] = {}
    for value in CLEARANCES:
        band = renal_dose(drug, value)
        groups.setdefault("full" if band is None else f"{band.below:g}", []).append(value)
    return groups[choose(draw, tuple(groups))]


def _silent(draw: Draw) -> Question:
    """Return a question on a drug whose monograph does not speak of the kidneys."""
    pool = [
        drug.id
        for drug in load_drugs().values()
        if not drug.renal
        and drug.max_daily_mg is not None
        and asked_in(draw.split, f"ceiling {drug.id}", ("drug", drug.id))
    ]
    drug = choose(draw, pool)
    kidneys = state_kidneys(draw, CLEARANCES[int(draw.rng.integers(len(CLEARANCES)))], difficulty_of(draw), ())
    return Question(
        names={"drug": load_drugs()[drug].name, "kidneys": kidneys.text},
        lookups=(drug_fact(drug, "kidneys_and_liver"),),
        difficulty=difficulty_of(draw),
        condition=drug,
        answer={"not_stated": AnswerField(gold=True)},
        working=(Call("drug_aspect", drug=load_drugs()[drug].name, aspect="kidneys_and_liver"), *kidneys.working),
    )


@task_family(counts={"train": 38, "val": 4, "test": 8, "test_ood": 4})
def renal_selection(draw: Draw) -> Case:
    """Which of several drugs must be avoided, or given at a lower ceiling, at one kidney function."""
    difficulty = difficulty_of(draw)
    size = {"easy": 5, "medium": 5, "hard": 6}[difficulty]
    variant = ("avoid", "limit")[int(draw.rng.integers(2))]
    for _ in range(100):
        wanted = CLEARANCES[int(draw.rng.integers(len(CLEARANCES)))]
        drugs = [
            drug
            for drug in dosed_by_clearance()
            if may_name(draw.split, "drug", drug) and is_clear_of(drug, wanted) and load_drugs()[drug].max_daily_mg
        ]
        favour = {drug: 8.0 if draw.split == "test_ood" and held_out("drug", drug) else 1.0 for drug in drugs}
        right, wrong = balanced({drug: _share(drug, variant) for drug in drugs})
        golds = ranked(draw, {drug: weight * favour[drug] for drug, weight in right.items() if _is(drug, wanted, variant)})
        others = ranked(draw, {drug: weight * favour[drug] for drug, weight in wrong.items() if not _is(drug, wanted, variant)})
        count = int(draw.rng.integers(1, size))
        listed = [*golds[:count], *others[: size - count]]
        if len(listed) < size:
            continue
        kidneys = state_kidneys(draw, wanted, difficulty, listed)
        if any(renal_dose(drug, kidneys.clearance_ml_min) != renal_dose(drug, wanted) for drug in listed):
            continue
        question = Question(
            names={"kidneys": kidneys.text},
            options=[Option(text=load_drugs()[drug].name, is_right=_is(drug, wanted, variant)) for drug in listed],
            takes_several=True,
            lookups=[kidney_fact(drug) for drug in sorted(listed)],
            difficulty=difficulty,
            condition="+".join(sorted(listed)),
            working=kidneys.working,
            variant=variant,
        )
        return make_case(draw, question)
    raise TaskError(f"renal_selection {draw.split} {draw.index}: no clearance made a question")


def _is(drug: str, clearance_ml_min: float, variant: str) -> bool:
    """Say whether a drug is to be avoided (variant avoid), or held below its ordinary maximum (variant limit)."""
    band = renal_dose(drug, clearance_ml_min)
    if variant == "avoid" or band is None:
        return band is not None and band.avoid
    return band.avoid or (band.max_daily_mg or 0.0) < (load_drugs()[drug].max_daily_mg or 0.0)


def _share(drug: str, variant: str) -> float:
    """Return the share of the clearances asked about at which a drug is a right option."""
    return sum(_is(drug, value, variant) for value in CLEARANCES) / len(CLEARANCES)


@task_family(counts={"train": 38, "val": 4, "test": 8, "test_ood": 4})
def renal_comparison(draw: Draw) -> Case:
    """Which of two drugs loses more of its ordinary ceiling at one kidney function, and how much is left."""
    difficulty = difficulty_of(draw)
    pool = [drug for drug in dosed_by_clearance() if load_drugs()[drug].max_daily_mg and may_name(draw.split, "drug", drug)]
    for _ in range(100):
        wanted = CLEARANCES[int(draw.rng.integers(len(CLEARANCES)))]
        left = {drug: _left_percent(drug, wanted) for drug in pool if is_clear_of(drug, wanted)}
        fitting = [drug for drug, share in left.items() if 0 < share < 100]
        for first, second in _pairs(draw, ranked(draw, fitting)):
            if abs(left[first] - left[second]) < SHARE_GAP:
                continue
            kidneys = state_kidneys(draw, wanted, difficulty, (first, second))
            if any(renal_dose(d, kidneys.clearance_ml_min) != renal_dose(d, wanted) for d in (first, second)):
                continue
            return make_case(draw, _comparison(draw, first, second, left, kidneys.text, kidneys.working))
    raise TaskError(f"renal_comparison {draw.split} {draw.index}: no two drugs can be compared")


def _pairs(draw: Draw, drugs: list[str]) -> list[tuple[str, str]]:
    pairs = [(a, b) for i, a in enumerate(drugs) for b in drugs[i + 1 :]]
    return [(a, b) for a, b in pairs if asked_in(draw.split, f"compare {min(a, b)} {max(a, b)}", ("drug", a), ("drug", b))]


def _left_percent(drug: str, clearance_ml_min: float) -> float:
    most = load_drugs()[drug].max_daily_mg or 0.0
    return 100.0 * (ceiling_mg(drug, clearance_ml_min) or 0.0) / most


def _comparison(
    draw: Draw, first: str, second: str, left: dict[str, float], kidneys: str, working: tuple[Call, ...]
) -> Question:
    loser = min((first, second), key=lambda drug: left[drug])
    monograph = load_drugs()[loser]
    share = left[loser]
    most = monograph.max_daily_mg or 0.0
    lookups = [item for drug in (first, second) for item in (kidney_fact(drug), drug_fact(drug, "use_and_dose", "At most"))]
    return Question(
        names={"kidneys": kidneys},
        options=[Option(text=load_drugs()[drug].name, is_right=drug == loser) for drug in (first, second)],
        lookups=lookups,
        difficulty=difficulty_of(draw),
        condition=f"{first}+{second}",
        answer={
            "number": AnswerField(gold=round(share, 1), compare="range", tolerance=0.6),
            "unit": AnswerField(gold="%", accept=("percent", "per cent")),
        },
        working=(*working, Call("calculate", expression=f"100 * {share * most / 100:g} / {most:g}")),
    )
