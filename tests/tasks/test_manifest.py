import json
from dataclasses import replace
from pathlib import Path

import pytest

from healthgym.authoring import new_domain
from healthgym.errors import ContentError
from healthgym.registry import domain_names, load_domain
from healthgym.tasks import Suite, load_suite
from healthgym.tasks.manifest import differences, make_manifest, manifest_path, write_manifest


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    new_domain(tmp_path / "wound_care")
    return Suite([load_domain(tmp_path / "wound_care")])


def test_a_frozen_domain_agrees_with_its_manifest(suite: Suite):
    path = write_manifest(suite, "wound_care")
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert kept == make_manifest(suite, "wound_care")
    assert kept["tasks"] == len(suite.ids())
    assert differences(suite, "wound_care") == []


def test_a_changed_case_more_cases_and_lost_families_are_named(suite: Suite):
    path = write_manifest(suite, "wound_care")
    kept = json.loads(path.read_text(encoding="utf-8"))
    (name,) = kept["families"]
    kept["families"][name]["digest"] = "0" * 64
    kept["families"]["gone"] = kept["families"][name]
    path.write_text(json.dumps(kept), encoding="utf-8")
    assert differences(suite, "wound_care") == [
        "wound_care/gone: in the manifest, but no longer in the domain",
        f"wound_care/{name}: its cases have changed since they were frozen; raise the family's version",
    ]
    assert len(differences(suite, "wound_care", counts_only=True)) == 1
    domain = suite.domains["wound_care"]
    grown = replace(domain.families[name], counts={**domain.families[name].counts, "train": 999})
    more = Suite([replace(domain, families={name: grown})])
    assert "counts are {'train': 999" in differences(more, "wound_care", counts_only=True)[1]


def test_a_missing_or_broken_manifest_says_how_to_write_one(suite: Suite):
    with pytest.raises(ContentError, match="healthgym tasks freeze wound_care"):
        differences(suite, "wound_care")
    manifest_path(suite.domains["wound_care"]).write_text("[1]", encoding="utf-8")
    with pytest.raises(ContentError, match="write it anew"):
        differences(suite, "wound_care")


@pytest.mark.parametrize("name", domain_names())
def test_counts_and_versions_are_as_frozen(name: str):
    assert differences(load_suite(name), name, counts_only=True) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", domain_names())
def test_every_case_is_as_frozen(name: str):
    assert differences(load_suite(name), name) == []
