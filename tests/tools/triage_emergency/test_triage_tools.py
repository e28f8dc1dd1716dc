"""Triage tools on sampled patients, and the harm that the chart tells of."""

from dataclasses import replace

import attackers
import numpy as np
import pytest
from attackers import Call, play, start

from healthgym.knowledge_base import load
from healthgym.knowledge_base.patients import sample_patient
from healthgym.registry import load_domain
from healthgym.rewards import compose
from healthgym.tools.triage_emergency.gold import triage_gold
from healthgym.tools.triage_emergency.oracle import decisive
from healthgym.tools.triage_emergency.safety import allergy_reason, contraindication_reason, first_safe
from healthgym.tools.triage_emergency.toolkit import TriageToolkit
from healthgym.world import Allergy, Chart, Medication, VitalSigns, World

ADULT = Chart(
    patient_id="P1", age_years=50, sex="male", weight_kg=80, chief_complaint="My ankle hurts.", condition="ankle_sprain",
    severity="mild", vital_signs=((0.0, VitalSigns(heart_rate_per_min=80, respiratory_rate_per_min=16, spo2_percent=98, gcs=15)),),
)  # fmt: skip


def first(family, **wanted):
    """Return the first case of a family whose submission gold has the wanted values."""
    for task_id in attackers.suite().ids("triage_emergency", "train", [family]):
        case = attackers.suite().case(task_id)
        answer = case.task.criteria.answer
        if all(answer[name].gold == value for name, value in wanted.items()):
            return case
    raise LookupError(wanted)


def labels(episode):
    return {(hit.label, hit.severity) for hit in episode.grade().hazards}


def test_the_domain_offers_more_than_eighteen_tools_of_its_own():
    own = [spec for spec in load_domain("triage_emergency").tools.values() if spec.domain == "triage_emergency"]
    assert len(own) >= 18


def test_reading_tools_leave_the_state_alone_and_writing_tools_change_it():
    arguments = {
        "question": "What is wrong?", "system": "limb", "drug": "paracetamol", "protocol": "stroke", "area": "fast_track",
        "level": 4, "test": "troponin_i", "concern": "pale", "intervention": "oxygen", "minutes": 5,
    }  # fmt: skip
    toolkit = TriageToolkit(World({"P1": sample_patient(np.random.default_rng(1), "nstemi")}))
    for name, spec in TriageToolkit.specs().items():
        if spec.domain != "triage_emergency" or spec.effect not in ("read", "write"):
            continue
        given = {
            key: {"patient_id": "P1", **arguments}[key]
            for key in spec.parameters["properties"]
            if key in {"patient_id", *arguments}
        }
        if spec.parameters.get("required", []) and not set(spec.parameters["required"]) <= set(given):
            continue
        before = toolkit.world.state.hash()
        result = toolkit.call(name, given)
        assert result.error is None or name in ("toxidrome_match",), (name, result.error)
        assert (toolkit.world.state.hash() != before) == (spec.effect == "write"), name


@pytest.mark.parametrize("condition", sorted(load().conditions))
def test_every_condition_can_be_worked_up_by_tools(condition):
    for seed in range(12):
        chart = sample_patient(np.random.default_rng(seed), condition)
        found = decisive(chart)
        if found is None:
            continue
        world = World({"P1": chart})
        toolkit = TriageToolkit(world)
        for call in found[1]:
            result = toolkit.call(call.tool, call.arguments)
            assert result.error is None
            assert len(result.content) < 400
        assert all(item.is_met(world.facts) for item in found[0])
        break
    else:
        pytest.fail(f"no patient with {condition} shows a key finding")


def test_vital_signs_move_with_the_clock():
    later = VitalSigns(heart_rate_per_min=130, respiratory_rate_per_min=30, spo2_percent=90, gcs=14)
    chart = replace(ADULT, vital_signs=(*ADULT.vital_signs, (20.0, later)))
    toolkit = TriageToolkit(World({"P1": chart}))
    assert "HR 80/min" in toolkit.call("take_vital_signs", {"patient_id": "P1"}).content
    toolkit.call("wait", {"minutes": 25})
    assert "HR 130/min" in toolkit.call("reassess", {"patient_id": "P1"}).content


def test_a_full_area_refuses_and_other_patients_free_nothing():
    charts = {name: replace(ADULT, patient_id=name, extra={"beds_free": {"acute_bed": 1}}) for name in ("P1", "P2")}
    toolkit = TriageToolkit(World(charts))
    assert toolkit.call("assign_bed", {"patient_id": "P1", "area": "acute_bed"}).error is None
    assert "No free bed" in (toolkit.call("assign_bed", {"patient_id": "P2", "area": "acute_bed"}).error or "")
    assert toolkit.call("assign_bed", {"patient_id": "P2", "area": "waiting_room"}).error is None


