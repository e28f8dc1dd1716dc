"""Pairs, dose limits, renal bands and profiles are what the labels and guidelines say."""

import pytest

from healthgym.knowledge_base import pharmacology as p

RANK = {severity: number for number, severity in enumerate(p.SEVERITIES)}


# Golden facts: severity of pairs

PAIRS = [
    ("simvastatin", "clarithromycin", "contraindicated"),  # FDA label simvastatin, section 4
    ("simvastatin", "itraconazole", "contraindicated"),  # FDA label simvastatin, section 4
    ("simvastatin", "gemfibrozil", "contraindicated"),  # FDA label simvastatin, section 4
    ("lovastatin", "erythromycin", "contraindicated"),  # FDA Drug Safety Communication on statins, 2012
    ("sildenafil", "glyceryl_trinitrate", "contraindicated"),  # FDA label sildenafil, section 4
    ("tadalafil", "isosorbide_mononitrate", "contraindicated"),  # FDA label tadalafil, section 4
    ("phenelzine", "sertraline", "contraindicated"),  # FDA label sertraline, section 4
    ("phenelzine", "pethidine", "contraindicated"),  # FDA label meperidine, section 4
    ("selegiline", "dextromethorphan", "contraindicated"),  # FDA label selegiline, contraindications
    ("lisinopril", "sacubitril_valsartan", "contraindicated"),  # FDA label Entresto, section 4: 36 hours apart
    ("tizanidine", "ciprofloxacin", "contraindicated"),  # FDA label tizanidine, section 4
    ("tizanidine", "fluvoxamine", "contraindicated"),  # FDA label tizanidine, section 4
    ("repaglinide", "gemfibrozil", "contraindicated"),  # FDA label repaglinide, section 4
    ("eplerenone", "ketoconazole", "contraindicated"),  # FDA label eplerenone, section 4
    ("ranolazine", "rifampicin", "contraindicated"),  # FDA label ranolazine, section 4
    ("febuxostat", "azathioprine", "contraindicated"),  # FDA label febuxostat, section 4
    ("ketorolac", "naproxen", "contraindicated"),  # FDA label ketorolac, boxed warning
    ("allopurinol", "azathioprine", "major"),  # FDA label azathioprine: a quarter to a third of the dose
    ("clopidogrel", "omeprazole", "major"),  # FDA label clopidogrel, section 7.1
    ("warfarin", "trimethoprim_sulfamethoxazole", "major"),  # AGS Beers Criteria 2023, table 5
    ("lisinopril", "trimethoprim_sulfamethoxazole", "major"),  # Fralick, BMJ 2014;349:g6196
    ("lithium", "hydrochlorothiazide", "major"),  # FDA label lithium, section 7
    ("tamoxifen", "paroxetine", "major"),  # Kelly, BMJ 2010;340:c693
    ("digoxin", "amiodarone", "major"),  # FDA label digoxin, section 7
    ("morphine", "lorazepam", "major"),  # FDA boxed warning on opioids with benzodiazepines, 2016
    ("valproate", "meropenem", "major"),  # FDA label meropenem, section 7
    ("citalopram", "amiodarone", "major"),  # FDA label citalopram, section 5
    ("levodopa_carbidopa", "metoclopramide", "major"),  # AGS Beers Criteria 2023, table 3
    ("combined_oral_contraceptive", "rifampicin", "major"),  # CDC US Medical Eligibility Criteria 2024, category 3
]


@pytest.mark.parametrize(("a", "b", "severity"), PAIRS)
def test_a_pair_is_graded_as_its_source_grades_it_in_either_order(a, b, severity):
    assert p.interaction_between(a, b).severity == severity
    assert p.interaction_between(b, a) is p.interaction_between(a, b)


