"""Pairs that a label forbids or advises against are on record: silence would be read as "no interaction"."""

import pytest

from healthgym.knowledge_base import pharmacology as p

STRONG_CYP3A4 = (
    "clarithromycin",
    "cobicistat",
    "itraconazole",
    "ketoconazole",
    "posaconazole",
    "ritonavir",
    "voriconazole",
)


@pytest.mark.parametrize(
    "drug", ["alprazolam", "domperidone", "eplerenone", "ivabradine", "naloxegol", "ranolazine", "triazolam"]
)
def test_a_label_that_forbids_strong_cyp3a4_inhibitors_forbids_each_of_them(drug):
    # FDA labels, section 4 (alprazolam: ritonavir excepted); domperidone: EMA review, 2014.
    barred = [name for name in STRONG_CYP3A4 if (drug, name) != ("alprazolam", "ritonavir")]
    found = {name: p.interaction_between(drug, name) for name in barred}
    assert {name for name, item in found.items() if item and item.severity == "contraindicated"} == set(barred)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("lovastatin", "ritonavir"),  # FDA label lovastatin, contraindications: strong CYP3A4 inhibitors
        ("ranolazine", "phenytoin"),  # FDA label ranolazine, section 4: CYP3A inducers
        ("sumatriptan", "phenelzine"),  # FDA label sumatriptan, section 4: MAO-A inhibitors
        ("sumatriptan", "moclobemide"),  # FDA label sumatriptan, section 4: MAO-A inhibitors
        ("spironolactone", "eplerenone"),  # FDA label spironolactone, section 4
        ("amiloride", "spironolactone"),  # FDA label amiloride, contraindications
    ],
)
def test_a_pair_that_a_label_forbids_is_contraindicated(a, b):
    assert p.interaction_between(a, b).severity == "contraindicated"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("sacubitril_valsartan", "candesartan"),  # FDA label sacubitril/valsartan, section 7.1: avoid
        ("sacubitril_valsartan", "valsartan"),
        ("sertraline", "duloxetine"),  # FDA label duloxetine: with an SSRI not recommended
        ("citalopram", "venlafaxine"),
    ],
)
def test_a_pair_that_a_label_advises_against_is_major(a, b):
    assert p.interaction_between(a, b).severity == "major"
