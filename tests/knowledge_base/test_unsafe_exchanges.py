"""What a drug must not be given in also rules out the drugs that would take its place."""

from healthgym.knowledge_base import pharmacology as p


def test_active_bleeding_rules_out_every_anticoagulant_and_so_an_exchange_within_the_class():
    # FDA labels of apixaban, dabigatran, edoxaban, enoxaparin, fondaparinux, heparin, rivaroxaban and warfarin, section 4.
    lacking = [
        name
        for name in p.drugs_of_class("anticoagulant")
        if not p.load_drugs()[name].contraindicated_in("active_bleeding")
    ]
    assert lacking == []
    assert p.alternatives("edoxaban", conditions=["active_bleeding"]) == {}


def test_decompensated_heart_failure_rules_out_the_beta_blockers_whose_labels_forbid_it():
    # FDA labels, section 4: overt or decompensated cardiac failure (atenolol, bisoprolol, carvedilol, labetalol,
    # metoprolol, nebivolol), uncontrolled heart failure (sotalol). Bisoprolol is what rate control is changed to.
    named = ("atenolol", "bisoprolol", "carvedilol", "labetalol", "metoprolol", "nebivolol", "sotalol")
    assert [n for n in named if not p.load_drugs()[n].contraindicated_in("decompensated_heart_failure")] == []
    assert p.alternatives("dronedarone", conditions=["decompensated_heart_failure"]) == {}


def test_high_potassium_that_forbids_eplerenone_forbids_spironolactone_too():
    # FDA label spironolactone, 2018, section 4: hyperkalaemia.
    assert p.load_drugs()["spironolactone"].contraindicated_in("hyperkalaemia").absolute
    assert p.alternatives("eplerenone", conditions=["hyperkalaemia"]) == {}


def test_acute_liver_failure_forbids_one_statin_as_it_forbids_the_other():
    # FDA labels of atorvastatin (2022), pravastatin (2022), rosuvastatin (2023), simvastatin (2023), section 4: acute liver
    # failure or decompensated cirrhosis; lovastatin: active liver disease.
    assert [
        n for n in p.drugs_of_class("statin") if not p.load_drugs()[n].contraindicated_in("acute_liver_failure")
    ] == []
    assert p.alternatives("simvastatin", conditions=["acute_liver_failure"]) == {}
