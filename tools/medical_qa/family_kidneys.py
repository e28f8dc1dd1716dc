"""Questions on doses by kidney function: one ceiling, several drugs at one clearance, two drugs compared."""

from itertools import combinations

from healthgym.errors import TaskError
from healthgym.knowledge_base.pharmacology import load_drugs, renal_dose
from healthgym.tasks import AnswerField, Call, Case, task_family
from healthgym.tasks.families import Draw

from .drawing import choose, difficulty_of, ranked
from .finding import drug_fact
from .kidneys import CLEARANCES, Kidneys, ceiling_mg, dosed_by_clearance, is_clear_of, state_kidneys
from .partition import asked_in
from .questions import Lookup, Option, Question, make_case

SILENT_EVERY = 11
"""One question of so many asks for a limit that the monograph does not state."""
AVOID_WEIGHT = 0.4
"""How often a clearance at which a drug is to be avoided is asked about, next to its other bands: 0 mg must not be a safe bet."""
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
    pool = [drug for drug in dosed_by_clearance() if _is_asked(draw, drug)]
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
        kind = "full" if band is None else "avoid" if band.avoid else f"{band.below:g}"
        groups.setdefault(kind, []).append(value)
    return groups[choose(draw, {kind: AVOID_WEIGHT if kind == "avoid" else 1.0 for kind in groups})]


