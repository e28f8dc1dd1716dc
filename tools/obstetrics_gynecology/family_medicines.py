"""Medicine review in pregnancy: what must stop, and what takes its place."""

from dataclasses import dataclass

from healthgym.knowledge_base.pharmacology import load_drugs
from healthgym.tasks import Call, Case, Evidence, Hazard, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Medication

from .cases import COUNTS, difficulty_of, done, make_case, read, record_read, scenario, whole
from .family_treatment import first_suitable
from .reference_tools import trimester
from .women import woman


@dataclass(frozen=True)
class Taken:
    """Medicines under question: drug to what it is for, weeks of pregnancy, and purposes that need a replacement."""

    drugs: tuple[tuple[str, str], ...]
    weeks: tuple[int, int]
    replace: tuple[str, ...] = ()
    illnesses: tuple[str, ...] = ()


PRESSURE, CLOT = "hypertension_long_term", "venous_thromboembolism"
SCENARIOS = {
    "ace_inhibitor": Taken((("lisinopril", "hypertension"),), (7, 13), (PRESSURE,), ("hypertension",)),
    "nothing_wrong": Taken((), (8, 34)),
    "arb_and_statin": Taken(
        (("losartan", "hypertension"), ("atorvastatin", "hyperlipidaemia")), (8, 20), (PRESSURE,), ("hypertension", "hyperlipidaemia")
    ),
    "warfarin": Taken((("warfarin", "venous_thromboembolism"),), (6, 12), (CLOT,), ()),
    "ibuprofen_late": Taken((("ibuprofen", "pain"),), (21, 36), ("pain_or_fever",)),
    "ace_inhibitor_asthma": Taken((("ramipril", "hypertension"),), (7, 20), (PRESSURE,), ("hypertension", "asthma")),
    "ibuprofen_early": Taken((("ibuprofen", "pain"),), (6, 12)),
    "three_at_once": Taken(
        (("enalapril", "hypertension"), ("rosuvastatin", "hyperlipidaemia"), ("naproxen", "pain")), (21, 34),
        (PRESSURE, "pain_or_fever"), ("hypertension", "hyperlipidaemia"),
    ),
    "statin": Taken((("simvastatin", "hyperlipidaemia"),), (7, 24), (), ("hyperlipidaemia",)),
    "apixaban": Taken((("apixaban", "venous_thromboembolism"),), (6, 30), (CLOT,), ()),
    "candesartan": Taken((("candesartan", "hypertension"),), (7, 24), (PRESSURE,), ("hypertension",)),
    "acne_tetracycline": Taken((("doxycycline", "acne"),), (16, 30)),
}  # fmt: skip
HELD_OUT = ("apixaban", "candesartan", "acne_tetracycline")
HARMLESS = (
    ("levothyroxine", "hypothyroidism"), ("ferrous_sulfate", "iron_deficiency"), ("omeprazole", "reflux"),
    ("hydroxychloroquine", "lupus"), ("salbutamol", "asthma"),
)  # fmt: skip


@task_family(counts={**COUNTS, "train": 24, "test": 6})
def medicine_review(draw: Draw) -> Case:
    """Look every medicine up at this point of pregnancy; stop the harmful, replace what still needs treating."""
    name, level = scenario(draw, tuple(SCENARIOS), HELD_OUT), difficulty_of(draw)
    taken = SCENARIOS[name]
    days = whole(draw, taken.weeks[0] * 7, taken.weeks[1] * 7 + 6)
    extra = {"easy": 1, "medium": 2, "hard": 3}[level] + (not taken.drugs)
    asthma = "asthma" in taken.illnesses
    spare = [pair for pair in HARMLESS if not (asthma and pair[1] == "asthma")]
    harmless = [spare[place] for place in draw.rng.permutation(len(spare))[:extra]]
    pairs = [*taken.drugs, *harmless]
    pairs = [pairs[place] for place in draw.rng.permutation(len(pairs))]
    illnesses = (*taken.illnesses, *(illness for _, illness in harmless if illness in ("hypothyroidism", "asthma")))
    chart = woman(
        draw,
        complaint="Can I go on with my tablets?",
        gestation_days=days,
        illnesses=tuple(dict.fromkeys(illnesses)),
        medications=tuple(Medication(drug=drug, dose_mg=_dose(drug), indication=use) for drug, use in pairs),
    )
    weeks = days // 7
    stop = [drug for drug, _ in pairs if load_drugs()[drug].avoid_in_trimester(trimester(weeks))]
    given = [first_suitable(chart, purpose) for purpose in taken.replace]
    sections = ("medicines", "illnesses", "dates")
    checked = [drug for drug, _ in pairs]
    return make_case(
        draw,
        [chart],
        answer={"score": len(stop)},
        end_state={"P1.stopped": done(*stop), "P1.given": done(*given)},
        evidence=(
            *(record_read(section) for section in sections),
            *(
                Evidence(any_of=(f"kb.pregnancy.{drug}", f"kb.drug.{drug}"), label=drug.replace("_", " "))
                for drug in checked
            ),
        ),
        solution=(
            *(read(section) for section in sections),
            *(Call("drug_in_pregnancy", drug=drug, weeks=weeks) for drug in checked),
            *(Call("stop_drug", patient_id="P1", drug=drug) for drug in stop),
            *(Call("give_drug", patient_id="P1", drug=drug) for drug in given),
        ),
        hazards=[
            Hazard(tool="stop_drug", where={"drug": drug}, severity="serious", label="a needed medicine stopped")
            for drug, _ in pairs
            if drug not in stop
        ],
        topic=name,
    )


def _dose(drug: str) -> float:
    usual = load_drugs()[drug].usual_dose
    return usual.dose_mg if usual is not None else 5.0
