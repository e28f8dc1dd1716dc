"""A toy base of ten passages, and an index of it on disk."""

import shutil

import pytest

from healthgym.retrieval import HashingEncoder, Passage, build_index

FACTS = {
    "sepsis": ("Sepsis", "Early antibiotics and fluids lower the mortality of septic shock."),
    "warfarin": ("Warfarin", "Warfarin with amiodarone raises the INR; halve the dose and check INR weekly."),
    "metformin": ("Metformin", "Metformin is first-line treatment of type 2 diabetes mellitus."),
    "insulin": ("Insulin", "Insulin lowers blood glucose; too much causes hypoglycaemia."),
    "asthma": ("Asthma", "Inhaled salbutamol opens the airways during an asthma attack."),
    "copd": ("COPD", "Long-acting bronchodilators ease breathlessness in chronic obstructive pulmonary disease."),
    "stroke": ("Stroke", "Alteplase within 4.5 hours of an ischaemic stroke improves recovery."),
    "mi": ("Myocardial infarction", "Aspirin and reperfusion treat a heart attack with ST elevation."),
    "uti": ("Urinary infection", "Nitrofurantoin treats uncomplicated cystitis in women."),
    "gout": ("Gout", "Colchicine eases the pain of acute gout."),
}


@pytest.fixture(scope="session")
def facts():
    return [
        Passage(
            id=key, title=title, text=text, source="drugs" if key in ("warfarin", "metformin", "insulin") else "conditions",
            licence="CC0-1.0" if key < "n" else "CC-BY-4.0", date="2024",
        )
        for key, (title, text) in FACTS.items()
    ]  # fmt: skip


@pytest.fixture(scope="session")
def encoder():
    return HashingEncoder()


@pytest.fixture(scope="session")
def built(facts, encoder, tmp_path_factory):
    """Folder of an index of the facts. Read only: copy it to damage it."""
    pytest.importorskip("faiss")
    pytest.importorskip("bm25s")
    folder = tmp_path_factory.mktemp("base") / "index"
    build_index([facts], folder, encoder)
    return folder


@pytest.fixture
def damaged(built, tmp_path):
    """A copy of the index to damage."""
    return shutil.copytree(built, tmp_path / "index")
