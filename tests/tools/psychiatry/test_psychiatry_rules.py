"""What decides in psychiatry, against cases worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from healthgym.knowledge_base.patients import sample_patient
from healthgym.registry import load_domain
from healthgym.tools.psychiatry.family_capacity import next_step
from healthgym.tools.psychiatry.family_monitoring import Lithium
from healthgym.tools.psychiatry.family_violence import Tranquilliser
from healthgym.tools.psychiatry.family_withdrawal import right_drug, right_thiamine
from healthgym.tools.psychiatry.instruments import instruments
from healthgym.tools.psychiatry.suitability import first_suitable, objection
from healthgym.tools.psychiatry.switching import washout_days
from healthgym.tools.scores.ciwa_ar import ciwa_total
from healthgym.world import Allergy, Finding, Medication, Persona, SimulatedPatient


def adult(age: float = 40.0, **changes):
    chart = sample_patient(
        np.random.default_rng(3), "major_depression", age_years=age, sex="female", pregnancy_weeks=0.0, allergies=()
    )
    bare = {
        "comorbidities": (),
        "medications": (),
        "lactating": False,
        "persona": Persona(),
        "extra": {"ecg": (60, 400)},
    }
    return replace(chart, **{**bare, **changes})


@pytest.mark.parametrize(
    ("level", "hours", "toxic", "raised_by", "misses", "action"),
    [
        (0.7, 12, False, "", False, "continue"),
        (0.7, 12, True, "", False, "stop_and_send_to_hospital"),  # signs count more than the number
        (1.5, 12, False, "", False, "stop_and_send_to_hospital"),
        (1.3, 3, False, "", False, "repeat_level_at_12_hours"),  # drawn three hours after the dose
        (1.3, 12, False, "ibuprofen", False, "stop_interacting_drug_and_recheck"),
        (1.3, 12, False, "", False, "reduce_dose"),
        (1.0, 12, False, "", False, "continue"),
        (0.4, 12, False, "", True, "address_adherence"),
        (0.4, 12, False, "", False, "increase_dose"),
    ],
)
def test_lithium_is_judged_by_signs_timing_other_drugs_and_level(level, hours, toxic, raised_by, misses, action):
    assert Lithium(level, hours, toxic, raised_by, misses).action() == action


@pytest.mark.parametrize(
    ("earlier", "had", "sick", "qt", "drugs"),
    [
        ("nothing", True, False, 360, ("haloperidol", "promethazine")),
        ("nothing", False, False, 360, ("lorazepam",)),  # never had an antipsychotic
        ("nothing", True, True, 360, ("lorazepam",)),  # heart disease
        ("nothing", True, False, None, ("lorazepam",)),  # no ECG
        ("nothing", True, False, 480, ("lorazepam",)),  # prolonged at 60/min
        ("partial_lorazepam", True, False, 360, ("lorazepam",)),
        ("none_lorazepam", True, False, 360, ("haloperidol", "promethazine")),
        ("partial_pair", True, False, 360, ("haloperidol", "promethazine")),
        ("none_pair", True, False, 360, ("lorazepam",)),
    ],
)
def test_rapid_tranquillisation_follows_ng10(earlier, had, sick, qt, drugs):
    assert Tranquilliser(earlier, had, sick, qt, 60).drugs() == drugs


@pytest.mark.parametrize(
    ("stopped", "following", "days"),
    [
        ("phenelzine", "sertraline", 14),
        ("sertraline", "phenelzine", 14),
        ("fluoxetine", "phenelzine", 35),
        ("phenelzine", "mirtazapine", 14),
        ("bupropion", "selegiline", 14),
        ("sertraline", "mirtazapine", 0),
        ("zolpidem", "phenelzine", 0),
    ],
)
def test_wash_out_days(stopped, following, days):
    assert washout_days(stopped, following) == days


def test_what_follows_from_incapacity_in_the_order_of_the_act():
    facts = {"advance_decision_binds": True, "has_attorney": True, "life_in_danger": True, "may_regain_in_time": True}
    steps = []
    for name in facts:
        steps.append(next_step(capable=False, **facts))
        facts[name] = False
    steps.append(next_step(capable=False, **facts))
    assert steps == [
        "follow_advance_decision", "decide_with_attorney", "treat_in_best_interests", "treat_cause_and_reassess",
        "best_interests_meeting",
    ]  # fmt: skip
    assert next_step(capable=True, **dict.fromkeys(facts, True)) == "respect_decision"


def test_old_age_and_cirrhosis_call_for_lorazepam():
    assert right_drug(adult(64.0)) == "diazepam"
    assert right_drug(adult(65.0)) == "lorazepam"
    assert right_drug(adult(50.0, comorbidities=("cirrhosis",))) == "lorazepam"


def test_signs_of_wernicke_malnutrition_and_cirrhosis_call_for_parenteral_thiamine():
    gait = Finding(id="ataxia_slurring", reveal="examine", present=True, text="Unsteady gait.")
    assert right_thiamine(adult(findings=())) == "oral"
    assert right_thiamine(adult(findings=(gait,))) == "parenteral"
    assert right_thiamine(adult(extra={"malnourished": True})) == "parenteral"
    assert right_thiamine(adult(comorbidities=("cirrhosis",))) == "parenteral"


def test_a_wrong_date_in_alcohol_withdrawal_calls_for_parenteral_thiamine():
    # confusion is one of the signs of Wernicke's encephalopathy that the service guide names
    assert [right_thiamine(adult(), orientation) for orientation in (0, 1, 2, 3)] == [
        "oral",
        "oral",
        *["parenteral"] * 2,
    ]
    family = load_domain("psychiatry").families["alcohol_withdrawal"]
    confused = 0
    for index in range(family.counts["train"]):
        one = family.case("psychiatry", "train", index)
        course = one.charts["P1"].extra["withdrawal"]
        later = course["treated" if ciwa_total(course["first"]) >= 10 else "untreated"]
        if max(course["first"]["orientation"], later["orientation"]) >= 2:
            confused += 1
            assert one.task.criteria.end_state["P1.thiamine"] == "parenteral"
    assert confused > 5


def test_papers_that_do_not_bind_are_ones_that_the_act_does_not_let_bind():
    # Mental Capacity Act 2005, sections 24 and 25: signature and witness are needed only where life is at stake
    family = load_domain("psychiatry").families["capacity"]
    charts = [family.case("psychiatry", "train", index).charts["P1"] for index in range(240)]
    unsigned = [chart.extra for chart in charts if "not signed" in chart.extra["care_plan"]]
    assert unsigned
    assert all("danger within hours" in extra["notes"] for extra in unsigned)  # no care home in train
    about_tubes = [chart for chart in charts if "refuses tube feeding. Says" in chart.extra["care_plan"]]
    assert about_tubes
    assert not any("feeding tube" in chart.chief_complaint for chart in about_tubes)


@pytest.mark.parametrize(
    ("drug", "changes", "reason"),
    [
        ("sertraline", {}, ""),
        ("sertraline", {"medications": (Medication(drug="tramadol", dose_mg=50),)}, "major interaction with tramadol"),
        ("sertraline", {"allergies": (Allergy(substance="sertraline"),)}, "allergy to sertraline"),
        ("bupropion", {"comorbidities": ("epilepsy",)}, "contraindicated in epilepsy"),
        ("lithium", {"medications": (Medication(drug="lisinopril", dose_mg=10),)}, "major interaction with lisinopril"),
        ("valproate", {}, "valproate under 55 years"),
        ("valproate", {"pregnancy_weeks": 10.0}, "pregnancy"),
        ("lithium", {"lactating": True}, "lactation"),
        ("donepezil", {"extra": {"ecg": (60, 505)}}, "QTc of 500 ms or more"),
        ("donepezil", {"extra": {"ecg": (60, 495)}}, ""),
    ],
)
def test_what_stands_against_a_drug(drug, changes, reason):
    assert objection(adult(**changes), drug) == reason


def test_the_first_suitable_drug_is_taken_and_none_is_said_to_be_none():
    chart = adult(medications=(Medication(drug="lisinopril", dose_mg=10),))
    assert first_suitable(chart, ("lithium", "valproate", "quetiapine")) == "quetiapine"
    assert (
        first_suitable(adult(60.0, medications=chart.medications), ("lithium", "valproate", "quetiapine"))
        == "valproate"
    )
    assert first_suitable(chart, ("lithium", "valproate")) == ""


def test_drawn_scores_lie_in_their_band_and_on_the_items_scale():
    rng = np.random.default_rng(0)
    for form in instruments().values():
        for band in form.bands:
            for _ in range(10):
                scores = form.draw(rng, band)
                assert band[0] <= sum(scores) <= band[1], form.id
                assert all(score in item.scores for item, score in zip(form.items, scores, strict=True)), form.id


def test_an_able_drug_user_says_so_and_a_point_stands_for_the_opposite():
    item = next(item for item in instruments()["dast10"].items if item.reversed)
    rng, scale = np.random.default_rng(0), instruments()["dast10"].scale
    assert item.said(0, scale, rng, False) == "I can leave it whenever I want."
    assert item.said(1, scale, rng, False) == "No, I can't leave it alone."


def test_every_score_has_words_of_its_own():
    rng = np.random.default_rng(1)
    for form in instruments().values():
        for item in form.items:
            for veiled in (False, True):
                said = [item.said(score, form.scale, rng, veiled) for score in item.scores]
                assert all(len(words) > 8 for words in said), (form.id, item.id)
                assert len(set(said)) == len(said), (form.id, item.id)


@pytest.mark.parametrize(
    ("form", "question", "item"),
    [
        ("phq9", "How has your sleep been?", "sleep"),
        ("phq9", "Have you had thoughts that you would be better off dead?", "self_harm"),
        ("phq9", "Do you feel bad about yourself, like a failure?", "self_worth"),
        ("gad7", "Are you so restless that it is hard to sit still?", "restless"),
        ("audit", "How many drinks do you have on a typical day?", "how_much"),
        ("audit", "Were you unable to remember the night before?", "memory_gaps"),
        ("pcl5", "Do you have bad dreams about it?", "nightmares"),
        ("ybocs", "How much time do the thoughts take?", "thoughts_time"),
        ("mdq", "Was there a time when you slept much less?", "less_sleep"),
    ],
)
def test_ordinary_questions_reach_the_item_they_mean(form, question, item):
    findings = instruments()[form].findings([0] * len(instruments()[form].items), np.random.default_rng(0), False)
    chart = adult(findings=findings)
    assert item in [finding.id for finding in SimulatedPatient().answer(chart, question).findings]
