"""Drug facts hold together, and the questions one asks of them are answered."""

import pytest

from healthgym.errors import ContentError, NotRegistered
from healthgym.knowledge_base import load
from healthgym.knowledge_base import pharmacology as p
from healthgym.knowledge_base.pharmacology_schema import PATHWAYS
from healthgym.knowledge_base.reading import FOLDER, read_yaml

RANK = {severity: number for number, severity in enumerate(p.SEVERITIES)}


# Integrity


def test_the_formulary_is_as_large_as_the_domains_count_on():
    assert len(p.load_drugs()) >= 200
    assert len(p.load_interactions()) >= 300


def test_every_monograph_stands_in_the_drugs_folder_and_they_load_in_order_of_id():
    entries = [entry for path in (FOLDER / "drugs").glob("*.yaml") for entry in read_yaml(path)]
    assert list(p.load_drugs()) == sorted(entry["id"] for entry in entries)
    assert not [
        path for path in FOLDER.rglob("*.yaml") if "usual_dose" in path.read_text() and path.parent.name != "drugs"
    ]


def test_a_drug_that_stands_in_two_files_is_refused(tmp_path, monkeypatch):
    (tmp_path / "drugs").mkdir()
    for name in ("first", "second"):
        (tmp_path / "drugs" / f"{name}.yaml").write_text(
            "- {id: warfarin, name: warfarin, classes: [anticoagulant], indications: [atrial_fibrillation], source: label}"
        )
    monkeypatch.setattr(p, "FOLDER", tmp_path)
    with pytest.raises(ContentError, match=r"id 'warfarin' stands in .*first\.yaml, line 1 too"):
        p.load_drugs.__wrapped__()


def test_every_file_of_rules_is_read():
    entries = [entry for path in (FOLDER / "interactions").glob("*.yaml") for entry in read_yaml(path)]
    named = {frozenset((e["a"], e["b"])) for e in entries if e["a"] in p.load_drugs() and e["b"] in p.load_drugs()}
    assert len(entries) >= 200
    assert named <= {interaction.pair for interaction in p.load_interactions()}


def test_every_pair_is_two_known_drugs_and_stands_once():
    pairs = [interaction.pair for interaction in p.load_interactions()]
    assert all(len(pair) == 2 and pair <= set(p.load_drugs()) for pair in pairs)
    assert len(set(pairs)) == len(pairs)


def test_a_kinetic_mechanism_has_a_substrate_and_an_inhibitor_or_inducer_in_the_monographs():
    drugs, checked = p.load_drugs(), 0
    for interaction in p.load_interactions():
        if interaction.mechanism in PATHWAYS:
            a, b = drugs[interaction.a], drugs[interaction.b]
            roles = [
                x.has_role(interaction.mechanism, "substrate")
                and y.has_role(interaction.mechanism, "inhibitor", "inducer")
                for x, y in ((a, b), (b, a))
            ]
            assert any(roles), interaction
            checked += 1
    assert checked >= 100


def test_a_pharmacodynamic_mechanism_has_its_flag_on_both_drugs():
    drugs = p.load_drugs()
    for interaction in p.load_interactions():
        pair = [drugs[interaction.a], drugs[interaction.b]]
        if interaction.mechanism == "bleeding":
            assert all(drug.bleeding for drug in pair), interaction
        elif interaction.mechanism == "qt_prolongation":
            assert all(drug.qt_risk != "none" for drug in pair), interaction
        elif interaction.mechanism == "serotonin_syndrome":
            assert all(drug.serotonergic for drug in pair), interaction
        elif interaction.mechanism == "hyperkalaemia":
            assert all(drug.potassium == "raises" for drug in pair), interaction


def test_a_proposed_alternative_interacts_less_than_what_it_replaces():
    for interaction in p.load_interactions():
        if not interaction.alternative:
            continue
        assert interaction.replace, interaction
        partner = interaction.a if interaction.replace == interaction.b else interaction.b
        assert interaction.alternative not in interaction.pair, interaction
        other = p.interaction_between(interaction.alternative, partner)
        assert other is None or RANK[other.severity] < RANK[interaction.severity], interaction


def test_a_lower_dose_names_the_drug_it_is_meant_for():
    assert all(item.replace for item in p.load_interactions() if item.limit_daily_mg or item.action == "reduce_dose")


