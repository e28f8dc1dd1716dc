import pytest

from healthgym.imports.names import accepted_names, naming, normal_name

SAME = [
    ("Iron deficiency anaemia", "iron-deficiency anemia"),
    ("Diabetes mellitus, type 2", "Type II diabetes mellitus"),
    ("Crohn's disease", "Crohn disease"),
    ("Guillain-Barré syndrome", "guillain barre syndrome."),
    ("Myasthenia gravis (MG)", "Myasthenia gravis"),
    ("Oesophageal tumour", "Esophageal tumor"),
    ("An acute cystitis", "acute cystitis"),
]
OTHER = [
    ("Type 1 diabetes mellitus", "Type 2 diabetes mellitus"),
    ("Type 1 diabetes mellitus", "Diabetes mellitus"),
    ("Left ureterolithiasis", "Right ureterolithiasis"),
    ("Left ureterolithiasis", "Ureterolithiasis"),
    ("Acute pancreatitis", "Chronic pancreatitis"),
    ("Pneumonia", "No pneumonia"),
    ("Pneumonia", "Pneumonia (ruled out)"),
    ("Pneumonia", "Pneumonia (NOT)"),
    ("Pneumonia", "Pneumonia, not tuberculosis"),
    ("Pneumonia", "Pneumonia or tuberculosis"),
    ("Hypothyroidism", "Hyperthyroidism"),
    ("Cushing disease", "Cushing syndrome"),
    ("Hepatitis A", "Hepatitis"),
    ("Hepatitis A", "Hepatitis B"),
    ("Viral meningitis", "Bacterial meningitis"),
    ("HER2+ breast cancer", "HER2- breast cancer"),
    ("Stage I lung cancer", "Stage II lung cancer"),
    ("Ulcerative colitis", "Ulcerative colitis, Crohn disease, ischaemic colitis"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spellings_of_one_diagnosis_are_the_same_name(one: str, other: str):
    assert normal_name(one) == normal_name(other)


@pytest.mark.parametrize(("gold", "near_miss"), OTHER)
def test_a_near_miss_is_another_name(gold: str, near_miss: str):
    assert normal_name(near_miss) not in accepted_names(gold)


def test_an_acronym_that_the_case_gives_is_accepted_and_other_brackets_are_not_dropped():
    accepted = accepted_names("Gastroesophageal reflux disease (GERD)")
    assert {normal_name("GERD"), normal_name("Gastro-esophageal reflux disease")} - set(accepted) == {
        "gastro esophageal reflux disease"
    }  # a hyphen makes two words of one
    assert normal_name("gastroesophageal reflux disease") in accepted
    assert accepted_names("Hypertension (secondary)") == ["hypertension secondary"]


def test_a_normal_name_is_its_own_normal_name():
    for name in (each for pair in SAME + OTHER for each in pair):
        assert normal_name(normal_name(name)) == normal_name(name)


def test_a_text_names_a_diagnosis_in_full_or_without_its_qualifiers():
    names = accepted_names("Acute appendicitis")
    assert naming("CT: findings of acute appendicitis.", names) == "acute appendicitis"
    assert naming("An uncle had appendicitis.", names) == "appendicitis"
    assert naming("Several peptic ulcers were seen.", accepted_names("Peptic ulcer")) == "peptic ulcer"
    assert naming("The appendix is 9 mm wide.", names) == ""
