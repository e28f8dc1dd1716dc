"""Drug facts hold together and agree with the labels and guidelines they cite."""

from pathlib import Path

import pytest

from healthgym.errors import ContentError, NotRegistered
from healthgym.knowledge_base import load
from healthgym.knowledge_base import pharmacology as p
from healthgym.knowledge_base.pharmacology_rules import disagreement, expand
from healthgym.knowledge_base.pharmacology_schema import PATHWAYS
from healthgym.knowledge_base.reading import FOLDER, parse, read_yaml

RANK = {severity: number for number, severity in enumerate(p.SEVERITIES)}


def rule(**changes) -> p.Interaction:
    facts = {
        "a": "warfarin",
        "b": "fluconazole",
        "severity": "major",
        "mechanism": "CYP2C9",
        "effect": "INR rises",
        "action": "monitor",
        "source": "label",
    }
    return p.Interaction.model_validate(facts | changes)


# Integrity


def test_the_formulary_is_as_large_as_the_domains_count_on():
    assert len(p.load_drugs()) >= 200
    assert len(p.load_interactions()) >= 300


def test_every_monograph_stands_in_the_drugs_folder_and_they_load_in_order_of_id():
    entries = [entry for path in (FOLDER / "drugs").glob("*.yaml") for entry in read_yaml(path)]
    assert list(p.load_drugs()) == sorted(entry["id"] for entry in entries)
    assert not [
        path for path in FOLDER.rglob("*.yaml") if "usual_dose" in path.read_text() and path.parent.name != "drugs"
    ]


def test_a_drug_that_stands_in_two_files_is_refused(tmp_path, monkeypatch):
    (tmp_path / "drugs").mkdir()
    for name in ("first", "second"):
        (tmp_path / "drugs" / f"{name}.yaml").write_text(
            "- {id: warfarin, name: warfarin, classes: [anticoagulant], indications: [atrial_fibrillation], source: label}"
        )
    monkeypatch.setattr(p, "FOLDER", tmp_path)
    with pytest.raises(ContentError, match=r"id 'warfarin' stands in .*first\.yaml, line 1 too"):
        p.load_drugs.__wrapped__()


def test_every_file_of_rules_is_read():
    entries = [entry for path in (FOLDER / "interactions").glob("*.yaml") for entry in read_yaml(path)]
    named = {frozenset((e["a"], e["b"])) for e in entries if e["a"] in p.load_drugs() and e["b"] in p.load_drugs()}
    assert len(entries) >= 200
    assert named <= {interaction.pair for interaction in p.load_interactions()}


def test_every_pair_is_two_known_drugs_and_stands_once():
    pairs = [interaction.pair for interaction in p.load_interactions()]
    assert all(len(pair) == 2 and pair <= set(p.load_drugs()) for pair in pairs)
    assert len(set(pairs)) == len(pairs)


def test_a_kinetic_mechanism_has_a_substrate_and_an_inhibitor_or_inducer_in_the_monographs():
    drugs, checked = p.load_drugs(), 0
    for interaction in p.load_interactions():
        if interaction.mechanism in PATHWAYS:
            a, b = drugs[interaction.a], drugs[interaction.b]
            roles = [
                x.has_role(interaction.mechanism, "substrate")
                and y.has_role(interaction.mechanism, "inhibitor", "inducer")
                for x, y in ((a, b), (b, a))
            ]
            assert any(roles), interaction
            checked += 1
    assert checked >= 100


def test_a_pharmacodynamic_mechanism_has_its_flag_on_both_drugs():
    drugs = p.load_drugs()
    for interaction in p.load_interactions():
        pair = [drugs[interaction.a], drugs[interaction.b]]
        if interaction.mechanism == "bleeding":
            assert all(drug.bleeding for drug in pair), interaction
        elif interaction.mechanism == "qt_prolongation":
            assert all(drug.qt_risk != "none" for drug in pair), interaction
        elif interaction.mechanism == "serotonin_syndrome":
            assert all(drug.serotonergic for drug in pair), interaction
        elif interaction.mechanism == "hyperkalaemia":
            assert all(drug.potassium == "raises" for drug in pair), interaction


