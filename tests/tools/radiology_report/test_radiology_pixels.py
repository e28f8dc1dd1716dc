"""Measuring on the phantoms' pixels: errors against what was drawn, and what happens without the imaging packages."""

import sys

import pytest

from healthgym.errors import MissingDependency, ToolError
from healthgym.registry import load_domain
from healthgym.tasks import Suite
from healthgym.tools.radiology_report.atlas import place_of, side_pairs
from healthgym.tools.radiology_report.images import draw_image
from healthgym.world import World

SIMPLE = {"angle": 30.0, "margin": "smooth"}


def lung(**lesion):
    return {
        "kind": "lung_ct", "title": "CT", "seed": 7, "anatomy_seed": 3, "shift": [1.0, -2.0], "level": "hilum",
        "keep_clear": [{"x": 90, "y": 88, "long_mm": 24}], "lesions": [{**SIMPLE, "x": 90, "y": 88, **lesion}],
    }  # fmt: skip


def head(**more):
    return {"kind": "ct_head", "title": "CT", "seed": 5, "shift": [1.0, 2.0], "level": "ganglionic", **more}


def kidney(**cyst):
    drawn = {
        "x": 95,
        "y": 75,
        "long_mm": 30,
        "wall_hu": 72,
        "septa": 0,
        "septa_mm": 1.5,
        "nodule_mm": 0,
        "fluid_hu": 8,
        **cyst,
    }
    return {
        "kind": "renal_ct",
        "title": "CT",
        "seed": 5,
        "shift": [0.0, 0.0],
        "side": "left",
        "phase": "nephrographic",
        "lesions": [drawn],
    }


@pytest.mark.parametrize("mean_mm", [4.9, 7.2, 11.0, 18.0])
def test_nodules_are_measured_within_a_pixel(mean_mm):
    pytest.importorskip("skimage")
    from healthgym.tools.radiology_report.measure import measure_at

    # The ratio of the axes is 0.8, so the long axis is 2 * mean / 1.8.
    long_mm = 2 * mean_mm / 1.8
    region = measure_at(draw_image(lung(long_mm=long_mm, short_mm=0.8 * long_mm, value=30)), 91, 86)
    assert abs(region.mean_mm - mean_mm) < 1.0
    assert abs(region.long_mm - long_mm) < 1.0
    assert place_of(draw_image(lung(long_mm=9, short_mm=8, value=30)), region.x_mm, region.y_mm) == "right_upper_lobe"


def test_the_solid_centre_of_a_part_solid_nodule_is_measured_apart():
    pytest.importorskip("skimage")
    from healthgym.tools.radiology_report.measure import measure_at

    region = measure_at(draw_image(lung(long_mm=18, short_mm=16, value=-560, core_mm=9.0, core=30)), 91, 86)
    assert region.core_mm is not None
    assert abs(region.core_mm - 9.0) < 1.0 and abs(region.long_mm - 18) < 1.2


def test_spicules_lower_the_solidity_and_not_the_axes():
    pytest.importorskip("skimage")
    from healthgym.tools.radiology_report.measure import measure_at

    base = {
        "kind": "mammogram",
        "title": "M",
        "seed": 3,
        "shift": [0.0, 0.0],
        "side": "left",
        "view": "CC",
        "density": 2,
    }
    mass = {**SIMPLE, "finding": "mass", "x": 35, "y": 60, "long_mm": 16, "short_mm": 13, "value": 188}
    smooth = measure_at(draw_image({**base, "lesions": [mass]}), 35, 60)
    ragged = measure_at(draw_image({**base, "lesions": [{**mass, "margin": "spiculated"}]}), 35, 60)
    assert smooth.solidity > 0.9 and ragged.solidity < 0.8
    assert abs(smooth.long_mm - 16) < 1.0 and abs(ragged.long_mm - 16) < 2.0


def test_a_point_without_a_lesion_gives_no_measurement():
    pytest.importorskip("skimage")
    from healthgym.tools.radiology_report.measure import measure_at

    image = draw_image(head())
    with pytest.raises(ToolError, match="Nothing stands out"):
        measure_at(image, 60, 160)
    with pytest.raises(ToolError, match="outside the image"):
        measure_at(image, 399, 10)


def test_a_profile_gives_the_thickness_of_a_wall():
    pytest.importorskip("skimage")
    from healthgym.tools.radiology_report.profiles import line_values, pieces_of

    for wall_mm in (3.0, 5.5):
        image = draw_image(kidney(wall_mm=wall_mm))
        distance, values = line_values(image, (95, 75), (116, 75))  # fluid, wall, fat
        wall = pieces_of(distance, values, 24, image.pixel_mm)[-2]
        assert abs(wall.length_mm - wall_mm) < 0.8 and 50 < wall.mean < 90


def test_ischaemia_shows_as_a_difference_of_the_sides_in_its_region_alone():
    pytest.importorskip("skimage")
    image = draw_image(head(ischaemia=[{"region": "I", "side": "left", "drop_hu": -7.0}]))
    gaps = {name: right - left for name, right, left, _, _ in side_pairs(image)}
    assert 5 < gaps.pop("I") < 9
    assert all(abs(gap) < 2.5 for gap in gaps.values())


def test_the_midline_is_measured_within_a_millimetre_and_a_half():
    pytest.importorskip("skimage")
    case = Suite([load_domain("radiology_report")]).case("radiology_report/head_bleed/train/0000")
    chart = case.charts["P1"]
    spec = head(midline_shift_mm=7.0, shift_to="left")
    moved = {**chart.extra, "images": {"now-1": spec}}
    from dataclasses import replace

    toolkit = load_domain("radiology_report").toolkit(World({"P1": replace(chart, extra=moved)}))
    words = toolkit.call("midline_shift", {"image_id": "now-1"}).content
    assert "patient's left" in words
    assert abs(float(words.split()[2]) - 7.0) < 1.5


def test_without_the_imaging_packages_the_domain_loads_and_shows_and_measuring_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage", None)
    domain = load_domain("radiology_report")
    case = Suite([domain]).case("radiology_report/renal_cyst/train/0001")
    toolkit = domain.toolkit(World(case.charts))
    assert "CT right kidney" in toolkit.call("view_image", {"image_id": "now-1"}).content
    with pytest.raises(MissingDependency, match=r"healthgym\[images\]"):
        toolkit.call("find_regions", {"image_id": "now-1"})


def test_one_description_gives_one_image_and_another_seed_another():
    spec = head()
    assert (draw_image(spec).pixels == draw_image(dict(spec)).pixels).all()
    assert (draw_image(spec).pixels != draw_image({**spec, "seed": 6}).pixels).any()
