"""Patients for risk instruments: each builder draws the facts its instrument needs and works out score and decision."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from healthgym.knowledge_base import load
from healthgym.knowledge_base.pharmacology import find_drug
from healthgym.knowledge_base.patients import sample_patient
from healthgym.tasks import Call
from healthgym.tasks.families import Draw
from healthgym.world import Chart, Finding, Medication, Persona, Study, VitalSigns

from ..scores.cha2ds2_vasc import anticoagulation_advice, cha2ds2_vasc_points
from ..scores.child_pugh import child_pugh_class, child_pugh_points
from ..scores.curb65 import curb65_band, curb65_points
from ..scores.has_bled import has_bled_band, has_bled_points
from ..scores.heart import heart_band, heart_points
from ..scores.meld import meld_3
from ..scores.perc import perc_criteria_met
from ..scores.wells_dvt import wells_dvt_band, wells_dvt_points
from ..scores.wells_pe import wells_pe_points
from .cases import pick, with_labs
from .tables import table

TRANSPLANT_MELD = 15
"""From this MELD on, evaluation for transplantation. Source: AASLD/AST practice guideline, Hepatology 2014;59:1144."""
LOW_WELLS_PE = 2
"""Below this Wells score PERC may rule out. Source: ACP best practice advice, Ann Intern Med 2015;163:701 (low probability)."""
ANAEMIA_G_DL = {"female": 12.0, "male": 13.0}
"""Haemoglobin below which adults are anaemic. Source: WHO, 2024."""


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A patient, what must be seen, and what the instrument says.

    seen: facts of the record or vital signs that the instrument uses, by key without the patient.
    arguments: what the instrument's tool is called with.
    """

    chart: Chart
    score: float
    decision: str
    tool: str
    arguments: Mapping[str, Any]
    findings: tuple[str, ...] = ()
    labs: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    ecg: bool = False
    more: tuple[Call, ...] = field(default=())
    """Calls of a second instrument."""


def _flip(draw: Draw, share: float) -> bool:
    return bool(draw.rng.random() < share)


def _adult(draw: Draw, condition: str, youngest: int, oldest: int, **options: Any) -> Chart:
    age = float(draw.rng.integers(youngest, oldest + 1))
    chart = sample_patient(draw.rng, condition, age_years=age, pregnancy_weeks=0, persona=Persona(), **options)
    return replace(chart, findings=())


def _with_facts(chart: Chart, facts: Mapping[str, bool]) -> Chart:
    made = []
    for name, present in facts.items():
        row = table("risk_facts")[name]
        lay = row.get("lay" if present else "no_lay", "")
        made.append(
            Finding(
                id=name, reveal=row["reveal"], present=present, text=row["text"] if present else row["absent"], lay=lay,
                topics=tuple(row.get("topics", ())), system=row.get("system", ""),
            )  # fmt: skip
        )
    return replace(chart, findings=tuple(made))


def _with_vital_signs(chart: Chart, **values: float) -> Chart:
    return replace(chart, vital_signs=((0.0, replace(chart.vital_signs[0][1], **values)),))


def _vitals(chart: Chart) -> VitalSigns:
    return chart.vital_signs_at(0.0)


def _shown(chart: Chart, name: str) -> float:
    return float(chart.lab_results[name].value)


def _illnesses(draw: Draw, chart: Chart, shares: Mapping[str, float]) -> Chart:
    """Return the chart with illnesses drawn by share and no medicines but those that the builder adds."""
    return replace(chart, comorbidities=tuple(name for name, share in shares.items() if _flip(draw, share)), medications=())


def _taking(chart: Chart, *drugs: str) -> Chart:
    made = []
    for name in drugs:
        dose = find_drug(name).usual_dose
        if dose is not None:
            made.append(Medication(drug=name, dose_mg=dose.dose_mg, times_per_day=dose.times_per_day))
    return replace(chart, medications=tuple(made))


