"""Families about antibiotics: narrow them by the culture, or choose before susceptibilities are known."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from healthgym.errors import TaskError
from healthgym.knowledge_base.pharmacology import interaction_between, load_drugs
from healthgym.tasks import AnswerField, Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Allergy, Chart

from .admission import Admission, admit, pick, write_background, write_order
from .assembly import difficulty_of, make_case, seen, wording
from .course import draw_labs, draw_vital_signs, morning_hours
from .notes import write_admission_note, write_nursing_notes, write_progress_notes
from .orders import clearance, renal_band
from .record import select
from .stewardship import ESBL_LADDER, narrowest, organisms, susceptible_percent

UNITS = ("ward", "intensive_care", "emergency")
CONTAMINANT = "coagulase_negative_staphylococcus"
VANCOMYCIN_MG = 1000.0
"""First dose of the oracle; vancomycin goes by levels."""
BLOOD_PERCENT, URINE_PERCENT = 90, 80
"""Least share of susceptible isolates for an empirical choice: the hospital's rule, stated in guideline.md."""
SOURCE = "ladder: WHO AWaRe 2023; ESBL: IDSA guidance 2024; antibiogram of a synthetic hospital"


def _names(draw: Draw) -> list[str]:
    is_ood = draw.split == "test_ood"
    return [name for name, entry in organisms().items() if bool(entry.get("held_out")) is is_ood]


def _stay(draw: Draw, organism: str, allergies: Sequence[str], unit: str) -> Admission:
    """Return a stay whose medicines leave every drug of the ladder open and whose kidneys are sound."""
    entry = organisms()[organism]
    ladder = {*entry["ladder"], "piperacillin_tazobactam", "meropenem", "vancomycin", "linezolid", "cefepime"}

    def fits(chart: Chart) -> bool:
        taken = [item.drug for item in chart.medications]
        clash = any(
            effect is not None and effect.severity in ("major", "contraindicated")
            for drug in taken
            for effect in (interaction_between(drug, other) for other in ladder)
        )
        return not clash and "chronic_kidney_disease" not in chart.comorbidities and clearance(chart, 0.8) >= 70

    condition = str(pick(draw.rng, entry["stays"]))
    stay = admit(draw, condition, hours=72.0 + float(draw.rng.integers(0, 20)), fits=fits)
    stay.chart = replace(
        stay.chart,
        allergies=tuple(Allergy(substance=name, reaction="hives and wheeze", severity="severe") for name in allergies),
    )
    write_background(stay)
    for item in stay.chart.medications:
        write_order(stay, item.drug, item.dose_mg, item.times_per_day, hours=2.0, route=item.route)
    write_admission_note(stay, also=f"Lies in: {unit.replace('_', ' ')}.")
    write_progress_notes(stay)
    write_nursing_notes(stay)
    normal = ((0.0, 0.8), (stay.hours, 0.8))
    draw_labs(
        stay.book, stay.chart, draw.rng, morning_hours(stay.admission_hour, stay.hours), plans={"creatinine": normal}
    )
    draw_vital_signs(stay.book, stay.chart, draw.rng, stay.hours)
    return stay


def _culture(stay: Admission, hours: float, title: str, text: str, *, status: str = "final") -> None:
    stay.book.add("DiagnosticReport", "culture", hours, title, status=status, detail={"text": text})


def _report(name: str, results: Mapping[str, str], remark: str = "") -> str:
    listed = ", ".join(f"{drug} {letter}" for drug, letter in results.items())
    return f"{name}. {remark}{listed} (S susceptible, I intermediate, R resistant)"


def _choose_allergy(draw: Draw, ladder: Sequence[str]) -> tuple[str, ...]:
    """Return the allergies by difficulty: none, perhaps one, or one that matters for the first drugs of the ladder."""
    groups = ["penicillin", "cephalosporin", "fluoroquinolone", "sulfonamide_antibiotic"]
    difficulty = difficulty_of(draw)
    if ladder[0] == "vancomycin" and difficulty != "easy" and draw.rng.random() < 0.5:
        return ("vancomycin",)
    if difficulty == "easy" or (difficulty == "medium" and draw.rng.random() < 0.5):
        return ()
    if difficulty == "hard" and draw.rng.random() < 0.75:
        group = load_drugs()[ladder[0]].allergy_group or "penicillin"
        return (group,) if group in groups else ("penicillin",)
    return (str(pick(draw.rng, groups)),)


