"""Every measurement is close to what the phantom was drawn from, and comes from pixels alone."""

import ast
from pathlib import Path

import numpy as np
import pytest
from visual_reading import images_of, read, truth_of

import healthgym.tools.visual_diagnosis.measures as measures_package
from healthgym.errors import ContentError, MissingDependency, ToolError
from healthgym.tasks import grade_field
from healthgym.tools.visual_diagnosis.images import image_entry, image_of, pixels_of
from healthgym.tools.visual_diagnosis.measures import blood, chest, ecg, fundus, histology, quality, skin

pytest.importorskip("skimage")
EVERY = 8
"""Every eighth case of a family in the quick tests; the slow one reads all."""


def of_family(cases, family, every=EVERY):
    return [case for case in cases if case.task.family == family][::every]


def errors(cases, family, image_id, measure, of_truth, of_found):
    """Return measured minus true over some cases of a family."""
    return np.array(
        [
            of_found(images_of(case)[image_id].measure(measure)) - of_truth(truth_of(case, image_id))
            for case in of_family(cases, family)
            if image_id in images_of(case)
        ],
        dtype=float,
    )


def held(found, bound):
    """Assert that all errors lie within a bound, and say how large they were."""
    assert len(found) >= 3 and np.abs(found).max() <= bound, f"errors {np.round(found, 3).tolist()}, bound {bound}"


def test_cardiothoracic_ratio_within_0_015_and_thorax_within_3_mm(cases):
    held(errors(cases, "heart_size", "film-0", chest.cardiothoracic, lambda t: t["ctr"], lambda f: f["ratio"]), 0.015)
    held(
        errors(cases, "heart_size", "film-0", chest.cardiothoracic, lambda t: t["thorax_mm"], lambda f: f["thorax_mm"]),
        3.0,
    )


def test_free_air_within_2_5_mm_and_none_where_there_is_none(cases):
    def widest(found):
        return max(side["free_air_mm"] for side in found.values())

    held(errors(cases, "chest_finding", "film-0", chest.pleura, lambda t: t.get("rim_mm", 0.0), widest), 2.5)


def test_opacities_within_2_5_mm(cases):
    def largest(found):
        return max((spot["diameter_mm"] for spot in found), default=0.0)

    held(errors(cases, "mass_response", "film-0", chest.opacities, lambda t: t["mass_mm"], largest), 2.5)
    held(errors(cases, "chest_finding", "film-0", chest.opacities, lambda t: t.get("mass_mm", 0.0), largest), 2.5)


def test_lesion_outline_border_and_colours(cases):
    def per(measure, of_truth, of_found):
        return errors(cases, "skin_abcd", "lesion-0", measure, of_truth, of_found)

    held(per(skin.size, lambda t: t["diameter_mm"], lambda f: f["equal_mm"]), 0.3)
    held(per(skin.asymmetry, lambda t: t["asymmetry"], lambda f: sum(s > skin.ASYMMETRIC_SHARE for s in f)), 0)
    held(per(skin.border, lambda t: len(t["sharp"]), lambda f: sum(w < skin.CUT_OFF_MM for w in f)), 1)
    held(per(skin.colours, lambda t: len(t["colours"]), len), 0)


def test_red_and_yellow_lesions_of_the_fundus_within_one_of_each_quadrant(cases):
    for case in of_family(cases, "retinopathy"):
        for name, image in images_of(case).items():
            truth, found = truth_of(case, name), image.measure(fundus.red_lesions)
            for kind in ("dots", "blots"):
                wrong = np.array(found[kind]) - np.array(truth.get(kind, [0, 0, 0, 0]))
                assert np.abs(wrong).max() <= 1, (case.task.id, name, kind, wrong.tolist())
            assert (found["large_mm2"] >= fundus.LARGE_MM2) is bool(truth.get("preretinal"))
            assert abs(image.measure(fundus.bright_lesions)["count"] - truth.get("exudates", 0)) <= 1


def test_cup_disc_ratio_within_0_05(cases):
    for eye in ("fundus-right", "fundus-left"):
        held(errors(cases, "optic_disc", eye, fundus.cup_disc, lambda t: t["cup_ratio"], lambda f: f["ratio"]), 0.05)


def test_blood_cells_within_one(cases):
    for family, kind, shape in (("red_cells", "hypochromic", "pale"), ("red_cells", "fragment", "fragment")):
        found = errors(
            cases, family, "smear-a", blood.red_cells, lambda t, k=kind: t["kinds"].get(k, 0),
            lambda f, s=shape: sum(cell.shape == s for cell in f),
        )  # fmt: skip
        held(found, 1)
    held(errors(cases, "red_cells", "smear-a", blood.counts, lambda t: t["cells"], lambda f: f["red"]), 1)
    held(errors(cases, "red_cells", "smear-a", blood.counts, lambda t: t["neutrophils"], lambda f: f["lobed"]), 0)
    held(errors(cases, "red_cells", "smear-a", blood.counts, lambda t: t["platelets"], lambda f: f["platelets"]), 1)
    inside = errors(
        cases, "parasite_burden", "smear-a", blood.red_cells, lambda t: t["kinds"].get("infected", 0),
        lambda f: sum(cell.has_inclusion for cell in f),
    )  # fmt: skip
    held(inside, 1)


def test_ecg_intervals_within_rr_8_pr_20_qrs_15_qt_10_ms(cases):
    def per(measure, name):
        return errors(cases, "qt_interval", "strip-0", measure, lambda t: t[name], lambda f: f[name])

    held(per(ecg.rhythm, "rr_ms"), 8)
    held(per(ecg.intervals, "pr_ms"), 20)
    held(per(ecg.intervals, "qrs_ms"), 15)
    held(per(ecg.intervals, "qt_ms"), 10)


