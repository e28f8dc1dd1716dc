"""Imports of whole data packs, where HEALTHGYM_DATA points to them."""

import os
from pathlib import Path

import numpy as np
import pytest

from healthgym.imports import import_cases
from healthgym.imports.ddxplus.profiles import SURE, draw_patient, log_likelihoods, posterior, read_profiles
from healthgym.registry import load_domain
from healthgym.validation import validate

DATA = Path(os.environ.get("HEALTHGYM_DATA", "/nonexistent"))
pytestmark = pytest.mark.skipif(not (DATA / "cases").is_dir(), reason="HEALTHGYM_DATA does not point to the data packs")


def test_all_synthea_bundles_become_tasks_that_two_queries_agree_on(tmp_path: Path):
    report = import_cases(DATA / "cases" / "synthea_fhir", tmp_path / "synthea", licence="Apache-2.0")
    assert report.log.refused == []
    assert len(report.sources) == 25
    assert len(report.tasks) == 11
    assert report.total == 336
    proof = validate(load_domain(tmp_path / "synthea"), sample=60)
    assert (proof["failures"], proof["oracle_min"]) == ([], 1.0)


def test_every_ddxplus_condition_can_be_drawn_and_is_told_from_the_others(tmp_path: Path):
    import_cases(DATA / "cases", tmp_path / "ddx", format="ddxplus", licence="CC-BY-4.0")
    profiles = read_profiles(tmp_path / "ddx")
    assert (len(profiles.conditions), len(profiles.evidences), len(profiles.codes)) == (49, 223, 208)
    for condition in range(49):
        drawn = draw_patient(profiles, condition, np.random.default_rng(condition))
        assert drawn.accepted == (condition,)
        patient = np.isin(profiles.codes, drawn.present)
        each = log_likelihoods(profiles.for_sex(drawn.sex), patient)
        assert posterior(each.sum(axis=1))[condition] >= SURE


@pytest.mark.slow
def test_drawn_ddxplus_patients_are_proved(tmp_path: Path):
    import_cases(DATA / "cases", tmp_path / "ddx", format="ddxplus")
    proof = validate(load_domain(tmp_path / "ddx"), sample=100)
    assert (proof["failures"], proof["oracle_min"]) == ([], 1.0)
