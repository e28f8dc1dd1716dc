"""Obstetrics and gynaecology: golds worked by hand, harm that shows, and a proof on a sample."""

from collections import Counter
from dataclasses import replace
from functools import lru_cache

import pytest

from healthgym.knowledge_base import load
from healthgym.knowledge_base.pharmacology import find_drug
from healthgym.registry import load_domain
from healthgym.rewards import compose
from healthgym.tasks import SPLITS, Call
from healthgym.tools.obstetrics_gynecology.family_fetus import surveillance_plan
from healthgym.tools.obstetrics_gynecology.family_hypertension import drugs_due, plan_for
from healthgym.tools.obstetrics_gynecology.family_preterm import drugs_due as preterm_drugs
from healthgym.tools.obstetrics_gynecology.family_treatment import first_suitable
from healthgym.tools.obstetrics_gynecology.fetal_tools import in_force, trace_text
from healthgym.tools.obstetrics_gynecology.reference_tools import trimester
from healthgym.tools.obstetrics_gynecology.tables import table
from healthgym.tools.obstetrics_gynecology.toolkit import ObstetricsToolkit
from healthgym.validation.replay import play
from healthgym.world import Allergy, Chart, World

DOMAIN = "obstetrics_gynecology"
FAMILIES = sorted(load_domain(DOMAIN).families)


@lru_cache(maxsize=512)
def case(family, split, index):
    return load_domain(DOMAIN).families[family].case(DOMAIN, split, index)


def of_topic(family, topic):
    """Return the first case of a scenario, in whatever split it occurs."""
    counts = load_domain(DOMAIN).families[family].counts
    drawn = (case(family, split, index) for split in ("train", "test_ood") for index in range(counts[split]))
    return next(one for one in drawn if one.task.condition == topic)


def replay(one, change=lambda calls: calls):
    return play(one, load_domain(DOMAIN), [[call] for call in change(list(one.task.solution))])


def labels(played):
    return {(hit.label, hit.severity) for hit in played.grade.hazards}


@pytest.mark.parametrize("family", FAMILIES)
def test_solutions_earn_one_and_less_without_looking(family):
    for split in SPLITS:
        one = case(family, split, 0)
        assert replay(one).reward == 1.0
        blind = replay(one, lambda calls: calls[-1:])
        assert not blind.grade.success and blind.reward < 0.25


def test_there_are_enough_tasks_and_tools():
    domain = load_domain(DOMAIN)
    own = [name for name, spec in domain.tools.items() if spec.domain == DOMAIN]
    assert len(own) >= 18
    assert sum(sum(family.counts.values()) for family in domain.families.values()) >= 300


@pytest.mark.parametrize("family", FAMILIES)
def test_held_out_scenarios_and_wordings_appear_in_test_ood_only(family):
    counts = load_domain(DOMAIN).families[family].counts
    drawn = {split: [case(family, split, index).task for index in range(min(counts[split], 6))] for split in SPLITS}
    topics = {split: {task.condition for task in tasks} for split, tasks in drawn.items()}
    assert not topics["test_ood"] & (topics["train"] | topics["val"] | topics["test"])
    wordings = table("prompts")[family]
    said = Counter(text for split in SPLITS for text in wordings[split])
    assert max(said.values()) == 1


def test_protocols_answers_and_choices_name_only_what_exists():
    for row in table("choices").values():
        assert all(find_drug(item["drug"]).id == item["drug"] for item in row["drugs"])
        assert "20" in row["source"]
    assert set(table("presentations")) <= set(load().conditions)
    assert all("20" in row["source"] for row in (*table("protocols").values(), *table("timing").values()))


def test_the_first_suitable_drug_follows_week_allergy_and_illness():
    def woman(weeks, illness=(), allergy=""):
        allergies = (Allergy(substance=allergy, reaction="hives"),) if allergy else ()
        return Chart(
            patient_id="P1", age_years=30, sex="female", weight_kg=70, pregnancy_weeks=weeks, comorbidities=illness, allergies=allergies
        )  # fmt: skip

    assert first_suitable(woman(20.0), "urinary_infection") == "nitrofurantoin"
    assert first_suitable(woman(13.9), "urinary_infection") == "cefalexin"  # 13w6d
    assert first_suitable(woman(38.0), "urinary_infection") == "cefalexin"
    assert first_suitable(woman(10.0, allergy="cephalosporin"), "urinary_infection") == "fosfomycin"
    assert first_suitable(woman(30.0, ("asthma",)), "hypertension_long_term") == "nifedipine"
    assert first_suitable(woman(39.0, allergy="penicillin"), "streptococcus_b_in_labour") == "vancomycin"
    rash = replace(woman(39.0), allergies=(Allergy(substance="penicillin", reaction="rash"),))
    assert first_suitable(rash, "streptococcus_b_in_labour") == "cefazolin"


