"""Scores of a ranked differential, named as in the paper.

Source: Fansi Tchango et al., DDXPlus, NeurIPS 2022 Datasets and Benchmarks: DDR, DDP and DDF1 are recall, precision and F1 of the
differential, GTPA@k says whether the patient's own pathology is among the first k.
"""

from collections.abc import Sequence


def differential_scores(
    ranked: Sequence[str], gold: Sequence[str], pathology: str, ks: Sequence[int] = (1, 3, 5)
) -> dict[str, float]:
    """Return DDR, DDP, DDF1, GTPA and GTPA@k in [0, 1]; names are compared without case, repeats count once.

    Args:
        ranked: The submitted differential, most likely first.
        gold: Conditions of the right differential.
        pathology: The condition the patient has.
        ks: Cut-offs of GTPA@k.
    """
    given = list(dict.fromkeys(name.strip().lower() for name in ranked))
    right, own = {name.strip().lower() for name in gold}, pathology.strip().lower()
    shared = len(right & set(given))
    recall = shared / len(right) if right else float(not given)
    precision = shared / len(given) if given else float(not right)
    f1 = 2 * recall * precision / (recall + precision) if recall + precision else 0.0
    scores = {"DDR": recall, "DDP": precision, "DDF1": f1, "GTPA": float(own in given)}
    return scores | {f"GTPA@{k}": float(own in given[:k]) for k in ks}