def test_every_drug_that_conditions_and_comorbidities_name_has_a_monograph():
    kb, drugs = load(), p.load_drugs()
    named = {drug for c in kb.conditions.values() for drug in (*c.first_drugs, *c.contraindicated)}
    named |= {drug for c in kb.comorbidities.values() for drug in c.medicines}
    assert named - set(drugs) == set()


def test_no_usual_dose_is_above_the_daily_maximum():
    for drug in p.load_drugs().values():
        if drug.usual_dose and drug.max_daily_mg:
            assert drug.usual_dose.dose_mg * drug.usual_dose.times_per_day <= drug.max_daily_mg + 1e-9, drug.id


def test_a_renal_ceiling_never_rises_as_the_kidney_fails():
    for drug in p.load_drugs().values():
        bands = sorted(drug.renal, key=lambda band: band.below)
        ceilings = [0 if band.avoid else band.max_daily_mg or float("inf") for band in bands]
        assert ceilings == sorted(ceilings), drug.id
        if drug.max_daily_mg:
            assert all(band.max_daily_mg is None or band.max_daily_mg <= drug.max_daily_mg for band in bands), drug.id


def test_every_drug_has_a_source_with_a_body_behind_it():
    assert all(len(drug.source) > 8 for drug in p.load_drugs().values())


def test_what_is_offered_for_penicillin_allergy_is_no_penicillin_nor_cefalexin():
    offered = [
        (drug.id, name)
        for drug in p.load_drugs().values()
        for name, when in drug.alternatives.items()
        if "penicillin allergy" in when
    ]
    assert len(offered) >= 4
    assert [pair for pair in offered if p.cross_reactive("penicillin", pair[1])] == []


# Questions


def test_names_brands_and_spelling_lead_to_one_drug():
    for name in ("rifampin", "Rifampicin", "RIFAMPIN "):
        assert p.find_drug(name).id == "rifampicin"
    assert p.find_drug("Methylene Blue").id == p.find_drug("provayblue").id == "methylthioninium"
    assert p.find_drug("trimethoprim-sulfamethoxazole").id == p.find_drug("co-trimoxazole").id


def test_an_unknown_drug_offers_the_nearest():
    with pytest.raises(NotRegistered, match="Did you mean 'warfarin'"):
        p.find_drug("warfarine")


def test_a_screen_lists_the_most_severe_first_and_each_pair_once():
    found = p.screen(["warfarin", "simvastatin", "clarithromycin", "ibuprofen", "warfarin"])
    ranks = [RANK[item.severity] for item in found]
    assert found[0].pair == {"simvastatin", "clarithromycin"}
    assert ranks == sorted(ranks, reverse=True)
    assert len({item.pair for item in found}) == len(found)


def test_duplications_spare_low_dose_aspirin():
    assert p.duplications(["ibuprofen", "naproxen", "aspirin", "warfarin"]) == [("nsaid", ("ibuprofen", "naproxen"))]
    assert p.duplications(["aspirin", "ibuprofen"]) == []


def test_alternatives_leave_out_what_this_patient_cannot_take():
    free = p.alternatives("trimethoprim")
    assert {"nitrofurantoin", "fosfomycin", "cefalexin"} == set(free)
    # Clearance 25 rules nitrofurantoin out (Beers 2023), a penicillin allergy of unknown culprit cefalexin.
    assert set(p.alternatives("trimethoprim", creatinine_clearance_ml_min=25)) == {"fosfomycin", "cefalexin"}
    assert "cefalexin" not in p.alternatives("trimethoprim", allergies=["penicillin"])
    assert "nitrofurantoin" not in p.alternatives("trimethoprim", trimester=3)
    # Beers 2023: lorazepam is avoided from 65 years on.
    assert "lorazepam" in p.alternatives("alprazolam", age_years=64)
    assert "lorazepam" not in p.alternatives("alprazolam", age_years=65)
    # Azoles raise warfarin; the alternative for a nail infection does not.
    assert "terbinafine" in p.alternatives("fluconazole", regimen=["warfarin", "fluconazole"])
    assert "terbinafine" in p.alternatives("ketoconazole") and "propranolol" not in p.alternatives(
        "topiramate", conditions=["asthma"]
    )


def test_a_relative_contraindication_is_told_from_an_absolute_one():
    assert not p.load_drugs()["atenolol"].contraindicated_in("asthma").absolute
    assert p.load_drugs()["propranolol"].contraindicated_in("asthma").absolute
    assert p.load_drugs()["amlodipine"].contraindicated_in("asthma") is None
