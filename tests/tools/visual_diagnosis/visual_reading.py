"""Reads a case as an agent would that sees measurements only: what the tools return, put through the published rules."""

from typing import Any

from healthgym.tools.scores.abcd_dermoscopy import abcd_class, total_dermatoscopy_score
from healthgym.tools.scores.bazett import qtc_bazett_ms, qtc_class
from healthgym.tools.scores.retinopathy_grade import retinopathy_grade
from healthgym.tools.visual_diagnosis.family_blood import KIND_OF, conclude_parasitaemia
from healthgym.tools.visual_diagnosis.family_chest import conclude_heart, conclude_response
from healthgym.tools.visual_diagnosis.family_fundus import conclude_disc
from healthgym.tools.visual_diagnosis.family_histology import conclude_ki67
from healthgym.tools.visual_diagnosis.images import Image, image_of
from healthgym.tools.visual_diagnosis.measures import blood, chest, ecg, fundus, histology, skin

SHAPE_OF = {"hypochromic": "pale", "spherocyte": "dense", "sickle": "elongated", "fragment": "fragment"}


def images_of(case: Any) -> dict[str, Image]:
    (chart,) = case.charts.values()
    return {name: image_of("P1", name, entry) for name, entry in chart.extra["images"].items()}


def truth_of(case: Any, image_id: str) -> dict[str, Any]:
    (chart,) = case.charts.values()
    return chart.extra["images"][image_id]["source"]["phantom"]


def read(case: Any) -> dict[str, Any]:
    """Return conclusion, value and side that follow from pixels, request and rules."""
    return READERS[case.task.family](case, images_of(case))


def heart_size(case, images):
    found = images["film-0"].measure(chest.cardiothoracic)
    return {"conclusion": conclude_heart(found["ratio"], images["film-0"].view), "value": found["ratio"]}


def chest_finding(case, images):
    sides = images["film-0"].measure(chest.pleura)
    for side, found in sides.items():
        if found["free_air_mm"] > 0:
            size = found["free_air_mm"]
            return {"conclusion": f"{'large' if size >= 20 else 'small'}_pneumothorax", "value": size, "side": side}
    spots = images["film-0"].measure(chest.opacities)
    if spots:
        size = spots[0]["diameter_mm"]
        return {"conclusion": "mass" if size > 30 else "nodule", "value": size, "side": spots[0]["side"]}
    for side, found in sides.items():
        if found["fluid_mm"] >= 15:
            return {"conclusion": "pleural_effusion", "value": found["fluid_mm"], "side": side}
    return {"conclusion": "no_chest_finding", "value": 0.0, "side": "none"}


def mass_response(case, images):
    now, before = (images[name].measure(chest.opacities)[0] for name in ("film-0", "film-prior"))
    change = 100 * (now["diameter_mm"] / before["diameter_mm"] - 1)
    conclusion = conclude_response(before["diameter_mm"], now["diameter_mm"])
    return {"conclusion": conclusion, "value": change, "side": now["side"]}


def skin_abcd(case, images):
    image = images["lesion-0"]
    axes = sum(share > skin.ASYMMETRIC_SHARE for share in image.measure(skin.asymmetry))
    abrupt = sum(width < skin.CUT_OFF_MM for width in image.measure(skin.border))
    (chart,) = case.charts.values()
    note = next(note for note in chart.extra["notes"] if "structures" in note)
    score = total_dermatoscopy_score(axes, abrupt, len(image.measure(skin.colours)), note.count(",") + 1)
    return {"conclusion": abcd_class(score), "value": score}


def retinopathy(case, images):
    order = ("no_retinopathy", "mild_npdr", "moderate_npdr", "severe_npdr", "proliferative_retinopathy")
    eyes = []
    for name, image in images.items():
        red, bright = image.measure(fundus.red_lesions), image.measure(fundus.bright_lesions)
        grade = retinopathy_grade(
            sum(red["dots"]),
            red["blots"],
            has_preretinal_bleeding=red["large_mm2"] >= fundus.LARGE_MM2,
            exudates=int(bright["count"]),
        )
        eyes.append((order.index(grade), sum(red["dots"]) + sum(red["blots"]), name.removeprefix("fundus-")))
    worst = max(eyes)
    return {"conclusion": order[worst[0]], "value": float(worst[1]), "side": worst[2]}


def optic_disc(case, images):
    right, left = (images[f"fundus-{eye}"].measure(fundus.cup_disc)["ratio"] for eye in ("right", "left"))
    side = "right" if right > left else "left"
    return {"conclusion": conclude_disc(right, left), "value": max(right, left), "side": side}


def red_cells(case, images):
    cells = [cell for image in images.values() for cell in image.measure(blood.red_cells)]
    numbers = {
        finding: sum(cell.shape == SHAPE_OF[kind] for cell in cells)
        if kind in SHAPE_OF
        else sum(cell.has_inclusion for cell in cells)
        for finding, kind in KIND_OF.items()
    }
    most = max(numbers, key=lambda name: numbers[name])
    share = 100 * numbers[most] / len(cells)
    return {"conclusion": most if share >= 2.5 else "normal_film", "value": share}


def parasite_burden(case, images):
    cells = [cell for image in images.values() for cell in image.measure(blood.red_cells)]
    percent = 100 * sum(cell.has_inclusion for cell in cells) / len(cells)
    return {"conclusion": conclude_parasitaemia(percent), "value": percent}


def ecg_rhythm_strip(case, images):
    found = images["strip-0"].measure(ecg.rhythm)
    rate = found["rate_per_min"]
    if found["p_share"] < 0.5 and found["rr_spread"] > 0.1:
        return {"conclusion": "atrial_fibrillation", "value": rate}
    if images["strip-0"].measure(ecg.intervals)["pr_ms"] > 200:
        return {"conclusion": "first_degree_av_block", "value": rate}
    name = "sinus_bradycardia" if rate < 50 else "sinus_tachycardia" if rate > 100 else "sinus_rhythm"
    return {"conclusion": name, "value": rate}


def qt_interval(case, images):
    (chart,) = case.charts.values()
    qt, rr = images["strip-0"].measure(ecg.intervals)["qt_ms"], images["strip-0"].measure(ecg.rhythm)["rr_ms"]
    return {"conclusion": qtc_class(qtc_bazett_ms(qt, rr), chart.sex), "value": qt}


def ki67_index(case, images):
    found = [image.measure(histology.nuclei) for image in images.values()]
    positive = sum(item["positive"] for item in found)
    percent = 100 * positive / sum(item["positive"] + item["negative"] for item in found)
    tissue = "neuroendocrine" if "grade_1" in case.task.prompt else "breast"
    return {"conclusion": conclude_ki67(percent, tissue), "value": percent}


def eosinophil_count(case, images):
    peak = max(image.measure(histology.eosinophils) for image in images.values())
    return {"conclusion": f"eosinophil_criterion_{'met' if peak >= 15 else 'not_met'}", "value": float(peak)}


READERS = {
    function.__name__: function
    for function in (
        heart_size, chest_finding, mass_response, skin_abcd, retinopathy, optic_disc, red_cells, parasite_burden,
        ecg_rhythm_strip, qt_interval, ki67_index, eosinophil_count,
    )
}  # fmt: skip
