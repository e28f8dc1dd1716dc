"""Reporting systems of radiology at the boundaries of their published definitions."""

import pytest

from healthgym.errors import ToolError
from healthgym.tools.scores.aspects import aspects_score
from healthgym.tools.scores.bi_rads import bi_rads_category
from healthgym.tools.scores.bosniak import bosniak_class
from healthgym.tools.scores.fleischner import fleischner_applies, fleischner_follow_up
from healthgym.tools.scores.li_rads import is_threshold_growth, li_rads, li_rads_table
from healthgym.tools.scores.lung_rads import lung_rads, lung_rads_category
from healthgym.tools.scores.recist import recist_1_1, recist_overall, recist_targets
from healthgym.tools.scores.ti_rads import ti_rads, ti_rads_level, ti_rads_management, ti_rads_points


@pytest.mark.parametrize(
    ("mm", "course", "category"),
    [
        (5.9, "baseline", "2"), (6.0, "baseline", "3"), (7.9, "baseline", "3"), (8.0, "baseline", "4A"),
        (14.9, "baseline", "4A"), (15.0, "baseline", "4B"), (3.9, "new", "2"), (4.0, "new", "3"), (6.0, "new", "4A"),
        (8.0, "new", "4B"), (7.9, "growing", "4A"), (8.0, "growing", "4B"),
    ],
)  # fmt: skip
def test_lung_rads_of_solid_nodules(mm, course, category):
    assert lung_rads_category("solid", mm, course) == category


@pytest.mark.parametrize(
    ("mm", "solid", "course", "category"),
    [
        (5.9, 2.0, "baseline", "2"), (6.0, 5.9, "baseline", "3"), (12.0, 6.0, "baseline", "4A"),
        (12.0, 8.0, "baseline", "4B"), (5.0, 2.0, "new", "3"), (9.0, 3.9, "growing", "4A"), (9.0, 4.0, "growing", "4B"),
    ],
)  # fmt: skip
def test_lung_rads_of_part_solid_nodules(mm, solid, course, category):
    assert lung_rads_category("part_solid", mm, course, solid) == category


def test_lung_rads_of_ground_glass_stable_and_suspicious_nodules():
    assert lung_rads_category("ground_glass", 29.9) == "2"
    assert lung_rads_category("ground_glass", 30.0) == "3"
    assert lung_rads_category("none", 0) == "1"
    assert lung_rads_category("solid", 7.0, "stable", previous_category="3") == "2"
    assert lung_rads_category("solid", 9.0, "stable", previous_category="4A") == "3"
    assert lung_rads_category("solid", 9.0, suspicious_feature=True) == "4X"
    assert lung_rads_category("solid", 5.0, suspicious_feature=True) == "2"  # only 3 and 4 can become 4X
    with pytest.raises(ToolError, match="previous_category"):
        lung_rads_category("solid", 9.0, "stable")
    with pytest.raises(ToolError, match="above mean"):
        lung_rads("part_solid", 6.0, solid_part_mm=7.0)


@pytest.mark.parametrize(
    ("nodule", "mm", "multiple", "risk", "follow_up"),
    [
        ("solid", 5.4, False, False, "none"), ("solid", 5.4, False, True, "optional_ct_12_months"),
        ("solid", 5.5, False, False, "ct_6_to_12_months"), ("solid", 8.4, False, True, "ct_6_to_12_months"),
        ("solid", 8.5, False, False, "ct_3_months_pet_or_biopsy"), ("solid", 5.0, True, True, "optional_ct_12_months"),
        ("solid", 7.0, True, False, "ct_3_to_6_months"), ("solid", 12.0, True, True, "ct_3_to_6_months"),
        ("ground_glass", 5.0, False, True, "none"), ("ground_glass", 6.0, False, False, "ct_6_to_12_months"),
        ("part_solid", 5.0, False, True, "none"), ("part_solid", 6.0, False, False, "ct_3_to_6_months"),
        ("ground_glass", 5.0, True, False, "ct_3_to_6_months"), ("part_solid", 9.0, True, False, "ct_3_to_6_months"),
    ],
)  # fmt: skip
def test_fleischner_table(nodule, mm, multiple, risk, follow_up):
    assert fleischner_follow_up(nodule, mm, multiple, risk) == follow_up


def test_fleischner_leaves_out_the_young_and_people_with_cancer_or_immunosuppression():
    assert fleischner_applies(35, False, False)
    assert not fleischner_applies(34.9, False, False)
    assert not fleischner_applies(60, True, False) and not fleischner_applies(60, False, True)


@pytest.mark.parametrize(
    ("arguments", "category"),
    [
        (("none",), 1), (("mass", "spiculated"), 5), (("mass", "indistinct"), 4), (("mass", "circumscribed"), 3),
        (("mass", "circumscribed", "coarse", "stable", 23), 3), (("mass", "circumscribed", "coarse", "stable", 24), 2),
        (("mass", "circumscribed", "coarse", "enlarged"), 4), (("calcifications", "circumscribed", "coarse"), 2),
        (("calcifications", "circumscribed", "round"), 3), (("calcifications", "circumscribed", "amorphous"), 4),
        (("calcifications", "circumscribed", "round", "stable", 24), 2),
        (("calcifications", "circumscribed", "fine_linear_branching"), 4),
    ],
)  # fmt: skip
def test_bi_rads_simplified_rules(arguments, category):
    assert bi_rads_category(*arguments) == category