def test_atrial_fibrillation_has_no_p_waves_and_an_uneven_rr(cases):
    for case in of_family(cases, "ecg_rhythm_strip", 4):
        found = images_of(case)["strip-0"].measure(ecg.rhythm)
        is_fibrillation = case.task.criteria.answer["conclusion"].gold == "atrial_fibrillation"
        assert (found["p_share"] < 0.5) is is_fibrillation and (found["rr_spread"] > 0.1) is is_fibrillation


def test_nuclei_and_eosinophils_within_one(cases):
    def brown(found):
        return found["positive"]

    held(errors(cases, "ki67_index", "tissue-a", histology.nuclei, lambda t: t["positive"], brown), 1)
    found = errors(
        cases,
        "ki67_index",
        "tissue-a",
        histology.nuclei,
        lambda t: t["nuclei"],
        lambda f: f["positive"] + f["negative"],
    )
    held(found, 1)
    held(
        errors(cases, "eosinophil_count", "tissue-a", histology.eosinophils, lambda t: t["eosinophils"], lambda f: f), 1
    )


def unlike(case):
    """Return the answers that a reader of measurements gets wrong, with gold."""
    found = read(case)
    return {
        name: (rule.gold, found.get(name))
        for name, rule in case.task.criteria.answer.items()
        if grade_field(rule, found.get(name)) < 1.0
    }


def test_measuring_and_the_published_rules_lead_to_the_gold(cases):
    wrong = {case.task.id: unlike(case) for case in cases[3 :: 3 * EVERY] if unlike(case)}
    assert not wrong, wrong


@pytest.mark.slow
def test_measuring_and_the_published_rules_lead_to_the_gold_in_every_task(cases):
    wrong = {case.task.id: unlike(case) for case in cases if unlike(case)}
    assert not wrong, wrong


def test_measuring_knows_nothing_of_drawing():
    folder = Path(measures_package.__file__).parent
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert not any(word in (node.module or "") for word in ("phantoms", "images", "world")), path.name
                assert node.level < 2, path.name


def test_what_is_measured_changes_with_the_pixels_and_with_nothing_else(cases):
    # A bright disc of radius 12 px is 2 * 12 * 1.2 = 28.8 mm wide: painted on a normal film, it is found.
    case = next(case for case in cases if case.task.criteria.answer["conclusion"].gold == "no_chest_finding")
    pixels = images_of(case)["film-0"].pixels
    assert chest.opacities(pixels, 1.2) == []
    y, x = np.mgrid[0:320, 0:320]
    painted = np.where(np.hypot(y - 125, x - 90) <= 12, np.uint8(150), pixels)
    (spot,) = chest.opacities(painted, 1.2)
    assert spot["side"] == "right" and abs(spot["diameter_mm"] - 28.8) < 2.5


def test_one_truth_gives_one_image_and_another_seed_another():
    entry = {"seed": 5, "thorax_mm": 280.0, "ctr": 0.45}
    first = image_of("P1", "a", image_entry("chest_film", entry, mm_per_px=1.2))
    pixels = first.pixels.copy()
    pixels_of.cache_clear()
    assert np.array_equal(first.pixels, pixels)
    other = image_of("P1", "a", image_entry("chest_film", {**entry, "seed": 6}, mm_per_px=1.2))
    assert not np.array_equal(other.pixels, pixels)


def test_images_without_a_subject_are_refused_in_words():
    blank = np.full((200, 200), 120, np.uint8)
    for measure in (chest.cardiothoracic, ecg.rhythm, skin.size, fundus.cup_disc, blood.red_cells, histology.nuclei):
        with pytest.raises(ToolError, match=r"View it instead|no colour"):
            measure(blank, 0.25)


def test_contrast_and_noise_of_plain_patterns():
    # Halves of 50 and 150: p2 = 50, p98 = 150, contrast (150 - 50) / (150 + 50) = 0.5; no noise inside the halves.
    halves = np.concatenate([np.full((64, 32), 50, np.uint8), np.full((64, 32), 150, np.uint8)], axis=1)
    found = quality.quality(halves, 1.0)
    assert found["contrast"] == pytest.approx(0.5) and found["brightness"] == pytest.approx(100)
    noisy = np.clip(100 + np.random.default_rng(0).normal(0, 8, (256, 256)), 0, 255).astype(np.uint8)
    assert quality.quality(noisy, 1.0)["noise"] == pytest.approx(8, abs=0.5)


def test_a_phantom_that_has_no_room_says_so():
    with pytest.raises(ContentError, match="room for"):
        pixels_of('{"kind": "blood_film", "phantom": {"cells": 500, "seed": 1}}')


def test_without_the_image_libraries_measuring_names_the_extra(monkeypatch, domain, cases):
    import sys

    from healthgym.world import World

    case = next(case for case in cases if case.task.family == "heart_size")
    entry = {**case.charts["P1"].extra["images"]["film-0"]}
    entry["source"] = {**entry["source"], "phantom": {**entry["source"]["phantom"], "seed": 987_654}}
    image = image_of("P1", "film-0", entry)
    for name in [name for name in sys.modules if name.split(".")[0] in ("skimage", "scipy")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "scipy", None)
    assert "ratio" not in domain.toolkit(World(case.charts)).call("list_images", {"patient_id": "P1"}).content
    with pytest.raises(MissingDependency, match=r"healthgym\[images\]"):
        image.measure(chest.cardiothoracic)
