"""Families about the kidneys: doses by measured function, and the three drugs that together injure them."""

from dataclasses import replace

from healthgym.errors import TaskError
from healthgym.knowledge_base.pharmacology import Drug, RenalBand, drugs_of_class, load_drugs, renal_dose
from healthgym.tasks import AnswerField, Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Chart, LabResult

from .assembly import Finding, make_case
from .charts import make_chart
from .family_pairs import OTC_QUESTION
from .knowledge import kidney_function, pair_key, uses_egfr
from .regimen import OTC_FINDING
from .remedies import Remedy, stop_or_substitute
from .sampling import Regimen, accompany, choose, difficulty_of, may_cause, prescribable

ATTEMPTS = 200
MARGIN = 0.08
"""Share of a band's limit within which no patient is placed, so that rounding never decides."""
HIGHEST_CREATININE_MG_DL = 7.0


@task_family(counts={"train": 50, "val": 8, "test": 14, "test_ood": 10})
def renal_dose_check(draw: Draw) -> Case:
    """A dose that depends on kidney function as it is today: order creatinine, compute, correct."""
    difficulty = difficulty_of(draw)
    options = sorted(
        drug for drug in load_drugs() if prescribable(drug) and may_cause(draw, drug) and _bands(load_drugs()[drug])
    )
    for _ in range(ATTEMPTS):
        drug = choose(draw, options)
        drawn = _patient(draw, drug, difficulty, wants_no_change=draw.index % 6 == 4)
        if drawn is None:
            continue
        chart, band = drawn
        remedy, limit = _renal_remedy(drug, chart, band)
        if remedy is not None:
            finding = _renal_finding(draw, chart, drug, band, remedy, limit)
            return make_case(draw, chart, finding, difficulty=difficulty, names={"drug": load_drugs()[drug].name})
    raise TaskError(f"renal_dose_check {draw.split} {draw.index}: no drug made a case")


@task_family(counts={"train": 30, "val": 6, "test": 9, "test_ood": 8})
def triple_whammy(draw: Draw) -> Case:
    """An inhibitor of the renin system, a diuretic and an NSAID; in hard cases the NSAID was bought."""
    difficulty = difficulty_of(draw)
    for _ in range(ATTEMPTS):
        trio = tuple(
            choose(draw, _members(name, bought=name == "nsaid" and difficulty == "hard"))
            for name in ("raas_inhibitor", "diuretic", "nsaid")
        )
        regimen, nsaid = Regimen(ages=(65, 85)), trio[2]
        if not may_cause(draw, *trio) or len(set(trio)) < 3 or not all(regimen.add(drug, draw.rng) for drug in trio):
            continue
        accompany(
            regimen, draw, {"easy": 1, "medium": 3, "hard": 4}[difficulty], below_rank=2 if difficulty == "hard" else 1
        )
        listed = regimen.medications()
        hidden = tuple(item for item in listed if item.drug == nsaid and difficulty == "hard")
        shown = tuple(item for item in listed if item not in hidden)
        illnesses = [item for drug, item in regimen.indication_by_drug.items() if drug != nsaid]
        creatinine = round(float(draw.rng.uniform(1.6, 2.6)), 2)
        chart = make_chart(
            draw,
            [shown[int(i)] for i in draw.rng.permutation(len(shown))],
            age_years=int(draw.rng.integers(65, 86)),
            comorbidities=illnesses,
            otc=hidden,
            creatinine_mg_dl=creatinine,
            old_creatinine={"mg_dl": round(creatinine * 0.55, 2), "days_ago": int(draw.rng.integers(40, 200))},
        )
        remedy = stop_or_substitute(nsaid, chart)
        if remedy.action == "substitute":
            return make_case(draw, chart, _whammy_finding(chart, trio, remedy, bool(hidden)), difficulty=difficulty)
    raise TaskError(f"triple_whammy {draw.split} {draw.index}: no three drugs made a case")


def _bands(drug: Drug) -> list[RenalBand]:
    """Return the bands that state a limit, lowest first; a band without one leaves the dose to judgement."""
    bands = sorted(drug.renal, key=lambda band: band.below)
    return bands if all(band.avoid or band.max_daily_mg is not None for band in bands) else []


def _patient(draw: Draw, drug: str, difficulty: str, wants_no_change: bool) -> tuple[Chart, RenalBand | None] | None:
    """Return a patient whose kidney function lies well within one band of the drug, and that band (None above all)."""
    bands = _bands(load_drugs()[drug])
    edges = [0.0, *(band.below for band in bands), 130.0]
    place = len(bands) if wants_no_change else int(draw.rng.integers(len(bands)))
    low, high = max(edges[place] * (1 + MARGIN), 8.0), edges[place + 1] * (1 - MARGIN)
    regimen = Regimen()
    if low >= high or not regimen.add(drug, draw.rng):
        return None
    accompany(regimen, draw, {"easy": 1, "medium": 3, "hard": 5}[difficulty], below_rank=1)
    dose = _dose_above(load_drugs()[drug], bands[place] if place < len(bands) else None)
    if dose is None:
        return None
    healthy = make_chart(draw, regimen.medications({drug: dose}), comorbidities=regimen.comorbidities)
    chart = _with_function(healthy, drug, float(draw.rng.uniform(low, high)))
    if chart is None:
        return None
    creatinine = float(chart.lab_results["creatinine"].value)
    if difficulty != "easy":
        factor = 0.5 if place < len(bands) else 2.2
        old = {"mg_dl": round(creatinine * factor, 2), "days_ago": int(draw.rng.integers(90, 400))}
        chart = replace(chart, extra={**chart.extra, "old_creatinine": old})
    found = renal_dose(drug, kidney_function(drug, chart))
    return (chart, found) if found == (bands[place] if place < len(bands) else None) else None


