"""The questions can be solved from what is looked up, cannot be guessed, and serve one split each."""

import re
from collections import Counter
from functools import lru_cache

import numpy as np
import pytest

from healthgym.knowledge_base import load
from healthgym.knowledge_base.pharmacology import load_drugs
from healthgym.registry import load_domain
from healthgym.retrieval.builtin import builtin_retriever
from healthgym.tasks import SPLITS, Call, Suite
from healthgym.tools.medical_qa.kidneys import ceiling_mg
from healthgym.tools.medical_qa.partition import asked_in, held_out
from healthgym.validation.arguments import ValuePool
from healthgym.validation.attackers import ATTACKS, Field, blind_attacks
from healthgym.validation.replay import play

DOMAIN = load_domain("medical_qa")
SUITE = Suite([DOMAIN])
OPTION = re.compile(r"^([A-H])\. (.+)$", re.MULTILINE)


@lru_cache(maxsize=1)
def cases():
    return tuple(SUITE.cases())


def golds(task):
    return {name: field.gold for name, field in task.criteria.answer.items()}


def test_there_are_600_questions_or_more_in_every_split_and_difficulty():
    assert len(cases()) >= 600
    shares = Counter(case.task.split for case in cases())
    assert 0.6 <= shares["train"] / len(cases()) <= 0.8 and set(shares) == set(SPLITS)
    for name in DOMAIN.families:
        assert {c.task.difficulty for c in cases() if c.task.family == name} == {"easy", "medium", "hard"}


def test_ten_tools_or_more_are_the_domains_own():
    assert sum(spec.domain == "medical_qa" for spec in DOMAIN.tools.values()) >= 10


def test_every_oracle_earns_exactly_one():
    for case in cases()[::6]:
        played = play(case, DOMAIN, case.task.turns_of_solution())
        assert (played.reward, played.grade.success) == (1.0, True), case.task.id


def test_what_an_oracle_reads_was_found_by_its_own_searches():
    assert_found(cases()[::9])


@pytest.mark.slow
def test_what_every_oracle_reads_was_found_by_its_own_searches():
    assert_found(cases())


def assert_found(some):
    for case in some:
        calls = case.task.solution
        shown = {
            hit.id
            for call in calls
            if call.tool == "search_evidence"
            for hit in builtin_retriever().search(call.arguments["query"], call.arguments["k"])
        }
        read = {call.arguments["passage_id"] for call in calls if call.tool == "read_passage"}
        assert read <= shown, (case.task.id, read - shown)


def test_a_right_answer_without_its_evidence_earns_nothing():
    for case in cases()[::6]:
        played = play(case, DOMAIN, [list(case.task.solution[-1:])])
        assert not played.grade.success and played.reward == 0.0, case.task.id


def test_whoever_reads_everything_and_then_guesses_is_seldom_right():
    # The guess has the form of the question and the numbers of its family: choice 1 in n, letters 1 in 2**n.
    rng, right, tried = np.random.default_rng(5), Counter(), Counter()
    by_family = {name: [golds(c.task) for c in cases() if c.task.family == name] for name in DOMAIN.families}
    for case in cases():
        task = case.task
        letters = [letter for letter, _ in OPTION.findall(task.prompt)]
        for _ in range(20):
            guess = {}
            for name in golds(task):
                pool = [item[name] for item in by_family[task.family] if name in item]
                if name == "choices":
                    guess[name] = tuple(letter for letter in letters if rng.random() < 0.5)
                elif name == "choice":
                    guess[name] = letters[int(rng.integers(len(letters)))]
                else:
                    guess[name] = pool[int(rng.integers(len(pool)))]
            tried[task.family] += 1
            right[task.family] += all(guess[name] == gold for name, gold in golds(task).items())
    shares = {name: right[name] / tried[name] for name in tried}
    assert sum(right.values()) / sum(tried.values()) < 0.05
    assert max(shares.values()) < 0.15, shares


def test_attackers_earn_next_to_nothing():
    some = cases()[::11]
    field = Field(DOMAIN, some, ValuePool.from_tasks(case.task for case in some))
    attacks = {**ATTACKS, **{f"blind {i}": attack for i, attack in enumerate(blind_attacks(DOMAIN, some))}}
    for name, attack in attacks.items():
        runs = [play(c, DOMAIN, attack(c, field, np.random.default_rng([3, i]))) for i, c in enumerate(some)]
        assert np.mean([run.grade.success for run in runs]) <= 0.03, name
        assert np.mean([run.reward for run in runs]) <= 0.1, name


def test_no_answer_is_common():
    for name in DOMAIN.families:
        counted = Counter(repr(sorted(golds(c.task).items())) for c in cases() if c.task.family == name)
        assert counted.most_common(1)[0][1] / counted.total() <= 0.3, name


def test_splits_share_no_wording():
    wordings = {}
    for case in cases():
        head = re.sub(r"[\d.]+", "#", case.task.prompt.split("\n")[0])
        wordings.setdefault(case.task.template, set()).add(case.task.split)
        wordings.setdefault(head, set()).add(case.task.split)
    assert all(len(splits) == 1 for splits in wordings.values())


def test_held_out_drugs_are_named_in_test_ood_alone():
    # Names that are also everyday words of other names ("insulin") are looked for as whole words.
    names = {d.name.lower() for d in load_drugs().values() if held_out("drug", d.id)}
    families = {"drug_identity", "drug_properties", "interaction_partners", "renal_ceiling", "renal_selection"}
    for case in cases():
        if case.task.family in families and case.task.split != "test_ood":
            options = {text.lower() for _, text in OPTION.findall(case.task.prompt)}
            assert not options & names, case.task.id
    assert len(names) >= 20


def test_a_fact_is_asked_in_one_split():
    # 400 invented facts about one entity that is not held out: each falls to exactly one of train, val and test.
    drug = next(name for name in load_drugs() if not held_out("drug", name))
    for number in range(400):
        splits = [split for split in SPLITS if asked_in(split, f"fact {number}", ("drug", drug))]
        assert len(splits) == 1 and splits != ["test_ood"]
    hidden = next(name for name in load_drugs() if held_out("drug", name))
    assert [split for split in SPLITS if asked_in(split, "fact", ("drug", hidden), ("drug", drug))] == ["test_ood"]


def test_ceilings_follow_the_label():
    # Rivaroxaban: avoid below 15 mL/min, 15 mg below 50; lithium is to be avoided below 30.
    assert ceiling_mg("rivaroxaban", 13) == 0.0
    assert ceiling_mg("rivaroxaban", 33) == 15.0
    assert ceiling_mg("lithium", 23) == 0.0


def test_empty_letters_can_be_right_and_are_accepted():
    empty = [case for case in cases() if golds(case.task).get("choices") == ()]
    assert len(empty) <= 0.03 * len(cases())
    for case in empty:
        assert case.task.solution[-1] == Call(
            "submit_answer", **{**dict(case.task.solution[-1].arguments), "choices": []}
        )
        assert play(case, DOMAIN, case.task.turns_of_solution()).reward == 1.0


def test_silence_of_the_evidence_is_asked_sparingly_and_honestly():
    silent = [case.task for case in cases() if golds(case.task).get("not_stated")]
    assert 0 < len(silent) <= 0.02 * len(cases())
    assert all(not load_drugs()[task.condition].renal for task in silent)


def test_every_fact_cites_a_source():
    assert all(len(case.task.provenance) > 40 for case in cases())
    assert all(item.source for item in load().guidelines.values())
