"""The domain's tasks can be solved, cannot be guessed, and keep their splits apart."""

from collections import Counter
from functools import lru_cache

from healthgym.registry import load_domain
from healthgym.tasks import SPLITS, Suite
from healthgym.tools.ehr_management.toolkit import EhrToolkit
from healthgym.validation import validate
from healthgym.validation.replay import play

DOMAIN = load_domain("ehr_management")
SUITE = Suite([DOMAIN])
MOST_ALIKE = 0.36


@lru_cache(maxsize=1)
def cases():
    return tuple(SUITE.cases())


def sample():
    return cases()[::7]


def test_there_are_enough_tasks_of_every_split_and_difficulty():
    counts = SUITE.counts()["ehr_management"]
    assert sum(counts.values()) >= 450 and all(counts[split] >= 40 for split in SPLITS)
    difficulties = Counter(case.task.difficulty for case in cases())
    assert all(difficulties[name] >= len(cases()) // 4 for name in ("easy", "medium", "hard"))


def test_every_family_has_every_difficulty():
    seen = {(case.task.family, case.task.difficulty) for case in cases()}
    assert len(seen) == 3 * len(DOMAIN.families)


def test_the_domain_has_eighteen_tools_of_its_own():
    assert len([spec for spec in EhrToolkit.specs().values() if spec.domain == "ehr_management"]) >= 18


def test_every_oracle_earns_exactly_one_without_harm():
    for case in sample():
        played = play(case, DOMAIN, case.task.turns_of_solution())
        assert (played.reward, played.episode.stop_reason) == (1.0, "submitted"), case.task.id
        assert not played.grade.hazards, case.task.id


def test_a_sample_of_the_domain_is_proved():
    assert validate(DOMAIN, sample=60)["failures"] == []


def test_no_condition_wording_or_patient_of_another_split_is_met_in_test_ood():
    owner: dict[str, set[bool]] = {}
    for case in cases():
        is_ood = case.task.split == "test_ood"
        owner.setdefault(f"condition {case.task.condition}", set()).add(is_ood)
    assert all(len(splits) == 1 for splits in owner.values())
    for key in (lambda case: case.task.template, lambda case: repr(next(iter(case.charts.values())))):
        split_of: dict[str, str] = {}
        for case in cases():
            assert split_of.setdefault(key(case), case.task.split) == case.task.split


def test_no_submission_of_a_family_is_common():
    for family in DOMAIN.families:
        golds = Counter(
            repr({name: field.gold for name, field in case.task.criteria.answer.items()})
            for case in cases()
            if case.task.family == family
        )
        assert golds.most_common(1)[0][1] <= MOST_ALIKE * sum(golds.values()), family


def test_an_answer_without_looking_earns_nothing():
    for case in sample():
        assert play(case, DOMAIN, [case.task.solution[-1:]]).reward == 0.0, case.task.id


def test_leaving_out_the_changes_forfeits_success():
    writes = {name for name, spec in DOMAIN.tools.items() if spec.effect == "write"}
    for case in sample():
        calls = [[call] for call in case.task.solution if call.tool not in writes]
        if len(calls) < len(case.task.solution):
            assert not play(case, DOMAIN, calls).grade.success, case.task.id


def test_what_a_prompt_names_before_the_episode_begins_lies_in_the_record():
    for case in sample():
        chart = next(iter(case.charts.values()))
        assert all(entry["time"] <= chart.extra["now"] for entry in chart.extra["record"]), case.task.id


def test_entries_are_in_order_of_time_and_their_ids_are_unique():
    for case in sample():
        record = next(iter(case.charts.values())).extra["record"]
        times, ids = [entry["time"] for entry in record], {entry["id"] for entry in record}
        assert times == sorted(times) and len(ids) == len(record), case.task.id
