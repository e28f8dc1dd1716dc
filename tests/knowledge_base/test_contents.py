"""The data files: whole, sourced, quick to read, and cross-referenced."""

import shutil
from collections import Counter

import pytest
import yaml

from healthgym import knowledge_base
from healthgym.errors import ContentError, NotRegistered
from healthgym.knowledge_base import KnowledgeBase, load
from healthgym.knowledge_base.reading import FOLDER, read_table
from healthgym.knowledge_base.schema import Analyte, Condition, Guideline


def test_the_knowledge_base_is_as_large_as_promised():
    kb = load()
    assert len(kb.conditions) >= 45
    assert len(kb.analytes) >= 55
    assert len(kb.guidelines) >= 40
    assert len(kb.studies) >= 10


def test_every_fact_names_a_source_with_a_year():
    kb = load()
    # every condition, statement and illness rests on something dated; studies and instruments of the simulation say so
    for facts in (kb.conditions, kb.guidelines, kb.comorbidities, kb.analytes):
        for name, fact in facts.items():
            assert any(f"{century}" in fact.source for century in ("19", "20")) or "edition" in fact.source, name
    for guideline in kb.guidelines.values():
        assert str(guideline.year) in guideline.source, guideline.id


def test_drugs_named_by_conditions_illnesses_and_analytes_exist():
    kb = load()
    classes = {name for drug in kb.drugs.values() for name in drug.classes}
    for condition in kb.conditions.values():
        assert set(condition.first_drugs) <= set(kb.drugs), condition.id
        assert set(condition.who.medicines) <= set(kb.drugs), condition.id
        assert set(condition.contraindicated) <= {*kb.drugs, *classes}, condition.id
        assert not set(condition.first_drugs) & set(condition.contraindicated), condition.id
    for illness in kb.comorbidities.values():
        assert set(illness.medicines) <= set(kb.drugs), illness.id
    assert set(kb.medicine_labs) <= set(kb.drugs)
    assert {analyte.drug for analyte in kb.analytes.values() if analyte.drug} <= set(kb.drugs)


def test_no_two_conditions_share_a_name():
    spellings: Counter[str] = Counter()
    for condition in load().conditions.values():
        names = {name.lower().replace("_", " ") for name in (condition.id, condition.name, *condition.aliases)}
        spellings.update(names)
    assert [name for name, count in spellings.items() if count > 1] == []


def test_every_symptom_sign_and_illness_is_used():
    kb = load()
    used = {name for condition in kb.conditions.values() for name in (*condition.symptoms, *condition.signs)}
    assert set(kb.symptoms) - used == set()
    assert set(kb.signs) - used == set()


def test_ranges_cover_every_age_and_critical_limits_lie_outside_them():
    for analyte in load().analytes.values():
        for sex in ("female", "male"):
            for age in (0.02, 0.3, 1, 4, 9, 13, 16, 30, 70, 95):
                limits = analyte.reference_range(sex, age)
                assert limits.low <= limits.high, analyte.id
                assert limits.sex in ("any", sex), (analyte.id, sex, age)
        adult = [band for band in analyte.ranges if band.to_years >= 200]
        if analyte.critical_low is not None:
            assert all(analyte.critical_low < band.low for band in adult), analyte.id
        if analyte.critical_high is not None:
            assert all(analyte.critical_high > band.high for band in adult), analyte.id


def test_a_child_has_the_range_of_a_child():
    kb = load()
    # white cells: 6.0 to 17.5 at 1 year, 4.0 to 11.0 in adults; alkaline phosphatase 156 to 369 at 5 years
    assert kb.analytes["wbc"].reference_range("female", 1.0).high == 17.5
    assert kb.analytes["wbc"].reference_range("female", 40.0).high == 11.0
    assert kb.analytes["alkaline_phosphatase"].reference_range("male", 5.0).high == 369
    assert kb.analytes["hemoglobin"].reference_range("male", 40.0).low == 14
    assert kb.analytes["hemoglobin"].reference_range("female", 40.0).low == 12


def test_loinc_codes_end_in_their_check_digit():
    for analyte in load().analytes.values():
        if analyte.loinc:
            digits, check = analyte.loinc.split("-")
            # Mod-10 by Luhn: from the right every other digit doubled, digits summed, distance to the next ten.
            total = 0
            for place, digit in enumerate(reversed(digits)):
                value = int(digit) * (2 if place % 2 == 0 else 1)
                total += value // 10 + value % 10
            assert int(check) == (10 - total % 10) % 10, analyte.id


