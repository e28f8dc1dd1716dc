"""Psychiatric instruments at their published cut-offs."""

import pytest

from healthgym.errors import ToolError
from healthgym.tools.psychiatry.qt import fridericia_ms
from healthgym.tools.scores.audit import audit, audit_band, audit_total
from healthgym.tools.scores.broset import broset, broset_band
from healthgym.tools.scores.cage import cage, cage_category
from healthgym.tools.scores.ciwa_ar import MAXIMA, ciwa_band, ciwa_total
from healthgym.tools.scores.clozapine_anc import anc_action, routine_interval_days
from healthgym.tools.scores.columbia_screen import columbia_level
from healthgym.tools.scores.confusion_assessment import cam_is_positive
from healthgym.tools.scores.dast10 import dast10, dast10_band, dast10_points
from healthgym.tools.scores.decision_capacity import decision_capacity, has_capacity
from healthgym.tools.scores.epds import epds, epds_category
from healthgym.tools.scores.gad7 import gad7_band
from healthgym.tools.scores.mini_mental import mini_mental, mini_mental_band
from healthgym.tools.scores.moca import moca, moca_band, moca_total
from healthgym.tools.scores.mood_disorder import mdq_is_positive
from healthgym.tools.scores.pcl5 import pcl5_category, pcl5_meets_clusters
from healthgym.tools.scores.phq9 import phq9, phq9_band
from healthgym.tools.scores.ybocs import ybocs, ybocs_band


@pytest.mark.parametrize(
    ("total", "band"),
    [(0, "minimal"), (4, "minimal"), (5, "mild"), (9, "mild"), (10, "moderate"), (14, "moderate"),
     (15, "moderately_severe"), (19, "moderately_severe"), (20, "severe"), (27, "severe")],
)  # fmt: skip
def test_phq9_bands_change_at_5_10_15_and_20(total, band):
    assert phq9_band(total) == band


def test_phq9_warns_of_item_9_whatever_the_total():
    assert phq9([0] * 8 + [1]) == "PHQ-9 1, category minimal; item 9 is positive: screen for suicide risk"
    assert "suicide" not in phq9([3] * 8 + [0])


@pytest.mark.parametrize(
    ("total", "band"), [(4, "minimal"), (5, "mild"), (9, "mild"), (10, "moderate"), (14, "moderate"), (15, "severe")]
)
def test_gad7_bands_change_at_5_10_and_15(total, band):
    assert gad7_band(total) == band


@pytest.mark.parametrize(("total", "category"), [(9, "unlikely"), (10, "possible"), (12, "possible"), (13, "probable")])
def test_epds_cut_offs_are_10_and_13(total, category):
    assert epds_category(total) == category


def test_epds_warns_of_item_10():
    assert "item 10 is positive" in epds([0] * 9 + [1])


@pytest.mark.parametrize(
    ("total", "zone"),
    [
        (7, "low_risk"),
        (8, "hazardous"),
        (15, "hazardous"),
        (16, "harmful"),
        (19, "harmful"),
        (20, "possible_dependence"),
    ],
)
def test_audit_zones_change_at_8_16_and_20(total, zone):
    assert audit_band(total) == zone


def test_audit_items_9_and_10_score_0_2_or_4_only():
    # 4+4+4+4+4+4+4+4+4+4 = 40, the highest; a 1 in item 9 does not exist
    assert audit_total([4] * 10) == 40
    with pytest.raises(ToolError, match="item 9"):
        audit([0] * 8 + [1, 0])


@pytest.mark.parametrize(
    ("total", "band"), [(0, "none"), (1, "low"), (2, "low"), (3, "moderate"), (5, "moderate"), (6, "substantial"), (8, "substantial"), (9, "severe")]
)  # fmt: skip
def test_dast10_bands(total, band):
    assert dast10_band(total) == band


