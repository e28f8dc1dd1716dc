"""The open demos whole: read only where HEALTHGYM_DATA names the folder that holds icu/mimic3_demo and icu/eicu_demo."""

import os
from collections import Counter
from pathlib import Path

import pytest

from healthgym.evaluation.benchmark import Settings, Source
from healthgym.evaluation.benchmarks import load_benchmark
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.ehr.checks.mimic3_treatment import URINE_ITEMS
from healthgym.evaluation.ehr.policies import LookingPolicy
from healthgym.evaluation.items import attempts_at

DATA = os.environ.get("HEALTHGYM_DATA")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA, reason="HEALTHGYM_DATA does not name the data packs"),
]


@pytest.fixture(scope="module", params=["mimic3", "eicu"])
def demo(request):
    path = Path(DATA) / "icu" / f"{request.param}_demo"
    return load_benchmark(f"ehr_{request.param}", Source(path=path, options={"patients": 5000}))


def test_both_ways_agree_on_every_answer_and_each_template_gives_items(demo):
    # A disagreement would raise while items are built.
    counts = Counter(item.content["template"] for item in demo.items())
    assert demo.built.left_out == {}
    assert min(counts.values()) >= 15 and max(counts.values()) <= 30
    assert len(counts) == {"ehr_mimic3": 23, "ehr_eicu": 17}[demo.name]


def test_no_template_is_right_by_habit(demo):
    for name in {item.content["template"] for item in demo.items()}:
        golds = Counter(item.content["gold"] for item in demo.items() if item.content["template"] == name)
        assert max(golds.values()) <= 0.6 * golds.total() + 1e-9
        assert golds[None] <= 0.2 * golds.total() + 1e-9


def test_every_answer_is_reached_with_the_tools(demo):
    rows = []
    candidate = Candidate(name="oracle", engine="scripted", policy=LookingPolicy(demo.items()))
    demo.measure(
        attempts_at(demo.items(), 1), candidate, Settings(mode="agentic"), None, lambda row, _: rows.append(row)
    )
    assert Counter((row.status, row.score) for row in rows) == {("answered", 1.0): len(demo.items())}


def test_every_item_that_counts_as_urine_is_called_so():
    path = Path(DATA) / "icu" / "mimic3_demo"
    store = load_benchmark("ehr_mimic3", Source(path=path, options={"patients": 1})).store
    names = dict(store.query("SELECT itemid, label FROM d_items WHERE linksto = 'outputevents'"))
    words = ("Urine", "Foley", "Void", "Cath", "Suprapubic", "Nephrostomy", "Stent", "Ileoconduit")
    assert all(any(word in names[item] for word in words) for item in URINE_ITEMS)
