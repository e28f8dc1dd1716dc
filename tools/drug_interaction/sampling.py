"""Draws regimens: the drugs a task is about, and companions that bring no further problem of their own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from healthgym.errors import TaskError
from healthgym.knowledge_base.pharmacology import SEVERITIES, duplications, interaction_between, load_drugs
from healthgym.tasks.families import Draw
from healthgym.world import Medication

from .knowledge import ages_of, held_out, sexes_of

ROUTES = frozenset({"oral", "inhaled", "sublingual", "transdermal", "subcutaneous"})
"""Routes of long-term medicines taken at home."""
_NOT_CHRONIC = frozenset({"antidote", "herbal", "opioid_antagonist", "antibacterial", "fibrinolytic", "catecholamine"})


@dataclass
class Regimen:
    """A regimen being drawn: what each drug is for, and what the patient suffers from."""

    indication_by_drug: dict[str, str] = field(default_factory=dict)
    conditions: list[str] = field(default_factory=list)
    """Illnesses that belong to the case whatever is prescribed."""
    sex: str = ""
    """Fixed sex of the patient; either when empty."""
    ages: tuple[int, int] = (25, 85)
    """Youngest and oldest the patient may be."""

    @property
    def drugs(self) -> list[str]:
        """The drugs so far."""
        return list(self.indication_by_drug)

    @property
    def _sexes(self) -> frozenset[str]:
        return frozenset({self.sex} if self.sex else {"female", "male"})

    @property
    def comorbidities(self) -> tuple[str, ...]:
        """Illnesses of the chart: the case's own and what the drugs are for."""
        return tuple(dict.fromkeys((*self.conditions, *self.indication_by_drug.values())))

    def add(self, drug: str, rng: np.random.Generator, *, indication: str = "", excused: Sequence[str] = ()) -> bool:
        """Add a drug for an indication that forbids no drug of the regimen; False when there is none.

        Args:
            drug: Drug id.
            rng: Chooses among indications.
            indication: Fixes the indication.
            excused: Drugs whose contraindications are the point of the case.
        """
        options = [indication] if indication else list(rng.permutation(load_drugs()[drug].indications))
        for option in options:
            illnesses = {*self.comorbidities, str(option)}
            others = [name for name in (*self.drugs, drug) if name not in excused]
            youngest, oldest = ages_of(illnesses)
            if max(youngest, self.ages[0]) > min(oldest, self.ages[1]) or not sexes_of(illnesses) & self._sexes:
                continue
            if not any(illnesses & set(load_drugs()[name].contraindications) for name in others):
                self.indication_by_drug[drug] = str(option)
                return True
        return False

    def medications(self, doses: dict[str, tuple[float, float]] | None = None) -> tuple[Medication, ...]:
        """Return the regimen for a chart, at usual doses unless others are given as (dose_mg, times_per_day)."""
        made = []
        for drug, indication in self.indication_by_drug.items():
            usual = load_drugs()[drug].usual_dose
            if usual is None:
                raise TaskError(f"{drug} has no usual dose and cannot be prescribed")
            dose_mg, times = (doses or {}).get(drug, (usual.dose_mg, usual.times_per_day))
            made.append(Medication(drug=drug, dose_mg=dose_mg, times_per_day=times, indication=indication))
        return tuple(made)


@lru_cache(maxsize=1)
def chronic_drugs() -> tuple[str, ...]:
    """Return the drugs that may accompany a case: dosed in mg, taken at home, long-term."""
    return tuple(
        sorted(
            drug.id
            for drug in load_drugs().values()
            if drug.usual_dose and set(drug.routes) & ROUTES and not set(drug.classes) & _NOT_CHRONIC
        )
    )


def prescribable(drug: str) -> bool:
    """Say whether a drug can stand on the list of a patient at home."""
    return load_drugs()[drug].usual_dose is not None and bool(set(load_drugs()[drug].routes) & ROUTES)


def may_cause(draw: Draw, *drugs: str) -> bool:
    """Say whether these drugs may be the problem in this split: held-out ones in test_ood, the others elsewhere."""
    is_held_out = any(drug in held_out() for drug in drugs)
    return is_held_out == (draw.split == "test_ood")


def rank(a: str, b: str) -> int:
    """Return the severity of a pair as a number: -1 without interaction, 3 for contraindicated."""
    found = interaction_between(a, b)
    return -1 if found is None else SEVERITIES.index(found.severity)


def accompany(
    regimen: Regimen,
    draw: Draw,
    count: int,
    *,
    below_rank: int = 2,
    fits: Callable[[str], bool] = lambda drug: True,
    excused: Sequence[str] = (),
) -> None:
    """Add up to `count` companions whose interactions all stay below a severity and that duplicate nothing.

    Args:
        regimen: Grows in place.
        draw: Randomness and split; drugs held out for test_ood accompany no other split.
        count: How many to add.
        below_rank: 0 allows no interaction, 2 allows minor and moderate ones.
        fits: Further condition of the family.
        excused: Drugs whose contraindications are the point of the case.
    """
    wanted = len(regimen.drugs) + count
    before = duplications(regimen.drugs)
    for drug in shuffled(draw, chronic_drugs()):
        if len(regimen.drugs) >= wanted:
            return
        if drug in regimen.drugs or not fits(drug) or (draw.split != "test_ood" and drug in held_out()):
            continue
        if any(rank(drug, other) >= below_rank for other in regimen.drugs):
            continue
        if duplications([*regimen.drugs, drug]) == before:
            regimen.add(drug, draw.rng, excused=excused)


def difficulty_of(draw: Draw) -> str:
    """Return easy, medium or hard, by turns of the index, so that every split has all three."""
    return ("easy", "medium", "hard")[draw.index % 3]


def choose(draw: Draw, options: Sequence[str]) -> str:
    """Return one of some ids. Raises TaskError when there is none.

    Every id draws a lot of its own and the lowest wins, so a drug added later changes only the draws that it wins.
    """
    if not options:
        raise TaskError(f"{draw.family}: nothing to draw from in split {draw.split}; widen held_out.yaml or the family")
    return min(options, key=_lots(draw))


def shuffled(draw: Draw, options: Sequence[str]) -> list[str]:
    """Return ids in random order; a drug added later leaves the order of the others alone."""
    return sorted(options, key=_lots(draw))


def _lots(draw: Draw) -> Callable[[str], bytes]:
    salt = int(draw.rng.integers(2**62)).to_bytes(8, "big")
    return lambda name: blake2b(name.encode(), digest_size=8, key=salt).digest()
