"""Families about two drugs that do not go together: graded, found in a list, or hidden in the shopping bag."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from healthgym.errors import TaskError
from healthgym.knowledge_base.pharmacology import (
    SEVERITIES,
    Interaction,
    load_drugs,
    load_interactions,
)
from healthgym.tasks import AnswerField, Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Chart

from .assembly import Finding, make_case
from .charts import make_chart
from .knowledge import pair_key
from .regimen import OTC_FINDING, at_start
from .remedies import Remedy, remedy_of
from .sampling import Regimen, accompany, choose, difficulty_of, may_cause, prescribable, rank

ATTEMPTS = 400
STOP_FROM_QTC_MS = 500
"""From this QTc on a drug is taken away, not watched: AHA/ACCF statement, Circulation 2010;121:1047-1060 (above 500 ms)."""
OTC_QUESTION = "Do you take any herbal or over-the-counter products from the pharmacy or shop?"


@task_family(counts={"train": 60, "val": 8, "test": 16, "test_ood": 10})
def grade_pair(draw: Draw) -> Case:
    """Two named drugs among others: grade the pair and do what it calls for."""
    difficulty = difficulty_of(draw)
    for interaction in _drawn(draw, _usable(draw)):
        regimen = _regimen(draw, interaction, {"easy": 1, "medium": 3, "hard": 5}[difficulty], difficulty)
        chart = (
            None
            if regimen is None
            else make_chart(draw, regimen.medications(_doses(interaction)), comorbidities=regimen.comorbidities)
        )
        remedy = None if chart is None else remedy_of(interaction, chart)
        if chart is not None and remedy is not None:
            finding = pair_finding(chart, interaction, remedy, named=True)
            first, second = (load_drugs()[name].name for name in (interaction.a, interaction.b))
            return make_case(draw, chart, finding, difficulty=difficulty, names={"first": first, "second": second})
    raise _exhausted(draw)


@task_family(counts={"train": 60, "val": 8, "test": 16, "test_ood": 10})
def regimen_review(draw: Draw) -> Case:
    """Four to ten drugs; the most severe interaction among them must be found and put right."""
    difficulty = difficulty_of(draw)
    companions = {"easy": (2, 3), "medium": (4, 6), "hard": (6, 9)}[difficulty]
    for interaction in _drawn(draw, [item for item in _usable(draw) if SEVERITIES.index(item.severity) >= 2]):
        regimen = _regimen(draw, interaction, int(draw.rng.integers(*companions)), difficulty)
        if regimen is None or not is_worst(interaction, regimen.drugs):
            continue
        chart = make_chart(draw, regimen.medications(_doses(interaction)), comorbidities=regimen.comorbidities)
        remedy = remedy_of(interaction, chart)
        if remedy is not None:
            screen = (Call("screen_regimen", patient_id=chart.patient_id),)
            return make_case(
                draw, chart, pair_finding(chart, interaction, remedy, before=screen), difficulty=difficulty
            )
    raise _exhausted(draw)


@task_family(counts={"train": 40, "val": 6, "test": 10, "test_ood": 8})
def hidden_product(draw: Draw) -> Case:
    """The danger comes from something bought without prescription, which only asking brings to light."""
    difficulty = difficulty_of(draw)
    options = [item for item in _usable(draw) if any(load_drugs()[d].over_the_counter for d in item.pair)]
    for interaction in _drawn(draw, options):
        products = [d for d in (interaction.a, interaction.b) if load_drugs()[d].over_the_counter]
        product = products[-1]
        regimen = _regimen(draw, interaction, {"easy": 1, "medium": 3, "hard": 5}[difficulty], difficulty)
        if regimen is None or not is_worst(interaction, regimen.drugs):
            continue
        doses = _doses(interaction)
        listed = regimen.medications(doses)
        otc = tuple(item for item in listed if item.drug == product)
        prescribed = tuple(item for item in listed if item.drug != product)
        illnesses = [item for drug, item in regimen.indication_by_drug.items() if drug != product]
        chart = make_chart(draw, prescribed, comorbidities=illnesses, otc=otc)
        remedy = remedy_of(interaction, chart)
        if remedy is not None:
            return make_case(draw, chart, hidden_finding(chart, interaction, remedy, product), difficulty=difficulty)
    raise _exhausted(draw)


@task_family(counts={"train": 30, "val": 6, "test": 9, "test_ood": 8})
def qt_stacking(draw: Draw) -> Case:
    """Two drugs with known QT risk together; an ECG is wanted before acting."""
    difficulty = difficulty_of(draw)
    options = [
        item for item in _usable(draw)
        if item.mechanism == "qt_prolongation" and all(load_drugs()[d].qt_risk == "known" for d in item.pair)
    ]  # fmt: skip
    for interaction in _drawn(draw, options):
        regimen = _regimen(
            draw, interaction, {"easy": 1, "medium": 3, "hard": 6}[difficulty], difficulty, known_qt=False
        )
        if regimen is None or not is_worst(interaction, regimen.drugs):
            continue
        qtc = int(draw.rng.integers(462, STOP_FROM_QTC_MS if interaction.action == "monitor" else 530))
        chart = make_chart(draw, regimen.medications(), comorbidities=regimen.comorbidities, qtc_ms=qtc)
        remedy = remedy_of(interaction, chart)
        if remedy is None:
            continue
        pid = chart.patient_id
        ecg = (Call("order_ecg", patient_id=pid), *(Call("qt_risk", drug=drug) for drug in sorted(interaction.pair)))
        seen = (
            Evidence(any_of=(f"{pid}.studies.ecg",), label="ECG"),
            *(
                Evidence(any_of=(f"kb.qt.{d}", f"kb.drug.{d}"), label="QT risk of each drug")
                for d in sorted(interaction.pair)
            ),
        )
        finding = pair_finding(chart, interaction, remedy, problem="qt_prolongation", before=ecg, evidence=seen)
        return make_case(draw, chart, finding, difficulty=difficulty)
    raise _exhausted(draw)


def pair_finding(
    chart: Chart,
    interaction: Interaction,
    remedy: Remedy,
    *,
    problem: str = "interaction",
    named: bool = False,
    before: tuple[Call, ...] = (),
    evidence: tuple[Evidence, ...] = (),
) -> Finding:
    """Return the finding of an interaction: severity, mechanism and remedy as the knowledge base has them."""
    a, b = interaction.a, interaction.b
    is_qt = interaction.mechanism == "qt_prolongation"
    return Finding(
        problem=problem,
        accept_problem=("qt_prolongation", "interaction") if is_qt else (),
        drugs=tuple(sorted((a, b))),
        remedy=remedy,
        look=(*before, Call("check_pair", drug_a=a, drug_b=b)),
        evidence=(*evidence, Evidence(any_of=(f"kb.pair.{pair_key(a, b)}",), label="grading of the pair")),
        sources=(interaction.source,),
        named=named,
        answer={
            "severity": AnswerField(gold=interaction.severity),
            "mechanism": AnswerField(gold=interaction.mechanism),
        },
        targets=tuple(_lesser(chart)),
    )


def hidden_finding(chart: Chart, interaction: Interaction, remedy: Remedy, product: str) -> Finding:
    """Return the finding of an interaction with a product that the patient tells of when asked."""
    pid = chart.patient_id
    ask = (Call("ask_patient", patient_id=pid, question=OTC_QUESTION),)
    told = (Evidence(any_of=(f"{pid}.findings.{OTC_FINDING}",), label="what is taken without prescription"),)
    return pair_finding(chart, interaction, remedy, before=ask, evidence=told)


def is_worst(interaction: Interaction, drugs: Sequence[str]) -> bool:
    """Say whether every other pair of the regimen is less severe."""
    top = SEVERITIES.index(interaction.severity)
    return all(rank(a, b) < top for a, b in combinations(drugs, 2) if {a, b} != interaction.pair)


def _lesser(chart: Chart) -> list[str]:
    """Return the drugs that take part in any interaction of moderate severity or more."""
    taken = sorted(at_start(chart))
    return sorted({name for pair in combinations(taken, 2) if rank(*pair) >= 1 for name in pair})


def _usable(draw: Draw) -> list[Interaction]:
    """Return the interactions of drugs that can stand on a chart, in this split."""
    return [
        item for item in load_interactions() if all(map(prescribable, item.pair)) and may_cause(draw, item.a, item.b)
    ]


def _drawn(draw: Draw, options: list[Interaction]) -> Iterator[Interaction]:
    """Yield the interactions to try, in random order, rules taking turns so that no large class crowds out the rest."""
    by_kind: dict[str, dict[str, Interaction]] = {}
    for item in options:
        kind = f"{item.mechanism} {item.action} {item.severity}"
        by_kind.setdefault(kind, {})[pair_key(item.a, item.b)] = item
    for _ in range(min(ATTEMPTS, 4 * len(options))):
        group = by_kind[choose(draw, tuple(by_kind))]
        yield group[choose(draw, tuple(group))]


def _regimen(
    draw: Draw, interaction: Interaction, companions: int, difficulty: str, *, known_qt: bool = True
) -> Regimen | None:
    """Return the pair with companions, or None when no indications fit together."""
    regimen = Regimen()
    shared = _purpose(interaction)
    for drug in draw.rng.permutation([interaction.a, interaction.b]):
        fixed = shared if drug == interaction.replace else ""
        if not regimen.add(str(drug), draw.rng, indication=fixed):
            return None
    top = SEVERITIES.index(interaction.severity)
    accompany(
        regimen,
        draw,
        companions,
        below_rank=0 if difficulty == "easy" else top,
        fits=lambda drug: (
            (known_qt or load_drugs()[drug].qt_risk != "known") and not _is_whammy([*regimen.drugs, drug])
        ),
    )
    order = [str(drug) for drug in draw.rng.permutation(regimen.drugs)]
    return Regimen({drug: regimen.indication_by_drug[drug] for drug in order})


def _is_whammy(drugs: Sequence[str]) -> bool:
    classes = {name for drug in drugs if drug != "aspirin" for name in load_drugs()[drug].classes}
    return {"raas_inhibitor", "diuretic", "nsaid"} <= classes


def _purpose(interaction: Interaction) -> str:
    """Return an indication that the drug to replace shares with its named alternative, or ''."""
    if not interaction.replace or not interaction.alternative:
        return ""
    mine, theirs = (load_drugs()[name].indications for name in (interaction.replace, interaction.alternative))
    return next((item for item in mine if item in theirs), "")


def _doses(interaction: Interaction) -> dict[str, tuple[float, float]]:
    """Return a dose above the interaction's limit for the drug it limits, at most the monograph's maximum."""
    limit, drug = interaction.limit_daily_mg, interaction.replace
    if limit is None or not drug:
        return {}
    monograph = load_drugs()[drug]
    usual = monograph.usual_dose
    if usual is None or usual.dose_mg * usual.times_per_day > limit:
        return {}
    return {drug: (min(2 * limit, monograph.max_daily_mg or 2 * limit), 1.0)}


def _exhausted(draw: Draw) -> TaskError:
    return TaskError(f"{draw.family} {draw.split} {draw.index}: no interaction made a case; look at held_out.yaml")
