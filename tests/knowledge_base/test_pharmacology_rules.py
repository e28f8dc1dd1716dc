"""Rules that cannot be true are refused, and the more exact rule wins."""

from pathlib import Path

import pytest

from healthgym.errors import ContentError
from healthgym.knowledge_base import pharmacology as p
from healthgym.knowledge_base.pharmacology_rules import disagreement, expand
from healthgym.knowledge_base.reading import parse, read_yaml


def rule(**changes) -> p.Interaction:
    facts = {
        "a": "warfarin",
        "b": "fluconazole",
        "severity": "major",
        "mechanism": "CYP2C9",
        "effect": "INR rises",
        "action": "monitor",
        "source": "label",
    }
    return p.Interaction.model_validate(facts | changes)


# Broken content


def test_a_monograph_that_breaks_the_schema_names_file_and_field(tmp_path: Path):
    path = tmp_path / "drugs.yaml"
    path.write_text("- {id: x, name: X, classes: [c], indications: [i], source: long enough, beers: avoid}\n")
    with pytest.raises(ContentError, match=r"drugs\.yaml.*beers_advice"):
        parse(p.Drug, read_yaml(path)[0], path)


def test_rules_that_cannot_be_true_are_refused():
    drugs, path = p.load_drugs(), Path("rules.yaml")
    broken = {
        "cannot interact with itself": [rule(b="warfarin")],
        "Did you mean 'warfarin'": [rule(a="warfarim")],
        "not substrate and inhibitor": [rule(mechanism="CYP2D6")],
        "no part in qt_prolongation": [rule(mechanism="qt_prolongation")],
        "stands in another rule": [rule(), rule(a="fluconazole", b="warfarin", severity="minor")],
        "alternative": [rule(alternative="paracetamoll")],
    }
    for message, rules in broken.items():
        with pytest.raises(ContentError, match=message):
            expand([(path, item) for item in rules], drugs)


def test_a_named_pair_wins_over_its_class_and_the_more_severe_class_over_the_milder():
    drugs, path = p.load_drugs(), Path("rules.yaml")
    mild = rule(a="anticoagulant", b="ssri", mechanism="bleeding", severity="minor")
    harsh = rule(a="vitamin_k_antagonist", b="antidepressant", mechanism="inr_rise", severity="major")
    named = rule(a="warfarin", b="sertraline", mechanism="bleeding", severity="moderate")
    both = {i.pair: i.severity for i in expand([(path, mild), (path, harsh)], drugs)}
    assert both[frozenset(("warfarin", "sertraline"))] == "major"
    assert both[frozenset(("apixaban", "sertraline"))] == "minor"
    all_three = {i.pair: i.severity for i in expand([(path, named), (path, harsh), (path, mild)], drugs)}
    assert all_three[frozenset(("warfarin", "sertraline"))] == "moderate"


def test_an_interaction_says_whether_levels_or_effects_change():
    assert p.interaction_between("simvastatin", "clarithromycin").kind == "pharmacokinetic"
    assert p.interaction_between("warfarin", "ibuprofen").kind == "pharmacodynamic"
    assert disagreement("CYP3A4", p.load_drugs()["simvastatin"], p.load_drugs()["clarithromycin"]) == ""