def test_a_proposed_alternative_interacts_less_than_what_it_replaces():
    for interaction in p.load_interactions():
        if not interaction.alternative:
            continue
        assert interaction.replace, interaction
        partner = interaction.a if interaction.replace == interaction.b else interaction.b
        assert interaction.alternative not in interaction.pair, interaction
        other = p.interaction_between(interaction.alternative, partner)
        assert other is None or RANK[other.severity] < RANK[interaction.severity], interaction


def test_a_lower_dose_names_the_drug_it_is_meant_for():
    assert all(item.replace for item in p.load_interactions() if item.limit_daily_mg or item.action == "reduce_dose")


def test_every_drug_that_conditions_and_comorbidities_name_has_a_monograph():
    kb, drugs = load(), p.load_drugs()
    named = {drug for c in kb.conditions.values() for drug in (*c.first_drugs, *c.contraindicated)}
    named |= {drug for c in kb.comorbidities.values() for drug in c.medicines}
    assert named - set(drugs) == set()


def test_no_usual_dose_is_above_the_daily_maximum():
    for drug in p.load_drugs().values():
        if drug.usual_dose and drug.max_daily_mg:
            assert drug.usual_dose.dose_mg * drug.usual_dose.times_per_day <= drug.max_daily_mg + 1e-9, drug.id


def test_a_renal_ceiling_never_rises_as_the_kidney_fails():
    for drug in p.load_drugs().values():
        bands = sorted(drug.renal, key=lambda band: band.below)
        ceilings = [0 if band.avoid else band.max_daily_mg or float("inf") for band in bands]
        assert ceilings == sorted(ceilings), drug.id
        if drug.max_daily_mg:
            assert all(band.max_daily_mg is None or band.max_daily_mg <= drug.max_daily_mg for band in bands), drug.id


def test_every_drug_has_a_source_with_a_body_behind_it():
    assert all(len(drug.source) > 8 for drug in p.load_drugs().values())


def test_what_is_offered_for_penicillin_allergy_is_no_penicillin_nor_cefalexin():
    offered = [
        (drug.id, name)
        for drug in p.load_drugs().values()
        for name, when in drug.alternatives.items()
        if "penicillin allergy" in when
    ]
    assert len(offered) >= 4
    assert [pair for pair in offered if p.cross_reactive("penicillin", pair[1])] == []


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
    assert p.load_drugs()["mirtazapine"].qt_risk == "possible"


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


# Questions


def test_names_brands_and_spelling_lead_to_one_drug():
    for name in ("rifampin", "Rifampicin", "RIFAMPIN "):
        assert p.find_drug(name).id == "rifampicin"
    assert p.find_drug("Methylene Blue").id == p.find_drug("provayblue").id == "methylthioninium"
    assert p.find_drug("trimethoprim-sulfamethoxazole").id == p.find_drug("co-trimoxazole").id


def test_an_unknown_drug_offers_the_nearest():
    with pytest.raises(NotRegistered, match="Did you mean 'warfarin'"):
        p.find_drug("warfarine")


def test_a_screen_lists_the_most_severe_first_and_each_pair_once():
    found = p.screen(["warfarin", "simvastatin", "clarithromycin", "ibuprofen", "warfarin"])
    ranks = [RANK[item.severity] for item in found]
    assert found[0].pair == {"simvastatin", "clarithromycin"}
    assert ranks == sorted(ranks, reverse=True)
    assert len({item.pair for item in found}) == len(found)


def test_duplications_spare_low_dose_aspirin():
    assert p.duplications(["ibuprofen", "naproxen", "aspirin", "warfarin"]) == [("nsaid", ("ibuprofen", "naproxen"))]
    assert p.duplications(["aspirin", "ibuprofen"]) == []


