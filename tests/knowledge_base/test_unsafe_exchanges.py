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
