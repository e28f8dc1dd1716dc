"""The family about two drugs of a class of which one is enough."""

from itertools import combinations

from healthgym.errors import TaskError
from healthgym.knowledge_base.pharmacology import DUPLICATION_CLASSES, drugs_of_class, load_drugs
from healthgym.tasks import Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw

from .assembly import Finding, make_case
from .charts import make_chart
from .knowledge import held_out, pair_key
from .remedies import Remedy
from .sampling import Regimen, accompany, choose, difficulty_of, prescribable

ATTEMPTS = 200


@task_family(counts={"train": 30, "val": 6, "test": 9, "test_ood": 8})
def duplication(draw: Draw) -> Case:
    """Two lists were merged and one class is taken twice; either duplicate may go, not both."""
    difficulty = difficulty_of(draw)
    pairs_by_class = {name: pairs for name in DUPLICATION_CLASSES if (pairs := _pairs(draw, name))}
    for _ in range(ATTEMPTS):
        pairs = pairs_by_class[choose(draw, tuple(pairs_by_class))]
        pair = pairs[choose(draw, tuple(pairs))]
        regimen = Regimen()
        shared = [item for item in load_drugs()[pair[0]].indications if item in load_drugs()[pair[1]].indications]
        if not shared or not all(regimen.add(drug, draw.rng, indication=shared[0]) for drug in pair):
            continue
        accompany(
            regimen, draw, {"easy": 2, "medium": 4, "hard": 7}[difficulty], below_rank=2 if difficulty == "hard" else 1
        )
        listed = regimen.medications()
        order = [listed[int(i)] for i in draw.rng.permutation(len(listed))]
        chart = make_chart(draw, order, comorbidities=regimen.comorbidities)
        stopped = str(pair[int(draw.rng.integers(2))])
        finding = Finding(
            problem="duplication",
            drugs=pair,
            remedy=Remedy(action="stop", drug=stopped, either=pair),
            look=(Call("check_duplication", drug_a=pair[0], drug_b=pair[1]),),
            evidence=(
                Evidence(any_of=(f"kb.duplicate.{pair_key(*pair)}",), label="whether two medicines are of one class"),
            ),
            sources=tuple(load_drugs()[drug].source for drug in pair),
        )
        return make_case(draw, chart, finding, difficulty=difficulty)
    raise TaskError(f"duplication {draw.split} {draw.index}: no pair made a case")


def _pairs(draw: Draw, group: str) -> dict[str, tuple[str, str]]:
    """Return pairs of a class, by their key, that this split may meet: with a held-out drug in test_ood, without elsewhere."""
    members = [drug for drug in drugs_of_class(group) if prescribable(drug) and drug != "aspirin"]
    wants = draw.split == "test_ood"
    return {pair_key(*pair): pair for pair in combinations(members, 2) if bool(held_out() & set(pair)) is wants}