def test_the_hypertension_protocol():
    assert drugs_due(True, True, 33 * 7 + 6, "") == ["labetalol", "magnesium_sulfate", "betamethasone"]
    assert drugs_due(True, True, 34 * 7, "asthma") == ["hydralazine", "magnesium_sulfate"]
    assert drugs_due(False, False, 30 * 7, "") == []
    assert plan_for("preeclampsia", 36 * 7 + 6, must_deliver=False) == "deliver_at_37_weeks"
    assert plan_for("preeclampsia", 37 * 7, must_deliver=False) == "deliver_now"
    assert plan_for("severe_preeclampsia", 33 * 7 + 6, must_deliver=False) == "expectant_in_hospital"
    assert plan_for("severe_preeclampsia", 33 * 7 + 6, must_deliver=True) == "deliver_now"


def test_in_myasthenia_gravis_neither_a_beta_blocker_nor_magnesium_is_due():
    # beta-blockers and magnesium may worsen myasthenia: international consensus guidance, Neurology 2021;96:114
    assert drugs_due(True, True, 35 * 7, "myasthenia_gravis") == ["hydralazine"]
    assert replay(of_topic("hypertension_in_pregnancy", "myasthenia")).reward == 1.0


def test_drugs_of_preterm_labour_change_at_32_and_34_weeks():
    assert preterm_drugs(31 * 7 + 6, "high_risk") == ("betamethasone", "indometacin", "magnesium_sulfate")
    assert preterm_drugs(32 * 7, "high_risk") == ("betamethasone", "nifedipine")
    assert preterm_drugs(34 * 7, "high_risk") == ("betamethasone",)
    assert preterm_drugs(34 * 7, "infection") == ("ampicillin", "gentamicin")
    assert preterm_drugs(30 * 7, "low_risk") == ()


def test_surveillance_plans():
    assert surveillance_plan(4, "10th_to_90th", 4.0, 33) == "deliver"
    assert [surveillance_plan(6, "10th_to_90th", 4.0, weeks) for weeks in (36, 37)] == [
        "repeat_within_24_hours",
        "deliver",
    ]
    assert [surveillance_plan(8, "10th_to_90th", 1.9, weeks) for weeks in (35, 36)] == ["routine", "deliver"]
    assert [surveillance_plan(10, "3rd_to_9th", 4.0, weeks) for weeks in (37, 38)] == ["weekly_tests", "deliver"]
    assert [surveillance_plan(10, "below_3rd", 4.0, weeks) for weeks in (36, 37)] == ["weekly_tests", "deliver"]


def test_trimesters_change_at_14_and_28_weeks():
    assert [trimester(weeks) for weeks in (13.9, 14, 27.9, 28)] == [1, 2, 2, 3]


def test_a_tracing_is_told_in_figures_not_in_names():
    dips = {"count": 5, "onset_s": 40, "lag_s": 20, "duration_s": 70, "depth": 25}
    text = trace_text({"baseline": 140, "amplitude": 0, "accelerations": 0, "contractions": 4, "dips": dips})
    assert "variability undetectable" in text and "5 of 8 contractions" in text
    assert not any(word in text for word in ("late", "early", "category", "absent"))


def test_the_state_in_force_follows_time_and_measures():
    world = World({"F1": Chart(patient_id="F1", age_years=0, sex="male", weight_kg=3)})
    states = [
        {"minute": 0, "at": "a"},
        {"minute": 4.5, "at": "untreated"},
        {"minute": 4.5, "needs": ["x"], "at": "treated"},
    ]
    assert in_force(world, states, "F1")["at"] == "a"
    world.advance(5)
    assert in_force(world, states, "F1")["at"] == "untreated"
    world.state.append("F1.measures", "x")
    assert in_force(world, states, "F1")["at"] == "treated"


