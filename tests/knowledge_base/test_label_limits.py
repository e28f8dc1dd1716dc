"""Limits of dose and strength of enzyme effects are those of the source that the monograph names."""

from healthgym.knowledge_base import pharmacology as p


def test_enoxaparin_below_30_ml_min_goes_by_weight_and_has_no_ceiling_in_mg():
    # FDA label enoxaparin, 2022, section 2.2: 1 mg/kg once a day below 30 mL/min. 80 mg would be 1.6 mg/kg at 50 kg.
    band = p.renal_dose("enoxaparin", 29)
    assert (band.max_daily_mg, band.avoid) == (None, False) and "1 mg/kg once a day" in band.note
    assert p.renal_dose("enoxaparin", 30) is None