@pytest.mark.parametrize(
    ("mm", "aphe", "washout", "capsule", "growth", "category"),
    [
        (19, False, 0, 0, 0, "LR-3"), (19, False, 1, 0, 0, "LR-3"), (19, False, 1, 1, 0, "LR-4"),
        (20, False, 0, 0, 0, "LR-3"), (20, False, 1, 0, 0, "LR-4"), (20, False, 1, 1, 1, "LR-4"),
        (9, True, 0, 0, 0, "LR-3"), (9, True, 1, 0, 0, "LR-4"), (9, True, 1, 1, 1, "LR-4"),
        (10, True, 0, 0, 0, "LR-3"), (19, True, 0, 1, 0, "LR-4"), (10, True, 1, 0, 0, "LR-5"),
        (10, True, 0, 0, 1, "LR-5"), (19, True, 1, 1, 0, "LR-5"), (20, True, 0, 0, 0, "LR-4"), (20, True, 0, 1, 0, "LR-5"),
    ],
)  # fmt: skip
def test_li_rads_diagnostic_table(mm, aphe, washout, capsule, growth, category):
    assert li_rads_table(mm, aphe, bool(washout), bool(capsule), bool(growth)) == category


def test_li_rads_growth_and_population():
    assert (
        is_threshold_growth(10, 15, 6) and not is_threshold_growth(10, 14.9, 6) and not is_threshold_growth(10, 15, 7)
    )
    with pytest.raises(ToolError, match="not_applicable"):
        li_rads(False, 60, 20, True, True, False, False)


def test_ti_rads_points_levels_and_management():
    # Solid 2 + hypoechoic 2 + taller 3 + lobulated 2 + punctate 3 = 12.
    assert ti_rads_points("solid", "hypoechoic", True, "lobulated", ("punctate",)) == 12
    assert ti_rads_points("mixed", "isoechoic", False, "smooth", ("none",)) == 2
    assert ti_rads_points("spongiform", "isoechoic", False, "smooth", ("macrocalcification",)) == 0
    # Foci add up: macrocalcification 1 + rim 2 on solid 2 + isoechoic 1 = 6.
    assert ti_rads_points("solid", "isoechoic", False, "smooth", ("macrocalcification", "rim_calcification")) == 6
    assert [ti_rads_level(points) for points in (0, 2, 3, 4, 6, 7, 14)] == [1, 2, 3, 4, 4, 5, 5]
    limits = [(3, 25, "fna"), (3, 24.9, "ultrasound_1_year"), (3, 14.9, "none"), (4, 15, "fna"), (4, 10, "ultrasound_1_year"),
              (4, 9.9, "none"), (5, 10, "fna"), (5, 5, "ultrasound_1_year"), (5, 4.9, "none"), (2, 60, "none")]  # fmt: skip
    assert [ti_rads_management(level, mm) for level, mm, _ in limits] == [advice for _, _, advice in limits]
    with pytest.raises(ToolError, match="solid part"):
        ti_rads("mixed", "anechoic", False, "smooth", ["none"], 10)


def test_aspects_takes_one_point_for_each_region_once():
    assert aspects_score([]) == 10
    assert aspects_score(["M1", "M1", "I"]) == 8
    assert aspects_score(["C", "L", "IC", "I", "M1", "M2", "M3", "M4", "M5", "M6"]) == 0


@pytest.mark.parametrize(
    ("wall", "septa", "septa_mm", "nodule", "fluid", "enhances", "category"),
    [
        (1, 0, 0, 0, 20, False, "I"), (2, 0, 0, 0, 5, True, "I"), (1, 0, 0, 0, 75, False, "II"), (1, 3, 2, 0, 5, True, "II"),
        (1, 4, 2, 0, 5, True, "IIF"), (3, 0, 0, 0, 5, True, "IIF"), (1, 1, 3, 0, 5, True, "IIF"), (4, 0, 0, 0, 5, True, "III"),
        (1, 2, 4, 0, 5, True, "III"), (1, 0, 0, 3, 5, True, "III"), (1, 0, 0, 4, 5, True, "IV"), (1, 5, 5, 12, 5, True, "IV"),
    ],
)  # fmt: skip
def test_bosniak_classes(wall, septa, septa_mm, nodule, fluid, enhances, category):
    assert bosniak_class(wall, septa, septa_mm, nodule, fluid, enhances) == category


def test_recist_thresholds():
    assert recist_targets(100, 100, 70) == "PR"  # exactly 30 % less
    assert recist_targets(100, 100, 71) == "SD"
    assert recist_targets(100, 50, 60) == "PD"  # 20 % and 10 mm above the smallest sum, though 40 % below baseline
    assert recist_targets(20, 20, 24) == "SD"  # 20 %, but only 4 mm
    assert recist_targets(25, 25, 30) == "PD"  # 20 % and 5 mm
    assert recist_targets(100, 40, 18, all_disappeared=True) == "CR"  # the rest are nodes under 10 mm
    assert recist_overall("PR", True) == "PD"
    assert recist_1_1(100, 100, 65, False).startswith("RECIST 1.1: PR (from baseline -35 %")