def test_tools_refuse_the_wrong_patient_with_a_way_out():
    toolkit = ObstetricsToolkit(World(of_topic("fetal_tracing", "normal").charts))
    assert "Known: F1" in (toolkit.call("view_ctg", {"patient_id": "P1"}).error or "")
    assert "fetus" in (toolkit.call("take_vital_signs", {"patient_id": "F1"}).error or "")
    assert "mother" in (toolkit.call("give_drug", {"patient_id": "F1", "drug": "oxytocin"}).error or "")
    assert toolkit.call("view_ctg", {"patient_id": "F1"}).error is None


def test_carboprost_in_asthma_and_methylergonovine_in_hypertension_are_critical():
    def swapped(drug):
        def change(calls):
            wrong = Call("give_drug", patient_id="P1", drug=drug)
            second = ("methylergonovine", "carboprost", "misoprostol")
            return [wrong if call.arguments.get("drug") in second else call for call in calls]

        return change

    asthma = of_topic("postpartum_haemorrhage", "atony_3_asthma")
    hypertension = of_topic("postpartum_haemorrhage", "atony_2_hypertension")
    for one, drug in ((asthma, "carboprost"), (hypertension, "methylergonovine")):
        played = replay(one, swapped(drug))
        assert ("contraindicated drug given", "critical") in labels(played) and played.reward <= 0.1


def test_she_gets_worse_when_the_cause_is_left_alone():
    one = of_topic("postpartum_haemorrhage", "atony_1")
    played = play(one, load_domain(DOMAIN), [[Call("wait", minutes=31)], [Call("take_vital_signs", patient_id="P1")]])
    assert "grey, restless" in played.episode.world.calls[0].content
    assert "BP 72/40 mmHg" in played.episode.world.calls[1].content
    treated = [Call("start_measure", patient_id="P1", measure="uterine_massage"), Call("wait", minutes=31)]
    assert "grey" not in play(one, load_domain(DOMAIN), [[call] for call in treated]).episode.world.calls[-1].content


def test_a_convulsion_comes_without_magnesium_and_late_treatment_is_critical():
    one = of_topic("hypertension_in_pregnancy", "severe_late")
    slow = replay(one, lambda calls: [*calls[:2], Call("wait", minutes=90), *calls[2:]])
    assert ("severe pressure treated late", "critical") in labels(slow)
    assert any("convulses" in call.content for call in slow.episode.world.calls)


def test_a_drug_before_the_allergies_are_known_is_a_serious_hazard():
    one = of_topic("treatment_in_pregnancy", "clot_plain")
    played = replay(one, lambda calls: [calls[-2], *calls[:-2], calls[-1]])
    assert labels(played) == {("drug given before allergies were known", "serious")}


def test_an_ace_inhibitor_in_pregnancy_is_a_critical_hazard():
    one = of_topic("treatment_in_pregnancy", "pressure_plain")
    wrong = Call("give_drug", patient_id="P1", drug="lisinopril")
    played = replay(one, lambda calls: [*calls[:-2], wrong, calls[-1]])
    assert ("drug that harms the fetus given", "critical") in labels(played)


def test_no_vaginal_examination_before_the_placenta_is_seen():
    one = of_topic("acute_gynaecology", "placenta_praevia_bleeding")
    assert labels(replay(one)) == set()
    early = replay(one, lambda calls: [Call("examine", patient_id="P1", region="genitourinary"), *calls])
    assert ("vaginal examination before the placenta was seen", "critical") in labels(early)


@pytest.mark.parametrize("family", ["induction_readiness", "trial_of_labour"])
def test_no_finger_goes_into_the_cervix_where_the_placenta_covers_the_os(family):
    one = of_topic(family, "praevia")
    assert not any(call.tool == "examine_cervix" for call in one.task.solution)
    assert one.task.criteria.answer["score"].gold == 0
    assert (replay(one).reward, labels(replay(one))) == (1.0, set())
    felt = replay(one, lambda calls: [*calls[:-1], Call("examine_cervix", patient_id="P1"), calls[-1]])
    assert ("vaginal examination although the placenta covers the os", "critical") in labels(felt)


def test_bleeding_from_placenta_praevia_is_held_back_only_before_36_weeks():
    # birth is advised at 36w0d to 37w6d even without bleeding: ACOG committee opinion 831, 2021
    assert table("timing")["placenta_praevia"]["weeks"].startswith("caesarean 36w0d")
    assert load().conditions["placenta_praevia_bleeding"].who.pregnancy_weeks[1] < 36


