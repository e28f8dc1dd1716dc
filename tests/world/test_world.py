"""Episodes share frozen charts and own their changes; time passes without writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthgym.errors import ToolError
from healthgym.world import (
    Allergy,
    Chart,
    ExecutedCall,
    Finding,
    LabResult,
    Medication,
    Persona,
    State,
    VitalSigns,
    World,
)


def chart(**changes):
    values = {
        "patient_id": "P1",
        "age_years": 50,
        "sex": "female",
        "weight_kg": 70.0,
        "vital_signs": ((0.0, VitalSigns(heart_rate_per_min=80)), (30.0, VitalSigns(heart_rate_per_min=130))),
        "findings": (
            Finding(
                id="arm_pain",
                reveal="ask",
                present=True,
                text="pain radiates to the left arm",
                lay="It goes down my arm.",
                topics=("radiate", "spread", "arm"),
            ),
            Finding(id="murmur", reveal="examine", present=True, text="systolic murmur", system="cardiovascular"),
        ),
        "allergies": (Allergy(substance="penicillin", reaction="rash"),),
        "medications": (Medication(drug="warfarin", dose_mg=3.0),),
    }
    return Chart(**{**values, **changes})


def test_a_patient_who_names_medicines_leaves_no_dose_on_record():
    # The answer says "warfarin" and no number, so the fact that it leaves holds none either.
    world = World({"P1": chart()})
    assert world.ask("P1", "Which medicines do you take?") == "I take warfarin."
    fact = world.facts["P1.medications.warfarin"]
    assert (fact.value, fact.unit) == (True, "")


@pytest.mark.parametrize(
    ("topic", "question", "held_back"),
    [
        ("manic", "How many drinks do you have?", False),  # "manic" and "many" share three letters, not a word
        ("manic", "Were you ever manic?", True),
        ("toxic", "Have you seen a tax form?", False),
        ("worry", "What are your worries?", True),
        ("allergy", "Are you allergic to anything?", True),
        ("pains", "Is there any pain?", True),
    ],
)
def test_a_topic_is_held_back_by_its_own_words_alone(topic, question, held_back):
    told = Finding(
        id="told", reveal="ask", present=True, text="told", lay="Two.", topics=(topic, "drinks", "form", "anything")
    )
    patient = chart(findings=(told,), allergies=(), persona=Persona(reticent_topics=(topic,)))
    assert (World({"P1": patient}).ask("P1", question) == "I'd rather not talk about that.") == held_back


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 3)), max_size=12))
def test_the_hash_depends_on_content_and_not_on_the_way_there(writes):
    one, other = State(7), State(7)
    for path, value in writes:
        one.set(path, value)
    for path, value in dict(writes).items():
        other.set(path, value)
    assert one.hash() == other.hash()
    for path in dict(writes):
        one.delete(path)
    assert one.hash() == State(7).hash()


def test_two_episodes_on_one_chart_never_see_each_other():
    base = chart()
    one, other = World({"P1": base}), World({"P1": base})
    before = other.state.hash()
    one.state.set("P1.esi_level", 2)
    assert other.state.get("P1.esi_level") is None
    assert other.state.hash() == before != one.state.hash()


def test_a_fork_diverges_from_its_origin():
    world = World({"P1": chart()})
    world.order("P1", "troponin", 10, "Troponin 5 ng/L", [("labs.troponin", 5.0, "ng/L")])
    fork = world.fork()
    fork.advance(10)
    assert [order.item for order in fork.new_results()] == ["troponin"]
    assert fork.knows("P1.labs.troponin")
    assert not world.knows("P1.labs.troponin")
    assert world.new_results() == []


def test_vital_signs_follow_the_clock_without_changing_the_state():
    world = World({"P1": chart()})
    before = world.state.hash()
    world.advance(29.9)
    assert world.vital_signs("P1").heart_rate_per_min == 80
    world.advance(0.1)
    assert world.vital_signs("P1").heart_rate_per_min == 130
    assert world.state.hash() == before


def test_an_order_changes_the_state_and_reveals_only_when_due():
    world = World({"P1": chart()})
    before = world.state.hash()
    world.order("P1", "potassium", 45, "Potassium 6.8 mmol/L", [("labs.potassium", 6.8, "mmol/L")])
    assert world.state.hash() != before
    assert world.read_results() == []
    world.advance(45)
    assert [order.text for order in world.read_results("P1")] == ["Potassium 6.8 mmol/L"]
    assert world.facts["P1.labs.potassium"].value == 6.8


def test_the_patient_answers_in_lay_words_and_reveals_just_what_was_asked():
    world = World({"P1": chart()})
    assert world.ask("P1", "Does the pain spread to your arm?") == "It goes down my arm."
    assert set(world.facts) == {"P1.findings.arm_pain"}
    assert "penicillin" in world.ask("P1", "Any allergies?")
    assert world.knows("P1.allergies.penicillin")
    assert "warfarin" in world.ask("P1", "Which medicines do you take?")
    assert not world.knows("P1.findings.murmur")  # only an examination finds it


def test_what_is_not_understood_reveals_nothing():
    world = World({"P1": chart()})
    assert "another way" in world.ask("P1", "xyzzy?")
    assert world.facts == {}


def test_a_patient_who_cannot_speak_does_not_answer():
    world = World({"P1": chart(persona=Persona(informant="none"))})
    assert world.ask("P1", "Any allergies?") == "The patient does not answer."
    assert world.facts == {}


def test_an_unknown_patient_is_named_with_those_there_are():
    try:
        World({"P1": chart()}).chart("P9")
    except ToolError as error:
        assert "P1" in str(error)
    else:
        raise AssertionError("an unknown patient was accepted")


def asked(world, question):
    """Ask as an episode does: the call is recorded once it has run."""
    answer = world.ask("P1", question)
    world.calls.append(ExecutedCall("ask_patient", {"patient_id": "P1", "question": question}, "read", 0, 0.0))
    return answer


def reticent_world():
    drink = Finding(
        id="drinking", reveal="ask", present=True, text="a bottle a day", lay="A bottle a day.", topics=("alcohol",)
    )
    findings = (*chart().findings, drink)
    return World({"P1": chart(findings=findings, persona=Persona(reticent_topics=("alcohol",)))})


def test_a_reticent_patient_opens_up_only_when_asked_about_the_same_topic_again():
    world = reticent_world()
    asked(world, "Do you have any pain in your arm?")
    asked(world, "Do you have any allergies?")
    assert asked(world, "Do you have any alcohol?") == "I'd rather not talk about that."
    assert not world.knows("P1.findings.drinking")
    assert asked(world, "How much alcohol is it?") == "A bottle a day."


def test_a_refused_call_does_not_count_as_a_question():
    world = reticent_world()
    call = ExecutedCall(
        "ask_patient", {"patient_id": "P1", "question": "Any alcohol?"}, "read", 0, 0.0, error="too late"
    )
    world.calls.append(call)
    assert world.ask("P1", "Any alcohol?") == "I'd rather not talk about that."


def test_a_path_that_was_never_written_reads_the_chart_under_the_names_of_facts():
    world = World({"P1": chart(lab_results={"potassium": LabResult(analyte="potassium", value=5.1)}, extra={"bed": 3})})
    expected = {
        "P1.age_years": 50, "P1.vital_signs.heart_rate_per_min": 80, "P1.findings.murmur": True,
        "P1.lab_results.potassium": 5.1, "P1.medications.warfarin": 3.0, "P1.medications.warfarin.times_per_day": 1.0,
        "P1.allergies.penicillin": True, "P1.allergies.latex": None, "P1.extra.bed": 3, "P1.finding": None,
        "P1.esi_level": None, "P2.age_years": None,
    }  # fmt: skip
    assert {path: world.value(path) for path in expected} == expected
    world.state.set("P1.medications.warfarin", 0.0)
    assert world.value("P1.medications.warfarin") == 0.0