def _with_function(chart: Chart, drug: str, wanted: float) -> Chart | None:
    """Return the chart with the creatinine at which the drug's measure of kidney function is about `wanted`."""
    low, high = 0.4, HIGHEST_CREATININE_MG_DL
    if not kidney_function(drug, chart, high) < wanted < kidney_function(drug, chart, low):
        return None
    for _ in range(40):  # both formulas fall as creatinine rises
        middle = (low + high) / 2
        low, high = (middle, high) if kidney_function(drug, chart, middle) > wanted else (low, middle)
    value = LabResult(analyte="creatinine", value=round(low, 2), unit="mg/dL")
    return replace(chart, lab_results={**chart.lab_results, "creatinine": value})


def _dose_above(drug: Drug, band: RenalBand | None) -> tuple[float, float] | None:
    """Return a usual dose that breaks the band's limit, twice the limit where the usual dose does not; None if impossible."""
    usual = drug.usual_dose
    if usual is None:
        return None
    if (
        band is None
        or band.avoid
        or band.max_daily_mg is None
        or usual.dose_mg * usual.times_per_day > band.max_daily_mg
    ):
        return usual.dose_mg, usual.times_per_day
    doubled = 2 * band.max_daily_mg
    return (doubled, 1.0) if drug.max_daily_mg is None or doubled <= drug.max_daily_mg else None


def _renal_remedy(drug: str, chart: Chart, band: RenalBand | None) -> tuple[Remedy | None, float]:
    """Return what to do and the highest daily dose allowed; None when the facts leave it open."""
    monograph = load_drugs()[drug]
    if band is None:
        limit = monograph.max_daily_mg
        is_open = limit is None or monograph.older_dose is not None
        return (None, 0.0) if is_open or limit is None else (Remedy(action="no_change", limit_daily_mg=limit), limit)
    if band.avoid:
        remedy = stop_or_substitute(drug, chart, limit_daily_mg=0.0)
        return (remedy if remedy.action == "substitute" else None), 0.0
    if band.max_daily_mg is None:
        return None, 0.0
    before = next(item for item in chart.medications if item.drug == drug)
    daily = before.dose_mg * before.times_per_day
    return Remedy(
        action="reduce_dose", drug=drug, limit_daily_mg=band.max_daily_mg, before_daily_mg=daily
    ), band.max_daily_mg


def _renal_finding(
    draw: Draw, chart: Chart, drug: str, band: RenalBand | None, remedy: Remedy, limit: float
) -> Finding:
    pid, value = chart.patient_id, float(chart.lab_results["creatinine"].value)
    function = round(kidney_function(drug, chart), 1)
    person = {"age_years": chart.age_years, "creatinine_mg_dl": value, "sex": chart.sex}
    compute = (
        Call("egfr_ckd_epi", **person)
        if uses_egfr(load_drugs()[drug])
        else Call("cockcroft_gault", weight_kg=chart.weight_kg, **person)
    )
    key = f"kb.renal.{drug}.{'full' if band is None else f'{band.below:g}'}"
    return Finding(
        problem="renal_dose",
        drugs=(drug,),
        named=True,
        remedy=remedy,
        look=(
            Call("order_lab", patient_id=pid, analyte="creatinine"),
            Call("collect_results", patient_id=pid),
            compute,
            Call("renal_dose_advice", drug=drug, clearance_ml_min=function),
        ),
        evidence=(
            Evidence(any_of=(f"{pid}.lab_results.creatinine",), label="creatinine of today"),
            Evidence(any_of=(key,), label="dose limit at the kidney function of today"),
        ),
        end_state={f"{pid}.daily_mg.{drug}": {"eq": None}} if band is None else {},
        sources=(load_drugs()[drug].source,),
    )


def _members(name: str, *, bought: bool) -> list[str]:
    """Return drugs of a class that can stand on a list; low-dose aspirin is no NSAID here."""
    return [
        drug
        for drug in drugs_of_class(name)
        if prescribable(drug) and drug != "aspirin" and (not bought or load_drugs()[drug].over_the_counter)
    ]


def _whammy_finding(chart: Chart, trio: tuple[str, ...], remedy: Remedy, is_hidden: bool) -> Finding:
    pid, (raas, diuretic, nsaid) = chart.patient_id, trio
    keys = tuple(f"kb.pair.{pair_key(other, nsaid)}" for other in (raas, diuretic))
    evidence = [
        Evidence(any_of=(f"{pid}.lab_results.creatinine",), label="creatinine of today"),
        Evidence(any_of=keys, label="what the medicines do to the kidneys together"),
    ]
    look = [
        Call("order_lab", patient_id=pid, analyte="creatinine"),
        Call("collect_results", patient_id=pid),
        Call("check_pair", drug_a=raas, drug_b=nsaid),
    ]
    if is_hidden:
        look.insert(0, Call("ask_patient", patient_id=pid, question=OTC_QUESTION))
        evidence.append(Evidence(any_of=(f"{pid}.findings.{OTC_FINDING}",), label="what is taken without prescription"))
    return Finding(
        problem="triple_whammy",
        drugs=tuple(sorted(trio)),
        remedy=remedy,
        look=tuple(look),
        evidence=tuple(evidence),
        answer={"mechanism": AnswerField(gold="renal_injury")},
        sources=("Lapi et al., BMJ 2013;346:e8525",),
    )