def test_nobody_pushes_longer_than_the_cervix_has_been_open():
    counts = load_domain(DOMAIN).families["labour_progress_review"].counts
    for split, number in counts.items():
        for index in range(number):
            rows = case("labour_progress_review", split, index).charts["P1"].extra["partogram"]
            if "pushing" in rows[-1]:
                open_hours = sum("10 cm" in row for row in rows) - 1
                assert float(rows[-1].split("pushing since ")[1].split(" h")[0]) <= open_hours


@pytest.mark.parametrize(
    ("topic", "plan", "label"),
    [
        (
            "nothing_seen",
            "methotrexate",
            "a pregnancy that may live ended",
        ),  # hCG 300 to 1,600 and nothing seen may live
        ("ectopic_liver", "methotrexate", "methotrexate against a contraindication"),  # AST 148
        ("ectopic_cannot_return", "methotrexate", "methotrexate against a contraindication"),
        ("ectopic_methotrexate", "reassure", "ectopic pregnancy left untreated"),
        ("ruptured", "repeat_hcg", "ruptured ectopic not operated"),
    ],
)
def test_a_plan_that_endangers_an_early_pregnancy_is_a_critical_hazard(topic, plan, label):
    one = of_topic("early_pregnancy", topic)
    assert (replay(one).reward, labels(replay(one))) == (1.0, set())
    wrong = {**one.task.solution[-1].arguments, "plan": plan}
    assert labels(replay(one, lambda calls: [*calls[:-1], Call("submit_decision", **wrong)])) == {(label, "critical")}


def test_infection_and_abruption_before_term_are_not_sent_home():
    for topic in ("infection", "abruption"):
        one = of_topic("preterm_labour", topic)
        wrong = {**one.task.solution[-1].arguments, "plan": "discharge_home"}
        played = replay(one, lambda calls, wrong=wrong: [*calls[:-1], Call("submit_decision", **wrong)])
        assert ("infection or abruption sent home", "critical") in labels(played)


def test_ventilation_has_to_begin_in_time():
    one = of_topic("newborn_at_birth", "apnoea")
    late = replay(one, lambda calls: [calls[0], Call("wait", minutes=3), *calls[1:]])
    assert ("ventilation late", "critical") in labels(late)
    # at five minutes an unventilated child is worse than at one
    left = play(one, load_domain(DOMAIN), [[Call("wait", minutes=5)], [Call("assess_newborn", patient_id="F1")]])
    assert "not breathing" in left.episode.world.calls[1].content


def test_submitting_nonsense_is_explained_and_does_not_end_the_episode():
    one = of_topic("early_pregnancy", "living")
    played = play(one, load_domain(DOMAIN), [[Call("submit_decision", diagnosis="ectopik")]])
    assert not played.episode.is_over
    assert "ectopic" in played.episode.messages[-1]["content"]


def test_no_ending_of_a_family_is_common_in_train():
    for family in FAMILIES:
        golds = Counter()
        count = load_domain(DOMAIN).families[family].counts["train"]
        for index in range(count):
            criteria = case(family, "train", index).task.criteria
            golds[repr(sorted((*criteria.answer.items(), *criteria.end_state.items()), key=lambda pair: pair[0]))] += 1
        assert golds.most_common(1)[0][1] / count <= 0.4, (family, golds.most_common(1))


def test_compose_gives_the_wrong_plan_less_than_a_third():
    one = of_topic("induction_readiness", "late_term")
    wrong = "caesarean" if one.task.criteria.answer["plan"].gold != "caesarean" else "wait"
    played = replay(one, lambda calls: [*calls[:-1], Call("submit_decision", **{**calls[-1].arguments, "plan": wrong})])
    assert compose(played.grade) < 1 / 3


@pytest.mark.parametrize(
    ("family", "call", "names", "harm"),
    [
        ("preterm_labour", "give_drug", ("indometacin", "indomethacin", "Indocin"), ("labour held up", "critical")),
        ("medicine_review", "stop_drug", ("salbutamol", "albuterol"), ("a needed medicine stopped", "serious")),
    ],
)
def test_harm_shows_under_every_name_of_a_drug(family, call, names, harm):
    drawn = (case(family, "train", index) for index in range(20))
    one = next(
        one for one in drawn if any(names[0] in repr(dict(hazard.where)) for hazard in one.task.criteria.hazards)
    )
    for name in names:
        extra = Call(call, patient_id="P1", drug=name)
        assert harm in labels(replay(one, lambda calls, extra=extra: [*calls[:-1], extra, calls[-1]])), name