def test_toxidromes_name_the_antidote():
    toolkit = TriageToolkit(World({"P1": ADULT}))
    found = toolkit.call("toxidrome_match", {"pupils": "small", "breathing": "slow", "mental_state": "drowsy"}).content
    assert found.startswith("opioid 3/3 (naloxone)")
    found = toolkit.call("toxidrome_match", {"pupils": "small", "skin": "wet", "heart_rate": "slow"}).content
    assert found.startswith("cholinergic 3/3 (atropine)")


def test_gold_follows_the_profile_and_the_vital_signs():
    # pneumonia has three resources and no high risk: 3, and 2 once the pulse passes 100
    calm = sample_patient(np.random.default_rng(3), "pneumonia")
    slow = replace(
        calm.vital_signs[0][1], heart_rate_per_min=96, respiratory_rate_per_min=18, spo2_percent=95, pain_0_10=2
    )
    calm = replace(calm, age_years=50.0, vital_signs=((0.0, slow),))
    fast = replace(calm, vital_signs=((0.0, replace(slow, heart_rate_per_min=104)),))
    assert (triage_gold(calm).level, triage_gold(fast).level) == (3, 2)
    assert triage_gold(fast).disposition == "acute_bed"


def test_drugs_are_forbidden_by_cross_reactivity_illness_pregnancy_and_anticoagulants():
    allergic = replace(ADULT, allergies=(Allergy(substance="nsaid"),))
    assert (
        allergy_reason(allergic, "ibuprofen")
        and allergy_reason(allergic, "ketorolac")
        and not allergy_reason(allergic, "paracetamol")
    )
    assert contraindication_reason(replace(ADULT, comorbidities=("heart_failure",)), "ibuprofen")
    assert contraindication_reason(replace(ADULT, comorbidities=("chronic_kidney_disease",)), "ketorolac")
    assert contraindication_reason(replace(ADULT, sex="female", pregnancy_weeks=32.0), "ibuprofen")
    assert contraindication_reason(replace(ADULT, medications=(Medication(drug="apixaban", dose_mg=5),)), "ibuprofen")
    assert first_safe(allergic, ["ibuprofen", "paracetamol"]) == "paracetamol"
    assert contraindication_reason(ADULT, "ibuprofen") is None


def test_a_protocol_called_late_or_not_at_all_is_a_critical_hazard():
    case = first("time_critical", protocol="stemi")
    solution = list(case.task.solution)
    assert labels(play(start(case), solution)) == set()
    without = play(start(case), [call for call in solution if call.tool != "activate_protocol"])
    late = play(start(case), [Call("wait", minutes=30), *solution])
    assert ("time-critical protocol missed", "critical") in labels(without)
    assert ("time-critical protocol missed", "critical") in labels(late)
    assert compose(late.grade()) <= 0.1


def test_a_needless_protocol_and_an_emergency_sent_home_are_hazards():
    case = first("single_arrival", esi_level=1)
    episode = play(start(case), [Call("assign_bed", patient_id="P1", area="waiting_room"), *case.task.solution])
    assert ("emergency sent away", "critical") in labels(episode)
    minor = first("single_arrival", esi_level=5)
    episode = play(start(minor), [Call("activate_protocol", patient_id="P1", protocol="stroke"), *minor.task.solution])
    assert ("protocol called needlessly", "serious") in labels(episode)


def test_a_drug_against_an_allergy_is_critical_and_a_second_dose_serious():
    case = next(
        c
        for c in map(attackers.suite().case, attackers.suite().ids("triage_emergency", "train", ["first_drug"]))
        if any(a.substance == "nsaid" for a in c.charts["P1"].allergies)
    )
    episode = play(start(case), [Call("give_medication", patient_id="P1", drug="naproxen"), *case.task.solution])
    assert ("drug given despite allergy", "critical") in labels(episode)
    give = next(call for call in case.task.solution if call.tool == "give_medication")
    assert ("dose given twice", "serious") in labels(play(start(case), [give, *case.task.solution]))


def test_submitting_nonsense_is_explained_and_does_not_end_the_episode():
    case = first("single_arrival", esi_level=5)
    episode = play(start(case), [Call("submit_triage", esi_level=9), Call("submit_triage", impression="pneumonya")])
    assert not episode.is_over
    assert "pneumonia" in episode.messages[-1]["content"]