def test_an_unknown_condition_offers_the_nearest():
    with pytest.raises(NotRegistered, match="appendicitis"):
        load().condition("apendicitis")


def test_a_bad_entry_is_refused_with_file_line_entry_and_reason(tmp_path):
    path = tmp_path / "analytes.yaml"
    good = "- {id: a, name: A, plain: a, unit: mg/dL, ranges: [{low: 1, high: 2}], source: some book 2020}\n"
    path.write_text(good + good.replace("id: a", "id: b").replace("plain", "plian"))
    with pytest.raises(ContentError) as caught:
        read_table(Analyte, path)
    message = str(caught.value)
    for part in ("analytes.yaml, line 2", "'b'", "plian", "Mend it"):
        assert part in message, message


def test_invalid_yaml_names_the_line(tmp_path):
    path = tmp_path / "guidelines.yaml"
    path.write_text("- {id: a\n- oops: [\n")
    with pytest.raises(ContentError, match="line 2"):
        read_table(Guideline, path)


def _copy(tmp_path, monkeypatch):
    folder = tmp_path / "kb"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    monkeypatch.setattr(knowledge_base, "FOLDER", folder)
    return folder


def _change(path, **changes):
    content = yaml.safe_load(path.read_text())
    content.update(changes)
    path.write_text(yaml.safe_dump(content))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"symptoms": {"chest_pains": 0.9, "fever": 0.1}, "key_findings": ["fever"], "red_flags": []}, "chest_pain"),
        ({"key_findings": ["nonsense"]}, "nonsense"),
        ({"icd10": "heart"}, "icd10"),
        ({"id": "heart_attack"}, "heart_attack.yaml"),
        ({"who": {"age_years": [60, 40]}}, "age_years"),
        ({"chief_complaints": []}, "chief_complaints"),
    ],
)
def test_a_condition_that_does_not_fit_is_refused(tmp_path, monkeypatch, changes, complaint):
    folder = _copy(tmp_path, monkeypatch)
    _change(folder / "conditions" / "stemi.yaml", **changes)
    with pytest.raises(ContentError, match=complaint) as caught:
        load.__wrapped__()
    assert "stemi" in str(caught.value)


def test_a_statement_about_an_unknown_condition_is_refused(tmp_path, monkeypatch):
    folder = _copy(tmp_path, monkeypatch)
    path = folder / "guidelines" / "neurological.yaml"
    path.write_text(path.read_text().replace("conditions: [migraine_attack]", "conditions: [migraine_attak]"))
    with pytest.raises(ContentError, match="migraine_attack"):
        load.__wrapped__()


def test_the_digest_changes_with_any_fact(tmp_path, monkeypatch):
    kb = load()
    before = kb.digest()
    folder = _copy(tmp_path, monkeypatch)
    assert kb.digest() == before
    path = folder / "drugs" / "other.yaml"
    path.write_text(path.read_text() + "# a word\n")
    assert kb.digest() != before
    assert len(before) == 64


def test_facts_cannot_be_changed():
    kb = load()
    assert isinstance(kb, KnowledgeBase)
    with pytest.raises(ValueError, match="frozen"):
        kb.conditions["stemi"].name = "other"
    with pytest.raises(ValueError, match="Extra inputs"):
        Condition.model_validate({**kb.conditions["stemi"].model_dump(), "colour": "red"})


def test_no_profile_has_a_crp_that_only_milligrams_per_litre_would_explain():
    # the analyte is in mg/dL; 50 mg/dL (500 mg/L) is about the highest that is seen
    kb = load()
    assert kb.analytes["crp"].unit == "mg/dL"
    drawn = {
        condition.id: severity.labs["crp"]
        for condition in kb.conditions.values()
        for severity in condition.severities.values()
        if "crp" in severity.labs
    }
    assert "delirium" in drawn
    assert [name for name, (mean, sd) in drawn.items() if mean + 3 * sd > 50] == []


def test_lactational_mastitis_has_the_code_of_lactation_not_of_the_puerperium():
    # ICD-10-CM: O91.22 nonpurulent mastitis associated with the puerperium, O91.23 with lactation
    assert load().conditions["lactational_mastitis"].icd10 == "O91.23"
