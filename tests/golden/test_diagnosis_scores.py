"""Diagnostic instruments at the boundaries of their published definitions, and worked by hand."""

import pytest

from healthgym.tools.scores.alveolar_gradient import (
    alveolar_arterial_gradient,
    alveolar_gradient_mmhg,
    expected_gradient_mmhg,
)
from healthgym.tools.scores.anion_gap import albumin_corrected, anion_gap, anion_gap_mmol_l, delta_ratio
from healthgym.tools.scores.cha2ds2_vasc import anticoagulation_advice, cha2ds2_vasc, cha2ds2_vasc_points
from healthgym.tools.scores.child_pugh import child_pugh, child_pugh_class, child_pugh_points
from healthgym.tools.scores.corrected_calcium import corrected_calcium, corrected_calcium_mg_dl
from healthgym.tools.scores.corrected_sodium import corrected_sodium, corrected_sodium_mmol_l
from healthgym.tools.scores.curb65 import curb65, curb65_band, curb65_points
from healthgym.tools.scores.has_bled import has_bled, has_bled_band, has_bled_points
from healthgym.tools.scores.meld import meld_3, meld_3_0
from healthgym.tools.scores.perc import perc, perc_criteria_met
from healthgym.tools.scores.wells_dvt import wells_dvt, wells_dvt_band, wells_dvt_points
from healthgym.tools.scores.wells_pe import wells_pe, wells_pe_band, wells_pe_points

CURB = {
    "confusion": False, "urea_nitrogen_mg_dl": 15, "respiratory_rate_per_min": 18, "systolic_bp_mmhg": 120,
    "diastolic_bp_mmhg": 75, "age_years": 50,
}  # fmt: skip


@pytest.mark.parametrize(
    ("item", "values", "points"),
    [  # Lim 2003: urea above 7 mmol/L (19.6 mg/dL urea nitrogen), 30 a minute or more, below 90 or 60 or less, 65 or more
        ("confusion", (False, True), (0, 1)),
        ("urea_nitrogen_mg_dl", (19, 19.6, 19.7, 20), (0, 0, 1, 1)),
        ("respiratory_rate_per_min", (29, 30), (0, 1)),
        ("systolic_bp_mmhg", (89, 90), (1, 0)),
        ("diastolic_bp_mmhg", (60, 61), (1, 0)),
        ("age_years", (64, 65), (0, 1)),
    ],
)
def test_curb65_changes_at_the_published_bounds(item, values, points):
    assert [curb65_points(**{**CURB, item: value}) for value in values] == list(points)


def test_curb65_counts_low_pressure_once_and_bands_split_at_two_and_three():
    # both pressures low is one point
    assert curb65_points(**{**CURB, "systolic_bp_mmhg": 80, "diastolic_bp_mmhg": 50}) == 1
    assert curb65_points(True, 30, 32, 80, 50, 80) == 5
    assert [curb65_band(n) for n in range(6)] == ["low", "low", "moderate", "high", "high", "high"]
    assert curb65(True, 30, 32, 80, 50, 80) == "CURB-65 5, high risk"


def test_wells_pe_weights_and_the_cut_above_four():
    # Wells 2000: 3, 3, 1.5, 1.5, 1.5, 1, 1; all together 12.5
    weights = [wells_pe_points(*(place == i for place in range(7))) for i in range(7)]
    assert weights == [3, 3, 1.5, 1.5, 1.5, 1, 1]
    assert wells_pe_points(*(True,) * 7) == 12.5
    assert (wells_pe_band(4), wells_pe_band(4.5)) == ("unlikely", "likely")
    assert wells_pe(False, True, True, False, False, False, False) == "Wells PE 4.5, PE likely"


def test_wells_dvt_takes_two_points_off_for_an_alternative_and_is_likely_from_two():
    # nine items of one point; an equally likely alternative takes off 2
    assert [wells_dvt_points(*(place == i for place in range(10))) for i in range(10)] == [1] * 9 + [-2]
    assert wells_dvt_points(*(True,) * 10) == 7
    assert (wells_dvt_band(1), wells_dvt_band(2)) == ("unlikely", "likely")
    assert wells_dvt(*(False,) * 9, True) == "Wells DVT -2, DVT unlikely"


