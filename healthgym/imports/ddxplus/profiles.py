"""Conditions and evidences, and a stated model of how patients have them.

The files list which evidences belong to a condition, but not how often. The assumption here: of a condition's listed yes/no
evidences, each symptom is present with probability 0.8 and each antecedent with 0.4, independently; what is not listed is absent;
all conditions are equally likely; age and sex tell nothing, except that men have none of the few evidences only women can have.
Evidences with values are not drawn, because the files say nothing of which values go with which condition.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from healthgym.imports.folder import read_lines
from healthgym.world.chart import Sex

SYMPTOM_PRESENT, ANTECEDENT_PRESENT = 0.8, 0.4
SURE = 0.85
"""Posterior probability from which a condition counts as found; closer conditions of the released file reach 0.89 at most."""
ACCEPTED = 0.05
"""Where no drawn patient is sure: conditions at least this probable are accepted."""
MIN_PRESENT = 3
TRIES = 300
_TINY = 1e-12
_ONLY_WOMEN = frozenset({"E_11", "E_141", "E_145", "E_163", "E_167"})
"""Breastfeeding, menarche, menstruation, vaginal discharge, pregnancy."""


@dataclass(frozen=True, eq=False)
class Profiles:
    """What the two files say, and P(evidence present | condition) for the yes/no evidences."""

    conditions: tuple[Mapping[str, Any], ...]
    evidences: Mapping[str, Mapping[str, Any]]
    codes: tuple[str, ...]
    """Yes/no evidences, the columns of `present`."""
    present: np.ndarray
    """(conditions, codes) probabilities."""

    @property
    def names(self) -> tuple[str, ...]:
        """Conditions by name, the rows of `present`."""
        return tuple(condition["name"] for condition in self.conditions)

    def for_sex(self, sex: str) -> np.ndarray:
        """Return `present` for one sex."""
        men_lack = np.array([code in _ONLY_WOMEN for code in self.codes])
        return np.where(men_lack, 0.0, self.present) if sex == "male" else self.present


@lru_cache(maxsize=16)
def read_profiles(folder: Path) -> Profiles:
    """Return the profiles of an imported domain."""
    return make_profiles(
        read_lines(folder / "data" / "conditions.jsonl"), read_lines(folder / "data" / "evidences.jsonl")
    )


def make_profiles(conditions: Sequence[Mapping[str, Any]], evidences: Sequence[Mapping[str, Any]]) -> Profiles:
    """Return profiles of rows as an import stores them."""
    codes = tuple(item["code"] for item in evidences if item["type"] == "B")
    present = np.zeros((len(conditions), len(codes)))
    for row, condition in enumerate(conditions):
        for column, code in enumerate(codes):
            if code in condition["symptoms"]:
                present[row, column] = SYMPTOM_PRESENT
            elif code in condition["antecedents"]:
                present[row, column] = ANTECEDENT_PRESENT
    return Profiles(tuple(conditions), {item["code"]: item for item in evidences}, codes, present)


def log_likelihoods(present: np.ndarray, patient: np.ndarray) -> np.ndarray:
    """Return (conditions, codes): the log probability in nats of this patient's answer to each question."""
    return np.log(np.clip(np.where(patient, present, 1.0 - present), _TINY, 1.0))


def posterior(log_likelihood: np.ndarray) -> np.ndarray:
    """Return probabilities over the last axis, all conditions equally likely beforehand."""
    weights = np.exp(log_likelihood - log_likelihood.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Drawn:
    """One drawn patient."""

    sex: Sex
    age_years: int
    present: tuple[str, ...]
    initial: str
    """The symptom that is told at the start."""
    accepted: tuple[int, ...]
    """Rows of conditions that all evidence leaves likely; the drawn one first, and mostly alone."""


def draw_patient(profiles: Profiles, condition: int, rng: np.random.Generator) -> Drawn:
    """Draw a patient whose whole evidence makes the condition at least 85 % probable; see the module's assumption.

    Where none of 300 draws does, the last is kept, and every condition with a probability of 5 % is accepted.
    """
    symptoms = set(profiles.conditions[condition]["symptoms"])
    for _ in range(TRIES):
        sex: Sex = "female" if rng.random() < 0.5 else "male"
        table = profiles.for_sex(sex)
        patient = rng.random(len(profiles.codes)) < table[condition]
        codes = tuple(code for code, has in zip(profiles.codes, patient, strict=True) if has)
        told = sorted(symptoms & set(codes))
        chances = posterior(log_likelihoods(table, patient).sum(axis=1))
        if told and len(codes) >= MIN_PRESENT and chances[condition] >= SURE:
            return Drawn(sex, _age(rng), codes, str(rng.choice(told)), (condition,))
    likely = [row for row in np.argsort(-chances).tolist() if chances[row] >= ACCEPTED and row != condition]
    return Drawn(sex, _age(rng), codes, str(rng.choice(told or list(codes))), (condition, *likely))


def questions(profiles: Profiles, drawn: Drawn, needed: int) -> list[str]:
    """Return what to ask, the most telling first, until the accepted conditions are sure and `needed` things were found."""
    table = profiles.for_sex(drawn.sex)
    patient = np.isin(profiles.codes, drawn.present)
    each = log_likelihoods(table, patient)
    accepted = list(drawn.accepted)
    start = profiles.codes.index(drawn.initial)
    asked, total = [start], each[:, start].copy()
    while len(asked) <= len(profiles.codes):
        found = sum(bool(patient[column]) for column in asked[1:])
        sure = posterior(total)[accepted].sum() >= SURE
        if sure and found >= needed:
            break
        gain = posterior(total[None, :] + each.T)[:, accepted].sum(axis=1)
        gain[asked] = -1.0
        if sure:
            gain[~patient] = -1.0
        asked.append(int(gain.argmax()))
        total += each[:, asked[-1]]
    return [profiles.codes[column] for column in asked[1:]]


def _age(rng: np.random.Generator) -> int:
    return int(rng.integers(18, 90))
