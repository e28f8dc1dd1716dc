"""Whatever a domain does with a sampled patient, the chart it plays on stays one that a clinician would believe."""

import numpy as np
import pytest

from healthgym.knowledge_base import load
from healthgym.registry import domain_names
from healthgym.tasks import load_suite
from healthgym.world import Chart

SAMPLE = 120
FETUS_BEATS = (50, 240)
"""Heart rate per minute of a fetus, from severe bradycardia to tachyarrhythmia."""


def charts(domain: str) -> list[tuple[str, Chart]]:
    suite = load_suite(domain)
    ids = suite.ids(domain)
    order = np.random.default_rng(len(ids)).permutation(len(ids))[:SAMPLE]
    return [(ids[place], chart) for place in order for chart in suite.case(ids[place]).charts.values()]


def is_fetus(chart: Chart) -> bool:
    return chart.patient_id.startswith("F")


@pytest.mark.parametrize("domain", domain_names())
def test_vital_signs_are_those_of_a_living_person_of_that_age(domain: str):
    for task, chart in charts(domain):
        for _, v in chart.vital_signs:
            where = (task, chart.patient_id, chart.age_years, v)
            if is_fetus(chart):
                assert v.heart_rate_per_min is None or FETUS_BEATS[0] <= v.heart_rate_per_min <= FETUS_BEATS[1], where
                continue
            assert v.temperature_c is None or 30 <= v.temperature_c <= 43, where
            assert v.heart_rate_per_min is None or 20 <= v.heart_rate_per_min <= 260, where
            assert v.respiratory_rate_per_min is None or 3 <= v.respiratory_rate_per_min <= 90, where
            assert v.spo2_percent is None or 50 <= v.spo2_percent <= 100, where
            assert v.gcs is None or 3 <= v.gcs <= 15, where
            assert v.pain_0_10 is None or 0 <= v.pain_0_10 <= 10, where
            assert v.glucose_mg_dl is None or 15 <= v.glucose_mg_dl <= 1500, where
            if v.systolic_bp_mmhg is not None:
                assert 40 <= v.systolic_bp_mmhg <= 260, where
                assert v.diastolic_bp_mmhg is None or 15 <= v.diastolic_bp_mmhg < v.systolic_bp_mmhg, where
                # 95th percentile near 100 + 2 x age up to 13 years (AAP guideline 2017); 25 for pain and fear
                assert chart.age_years >= 13 or v.systolic_bp_mmhg <= 125 + 2 * chart.age_years, where


@pytest.mark.parametrize("domain", domain_names())
def test_bodies_ages_and_pregnancies_are_possible(domain: str):
    for task, chart in charts(domain):
        where = (task, chart.patient_id, chart.age_years, chart.weight_kg)
        assert 0 <= chart.age_years <= 110, where
        if is_fetus(chart):
            continue
        # from 2 kg at birth; a child of n years weighs about 3n + 7 kg (rule of thumb of APLS), half to more than double allowed
        usual = 3 * chart.age_years + 7 if chart.age_years >= 1 else 3 + 7 * chart.age_years
        low, high = (0.45 * usual, 2.5 * usual) if chart.age_years < 14 else (30, 250)
        assert low <= chart.weight_kg <= high, where
        if chart.pregnancy_weeks is not None:
            assert chart.sex == "female" and 12 <= chart.age_years <= 55 and 0 <= chart.pregnancy_weeks <= 43, where
        if chart.lactating:
            assert chart.sex == "female" and 12 <= chart.age_years <= 55, where


@pytest.mark.parametrize("domain", domain_names())
def test_age_and_sex_are_those_of_the_condition(domain: str):
    conditions = load().conditions
    for task, chart in charts(domain):
        if chart.condition not in conditions:
            continue
        who = conditions[chart.condition].who
        if who.female_share in (0, 1):
            assert chart.sex == ("female" if who.female_share else "male"), (task, chart.patient_id, chart.condition)
        if who.pregnancy_weeks is not None:
            assert chart.pregnancy_weeks is not None, (task, chart.patient_id, chart.condition)


@pytest.mark.parametrize("domain", domain_names())
def test_medicines_and_analytes_are_known_and_carry_their_units(domain: str):
    drugs, kb = load().drugs, load()
    for task, chart in charts(domain):
        taken = [medicine.drug for medicine in chart.medications]
        assert len(taken) == len(set(taken)) or domain == "drug_interaction", (task, chart.patient_id, taken)
        for name in taken:
            assert name in drugs, (task, chart.patient_id, name)
        for analyte, result in chart.lab_results.items():
            assert analyte in kb.analytes and result.unit == kb.analytes[analyte].unit, (task, analyte, result)