QUIET = [
    ("simvastatin", "azithromycin"),  # Westphal, Br J Clin Pharmacol 2000;49:447: azithromycin leaves CYP3A4 alone
    ("clopidogrel", "pantoprazole"),  # FDA label clopidogrel, section 7.1: pantoprazole had less effect
    ("pravastatin", "clarithromycin"),  # FDA label pravastatin: 40 mg a day allowed, no contraindication
    ("levetiracetam", "apixaban"),  # FDA table of CYP inducers, 2023: levetiracetam is not in it
    ("tamoxifen", "sertraline"),  # FDA table of CYP inhibitors, 2023: sertraline is weak at usual doses
]


@pytest.mark.parametrize(("a", "b"), QUIET)
def test_a_recommended_partner_raises_no_alarm(a, b):
    found = p.interaction_between(a, b)
    assert found is None or RANK[found.severity] <= RANK["moderate"]


LIMITS = [
    ("simvastatin", "verapamil", 10),  # FDA Drug Safety Communication, simvastatin, 2011
    ("simvastatin", "diltiazem", 10),  # FDA Drug Safety Communication, simvastatin, 2011
    ("simvastatin", "amlodipine", 20),  # FDA Drug Safety Communication, simvastatin, 2011
    ("simvastatin", "amiodarone", 20),  # FDA Drug Safety Communication, simvastatin, 2011
    ("atorvastatin", "itraconazole", 20),  # FDA label atorvastatin, section 2.6
    ("rosuvastatin", "ciclosporin", 5),  # FDA label rosuvastatin, section 2.4
    ("citalopram", "omeprazole", 20),  # FDA Drug Safety Communication, citalopram, 2012
    ("ranolazine", "verapamil", 1000),  # FDA label ranolazine: 500 mg twice a day
    ("repaglinide", "clopidogrel", 4),  # FDA label repaglinide, section 2.3
    ("pioglitazone", "gemfibrozil", 15),  # FDA label pioglitazone, section 2.3
]


@pytest.mark.parametrize(("drug", "partner", "limit"), LIMITS)
def test_a_dose_ceiling_under_an_interaction_is_the_labels(drug, partner, limit):
    found = p.interaction_between(drug, partner)
    assert (found.replace, found.limit_daily_mg) == (drug, limit)


# Golden facts: renal bands at their boundaries; None: no adjustment, 0: avoid

RENAL = [
    ("metformin", 29.9, 0), ("metformin", 30, 1000), ("metformin", 45, None),  # FDA safety communication 2016; KDIGO 2022
    ("rivaroxaban", 14.9, 0), ("rivaroxaban", 50, 15), ("rivaroxaban", 50.1, None),  # FDA label: 15 mg at or below 50
    ("edoxaban", 50, 30), ("edoxaban", 51, None), ("edoxaban", 14, 0),  # FDA label: 30 mg at 15 to 50
    ("dabigatran", 29, 150), ("dabigatran", 30, None), ("dabigatran", 14, 0),  # FDA label: 75 mg twice a day, 15 to 30
    ("rosuvastatin", 29, 10), ("rosuvastatin", 30, None),  # FDA label, section 2.3
    ("nitrofurantoin", 29, 0), ("nitrofurantoin", 30, None),  # AGS Beers Criteria 2023, table 6
    ("spironolactone", 29, 0), ("spironolactone", 30, None),  # AGS Beers Criteria 2023, table 6
    ("eplerenone", 30, 0), ("eplerenone", 30.1, None),  # FDA label, section 4: at or below 30
    ("duloxetine", 29, 0), ("duloxetine", 30, None),  # FDA label, section 2: avoid below 30
    ("atenolol", 35, 50), ("atenolol", 14, 25), ("atenolol", 36, None),  # FDA label: 15 to 35, below 15
    ("fondaparinux", 29, 0), ("fondaparinux", 51, None),  # FDA label, section 4
    ("levetiracetam", 29, 1000), ("levetiracetam", 49, 1500), ("levetiracetam", 80, None),  # FDA label, table 1
    ("pregabalin", 14, 75), ("pregabalin", 29, 150), ("pregabalin", 59, 300), ("pregabalin", 60, None),  # FDA label, table 2
    ("sitagliptin", 29, 25), ("sitagliptin", 44, 50), ("sitagliptin", 45, None),  # FDA label, eGFR
    ("memantine", 29, 10), ("memantine", 30, None),  # FDA label: 5 mg twice a day at 5 to 29
    ("naloxegol", 59, 12.5), ("naloxegol", 60, None),  # FDA label, section 2
    ("alendronate", 34, 0), ("alendronate", 35, None),  # FDA label, section 8.6
    ("terbinafine", 50, 0), ("terbinafine", 51, None),  # FDA label: 50 or less
    ("piperacillin_tazobactam", 19, 9000), ("piperacillin_tazobactam", 40, 13500),  # FDA label, table 1, with pneumonia
    ("piperacillin_tazobactam", 41, None),
    ("cefalexin", 14, 250), ("cefalexin", 29, 750), ("cefalexin", 59, 1000), ("cefalexin", 60, None),  # FDA label, table 2
    ("venlafaxine", 29, 112.5), ("venlafaxine", 89, 168.75), ("venlafaxine", 90, None),  # FDA label: half, a quarter less
    ("fluconazole", 50, 400), ("fluconazole", 51, None),  # FDA label: half the dose at 50 or less
    ("mirabegron", 14, 0), ("mirabegron", 29, 25), ("mirabegron", 30, None),  # FDA label, section 2
    ("baclofen", 29, 0), ("codeine", 29, 0), ("gemfibrozil", 29, 0), ("gliclazide", 29, 0), ("phenelzine", 29, 0),
]  # fmt: skip