def test_perc_is_negative_only_when_all_eight_are():
    # Kline 2004: 49 years, pulse 99, SpO2 95 % are still negative
    calm = (49, 99, 95, False, False, False, False, False)
    assert perc_criteria_met(*calm) == 0
    for place, value in enumerate((50, 100, 94, True, True, True, True, True)):
        assert perc_criteria_met(*calm[:place], value, *calm[place + 1 :]) == 1
    assert perc(*calm) == "PERC 0 of 8 positive, ruled out"


def test_cha2ds2_vasc_by_age_sex_and_item():
    none = (False,) * 5
    assert [cha2ds2_vasc_points(age, "male", *none) for age in (64, 65, 74, 75)] == [0, 1, 1, 2]
    assert cha2ds2_vasc_points(60, "female", *none) == 1
    # heart failure, hypertension, diabetes 1 each, stroke 2, vascular disease 1
    assert [cha2ds2_vasc_points(60, "male", *(p == i for p in range(5))) for i in range(5)] == [1, 1, 1, 2, 1]
    assert cha2ds2_vasc_points(80, "female", *(True,) * 5) == 9


def test_anticoagulation_by_the_2023_guideline_does_not_count_sex():
    assert [anticoagulation_advice(n, "male") for n in (0, 1, 2)] == ["not needed", "reasonable", "recommended"]
    assert [anticoagulation_advice(n, "female") for n in (1, 2, 3)] == ["not needed", "reasonable", "recommended"]
    # woman of 70 with hypertension: sex 1, age 1, hypertension 1
    assert cha2ds2_vasc(70, "female", False, True, False, False, False) == "CHA2DS2-VASc 3, anticoagulation recommended"


def test_has_bled_bounds_and_bands():
    low = {
        "age_years": 65, "systolic_bp_mmhg": 160, "creatinine_mg_dl": 2.25, "dialysis_or_transplant": False,
        "liver_disease": False, "stroke": False, "bleeding_or_anaemia": False, "labile_inr": False,
        "antiplatelet_or_nsaid": False, "alcohol": False,
    }  # fmt: skip
    assert has_bled_points(**low) == 0
    for item in low:
        high = {"age_years": 66, "systolic_bp_mmhg": 161, "creatinine_mg_dl": 2.26}.get(item, True)
        assert has_bled_points(**{**low, item: high}) == 1, item
    # kidney counts once: dialysis and creatinine together
    assert has_bled_points(**{**low, "creatinine_mg_dl": 5.0, "dialysis_or_transplant": True}) == 1
    assert [has_bled_band(n) for n in (2, 3)] == ["not high", "high"]
    assert has_bled(70, 170, 1.0, False, True, False, True, False) == "HAS-BLED 4, high bleeding risk"


def test_meld_3_is_six_when_everything_is_at_its_floor():
    # all logarithms and differences 0 in a man: 6
    assert meld_3("male", 0.5, 140, 0.9, 0.7, 4.2) == 6
    # a woman: 6 + 1.33 = 7.33
    assert meld_3("female", 0.5, 140, 0.9, 0.7, 4.2) == 7


def test_meld_3_worked_by_hand():
    # man, bilirubin 3, sodium 130, INR 1.8, creatinine 1.5, albumin 2.8:
    # 4.56 ln3 = 5.010; 0.82 x 7 = 5.74; -0.24 x 7 x ln3 = -1.846; 9.09 ln1.8 = 5.343; 11.14 ln1.5 = 4.517;
    # 1.85 x 0.7 = 1.295; -1.83 x 0.7 x ln1.5 = -0.519; + 6 = 25.54
    assert meld_3("male", 3, 130, 1.8, 1.5, 2.8) == 26
    # woman: 25.54 + 1.33 = 26.87
    assert meld_3("female", 3, 130, 1.8, 1.5, 2.8) == 27
    assert meld_3_0("female", 3, 130, 1.8, 1.5, 2.8) == "MELD 3.0 27"


