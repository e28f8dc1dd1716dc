"""Days between the last dose of one antidepressant and the first of another, where a monoamine oxidase inhibitor is one."""

from healthgym.knowledge_base.pharmacology import find_drug

AFTER_MAOI_DAYS, BEFORE_MAOI_DAYS, FLUOXETINE_BEFORE_MAOI_DAYS = 14, 14, 35
"""Sources: FDA labels phenelzine, 2007, sertraline, venlafaxine, mirtazapine and bupropion, as of 2024 (14 days either way);
fluoxetine, 2023 (at least 5 weeks before a monoamine oxidase inhibitor)."""
IRREVERSIBLE = frozenset({"phenelzine", "selegiline"})
CONFLICTING_CLASSES = frozenset({"ssri", "snri", "tricyclic", "ndri"})
CONFLICTING_DRUGS = frozenset({"mirtazapine", "buspirone"})


def washout_days(stopped: str, next_drug: str) -> int:
    """Return the days that must pass; 0 where neither or both is an irreversible monoamine oxidase inhibitor."""
    if stopped in IRREVERSIBLE and _conflicts(next_drug):
        return AFTER_MAOI_DAYS
    if next_drug in IRREVERSIBLE and _conflicts(stopped):
        return FLUOXETINE_BEFORE_MAOI_DAYS if stopped == "fluoxetine" else BEFORE_MAOI_DAYS
    return 0


def _conflicts(drug: str) -> bool:
    return drug in CONFLICTING_DRUGS or bool(CONFLICTING_CLASSES & set(find_drug(drug).classes))
