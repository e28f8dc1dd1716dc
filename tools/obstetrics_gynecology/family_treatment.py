"""The first drug that suits: by point of pregnancy, allergy and illness."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from healthgym.errors import TaskError
from healthgym.knowledge_base.pharmacology import cross_reactive, find_drug
from healthgym.tasks import Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Allergy, Chart

from .cases import COUNTS, done, make_case, pick, read, record_read, scenario, whole
from .reference_tools import trimester
from .tables import table
from .women import woman


@dataclass(frozen=True)
class Need:
    """One scenario: what is treated, in which weeks, and what stands in the way of the first choice."""

    indication: str
    weeks: tuple[int, int]
    allergy: tuple[str, str] = ("", "")
    illness: str = ""


SCENARIOS = {
    "bladder_early": Need("urinary_infection", (7, 12)),
    "bladder_middle": Need("urinary_infection", (16, 32)),
    "pressure_asthma": Need("hypertension_long_term", (14, 34), illness="asthma"),
    "clot_plain": Need("venous_thromboembolism", (10, 35)),
    "chlamydia": Need("chlamydia", (10, 34)),
    "bladder_penicillin": Need("urinary_infection", (7, 12), ("penicillin", "hives")),
    "strep_anaphylaxis": Need("streptococcus_b_in_labour", (38, 40), ("penicillin", "anaphylaxis")),
    "pressure_plain": Need("hypertension_long_term", (14, 34)),
    "clot_after_heparin_reaction": Need("venous_thromboembolism", (10, 35), illness="heparin_induced_thrombocytopenia"),
    "strep_rash": Need("streptococcus_b_in_labour", (38, 40), ("penicillin", "rash")),
    "chlamydia_macrolide": Need("chlamydia", (10, 34), ("azithromycin", "hives")),
    "bladder_term": Need("urinary_infection", (38, 39)),
    "strep_plain": Need("streptococcus_b_in_labour", (38, 40)),
    "pain_late": Need("pain_or_fever", (24, 36)),
    "vaginosis": Need("bacterial_vaginosis", (10, 34)),
    "bladder_g6pd": Need("urinary_infection", (16, 32), illness="g6pd_deficiency"),
    "vaginosis_allergy": Need("bacterial_vaginosis", (10, 34), ("metronidazole", "hives")),
    "pressure_asthma_early": Need("hypertension_long_term", (6, 13), illness="asthma"),
}
HELD_OUT = ("vaginosis", "bladder_g6pd", "vaginosis_allergy", "pressure_asthma_early")
COMPLAINTS = {
    "urinary_infection": ("It burns when I pass water.", "I keep running to the toilet."),
    "hypertension_long_term": ("My pressure keeps being a bit high.",),
    "venous_thromboembolism": ("They found a clot in my leg.",),
    "chlamydia": ("The swab came back.",),
    "bacterial_vaginosis": ("There's a fishy smell down there.",),
    "streptococcus_b_in_labour": ("I think it has started.",),
    "pain_or_fever": ("My back aches.",),
}


@task_family(counts={**COUNTS, "train": 24, "test": 6})
def treatment_in_pregnancy(draw: Draw) -> Case:
    """Read allergies, illnesses and dates; give the first of the listed drugs that suits."""
    name = scenario(draw, tuple(SCENARIOS), HELD_OUT)
    need = SCENARIOS[name]
    substance, reaction = need.allergy
    allergies = [Allergy(substance=substance, reaction=reaction)] if substance else []
    if not substance and draw.rng.random() < 0.3:
        allergies.append(Allergy(substance=pick(draw, ("latex", "nsaid")), reaction="rash"))
    chart = woman(
        draw,
        complaint=pick(draw, COMPLAINTS[need.indication]),
        gestation_days=whole(draw, need.weeks[0] * 7, need.weeks[1] * 7 + 6),
        illnesses=(need.illness,) if need.illness else (),
        allergies=allergies,
        record={"visits": _finding(need.indication)},
    )
    drug = first_suitable(chart, need.indication)
    sections = ("medicines", "illnesses", "dates", "visits")
    choice = Evidence(any_of=(f"kb.choices.{need.indication}",), label="drug choices")
    is_first = drug == table("choices")[need.indication]["drugs"][0]["drug"]
    return make_case(
        draw,
        [chart],
        answer={"score": 1 + [item["drug"] for item in table("choices")[need.indication]["drugs"]].index(drug)},
        end_state={"P1.given": done(drug)},
        evidence=(*(record_read(name) for name in sections), choice),
        solution=(
            *(read(name) for name in sections),
            Call("drug_choices", indication=need.indication),
            Call("give_drug", patient_id="P1", drug=drug),
        ),
        topic=name,
        difficulty="easy" if is_first else "hard" if need.illness or reaction == "rash" else "medium",
        words={"indication": need.indication.replace("_", " ")},
    )


def first_suitable(chart: Chart, indication: str) -> str:
    """Return the first drug for an indication that neither week, illness nor allergy of the chart rules out."""
    for item in table("choices")[indication]["drugs"]:
        if suits(chart, item):
            return str(item["drug"])
    raise TaskError(f"no drug for {indication} suits this chart; change the scenario")


def suits(chart: Chart, item: dict[str, Any]) -> bool:
    """Say whether one row of `choices.yaml` suits a chart."""
    drug, weeks = find_drug(item["drug"]), chart.pregnancy_weeks
    first, last = item.get("weeks", (0, 45))
    is_in_time = weeks is None or first <= int(weeks + 0.05) <= last
    harms = weeks is not None and "weeks" not in item and drug.avoid_in_trimester(trimester(weeks))
    forbidden = {*item.get("not_with", ()), *drug.contraindications}
    allergic = any(cross_reactive(a.substance, drug.id) or is_ruled_out_by_penicillin(a, item) for a in chart.allergies)
    return is_in_time and not harms and not forbidden & set(chart.comorbidities) and not allergic


def is_ruled_out_by_penicillin(allergy: Allergy, item: Mapping[str, Any]) -> bool:
    """Say whether a grave reaction to a penicillin rules out a drug that does not cross-react.

    Source: ACOG committee opinion 797, 2020: cefazolin only after reactions of low risk.
    """
    return (
        allergy.reaction in item.get("not_after", ())
        and cross_reactive(allergy.substance, "benzylpenicillin") is not None
    )


def _finding(indication: str) -> str:
    return {
        "urinary_infection": "Urine culture: E. coli 10^5/mL, sensitive to all. No fever, no flank pain.",
        "hypertension_long_term": "Pressure 146 to 152 over 92 to 98 mmHg on three visits, urine and blood clear. Treatment due.",
        "venous_thromboembolism": "Duplex today: thrombosis of the left femoral vein. No bleeding, kidneys normal.",
        "chlamydia": "Cervical swab: Chlamydia trachomatis. No pain, no fever.",
        "bacterial_vaginosis": "Vaginal pH 5, clue cells, fishy smell. No fever.",
        "streptococcus_b_in_labour": "Group B streptococcus in the swab at 36 weeks, resistant to clindamycin.",
        "pain_or_fever": "Muscular backache, urine clear, no contractions.",
    }[indication]