def test_dast10_counts_item_3_when_the_answer_is_no():
    # all no: only item 3 counts; all yes: nine count
    assert dast10_points([False] * 10) == [0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    assert dast10([True] * 10) == "DAST-10 9, category severe"


def test_cage_is_positive_from_two():
    assert [cage_category(n) for n in range(5)] == ["negative", "negative", "positive", "positive", "positive"]
    assert cage(True, False, True, False) == "CAGE 2, category positive"


def test_pcl5_is_positive_from_33_and_its_clusters_need_1_1_2_2():
    assert (pcl5_category(32), pcl5_category(33)) == ("negative", "positive")
    # items of 2: one of B (1-5), one of C (6-7), two of D (8-14), two of E (15-20)
    just = [2, 0, 0, 0, 0, 2, 0, 2, 2, 0, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0]
    assert pcl5_meets_clusters(just)
    assert not pcl5_meets_clusters([*just[:8], 1, *just[9:]])


@pytest.mark.parametrize(
    ("total", "band"), [(7, "subclinical"), (8, "mild"), (15, "mild"), (16, "moderate"), (23, "moderate"), (24, "severe"), (31, "severe"), (32, "extreme")]
)  # fmt: skip
def test_ybocs_bands(total, band):
    assert ybocs_band(total) == band


def test_ybocs_gives_both_halves():
    assert ybocs([4] * 5 + [1] * 5) == "Y-BOCS 25 (obsessions 20, compulsions 5), category severe"


def test_mdq_needs_seven_symptoms_at_the_same_time_and_a_problem():
    seven = [True] * 7 + [False] * 6
    assert mdq_is_positive(seven, True, "moderate")
    assert not mdq_is_positive([True] * 6 + [False] * 7, True, "serious")
    assert not mdq_is_positive(seven, False, "serious")
    assert not mdq_is_positive(seven, True, "minor")


@pytest.mark.parametrize(
    ("answers", "level"),
    [
        ((0, 0, 0, 0, 0, 0, 0), "none"),
        ((1, 0, 0, 0, 0, 0, 0), "low"),
        ((1, 1, 0, 0, 0, 0, 0), "low"),
        ((1, 1, 1, 0, 0, 0, 0), "moderate"),
        ((0, 0, 0, 0, 0, 1, 0), "moderate"),  # behaviour longer than 3 months ago
        ((1, 1, 1, 1, 0, 0, 0), "high"),
        ((1, 1, 1, 0, 1, 0, 0), "high"),
        ((0, 0, 0, 0, 0, 1, 1), "high"),  # behaviour within 3 months
    ],
)
def test_columbia_levels_follow_the_triage_points(answers, level):
    assert columbia_level(*map(bool, answers)) == level


@pytest.mark.parametrize(("total", "band"), [(9, "mild"), (10, "moderate"), (18, "moderate"), (19, "severe")])
def test_ciwa_bands_are_those_of_asam_2020(total, band):
    assert ciwa_band(total) == band


def test_the_highest_ciwa_is_67():
    # nine items of 7 and orientation of 4
    assert ciwa_total(MAXIMA) == 9 * 7 + 4 == 67


@pytest.mark.parametrize(("total", "band"), [(24, "normal"), (23, "mild"), (18, "mild"), (17, "severe")])
def test_mini_mental_bands(total, band):
    assert mini_mental_band(total) == band


def test_mini_mental_adds_to_30():
    assert mini_mental(10, 3, 5, 3, 8, 1) == "Mini-mental 30/30, category normal"


def test_moca_gives_a_point_for_twelve_years_of_school_or_fewer_but_never_over_30():
    assert (moca_total(25, 12), moca_total(25, 13), moca_total(30, 8)) == (26, 25, 30)
    assert moca(4, 3, 6, 3, 2, 1, 6, 12) == "Montreal screen 26/30, category normal"  # 25 and the point


@pytest.mark.parametrize(("total", "band"), [(26, "normal"), (25, "mild"), (18, "mild"), (17, "moderate"), (10, "moderate"), (9, "severe")])  # fmt: skip
def test_moca_bands(total, band):
    assert moca_band(total) == band


def test_broset_bands():
    assert [broset_band(n) for n in (0, 1, 2, 3, 6)] == ["small", "moderate", "moderate", "high", "high"]
    assert broset(True, True, True, False, False, False) == "Brøset 3/6, high risk"


@pytest.mark.parametrize(
    ("features", "positive"),
    [((1, 1, 1, 0), True), ((1, 1, 0, 1), True), ((1, 1, 0, 0), False), ((0, 1, 1, 1), False), ((1, 0, 1, 1), False)],
)
def test_cam_needs_features_1_and_2_and_3_or_4(features, positive):
    assert cam_is_positive(*map(bool, features)) is positive


def test_capacity_needs_all_four_abilities():
    assert has_capacity(True, True, True, True)
    assert decision_capacity(True, False, True, False) == "lacks capacity: cannot appreciate, choose"


@pytest.mark.parametrize(
    ("anc", "ben", "action"),
    [
        (1500, False, "continue"),
        (1499, False, "monitor_three_times_weekly"),
        (1000, False, "monitor_three_times_weekly"),
        (999, False, "interrupt"),
        (500, False, "interrupt"),
        (499, False, "stop_no_rechallenge"),
        (1000, True, "continue"),
        (999, True, "monitor_three_times_weekly"),
        (500, True, "monitor_three_times_weekly"),
        (499, True, "stop_no_rechallenge"),
    ],
)
def test_clozapine_thresholds_are_those_of_the_label(anc, ben, action):
    assert anc_action(anc, ben) == action


def test_clozapine_counts_are_weekly_fortnightly_and_monthly():
    assert [routine_interval_days(months) for months in (0, 5.9, 6, 11.9, 12)] == [7, 7, 14, 14, 28]


def test_fridericia_leaves_qt_alone_at_60_and_shortens_it_at_faster_rates():
    assert fridericia_ms(400, 60) == 400
    # RR 0.5 s: 400 / 0.7937 = 504
    assert fridericia_ms(400, 120) == pytest.approx(504.0, abs=0.1)
