"""Patients for CURB-65, the Wells scores and PERC: each draws the facts and works out score and decision."""

from dataclasses import replace
from typing import Any

from healthgym.tasks import Call
from healthgym.tasks.families import Draw

from ..scores.curb65 import curb65_band, curb65_points
from ..scores.perc import perc_criteria_met
from ..scores.wells_dvt import wells_dvt_band, wells_dvt_points
from ..scores.wells_pe import wells_pe_points
from .cases import with_labs
from .risk_common import Scored, adult, flip, shown, vitals, with_facts, with_vital_signs

LOW_WELLS_PE = 2
"""Below this Wells score PERC may rule out. Source: ACP best practice advice, Ann Intern Med 2015;163:701 (low probability)."""


def build_curb65(draw: Draw) -> Scored:
    """Pneumonia: where to treat."""
    chart = adult(draw, "pneumonia", 30, 92)
    low_pressure = flip(draw, 0.3)
    systolic = int(draw.rng.integers(82, 90) if low_pressure else draw.rng.integers(102, 142))
    chart = with_vital_signs(
        chart,
        gcs=14 if flip(draw, 0.3) else 15,
        respiratory_rate_per_min=int(draw.rng.integers(30, 37) if flip(draw, 0.4) else draw.rng.integers(18, 30)),
        systolic_bp_mmhg=systolic,
        diastolic_bp_mmhg=int(draw.rng.integers(46, 60)) if low_pressure else int(draw.rng.integers(61, 82)),
    )
    chart = with_labs(
        chart, {"urea_nitrogen": draw.rng.uniform(21, 45) if flip(draw, 0.45) else draw.rng.uniform(8, 19)}
    )
    v = vitals(chart)
    arguments: dict[str, Any] = {
        "confusion": v.gcs != 15,
        "urea_nitrogen_mg_dl": shown(chart, "urea_nitrogen"),
        "respiratory_rate_per_min": v.respiratory_rate_per_min,
        "systolic_bp_mmhg": v.systolic_bp_mmhg,
        "diastolic_bp_mmhg": v.diastolic_bp_mmhg,
        "age_years": chart.age_years,
    }
    points = curb65_points(**arguments)
    decision = {"low": "home_care", "moderate": "hospital_care", "high": "severe_pneumonia_care"}[curb65_band(points)]
    return Scored(
        chart=chart, score=points, decision=decision, tool="curb65", arguments=arguments, labs=("urea_nitrogen",),
        seen=("age_years", "vital_signs.gcs"),
    )  # fmt: skip


