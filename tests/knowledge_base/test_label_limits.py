"""Limits of dose and strength of enzyme effects are those of the source that the monograph names."""

from healthgym.knowledge_base import pharmacology as p


def test_enoxaparin_below_30_ml_min_goes_by_weight_and_has_no_ceiling_in_mg():
    # FDA label enoxaparin, 2022, section 2.2: 1 mg/kg once a day below 30 mL/min. 80 mg would be 1.6 mg/kg at 50 kg.
    band = p.renal_dose("enoxaparin", 29)
    assert (band.max_daily_mg, band.avoid) == (None, False) and "1 mg/kg once a day" in band.note
    assert p.renal_dose("enoxaparin", 30) is None


def test_nirmatrelvir_is_not_recommended_below_an_egfr_of_30():
    # FDA label Paxlovid, 2023, section 2.3: 150 mg at 30 to 59, not recommended below 30.
    assert "not recommended" in p.renal_dose("ritonavir", 29).note
    assert "150" in p.renal_dose("ritonavir", 30).note and p.renal_dose("ritonavir", 60) is None


def test_strong_inducers_of_cyp3a4_are_those_of_the_fda_table():
    # FDA, Drug Development and Drug Interactions: Table of Inducers, 2023; phenobarbital is moderate there.
    strength = {d.id: d.cyp.get("CYP3A4", {}).get("inducer") for d in p.load_drugs().values()}
    assert {name for name, how in strength.items() if how == "strong"} == {
        "carbamazepine", "phenytoin", "rifampicin", "st_johns_wort",
    }  # fmt: skip
    assert strength["phenobarbital"] == "moderate"
