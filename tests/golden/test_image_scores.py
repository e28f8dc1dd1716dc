"""Scores of visual_diagnosis against hand-worked values at their published limits."""

import pytest

from healthgym.errors import ToolError
from healthgym.tools.scores.abcd_dermoscopy import abcd_class, total_dermatoscopy_score
from healthgym.tools.scores.bazett import qtc_bazett_ms, qtc_class
from healthgym.tools.scores.retinopathy_grade import retinopathy_grade


def test_total_dermatoscopy_score_runs_from_1_to_8_9():
    # 1.3*0 + 0.1*0 + 0.5*1 + 0.5*1 = 1.0; 1.3*2 + 0.1*8 + 0.5*6 + 0.5*5 = 2.6 + 0.8 + 3.0 + 2.5 = 8.9.
    assert total_dermatoscopy_score(0, 0, 1, 1) == 1.0
    assert total_dermatoscopy_score(2, 8, 6, 5) == 8.9


def test_total_dermatoscopy_score_of_a_hand_worked_lesion():
    # 1.3*2 + 0.1*5 + 0.5*4 + 0.5*3 = 2.6 + 0.5 + 2.0 + 1.5 = 6.6, above 5.45.
    assert total_dermatoscopy_score(2, 5, 4, 3) == 6.6 and abcd_class(6.6) == "malignant_lesion"


def test_abcd_classes_change_at_4_75_and_above_5_45():
    assert [abcd_class(score) for score in (4.74, 4.75, 5.45, 5.46)] == [
        "benign_lesion", "suspicious_lesion", "suspicious_lesion", "malignant_lesion",
    ]  # fmt: skip


@pytest.mark.parametrize("wrong", [(3, 0, 1, 1), (0, 9, 1, 1), (0, 0, 0, 1), (0, 0, 7, 1), (0, 0, 1, 6), (-1, 0, 1, 1)])
def test_total_dermatoscopy_score_refuses_numbers_outside_the_rule(wrong):
    with pytest.raises(ToolError, match="must lie in"):
        total_dermatoscopy_score(*wrong)


def test_bazett_leaves_qt_alone_at_60_beats_a_minute():
    assert qtc_bazett_ms(400, 1000) == 400


def test_bazett_divides_by_the_root_of_rr():
    # 360 / sqrt(0.64) = 360 / 0.8 = 450.
    assert qtc_bazett_ms(360, 640) == pytest.approx(450)


def test_qtc_limits_are_450_in_men_460_in_women_and_500_in_both():
    assert [qtc_class(ms, "male") for ms in (449.9, 450, 499.9, 500)] == [
        "normal_qtc", "prolonged_qtc", "prolonged_qtc", "high_risk_qtc",
    ]  # fmt: skip
    assert [qtc_class(ms, "female") for ms in (459.9, 460, 500)] == ["normal_qtc", "prolonged_qtc", "high_risk_qtc"]


@pytest.mark.parametrize("qt_ms, rr_ms", [(149, 800), (901, 800), (400, 249), (400, 3001)])
def test_bazett_refuses_impossible_intervals(qt_ms, rr_ms):
    with pytest.raises(ToolError, match="Measure it again"):
        qtc_bazett_ms(qt_ms, rr_ms)


@pytest.mark.parametrize(
    "dots, blots, exudates, pool, grade",
    [
        (0, [0, 0, 0, 0], 0, False, "no_retinopathy"),
        (1, [0, 0, 0, 0], 0, False, "mild_npdr"),
        (0, [1, 0, 0, 0], 0, False, "moderate_npdr"),
        (3, [0, 0, 0, 0], 2, False, "moderate_npdr"),
        (0, [21, 21, 21, 20], 0, False, "moderate_npdr"),  # 20 is not more than 20
        (0, [21, 21, 21, 21], 0, False, "severe_npdr"),
        (0, [0, 0, 0, 0], 0, True, "proliferative_retinopathy"),
    ],
)
def test_retinopathy_grades_follow_the_international_scale(dots, blots, exudates, pool, grade):
    assert retinopathy_grade(dots, blots, has_preretinal_bleeding=pool, exudates=exudates) == grade


def test_retinopathy_grade_needs_four_quadrants():
    with pytest.raises(ToolError, match="four numbers"):
        retinopathy_grade(0, [1, 2, 3], has_preretinal_bleeding=False)