@pytest.mark.parametrize(("drug", "ml_min", "ceiling"), RENAL)
def test_a_renal_band_changes_where_the_label_says(drug, ml_min, ceiling):
    band = p.renal_dose(drug, ml_min)
    found = None if band is None else 0 if band.avoid else band.max_daily_mg
    assert found == ceiling


# Golden facts: profiles


def test_strong_and_moderate_inhibitors_are_those_of_the_fda_table():
    # FDA, Drug Development and Drug Interactions: Table of Inhibitors, 2023.
    strong = {d.id for d in p.load_drugs().values() if d.cyp.get("CYP3A4", {}).get("inhibitor") == "strong"}
    assert strong == {
        "clarithromycin", "itraconazole", "ketoconazole", "voriconazole", "posaconazole", "ritonavir", "cobicistat",
    }  # fmt: skip
    strong_2d6 = {d.id for d in p.load_drugs().values() if d.cyp.get("CYP2D6", {}).get("inhibitor") == "strong"}
    assert strong_2d6 == {"bupropion", "fluoxetine", "paroxetine", "terbinafine"}


def test_a_qt_category_is_crediblemeds():
    # CredibleMeds QTdrugs list: known risk of torsades, conditional risk, possible risk.
    known = (
        "amiodarone",
        "sotalol",
        "haloperidol",
        "methadone",
        "ondansetron",
        "citalopram",
        "moxifloxacin",
        "donepezil",
    )
    assert p.qt_drugs(known) == known
    assert p.load_drugs()["sertraline"].qt_risk == p.load_drugs()["quetiapine"].qt_risk == "conditional"
    assert p.load_drugs()["mirtazapine"].qt_risk == p.load_drugs()["mirabegron"].qt_risk == "possible"


def test_qt_burden_counts_three_tisdale_points_for_one_drug_and_six_for_more():
    # Tisdale 2013: one QT-prolonging drug 3 points, two or more 3 further points.
    assert p.qt_burden(["sertraline", "metformin"]).tisdale_points == 0
    assert p.qt_burden(["methadone", "metformin"]).tisdale_points == 3
    burden = p.qt_burden(["methadone", "ondansetron", "mirtazapine", "sertraline"])
    assert burden == p.QtBurden(("methadone", "ondansetron"), ("mirtazapine",), ("sertraline",))
    assert burden.tisdale_points == 6