def test_meld_3_limits_creatinine_sodium_albumin_and_itself():
    def same(a, b):
        return meld_3(*a) == meld_3(*b)

    assert same(("male", 3, 125, 2, 3.0, 2), ("male", 3, 110, 2, 9.0, 2))
    assert same(("male", 3, 137, 2, 1, 1.5), ("male", 3, 150, 2, 1, 1.0))
    assert meld_3("male", 3, 137, 2, 1.0, 3.5, on_dialysis=True) == meld_3("male", 3, 137, 2, 3.0, 3.5)
    assert meld_3("female", 50, 125, 10, 3.0, 1.5) == 40


def test_child_pugh_bounds_of_every_item_and_class():
    def points(bilirubin=1.0, albumin=4.0, inr=1.0, ascites="none", mind="none"):
        return child_pugh_points(bilirubin, albumin, inr, ascites, mind) - 4  # the other four items give 1 each

    assert [points(bilirubin=b) for b in (1.9, 2.0, 3.0, 3.1)] == [1, 2, 2, 3]
    assert [points(albumin=a) for a in (3.6, 3.5, 2.8, 2.7)] == [1, 2, 2, 3]
    assert [points(inr=i) for i in (1.69, 1.7, 2.3, 2.31)] == [1, 2, 2, 3]
    assert [points(ascites=a) for a in ("none", "mild", "moderate")] == [1, 2, 3]
    assert [points(mind=m) for m in ("none", "grade_1_2", "grade_3_4")] == [1, 2, 3]
    assert [child_pugh_class(n) for n in (5, 6, 7, 9, 10, 15)] == ["A", "A", "B", "B", "C", "C"]
    # bilirubin 2.5 (2), albumin 3.0 (2), INR 1.8 (2), mild ascites (2), clear (1): 9
    assert child_pugh(2.5, 3.0, 1.8, "mild", "none") == "Child-Pugh 9, class B"


def test_anion_gap_albumin_and_delta_ratio():
    # 140 - 100 - 10 = 30; albumin 2.0 adds 5; (30 - 12) / (24 - 10) = 1.29
    assert anion_gap_mmol_l(140, 100, 10) == 30
    assert albumin_corrected(30, 2.0) == 35
    assert delta_ratio(30, 10) == pytest.approx(18 / 14)
    assert delta_ratio(12, 24) is None
    assert anion_gap(140, 100, 10) == "anion gap 30 mmol/L, delta ratio 1.3"
    assert "albumin-corrected 35.0 mmol/L" in anion_gap(140, 100, 10, 2.0)


def test_sodium_is_corrected_by_1_6_for_each_100_of_glucose():
    # Katz 1973: 130 at 600 mg/dL: 130 + 1.6 x 5 = 138
    assert corrected_sodium_mmol_l(130, 600) == pytest.approx(138)
    assert corrected_sodium_mmol_l(130, 90) == 130
    assert corrected_sodium(130, 600) == "corrected sodium 138.0 mmol/L"


def test_calcium_is_corrected_by_0_8_for_each_gram_of_albumin():
    # 8.0 at albumin 2.0: 8.0 + 0.8 x 2 = 9.6
    assert corrected_calcium_mg_dl(8.0, 2.0) == pytest.approx(9.6)
    assert corrected_calcium_mg_dl(9.0, 4.0) == 9.0
    assert corrected_calcium(8.0, 2.0) == "corrected calcium 9.6 mg/dL"


def test_alveolar_gradient_on_room_air_and_oxygen():
    # 0.21 x (760 - 47) = 149.73; less 40 / 0.8 = 50 gives 99.73; less 80 is 19.73
    assert alveolar_gradient_mmhg(80, 40) == pytest.approx(19.73)
    # 0.5 x 713 = 356.5; less 50, less 100 is 206.5
    assert alveolar_gradient_mmhg(100, 40, 50) == pytest.approx(206.5)
    # 2.5 + 0.21 x 60 = 15.1
    assert expected_gradient_mmhg(60) == pytest.approx(15.1)
    assert alveolar_arterial_gradient(80, 40, 60) == "A-a gradient 19.7 mmHg (expected for age 15.1)"


def test_a_falling_albumin_never_lowers_meld():
    scores = [meld_3("male", 4, 130, 1.6, 1.2, albumin / 10) for albumin in range(40, 10, -1)]
    assert scores == sorted(scores)