def build_curb65(draw: Draw) -> Scored:
    """Pneumonia: where to treat."""
    chart = _adult(draw, "pneumonia", 30, 92)
    low_pressure = _flip(draw, 0.3)
    systolic = int(draw.rng.integers(82, 90) if low_pressure else draw.rng.integers(102, 142))
    chart = _with_vital_signs(
        chart,
        gcs=14 if _flip(draw, 0.3) else 15,
        respiratory_rate_per_min=int(draw.rng.integers(30, 37) if _flip(draw, 0.4) else draw.rng.integers(18, 30)),
        systolic_bp_mmhg=systolic,
        diastolic_bp_mmhg=int(draw.rng.integers(46, 60)) if low_pressure else int(draw.rng.integers(61, 82)),
    )
    chart = with_labs(chart, {"urea_nitrogen": draw.rng.uniform(21, 45) if _flip(draw, 0.45) else draw.rng.uniform(8, 19)})
    v = _vitals(chart)
    arguments: dict[str, Any] = {
        "confusion": v.gcs != 15,
        "urea_nitrogen_mg_dl": _shown(chart, "urea_nitrogen"),
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
        "leg_signs_of_dvt": _flip(draw, 0.2),
        "immobile_or_surgery": _flip(draw, 0.3),
        "previous_dvt_or_pe": _flip(draw, 0.2),
        "coughs_blood": _flip(draw, 0.2),
        "active_cancer": _flip(draw, 0.15),
    }
    quiet = _flip(draw, 0.35)
    if quiet:
        facts = dict.fromkeys(facts, False)
    young = quiet and _flip(draw, 0.7)
    chart = _adult(draw, "panic_attack", 20 if young else 51, 49 if young else 84)
    facts["takes_oestrogen"] = chart.sex == "female" and chart.age_years < 60 and not young and _flip(draw, 0.3)
    fast = not young and _flip(draw, 0.5)
    chart = _with_vital_signs(
        chart,
        heart_rate_per_min=int(draw.rng.integers(104, 128) if fast else draw.rng.integers(72, 97)),
        spo2_percent=int(draw.rng.integers(96, 100)) if young else int(draw.rng.integers(91, 99)),
        respiratory_rate_per_min=int(draw.rng.integers(16, 25)),
        temperature_c=round(float(draw.rng.uniform(36.4, 37.6)), 1),
    )
    likeliest = not quiet and _flip(draw, 0.55)
    judged = "pulmonary embolism is the most likely diagnosis" if likeliest else "another diagnosis is at least as likely"
    chart = replace(
        _with_facts(chart, facts),
        chief_complaint="I'm short of breath and it stabs in my chest.",
        comorbidities=(), medications=(), extra={"on_file": {"judgement": f"the senior's judgement: {judged}"}},
    )  # fmt: skip
    v = _vitals(chart)
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
    chart = _adult(draw, "deep_vein_thrombosis", 25, 84)
    facts = {
        "active_cancer": _flip(draw, 0.15),
        "paralysis_or_plaster": _flip(draw, 0.2),
        "immobile_or_surgery": _flip(draw, 0.25),
        "vein_tenderness": _flip(draw, 0.35),
        "whole_leg_swollen": _flip(draw, 0.2),
        "calf_over_3_cm": _flip(draw, 0.4),
        "one_sided_pitting": _flip(draw, 0.35),
        "collateral_veins": _flip(draw, 0.1),
        "previous_dvt_or_pe": _flip(draw, 0.15),
    }
    alternative = _flip(draw, 0.4)
    judged = "another diagnosis is at least as likely" if alternative else "no other diagnosis is as likely"
    chart = replace(
        _with_facts(chart, facts), comorbidities=(), medications=(),
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


def build_cha2ds2_vasc(draw: Draw) -> Scored:
    """Atrial fibrillation: anticoagulate or not."""
    chart = _adult(draw, "af_rapid_response", 50, 88)
    few = _flip(draw, 0.5)
    share = 0.08 if few else 0.4
    chart = _illnesses(
        draw, chart,
        {"heart_failure": share, "hypertension": share * 1.5, "type_2_diabetes": share, "previous_stroke": share * 0.6, "coronary_disease": share, "asthma": 0.15, "gout": 0.15},
    )  # fmt: skip
    if few and _flip(draw, 0.6):
        chart = replace(chart, age_years=float(draw.rng.integers(50, 65)))
    arguments: dict[str, Any] = {
        "age_years": chart.age_years,
        "sex": chart.sex,
        "heart_failure": "heart_failure" in chart.comorbidities,
        "hypertension": "hypertension" in chart.comorbidities,
        "diabetes": "type_2_diabetes" in chart.comorbidities,
        "stroke_or_embolism": "previous_stroke" in chart.comorbidities,
        "vascular_disease": "coronary_disease" in chart.comorbidities,
    }
    points = cha2ds2_vasc_points(**arguments)
    advice = anticoagulation_advice(points, chart.sex)
    decision = {
        "recommended": "anticoagulate", "reasonable": "consider_anticoagulation", "not needed": "no_anticoagulation",
    }[advice]  # fmt: skip
    return Scored(
        chart=replace(chart, comorbidities=(*chart.comorbidities, "atrial_fibrillation")), score=points, decision=decision,
        tool="cha2ds2_vasc", arguments=arguments, seen=("age_years", "comorbidities"),
    )  # fmt: skip


def build_has_bled(draw: Draw) -> Scored:
    """Atrial fibrillation, anticoagulant wanted: is the bleeding risk high."""
    chart = _adult(draw, "af_rapid_response", 50, 88)
    chart = _illnesses(draw, chart, {"cirrhosis": 0.15, "previous_stroke": 0.3, "hypertension": 0.5, "reflux": 0.2})
    thinning = pick(draw, ((), (), ("aspirin",), ("clopidogrel",), ("ibuprofen",)))
    chart = _taking(chart, *thinning, *(("amlodipine",) if "hypertension" in chart.comorbidities else ()))
    facts = {"bled_before": _flip(draw, 0.3), "drinks_a_lot": _flip(draw, 0.35)}
    chart = _with_vital_signs(
        _with_facts(chart, facts),
        systolic_bp_mmhg=int(draw.rng.integers(164, 190) if _flip(draw, 0.3) else draw.rng.integers(118, 156)),
        diastolic_bp_mmhg=int(draw.rng.integers(70, 96)),
    )
    anaemic = _flip(draw, 0.25)
    normal = ANAEMIA_G_DL[chart.sex]
    chart = with_labs(
        chart,
        {
            "creatinine": draw.rng.uniform(2.5, 4.5) if _flip(draw, 0.2) else draw.rng.uniform(0.7, 1.3),
            "hemoglobin": normal - draw.rng.uniform(1.5, 3) if anaemic else normal + draw.rng.uniform(0.5, 2),
        },
    )
    arguments: dict[str, Any] = {
        "age_years": chart.age_years,
        "systolic_bp_mmhg": _vitals(chart).systolic_bp_mmhg,
        "creatinine_mg_dl": _shown(chart, "creatinine"),
        "liver_disease": "cirrhosis" in chart.comorbidities,
        "stroke": "previous_stroke" in chart.comorbidities,
        "bleeding_or_anaemia": facts["bled_before"] or _shown(chart, "hemoglobin") < normal,
        "antiplatelet_or_nsaid": bool(thinning),
        "alcohol": facts["drinks_a_lot"],
    }
    points = has_bled_points(**arguments, dialysis_or_transplant=False, labile_inr=False)
    decision = "high_bleeding_risk" if has_bled_band(points) == "high" else "not_high_bleeding_risk"
    return Scored(
        chart=chart, score=points, decision=decision, tool="has_bled", arguments=arguments, findings=tuple(facts),
        labs=("creatinine", "hemoglobin"),
        seen=("age_years", "comorbidities", "medications", "vital_signs.systolic_bp_mmhg"),
    )  # fmt: skip


def _cirrhotic(draw: Draw) -> Chart:
    chart = _adult(draw, "hepatic_encephalopathy", 40, 76, severity="moderate")
    chart = replace(chart, comorbidities=("cirrhosis",), medications=(), chief_complaint="I'm here about my liver.")
    return with_labs(
        _with_vital_signs(chart, gcs=15),
        {
            "bilirubin_total": draw.rng.uniform(0.8, 7.5),
            "albumin": draw.rng.uniform(2.0, 4.1),
            "inr": draw.rng.uniform(1.0, 2.6),
            "sodium": draw.rng.uniform(126, 141),
            "creatinine": draw.rng.uniform(0.7, 2.4),
        },
    )


def build_meld(draw: Draw) -> Scored:
    """Cirrhosis: is evaluation for transplantation due."""
    chart = _cirrhotic(draw)
    if _flip(draw, 0.5):
        mild = {"bilirubin_total": draw.rng.uniform(0.6, 1.8), "inr": draw.rng.uniform(1.0, 1.3), "sodium": draw.rng.uniform(136, 141), "creatinine": draw.rng.uniform(0.6, 1.1)}  # fmt: skip
        chart = with_labs(chart, mild)
    arguments: dict[str, Any] = {
        "sex": chart.sex,
        "bilirubin_mg_dl": _shown(chart, "bilirubin_total"),
        "sodium_mmol_l": _shown(chart, "sodium"),
        "inr": _shown(chart, "inr"),
        "creatinine_mg_dl": _shown(chart, "creatinine"),
        "albumin_g_dl": _shown(chart, "albumin"),
    }
    score = meld_3(**arguments)
    decision = "transplant_evaluation" if score >= TRANSPLANT_MELD else "no_transplant_evaluation"
    return Scored(
        chart=chart, score=score, decision=decision, tool="meld_3_0", arguments=arguments,
        labs=("bilirubin_total", "sodium", "inr", "creatinine", "albumin"), seen=("sex",),
    )  # fmt: skip


def build_child_pugh(draw: Draw) -> Scored:
    """Cirrhosis: which class."""
    chart = _cirrhotic(draw)
    ascites = pick(draw, ("none", "mild", "moderate"))
    drowsy = _flip(draw, 0.4)
    facts = {
        "ascites_mild": ascites == "mild",
        "ascites_tense": ascites == "moderate",
        "encephalopathy_mild": drowsy,
    }
    chart = _with_vital_signs(_with_facts(chart, facts), gcs=14 if drowsy else 15)
    arguments: dict[str, Any] = {
        "bilirubin_mg_dl": _shown(chart, "bilirubin_total"),
        "albumin_g_dl": _shown(chart, "albumin"),
        "inr": _shown(chart, "inr"),
        "ascites": ascites,
        "encephalopathy": "grade_1_2" if drowsy else "none",
    }
    points = child_pugh_points(**arguments)
    return Scored(
        chart=chart, score=points, decision=f"class_{child_pugh_class(points).lower()}", tool="child_pugh",
        arguments=arguments, findings=tuple(facts), labs=("bilirubin_total", "albumin", "inr"),
    )  # fmt: skip


HISTORIES = ("slightly", "moderately", "highly")
ECGS = (
    ("Sinus rhythm. No ST deviation, normal intervals.",),
    ("Sinus rhythm, flat T waves in the lateral leads, no ST deviation.", "Left ventricular hypertrophy with strain, no ST deviation."),
    ("ST depression of 2 mm in V4 to V6.", "ST depression of 1.5 mm in the inferior leads."),
)  # fmt: skip
OBESE_BMI = 30.0


def build_heart(draw: Draw) -> Scored:
    """Chest pain without ST elevation: home, observation or early invasive strategy."""
    chart = _adult(draw, "nstemi", 35, 84)
    share = float(draw.rng.uniform(0.05, 0.5))
    chart = _illnesses(
        draw, chart,
        {"hypertension": share, "hyperlipidaemia": share, "type_2_diabetes": share * 0.6, "coronary_disease": share * 0.5, "asthma": 0.1},
    )  # fmt: skip
    facts = {"smokes": _flip(draw, share), "family_heart_disease": _flip(draw, share * 0.7)}
    history, ecg = int(draw.rng.integers(3)), int(draw.rng.choice(3, p=(0.5, 0.3, 0.2)))
    limit = load().analytes["troponin_i"].reference_range(chart.sex, chart.age_years).high
    ratio = float(draw.rng.choice((0.4, 0.6, 2.0, 5.0), p=(0.35, 0.25, 0.25, 0.15)))
    height = chart.height_cm or 170.0
    weight = round((34.0 if _flip(draw, share) else 25.0) * (height / 100) ** 2, 1)
    chart = replace(
        with_labs(_with_facts(chart, facts), {"troponin_i": limit * ratio}),
        weight_kg=weight,
        studies={"ecg": Study(id="ecg", report=pick(draw, ECGS[ecg]))},
        extra={"on_file": {"judgement": f"the senior grades the history as {HISTORIES[history]} suspicious"}},
    )
    risks = sum(name in chart.comorbidities for name in ("hypertension", "hyperlipidaemia", "type_2_diabetes"))
    risks += facts["smokes"] + facts["family_heart_disease"] + (weight / (height / 100) ** 2 >= OBESE_BMI)
    arguments: dict[str, Any] = {
        "history": history,
        "ecg": ecg,
        "age_years": chart.age_years,
        "risk_factors": risks,
        "known_atherosclerosis": "coronary_disease" in chart.comorbidities,
        "troponin_ratio": round(_shown(chart, "troponin_i") / limit, 2),
    }
    points = heart_points(**arguments)
    decision = {"low": "early_discharge", "moderate": "observe", "high": "invasive_strategy"}[heart_band(points)]
    return Scored(
        chart=chart, score=points, decision=decision, tool="heart_score", arguments=arguments, findings=tuple(facts),
        labs=("troponin_i",), seen=("age_years", "comorbidities", "on_file.judgement"), ecg=True,
    )  # fmt: skip


BUILDERS: Mapping[str, Callable[[Draw], Scored]] = {
    "CURB-65": build_curb65,
    "Wells for pulmonary embolism": build_wells_pe,
    "CHA2DS2-VASc": build_cha2ds2_vasc,
    "HAS-BLED": build_has_bled,
    "MELD 3.0": build_meld,
    "HEART": build_heart,
    "Wells for deep vein thrombosis": build_wells_dvt,
    "Child-Pugh": build_child_pugh,
}
HELD_OUT = ("Wells for deep vein thrombosis", "Child-Pugh")
"""Instruments that appear in test_ood only."""