def build_wells_pe(draw: Draw) -> Scored:
    """Suspected pulmonary embolism: which test, if any."""
    facts = {
        "leg_signs_of_dvt": flip(draw, 0.2),
        "immobile_or_surgery": flip(draw, 0.3),
        "previous_dvt_or_pe": flip(draw, 0.2),
        "coughs_blood": flip(draw, 0.2),
        "active_cancer": flip(draw, 0.15),
    }
    quiet = flip(draw, 0.35)
    if quiet:
        facts = dict.fromkeys(facts, False)
    young = quiet and flip(draw, 0.7)
    chart = adult(draw, "panic_attack", 20 if young else 51, 49 if young else 84)
    facts["takes_oestrogen"] = chart.sex == "female" and chart.age_years < 60 and not young and flip(draw, 0.3)
    fast = not young and flip(draw, 0.5)
    chart = with_vital_signs(
        chart,
        heart_rate_per_min=int(draw.rng.integers(104, 128) if fast else draw.rng.integers(72, 97)),
        spo2_percent=int(draw.rng.integers(96, 100)) if young else int(draw.rng.integers(91, 99)),
        respiratory_rate_per_min=int(draw.rng.integers(16, 25)),
        temperature_c=round(float(draw.rng.uniform(36.4, 37.6)), 1),
    )
    likeliest = not quiet and flip(draw, 0.55)
    judged = (
        "pulmonary embolism is the most likely diagnosis" if likeliest else "another diagnosis is at least as likely"
    )
    chart = replace(
        with_facts(chart, facts),
        chief_complaint="I'm short of breath and it stabs in my chest.",
        comorbidities=(), medications=(), extra={"on_file": {"judgement": f"the senior's judgement: {judged}"}},
    )  # fmt: skip
    v = vitals(chart)
    arguments = {
        "leg_signs_of_dvt": facts["leg_signs_of_dvt"],
        "pe_most_likely": likeliest,
        "heart_rate_over_100": (v.heart_rate_per_min or 0) > 100,
        "immobile_or_surgery": facts["immobile_or_surgery"],
        "previous_dvt_or_pe": facts["previous_dvt_or_pe"],
        "haemoptysis": facts["coughs_blood"],
        "cancer": facts["active_cancer"],
    }
    points = wells_pe_points(**arguments)
    second = {
        "age_years": chart.age_years,
        "heart_rate_per_min": v.heart_rate_per_min,
        "spo2_percent": v.spo2_percent,
        "leg_swelling": facts["leg_signs_of_dvt"],
        "haemoptysis": facts["coughs_blood"],
        "surgery_or_trauma": facts["immobile_or_surgery"],
        "previous_dvt_or_pe": facts["previous_dvt_or_pe"],
        "oestrogen": facts["takes_oestrogen"],
    }
    ruled_out = points < LOW_WELLS_PE and perc_criteria_met(**second) == 0  # type: ignore[arg-type]
    decision = "ct_pulmonary_angiography" if points > 4 else "no_test" if ruled_out else "d_dimer"
    return Scored(
        chart=chart, score=points, decision=decision, tool="wells_pe", arguments=arguments, findings=tuple(facts),
        seen=("on_file.judgement", "vital_signs.heart_rate_per_min"), more=(Call("perc", **second),),
    )  # fmt: skip


def build_wells_dvt(draw: Draw) -> Scored:
    """Suspected deep vein thrombosis: which test."""
    chart = adult(draw, "deep_vein_thrombosis", 25, 84)
    facts = {
        "active_cancer": flip(draw, 0.15),
        "paralysis_or_plaster": flip(draw, 0.2),
        "immobile_or_surgery": flip(draw, 0.25),
        "vein_tenderness": flip(draw, 0.35),
        "whole_leg_swollen": flip(draw, 0.2),
        "calf_over_3_cm": flip(draw, 0.4),
        "one_sided_pitting": flip(draw, 0.35),
        "collateral_veins": flip(draw, 0.1),
        "previous_dvt_or_pe": flip(draw, 0.15),
    }
    alternative = flip(draw, 0.4)
    judged = "another diagnosis is at least as likely" if alternative else "no other diagnosis is as likely"
    chart = replace(
        with_facts(chart, facts), comorbidities=(), medications=(),
        extra={"on_file": {"judgement": f"the senior's judgement: {judged}"}},
    )  # fmt: skip
    arguments = {
        "cancer": facts["active_cancer"],
        "paralysis_or_plaster": facts["paralysis_or_plaster"],
        "bedridden_or_surgery": facts["immobile_or_surgery"],
        "vein_tenderness": facts["vein_tenderness"],
        "whole_leg_swollen": facts["whole_leg_swollen"],
        "calf_over_3_cm": facts["calf_over_3_cm"],
        "pitting_oedema": facts["one_sided_pitting"],
        "collateral_veins": facts["collateral_veins"],
        "previous_dvt": facts["previous_dvt_or_pe"],
        "alternative_as_likely": alternative,
    }
    points = wells_dvt_points(**arguments)
    decision = "ultrasound_leg_veins" if wells_dvt_band(points) == "likely" else "d_dimer"
    return Scored(
        chart=chart, score=points, decision=decision, tool="wells_dvt", arguments=arguments, findings=tuple(facts),
        seen=("on_file.judgement",),
    )  # fmt: skip
