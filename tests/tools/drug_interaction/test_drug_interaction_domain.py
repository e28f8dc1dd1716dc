"""The domain's tasks can be solved, cannot be guessed, and rest on the knowledge base alone."""

from functools import lru_cache
from itertools import chain

import numpy as np
import pytest

from healthgym.knowledge_base.pharmacology import load_interactions
from healthgym.registry import load_domain
from healthgym.tasks import SPLITS, Suite
from healthgym.tasks.families import Draw
from healthgym.tools.drug_interaction.knowledge import held_out, parameters_to_follow
from healthgym.tools.drug_interaction.sampling import choose, shuffled
from healthgym.tools.drug_interaction.toolkit import DrugInteractionToolkit
from healthgym.validation.arguments import ValuePool
from healthgym.validation.attackers import ATTACKS, Field, blind_attacks
from healthgym.validation.replay import play

DOMAIN = load_domain("drug_interaction")
SUITE = Suite([DOMAIN])


@lru_cache(maxsize=1)
def cases():
    return tuple(SUITE.cases())


def sample():
    return cases()[::9]


def culprits(case):
    return set(case.task.solution[-1].arguments["drugs"])


def test_every_oracle_earns_exactly_one():
    for case in cases():
        played = play(case, DOMAIN, case.task.turns_of_solution())
        assert (played.reward, played.grade.success, played.episode.stop_reason) == (1.0, True, "submitted"), (
            case.task.id
        )
        assert not played.grade.hazards, case.task.id


def test_a_drug_added_later_changes_only_the_draws_that_it_wins():
    # 200 seeds, 20 drugs: the 21st wins about 200 / 21, some 10 draws, and leaves every other draw and order alone.
    drugs = [f"drug_{number:02d}" for number in range(20)]
    changed = 0
    for seed in range(200):
        first, second = (draw_of(seed), draw_of(seed))
        before, after = choose(first, drugs), choose(second, [*drugs[:7], "new", *drugs[7:]])
        assert after in (before, "new")
        changed += after == "new"
        order = shuffled(second, [*drugs[:7], "new", *drugs[7:]])
        assert shuffled(first, drugs) == [drug for drug in order if drug != "new"]
    assert 1 <= changed <= 25


def draw_of(seed):
    rng = np.random.default_rng(seed)
    return Draw(domain="drug_interaction", family="beers", split="train", index=seed, seed=seed, rng=rng)


def test_there_are_enough_tasks_of_every_split_and_difficulty():
    counts = SUITE.counts()["drug_interaction"]
    assert sum(counts.values()) >= 450 and all(counts[split] >= 40 for split in SPLITS)
    difficulties = [case.task.difficulty for case in cases()]
    assert all(difficulties.count(name) >= len(cases()) // 5 for name in ("easy", "medium", "hard"))


def test_the_domain_has_sixteen_tools_of_its_own():
    own = [spec for spec in DrugInteractionToolkit.specs().values() if spec.domain == "drug_interaction"]
    assert len(own) >= 16


def test_held_out_drugs_cause_problems_in_test_ood_only():
    for case in cases():
        assert bool(culprits(case) & held_out()) is (case.task.split == "test_ood"), case.task.id


def test_no_held_out_drug_is_ever_seen_in_training():
    charts = chain.from_iterable(case.charts.values() for case in cases() if case.task.split == "train")
    assert not {item.drug for chart in charts for item in chart.medications} & held_out()


def test_no_wording_and_no_patient_serves_two_splits():
    for key in (lambda case: case.task.template, lambda case: next(iter(case.charts.values()))):
        owner: dict[object, str] = {}
        for case in cases():
            value = repr(key(case))
            assert owner.setdefault(value, case.task.split) == case.task.split


@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_attackers_earn_next_to_nothing(name):
    field = Field(DOMAIN, cases(), ValuePool.from_tasks(case.task for case in cases()))
    runs = [
        play(case, DOMAIN, ATTACKS[name](case, field, np.random.default_rng([7, index])))
        for index, case in enumerate(sample())
    ]
    assert np.mean([run.grade.success for run in runs]) <= 0.05
    assert np.mean([run.reward for run in runs]) < 0.25


def test_submitting_the_commonest_answer_at_once_earns_nothing():
    field = Field(DOMAIN, cases(), ValuePool())
    for attack in blind_attacks(DOMAIN, cases()):
        runs = [play(case, DOMAIN, attack(case, field, np.random.default_rng(0))) for case in sample()]
        assert not any(run.grade.success for run in runs)


def test_leaving_out_any_look_of_the_oracle_forfeits_success():
    for case in sample():
        looks = [
            i
            for i, call in enumerate(case.task.solution)
            if call.tool in ("view_medications", "view_patient", "check_pair")
        ]
        for gap in looks:
            calls = [[call] for i, call in enumerate(case.task.solution) if i != gap]
            assert not play(case, DOMAIN, calls).grade.success, (case.task.id, case.task.solution[gap].tool)


def test_leaving_out_every_change_forfeits_success_unless_nothing_is_to_change():
    writes = {name for name, spec in DOMAIN.tools.items() if spec.effect == "write"} - {"order_lab", "order_ecg"}
    for case in sample():
        calls = [[call] for call in case.task.solution if call.tool not in writes]
        gold = case.task.criteria.answer["action"].gold
        assert play(case, DOMAIN, calls).grade.success is (gold == "no_change"), case.task.id


def test_the_answers_of_a_family_vary():
    for family in DOMAIN.families:
        golds = {repr(case.task.solution[-1].arguments) for case in cases() if case.task.family == family}
        assert len(golds) >= 20, family


def test_every_mechanism_of_the_rules_can_be_submitted():
    schema = DOMAIN.submit_tool.parameters["properties"]["mechanism"]
    missing = {item.mechanism for item in load_interactions()} - set(schema["enum"])
    assert not missing, f"add {sorted(missing)} to Mechanism in tools/drug_interaction/toolkit.py"


def test_everything_the_rules_ask_to_follow_can_be_monitored():
    known = set(DOMAIN.tools["add_monitoring"].parameters["properties"]["parameter"]["enum"])
    asked = {name for item in load_interactions() if item.action == "monitor" for name in parameters_to_follow(item)}
    assert asked <= known, f"add {sorted(asked - known)} to Parameter in tools/drug_interaction/change_tools.py"


def test_demographics_do_not_tell_the_answer_of_pair_grading():
    ages = {True: [], False: []}
    for case in cases():
        if case.task.family == "grade_pair":
            is_grave = case.task.criteria.answer["severity"].gold == "contraindicated"
            ages[is_grave].append(next(iter(case.charts.values())).age_years)
    # Ages spread over about 25 to 85 (standard deviation 17): two groups of 25 or more differ by chance by under 12.
    assert abs(np.mean(ages[True]) - np.mean(ages[False])) < 12