@task_family(counts={"train": 40, "val": 5, "test": 8, "test_ood": 5})
def narrow_by_culture(draw: Draw) -> Case:
    """Broad antibiotics run; the culture is final: change to the narrowest that works and is safe, or stop, or keep."""
    difficulty, rng = difficulty_of(draw), draw.rng
    organism = str(pick(rng, _names(draw)))
    contaminated = difficulty != "easy" and draw.split != "test_ood" and rng.random() < 0.15
    ladder = tuple(organisms()[organism]["ladder"])
    allergies = _choose_allergy(draw, ladder)
    stay = _stay(draw, organism, allergies, "ward")
    gram_positive = "meropenem" not in ladder
    against_staphylococci = ["linezolid" if "vancomycin" in allergies else "vancomycin"]
    broad = (against_staphylococci if gram_positive or contaminated else []) + _broad(stay.chart, rng.random())
    for drug in broad:
        dose = load_drugs()[drug].usual_dose
        amount, times = (dose.dose_mg, dose.times_per_day) if dose else (VANCOMYCIN_MG, 2.0)
        write_order(stay, drug, amount, times, hours=3.0, route="intravenous")
    esbl = False
    if contaminated:
        text = "Staphylococcus epidermidis (coagulase-negative) in one of four bottles; the other three stay sterile at 72 h."
        _culture(stay, 60.0, "blood culture, final", text)
        answer_organism, goal = CONTAMINANT, "none"
        broad_left: list[str] = []
    else:
        first = int(rng.integers(0, min(3, len(ladder))))
        esbl = difficulty == "hard" and organism in ("escherichia_coli", "klebsiella_pneumoniae") and rng.random() < 0.4
        certain = organisms()[organism].get("always", ())
        works = [drug for place, drug in enumerate(ladder) if place >= first or drug in certain]
        results = {drug: "S" if drug in works else str(rng.choice(["R", "I"])) for drug in ladder}
        if esbl:
            results |= {drug: "R" for drug in ("ampicillin", "cefazolin", "ceftriaxone", "cefepime") if drug in results}
            results["meropenem"] = "S"
        remark = "ESBL producer. " if esbl else ""
        _culture(stay, 22.0, "blood culture, preliminary", "growth in two of four bottles, Gram stain: "
                 + ("gram-positive cocci" if gram_positive else "gram-negative rods"), status="preliminary")  # fmt: skip
        order = [ladder[int(i)] for i in rng.permutation(len(ladder))]
        _culture(stay, 52.0, "blood culture, final",
                 _report(str(organisms()[organism]["name"]), {d: results[d] for d in order}, remark))  # fmt: skip
        answer_organism = organism
        allowed = ESBL_LADDER if esbl else ladder
        others = [item.drug for item in stay.chart.medications]
        found = narrowest(stay.chart, allowed, [d for d in ladder if results[d] == "S"], others)
        if found is None:
            raise TaskError(f"{draw.family}: nothing works for {organism} with allergy to {allergies}")
        goal = found
        broad_left = [goal] if goal in broad else []
    chart = stay.finish(unit="ward")
    pid = chart.patient_id
    end_state: dict[str, object] = {f"{pid}.daily_mg.{drug}": 0 for drug in broad if drug not in broad_left}
    act: list[Call] = [Call("stop_order", patient_id=pid, drug=drug) for drug in broad if drug not in broad_left]
    if goal in broad_left:
        end_state[f"{pid}.daily_mg.{goal}"] = None
    elif goal != "none":
        amount, times, limits = _dose(goal, chart)
        end_state[f"{pid}.daily_mg.{goal}"] = limits
        act.append(Call("order_medication", patient_id=pid, drug=goal, dose_mg=amount, times_per_day=times))
    look = [
        Call("patient_summary", patient_id=pid),
        Call("culture_results", patient_id=pid),
        Call("active_orders", patient_id=pid),
        Call("narrowing_ladder", organism=answer_organism),
    ]
    return make_case(
        draw,
        chart,
        prompt=wording(draw, patient=pid),
        answer={"organism": AnswerField(gold=answer_organism), "antibiotic": AnswerField(gold=goal, weight=2.0)},
        evidence=(
            seen(chart, select(chart, code="culture")[-1:], "the final culture report"),
            Evidence(any_of=(f"{pid}.allergies",), label="the allergies"),
            Evidence(any_of=(f"{pid}.orders",), label="what is ordered now"),
            Evidence(any_of=(f"kb.ladder.{answer_organism}",), label="the formulary's order for the organism"),
        ),
        look=look,
        act=act,
        end_state=end_state,
        source=SOURCE,
        condition=answer_organism,
        tags={"targets": ",".join(broad)},
    )