def _silent(draw: Draw) -> Question:
    """Return a question on a drug whose monograph does not speak of the kidneys."""
    pool = [
        drug.id
        for drug in load_drugs().values()
        if not drug.renal and drug.max_daily_mg is not None and _is_asked(draw, drug.id)
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
    """Which of several drugs must be avoided, or given at a lower ceiling, or not so, at one kidney function."""
    difficulty = difficulty_of(draw)
    size = {"easy": 5, "medium": 5, "hard": 6}[difficulty]
    pools = {variant: _pool(draw, variant) for variant in ("avoid", "limit")}
    pools = {variant: pool for variant, pool in pools.items() if len(pool) > size} or pools
    variant = choose(draw, list(pools))
    for wanted in [float(value) for _ in range(20) for value in ranked(draw, map(str, CLEARANCES))]:
        listed = _spread(draw, [drug for drug in pools[variant] if is_clear_of(drug, wanted)], wanted, variant, size)
        if not listed:
            continue
        kidneys = state_kidneys(draw, wanted, difficulty, listed)
        if any(renal_dose(drug, kidneys.clearance_ml_min) != renal_dose(drug, wanted) for drug in listed):
            continue
        asks_restricted = bool(draw.rng.integers(2))
        question = Question(
            names={"kidneys": kidneys.text},
            options=[
                Option(text=load_drugs()[drug].name, is_right=_is(drug, wanted, variant) is asks_restricted)
                for drug in listed
            ],
            takes_several=True,
            lookups=[kidney_fact(drug) for drug in sorted(listed)],
            difficulty=difficulty,
            condition="+".join(sorted(listed)),
            working=kidneys.working,
            variant=variant if asks_restricted else f"not_{variant}",
        )
        return make_case(draw, question)
    raise TaskError(f"renal_selection {draw.split} {draw.index}: no clearance made a question")


def _pool(draw: Draw, variant: str) -> list[str]:
    """Return the split's drugs with a known ordinary maximum, for variant avoid those that some clearance forbids."""
    return [
        drug
        for drug in dosed_by_clearance()
        if _is_asked(draw, drug)
        and load_drugs()[drug].max_daily_mg
        and (variant == "limit" or any(band.avoid for band in load_drugs()[drug].renal))
    ]


def _is_asked(draw: Draw, drug: str) -> bool:
    """Say whether a split asks about a drug and the kidneys; one key for all families here."""
    return asked_in(draw.split, f"kidneys and {drug}", ("drug", drug))


def _spread(draw: Draw, pool: list[str], clearance_ml_min: float, variant: str, size: int) -> list[str]:
    """Return drugs of which some are restricted at a clearance and some not, about half each; none if impossible."""
    order = ranked(draw, pool)
    held = [drug for drug in order if _is(drug, clearance_ml_min, variant)]
    free = [drug for drug in order if drug not in held]
    fewest, most = max(1, size - len(free)), min(len(held), size - 1)
    if fewest > most:
        return []
    count = int(draw.rng.integers(fewest, most + 1))
    return [*held[:count], *free[: size - count]]


def _is(drug: str, clearance_ml_min: float, variant: str) -> bool:
    """Say whether a drug is to be avoided (variant avoid), or held below its ordinary maximum (variant limit)."""
    band = renal_dose(drug, clearance_ml_min)
    if variant == "avoid" or band is None:
        return band is not None and band.avoid
    return band.avoid or (band.max_daily_mg or 0.0) < (load_drugs()[drug].max_daily_mg or 0.0)


@task_family(counts={"train": 38, "val": 4, "test": 8, "test_ood": 4})
def renal_comparison(draw: Draw) -> Case:
    """Which of two drugs keeps less, or more, of its ordinary ceiling at one kidney function, and by how much they differ."""
    pool = [drug for drug in dosed_by_clearance() if load_drugs()[drug].max_daily_mg and _is_asked(draw, drug)]
    for wanted in [float(value) for _ in range(20) for value in ranked(draw, map(str, CLEARANCES))]:
        left = {drug: _left_percent(drug, wanted) for drug in pool if is_clear_of(drug, wanted)}
        fitting = ranked(draw, [drug for drug, share in left.items() if 0 < share < 100])
        pairs_by_gap: dict[str, list[tuple[str, str]]] = {}
        for pair in combinations(fitting, 2):
            gap = abs(left[pair[0]] - left[pair[1]])
            if gap >= SHARE_GAP:
                pairs_by_gap.setdefault(f"{gap:.1f}", []).append(pair)
        for gap_text in ranked(draw, list(pairs_by_gap)):
            pair = pairs_by_gap[gap_text][0]
            kidneys = state_kidneys(draw, wanted, difficulty_of(draw), pair)
            if all(renal_dose(drug, kidneys.clearance_ml_min) == renal_dose(drug, wanted) for drug in pair):
                return make_case(draw, _comparison(draw, pair, left, kidneys))
    raise TaskError(f"renal_comparison {draw.split} {draw.index}: no two drugs can be compared")


def _most(drug: str) -> float:
    return load_drugs()[drug].max_daily_mg or 0.0


def _left_percent(drug: str, clearance_ml_min: float) -> float:
    return 100.0 * (ceiling_mg(drug, clearance_ml_min) or 0.0) / _most(drug)


def _comparison(draw: Draw, pair: tuple[str, str], left: dict[str, float], kidneys: Kidneys) -> Question:
    """Return the question which of a pair keeps less, or more, of its ordinary maximum, and by how many points."""
    asks_less = bool(draw.rng.integers(2))
    gold = (min if asks_less else max)(pair, key=lambda drug: left[drug])
    gap = abs(left[pair[0]] - left[pair[1]])
    shares = [
        f"100 * {ceiling_mg(drug, kidneys.clearance_ml_min):g} / {_most(drug):g}"
        for drug in sorted(pair, key=left.__getitem__)
    ]
    return Question(
        names={"kidneys": kidneys.text},
        options=[Option(text=load_drugs()[drug].name, is_right=drug == gold) for drug in pair],
        lookups=[item for drug in pair for item in (kidney_fact(drug), drug_fact(drug, "use_and_dose", "At most"))],
        difficulty=difficulty_of(draw),
        condition="+".join(sorted(pair)),
        answer={
            "number": AnswerField(gold=round(gap, 1), compare="range", tolerance=0.6),
            "unit": AnswerField(gold="%", accept=("percent", "per cent", "percentage points", "points", "% points")),
        },
        working=(*kidneys.working, Call("calculate", expression=f"{shares[1]} - {shares[0]}")),
        variant="less" if asks_less else "more",
    )