def test_alternatives_leave_out_what_this_patient_cannot_take():
    free = p.alternatives("trimethoprim")
    assert {"nitrofurantoin", "fosfomycin", "cefalexin"} == set(free)
    # Clearance 25 rules nitrofurantoin out (Beers 2023), a penicillin allergy of unknown culprit cefalexin.
    assert set(p.alternatives("trimethoprim", creatinine_clearance_ml_min=25)) == {"fosfomycin", "cefalexin"}
    assert "cefalexin" not in p.alternatives("trimethoprim", allergies=["penicillin"])
    assert "nitrofurantoin" not in p.alternatives("trimethoprim", trimester=3)
    # Beers 2023: lorazepam is avoided from 65 years on.
    assert "lorazepam" in p.alternatives("alprazolam", age_years=64)
    assert "lorazepam" not in p.alternatives("alprazolam", age_years=65)
    # Azoles raise warfarin; the alternative for a nail infection does not.
    assert "terbinafine" in p.alternatives("fluconazole", regimen=["warfarin", "fluconazole"])
    assert "terbinafine" in p.alternatives("ketoconazole") and "propranolol" not in p.alternatives(
        "topiramate", conditions=["asthma"]
    )


def test_a_relative_contraindication_is_told_from_an_absolute_one():
    assert not p.load_drugs()["atenolol"].contraindicated_in("asthma").absolute
    assert p.load_drugs()["propranolol"].contraindicated_in("asthma").absolute
    assert p.load_drugs()["amlodipine"].contraindicated_in("asthma") is None


# Broken content


def test_a_monograph_that_breaks_the_schema_names_file_and_field(tmp_path: Path):
    path = tmp_path / "drugs.yaml"
    path.write_text("- {id: x, name: X, classes: [c], indications: [i], source: long enough, beers: avoid}\n")
    with pytest.raises(ContentError, match=r"drugs\.yaml.*beers_advice"):
        parse(p.Drug, read_yaml(path)[0], path)


def test_rules_that_cannot_be_true_are_refused():
    drugs, path = p.load_drugs(), Path("rules.yaml")
    broken = {
        "cannot interact with itself": [rule(b="warfarin")],
        "Did you mean 'warfarin'": [rule(a="warfarim")],
        "not substrate and inhibitor": [rule(mechanism="CYP2D6")],
        "no part in qt_prolongation": [rule(mechanism="qt_prolongation")],
        "stands in another rule": [rule(), rule(a="fluconazole", b="warfarin", severity="minor")],
        "alternative": [rule(alternative="paracetamoll")],
    }
    for message, rules in broken.items():
        with pytest.raises(ContentError, match=message):
            expand([(path, item) for item in rules], drugs)


def test_a_named_pair_wins_over_its_class_and_the_more_severe_class_over_the_milder():
    drugs, path = p.load_drugs(), Path("rules.yaml")
    mild = rule(a="anticoagulant", b="ssri", mechanism="bleeding", severity="minor")
    harsh = rule(a="vitamin_k_antagonist", b="antidepressant", mechanism="inr_rise", severity="major")
    named = rule(a="warfarin", b="sertraline", mechanism="bleeding", severity="moderate")
    both = {i.pair: i.severity for i in expand([(path, mild), (path, harsh)], drugs)}
    assert both[frozenset(("warfarin", "sertraline"))] == "major"
    assert both[frozenset(("apixaban", "sertraline"))] == "minor"
    all_three = {i.pair: i.severity for i in expand([(path, named), (path, harsh), (path, mild)], drugs)}
    assert all_three[frozenset(("warfarin", "sertraline"))] == "moderate"


def test_an_interaction_says_whether_levels_or_effects_change():
    assert p.interaction_between("simvastatin", "clarithromycin").kind == "pharmacokinetic"
    assert p.interaction_between("warfarin", "ibuprofen").kind == "pharmacodynamic"
    assert disagreement("CYP3A4", p.load_drugs()["simvastatin"], p.load_drugs()["clarithromycin"]) == ""
