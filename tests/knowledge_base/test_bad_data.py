"""A data file that breaks its schema, or names what nothing has, is refused with file, line and remedy."""

import re
import shutil

import pytest

from healthgym import knowledge_base
from healthgym.errors import ContentError
from healthgym.knowledge_base import load, pharmacology
from healthgym.knowledge_base.data import read_data
from healthgym.knowledge_base.pharmacology import load_drugs, load_interactions
from healthgym.knowledge_base.reading import FOLDER


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """Return a copy of the data files that the loaders read instead of the real ones."""
    folder = tmp_path / "kb"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    monkeypatch.setattr(knowledge_base, "FOLDER", folder)
    monkeypatch.setattr(pharmacology, "FOLDER", folder)
    monkeypatch.setattr(knowledge_base, "load_drugs", load_drugs.__wrapped__)
    monkeypatch.setattr(pharmacology, "load_drugs", load_drugs.__wrapped__)
    return folder


ANALYTE = "- {id: %s, name: A, plain: a, unit: %s, ranges: [{low: 1, high: 2}], source: some book 2020}\n"
DRUG = "- {id: %s, name: %s, classes: [new_class], indications: [pain]%s}\n"
SOURCE = ', source: "a label, 2024"'
ADDED = {
    "a laboratory test with a misspelt unit": ("analytes/new.yaml", ANALYTE % ("aa", "mg/dl"), "Did you mean 'mg/dL'"),
    "a laboratory test without a source": (
        "analytes/new.yaml", (ANALYTE % ("aa", "mg/dL")).replace(", source: some book 2020", ""), "source: is missing; add",
    ),
    "a laboratory test that stands in two files": ("analytes/new.yaml", ANALYTE % ("sodium", "mmol/L"), "stands in .*general"),
    "a drug without a source": ("drugs/new.yaml", DRUG % ("newdrug", "newdrug", ""), "source: is missing; add"),
    "a drug that stands in two files": ("drugs/new.yaml", DRUG % ("warfarin", "warfarin", SOURCE), "stands in .*rename"),
    "a dose in another unit": (
        "drugs/new.yaml", DRUG % ("newdrug", "new", ", usual_dose: {dose_g: 1, times_per_day: 1}" + SOURCE), "usual_dose.dose_g",
    ),
    "an alternative that is no drug": (
        "drugs/new.yaml", DRUG % ("newdrug", "new", ", alternatives: {warfarine: always}" + SOURCE), "Did you mean 'warfarin'",
    ),
    "an illness that takes an unknown drug": (
        "comorbidities/new.yaml",
        '- {id: new, name: new, prevalence: [0, 0, 0], medicines: {metforminn: 0.5}, source: "some book 2020"}\n',
        "No drug 'metforminn'. Did you mean 'metformin'",
    ),
    "an illness that moves an unknown laboratory test": (
        "comorbidities/new.yaml",
        '- {id: new, name: new, prevalence: [0, 0, 0], labs: {creatinin: [1, 1]}, source: "some book 2020"}\n',
        "No analyte 'creatinin'. Did you mean 'creatinine'",
    ),
    "an interaction with an unknown drug": (
        "interactions/new.yaml",
        '- {a: warfarin, b: ibuprofeen, severity: major, mechanism: other, effect: x, action: avoid, source: "a label"}\n',
        "No drug or class 'ibuprofeen'. Did you mean 'ibuprofen'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ADDED)
def test_an_entry_is_refused_with_file_line_and_remedy(copy, case):
    # The comment above the entry takes line 1.
    file, text, complaint = ADDED[case]
    (copy / file).write_text("# new\n" + text)
    with pytest.raises(ContentError, match=rf"{re.escape(file)}, line 2\D") as caught:
        load.__wrapped__()
        load_interactions.__wrapped__()
    assert re.search(complaint, str(caught.value)), caught.value


CHANGED = {
    "an unknown laboratory test": ("labs: {troponin_", "labs: {troponine_", "analyte"),
    "an unknown first drug": ("first_drugs: [aspirin", "first_drugs: [aspirine", "Did you mean 'aspirin'"),
    "a missing source": ("\nsource:", "\nsources:", "source: is missing; add source"),
    "a key that stands twice": ("\nkey_findings:", "\nname: x\nkey_findings:", "'name' stands twice"),
}


@pytest.mark.parametrize("case", CHANGED)
def test_a_condition_is_refused_with_file_line_and_remedy(copy, case):
    old, new, complaint = CHANGED[case]
    path = copy / "conditions" / "stemi.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ContentError, match=complaint) as caught:
        load.__wrapped__()
    line = int(re.search(r"stemi\.yaml, line (\d+)", str(caught.value))[1])
    assert 1 <= line <= len(text.splitlines()) + 1
    if "missing" not in case:
        # The line told holds what was changed; a missing key has no line but its entry's.
        assert new.strip("\n").split(": ")[0].splitlines()[0] in path.read_text().splitlines()[line - 1]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("- {id: stemi, drugs: [aspirin, aspirine]}\n", "No drug 'aspirine'. Did you mean 'aspirin'"),
        ("first:\n  {drug: warfarine}\n", "No drug 'warfarine'. Did you mean 'warfarin'"),
        ("- {id: renal, analytes: [creatinin]}\n", "No analyte 'creatinin'. Did you mean 'creatinine'"),
        ("- {id: a, drugs: [\n", "not valid YAML"),
    ],
)
def test_a_domains_file_is_refused_with_file_line_and_remedy(tmp_path, text, complaint):
    # Two good lines come first; what is wrong stands on line 3 or, for the block and the open bracket, on line 4.
    path = tmp_path / "table.yaml"
    good = (
        "# drugs\nother: {drugs: [aspirin, statin]}\n"
        if text.startswith("first")
        else "# drugs\n- {id: ok, drugs: [statin]}\n"
    )
    path.write_text(good + text)
    with pytest.raises(ContentError, match=rf"table\.yaml, line [34]: {complaint}"):
        read_data(path)


def test_a_file_whose_names_exist_is_read_as_it_is(tmp_path):
    path = tmp_path / "table.yaml"
    path.write_text("- {id: a, drugs: [aspirin, statin], analyte: sodium, drug: {dose: one}}\n")
    assert read_data(path) == [
        {"id": "a", "drugs": ["aspirin", "statin"], "analyte": "sodium", "drug": {"dose": "one"}}
    ]
