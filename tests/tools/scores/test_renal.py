"""Kidney function formulas against values worked out by hand from the published equations."""

import pytest

from healthgym.tools.scores.renal import ckd_stage, cockcroft_gault, creatinine_clearance_ml_min, egfr_ml_min_173


@pytest.mark.parametrize(
    ("age", "weight", "creatinine", "sex", "clearance"),
    [
        (60, 72, 1.0, "male", 80.0),  # 80 * 72 / 72
        (60, 72, 1.0, "female", 68.0),  # 80 * 0.85
        (80, 60, 1.5, "female", 28.333),  # 60 * 60 / 108 = 33.333; * 0.85
        (40, 108, 3.0, "male", 50.0),  # 100 * 108 / 216
    ],
)
def test_cockcroft_gault_gives_the_published_formula(age, weight, creatinine, sex, clearance):
    assert creatinine_clearance_ml_min(age, weight, creatinine, sex) == pytest.approx(clearance, abs=0.001)


@pytest.mark.parametrize(
    ("age", "creatinine", "sex", "egfr"),
    [
        # ratio 1.0/0.9 = 1.1111; 1.1111^-1.2 = exp(-0.126433) = 0.88123; 0.9938^50 = exp(-0.310966) = 0.73274
        (50, 1.0, "male", 91.69),
        # ratio 1; 0.9938^50 = 0.73274; 142 * 0.73274 * 1.012
        (50, 0.7, "female", 105.30),
        # ratio 0.5/0.7 = 0.714286; ^-0.241 = exp(0.241 * 0.336472) = 1.08447; 0.9938^30 = 0.82979; * 142 * 1.012
        (30, 0.5, "female", 129.32),
        # ratio 2/0.9 = 2.22222; ^-1.2 = exp(-1.2 * 0.798508) = 0.38358; 0.9938^70 = 0.64703; * 142
        (70, 2.0, "male", 35.24),
    ],
)
def test_ckd_epi_2021_gives_the_published_equation(age, creatinine, sex, egfr):
    assert egfr_ml_min_173(age, creatinine, sex) == pytest.approx(egfr, abs=0.03)


def test_stages_change_at_the_kdigo_bounds():
    assert [ckd_stage(x) for x in (90, 89.9, 60, 59.9, 45, 44.9, 30, 29.9, 15, 14.9)] == [
        "G1", "G2", "G2", "G3a", "G3a", "G3b", "G3b", "G4", "G4", "G5",
    ]  # fmt: skip


def test_the_tool_states_the_unit():
    assert cockcroft_gault(60, 72, 1.0, "male") == "CrCl 80.0 mL/min"