def _broad(chart: Chart, lot: float) -> list[str]:
    """Return the broad drug that was begun on arrival; one that the allergies allow."""
    options = ["piperacillin_tazobactam", "cefepime", "meropenem"]
    start = 0 if lot < 0.5 else 1 if lot < 0.8 else 2
    found = narrowest(chart, [*options[start:], *options[:start]], options)
    return [found or "meropenem"]


def _dose(drug: str, chart: Chart) -> tuple[float, float, dict[str, float]]:
    """Return dose in mg, times a day, and the limits of the daily dose that count as right."""
    usual, band = load_drugs()[drug].usual_dose, renal_band(drug, chart)
    if usual is None:
        return VANCOMYCIN_MG, 2.0, {"gt": 0}
    daily = usual.dose_mg * usual.times_per_day
    most = max(daily, load_drugs()[drug].max_daily_mg or 0)
    if band is not None and band.max_daily_mg:
        most = min(most, band.max_daily_mg)
        return min(usual.dose_mg, band.max_daily_mg), 1.0, {"gt": 0, "le": most}
    return usual.dose_mg, usual.times_per_day, {"ge": daily / 2, "le": most}


@task_family(counts={"train": 30, "val": 4, "test": 6, "test_ood": 4})
def choose_by_antibiogram(draw: Draw) -> Case:
    """The organism is known, its susceptibilities are not: choose by the unit's antibiogram, allergy and earlier cultures."""
    difficulty, rng = difficulty_of(draw), draw.rng
    names = [name for name in _names(draw) if not name.startswith(("staphylococcus", "haemophilus"))]
    organism, unit = str(pick(rng, names)), str(pick(rng, UNITS))
    ladder = tuple(organisms()[organism]["ladder"])
    allergies = _choose_allergy(draw, ladder)
    stay = _stay(draw, organism, allergies, unit)
    in_blood = organism not in ("escherichia_coli", "proteus_mirabilis", "klebsiella_pneumoniae") or rng.random() < 0.5
    specimen, least = ("blood", BLOOD_PERCENT) if in_blood else ("urine", URINE_PERCENT)
    text = f"{organisms()[organism]['name']} identified; susceptibilities follow in 24 h"
    _culture(stay, stay.hours - 1, f"{specimen} culture, preliminary", text, status="preliminary")
    shares = susceptible_percent()[unit][organism]
    works = [drug for drug in ladder if shares[drug] >= least]
    earlier: list[str] = []
    if difficulty == "hard":
        days = int(pick(rng, [30, 60, 200, 300]))
        resistant = narrowest(stay.chart, ladder, works) or ladder[0]
        _culture(stay, -24.0 * days, f"{specimen} culture of an earlier illness, final",
                 _report(str(organisms()[organism]["name"]), {d: "R" if d == resistant else "S" for d in ladder[:5]}))  # fmt: skip
        earlier = [resistant] if days <= 90 else []
    works = [drug for drug in works if drug not in earlier]
    goal = narrowest(stay.chart, ladder, works, [item.drug for item in stay.chart.medications])
    if goal is None:
        goal = "none"
    chart = stay.finish(unit=unit)
    pid = chart.patient_id
    share = float(shares[goal]) if goal != "none" else 0.0
    end_state: dict[str, object] = {}
    act: list[Call] = []
    if goal != "none":
        amount, times, limits = _dose(goal, chart)
        end_state = {f"{pid}.daily_mg.{goal}": limits}
        act = [Call("order_medication", patient_id=pid, drug=goal, dose_mg=amount, times_per_day=times)]
    else:
        act = [
            Call("call_clinician", patient_id=pid, concern="no formulary drug meets the rule; infection advice wanted")
        ]
        end_state = {f"{pid}.called": {"ne": None}}
    return make_case(
        draw,
        chart,
        prompt=wording(draw, patient=pid),
        answer={
            "organism": AnswerField(gold=organism),
            "antibiotic": AnswerField(gold=goal, weight=2.0),
            "value": AnswerField(gold=share, compare="range", tolerance=0.0),
        },
        evidence=(
            seen(chart, select(chart, code="culture")[-1:], "the new culture report"),
            Evidence(any_of=(f"{pid}.allergies",), label="the allergies"),
            Evidence(any_of=(f"kb.antibiogram.{unit}.{organism}",), label="the antibiogram of the patient's unit"),
            Evidence(any_of=(f"kb.ladder.{organism}",), label="the formulary's order for the organism"),
        ),
        look=(
            Call("patient_summary", patient_id=pid),
            Call("culture_results", patient_id=pid),
            Call("narrowing_ladder", organism=organism),
            Call("antibiogram", organism=organism, unit=unit),
        ),
        act=act,
        end_state=end_state,
        source=SOURCE,
        condition=organism,
    )
