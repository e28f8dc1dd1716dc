"""Patients for CHA2DS2-VASc, HAS-BLED, HEART, MELD 3.0 and Child-Pugh: each draws the facts and works out score and decision."""

from dataclasses import replace
from typing import Any

from healthgym.knowledge_base import load
from healthgym.tasks.families import Draw
from healthgym.world import Chart, Study

from ..scores.cha2ds2_vasc import anticoagulation_advice, cha2ds2_vasc_points
from ..scores.child_pugh import child_pugh_class, child_pugh_points
from ..scores.has_bled import has_bled_band, has_bled_points
from ..scores.heart import heart_band, heart_points
from ..scores.meld import meld_3
from .cases import pick, with_labs
from .risk_common import Scored, adult, flip, illnesses, shown, taking, vitals, with_facts, with_vital_signs

TRANSPLANT_MELD = 15
"""From this MELD on, evaluation for transplantation. Source: AASLD/AST practice guideline, Hepatology 2014;59:1144."""
ANAEMIA_G_DL = {"female": 12.0, "male": 13.0}
"""Haemoglobin below which adults are anaemic. Source: WHO, 2024."""


def build_cha2ds2_vasc(draw: Draw) -> Scored:
    """Atrial fibrillation: anticoagulate or not."""
    chart = adult(draw, "af_rapid_response", 50, 88)
    few = flip(draw, 0.5)
    share = 0.08 if few else 0.4
    chart = illnesses(
        draw, chart,
        {"heart_failure": share, "hypertension": share * 1.5, "type_2_diabetes": share, "previous_stroke": share * 0.6, "coronary_disease": share, "asthma": 0.15, "gout": 0.15},
    )  # fmt: skip
    if few and flip(draw, 0.6):
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
    chart = adult(draw, "af_rapid_response", 50, 88)
    chart = illnesses(draw, chart, {"cirrhosis": 0.15, "previous_stroke": 0.3, "hypertension": 0.5, "reflux": 0.2})
    thinning = pick(draw, ((), (), ("aspirin",), ("clopidogrel",), ("ibuprofen",)))
    chart = taking(chart, *thinning, *(("amlodipine",) if "hypertension" in chart.comorbidities else ()))
    facts = {"bled_before": flip(draw, 0.3), "drinks_a_lot": flip(draw, 0.35)}
    chart = with_vital_signs(
        with_facts(chart, facts),
        systolic_bp_mmhg=int(draw.rng.integers(164, 190) if flip(draw, 0.3) else draw.rng.integers(118, 156)),
        diastolic_bp_mmhg=int(draw.rng.integers(70, 96)),
    )
    anaemic = flip(draw, 0.25)
    normal = ANAEMIA_G_DL[chart.sex]
    chart = with_labs(
        chart,
        {
            "creatinine": draw.rng.uniform(2.5, 4.5) if flip(draw, 0.2) else draw.rng.uniform(0.7, 1.3),
            "hemoglobin": normal - draw.rng.uniform(1.5, 3) if anaemic else normal + draw.rng.uniform(0.5, 2),
        },
    )
    arguments: dict[str, Any] = {
        "age_years": chart.age_years,
        "systolic_bp_mmhg": vitals(chart).systolic_bp_mmhg,
        "creatinine_mg_dl": shown(chart, "creatinine"),
        "liver_disease": "cirrhosis" in chart.comorbidities,
        "stroke": "previous_stroke" in chart.comorbidities,
        "bleeding_or_anaemia": facts["bled_before"] or shown(chart, "hemoglobin") < normal,
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
    chart = adult(draw, "hepatic_encephalopathy", 40, 76, severity="moderate")
    chart = replace(chart, comorbidities=("cirrhosis",), medications=(), chief_complaint="I'm here about my liver.")
    return with_labs(
        with_vital_signs(chart, gcs=15),
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
    if flip(draw, 0.5):
        mild = {"bilirubin_total": draw.rng.uniform(0.6, 1.8), "inr": draw.rng.uniform(1.0, 1.3), "sodium": draw.rng.uniform(136, 141), "creatinine": draw.rng.uniform(0.6, 1.1)}  # fmt: skip
        chart = with_labs(chart, mild)
    arguments: dict[str, Any] = {
        "sex": chart.sex,
        "bilirubin_mg_dl": shown(chart, "bilirubin_total"),
        "sodium_mmol_l": shown(chart, "sodium"),
        "inr": shown(chart, "inr"),
        "creatinine_mg_dl": shown(chart, "creatinine"),
        "albumin_g_dl": shown(chart, "albumin"),
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
    drowsy = flip(draw, 0.4)
    fluid = "ascites_mild" if ascites == "mild" else "ascites_tense"
    facts = {fluid: ascites != "none", "encephalopathy_mild": drowsy}
    chart = with_vital_signs(with_facts(chart, facts), gcs=14 if drowsy else 15)
    arguments: dict[str, Any] = {
        "bilirubin_mg_dl": shown(chart, "bilirubin_total"),
        "albumin_g_dl": shown(chart, "albumin"),
        "inr": shown(chart, "inr"),
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
    chart = adult(draw, "nstemi", 35, 84)
    share = float(draw.rng.uniform(0.05, 0.5))
    chart = illnesses(
        draw, chart,
        {"hypertension": share, "hyperlipidaemia": share, "type_2_diabetes": share * 0.6, "coronary_disease": share * 0.5, "asthma": 0.1},
    )  # fmt: skip
    facts = {"smokes": flip(draw, share), "family_heart_disease": flip(draw, share * 0.7)}
    history, ecg = int(draw.rng.integers(3)), int(draw.rng.choice(3, p=(0.5, 0.3, 0.2)))
    limit = load().analytes["troponin_i"].reference_range(chart.sex, chart.age_years).high
    ratio = float(draw.rng.choice((0.4, 0.6, 2.0, 5.0), p=(0.35, 0.25, 0.25, 0.15)))
    height = chart.height_cm or 170.0
    weight = round((34.0 if flip(draw, share) else 25.0) * (height / 100) ** 2, 1)
    chart = replace(
        with_labs(with_facts(chart, facts), {"troponin_i": limit * ratio}),
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
        "troponin_ratio": round(shown(chart, "troponin_i") / limit, 2),
    }
    points = heart_points(**arguments)
    decision = {"low": "early_discharge", "moderate": "observe", "high": "invasive_strategy"}[heart_band(points)]
    return Scored(
        chart=chart, score=points, decision=decision, tool="heart_score", arguments=arguments, findings=tuple(facts),
        labs=("troponin_i",), seen=("age_years", "comorbidities", "on_file.judgement"), ecg=True,
    )  # fmt: skip