def test_beers_2023_tells_avoid_from_avoid_with_a_purpose():
    # AGS Beers Criteria 2023, J Am Geriatr Soc 2023;71:2052, tables 2 and 6.
    advice = {name: drug.beers_advice for name, drug in p.load_drugs().items()}
    assert {advice[n] for n in ("diazepam", "zolpidem", "glibenclamide", "amitriptyline", "diphenhydramine")} == {
        "avoid"
    }
    assert {advice[n] for n in ("warfarin", "omeprazole", "ibuprofen", "nitrofurantoin")} == {"avoid_with"}
    assert advice["apixaban"] == advice["paracetamol"] == "none"


def test_pregnancy_advice_names_the_trimester():
    drugs = p.load_drugs()
    # FDA safety communication on NSAIDs, 2020 (from 20 weeks); tetracycline labels (second trimester on); ACE inhibitor boxed warning.
    assert [drugs["ibuprofen"].avoid_in_trimester(t) for t in (1, 2, 3)] == [False, True, True]
    assert [drugs["doxycycline"].avoid_in_trimester(t) for t in (1, 2, 3)] == [False, True, True]
    # Labels of sulfamethoxazole/trimethoprim: folate antagonism early, kernicterus near term; nitrofurantoin: at term.
    assert [drugs["trimethoprim_sulfamethoxazole"].avoid_in_trimester(t) for t in (1, 2, 3)] == [True, False, True]
    assert [drugs["nitrofurantoin"].avoid_in_trimester(t) for t in (1, 2, 3)] == [False, False, True]
    assert all(drugs["lisinopril"].avoid_in_trimester(t) for t in (1, 2, 3))
    # ACOG practice bulletin 222, 2020: labetalol and nifedipine are first-line.
    assert not any(drugs[name].avoid_in_trimester(t) for name in ("labetalol", "nifedipine") for t in (1, 2, 3))


def test_lactation_advice_is_lactmeds():
    # LactMed, National Library of Medicine, 2024; codeine and tramadol: FDA safety communication, 2017.
    level = {name: drug.lactation.level for name, drug in p.load_drugs().items() if drug.lactation}
    assert {level[n] for n in ("codeine", "tramadol", "lithium", "amiodarone", "methotrexate")} == {"avoid"}
    assert {level[n] for n in ("ibuprofen", "paracetamol", "sertraline", "warfarin", "labetalol")} == {"compatible"}


def test_citalopram_is_capped_at_20_mg_above_60_years():
    # FDA Drug Safety Communication, citalopram, 2012.
    older = p.load_drugs()["citalopram"].older_dose
    assert older is not None and (older.over_years, older.max_daily_mg) == (60, 20)


# Allergy


CROSS = [
    ("amoxicillin", "cefalexin", True),  # Khan et al., J Allergy Clin Immunol 2022;150:1333: alike R1 side chains
    ("penicillin", "cefalexin", True),  # same: culprit unknown
    ("penicillin", "piperacillin_tazobactam", True),  # same group
    ("penicillin", "ceftriaxone", False),  # same: unlike side chain
    ("penicillin", "cefazolin", False),  # same: a side chain of its own
    ("penicillin", "meropenem", False),  # same: carbapenems may be given
    ("cephalosporin", "cefazolin", True),  # the group is recorded, the culprit unknown
    ("sulfa", "trimethoprim_sulfamethoxazole", True),  # FDA label
    ("sulfonamide_antibiotic", "furosemide", False),  # Strom, N Engl J Med 2003;349:1628
    ("sulfonamide_antibiotic", "hydrochlorothiazide", False),  # Strom, N Engl J Med 2003;349:1628
    ("aspirin", "ketorolac", True),  # Kowalski, Allergy 2013;68:1219: by cyclo-oxygenase 1
    ("NSAIDs", "paracetamol", False),  # Kowalski, Allergy 2013;68:1219
    ("latex", "amoxicillin", False),
]


@pytest.mark.parametrize(("substance", "drug", "reacts"), CROSS)
def test_cross_reactivity_follows_group_and_side_chain(substance, drug, reacts):
    reason = p.cross_reactive(substance, drug)
    assert (reason is not None) is reacts
    assert reason is None or drug.split("_")[0] in reason.lower()
