import numpy as np
import pytest

from healthgym.authoring.scaffold import new_domain
from healthgym.errors import ConfigError
from healthgym.registry import load_domain
from healthgym.training.demonstrations import corrective_script, draw_chance, partial_script
from healthgym.validation.replay import play


@pytest.fixture(scope="module")
def domain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("domain") / "fever"
    new_domain(folder)
    return load_domain(folder)


@pytest.fixture(scope="module")
def cases(domain):
    family = next(iter(domain.families.values()))
    return [family.case(domain.name, "train", index) for index in range(12)]


def attempt(domain, cases, case, *, skip, wrong, seed=0):
    script = partial_script(case, domain, cases, np.random.default_rng(seed), skip=skip, wrong=wrong)
    return script, play(case, domain, script.turns)


def test_without_slips_a_demonstration_is_the_oracle(domain, cases):
    script, played = attempt(domain, cases, cases[0], skip=0.0, wrong=0.0)
    assert [call for turn in script.turns for call in turn] == list(cases[0].task.solution)
    assert played.reward == 1.0


def test_skipped_looks_leave_evidence_missing_and_the_submission_in_place(domain, cases):
    script, played = attempt(domain, cases, cases[0], skip=1.0, wrong=0.0)
    assert script.skipped and played.grade.missing_evidence
    assert played.episode.stop_reason == "submitted"
    assert not played.grade.success


def test_a_borrowed_answer_is_wrong(domain, cases):
    outcomes = [attempt(domain, cases, case, skip=0.0, wrong=1.0) for case in cases]
    assert all(script.is_wrong for script, _ in outcomes)
    assert {played.grade.outcome for _, played in outcomes} <= {"wrong", "unsafe"}


@pytest.mark.parametrize(("skip", "wrong"), [(1.0, 0.0), (0.0, 1.0), (0.6, 0.5)])
def test_a_corrective_trace_mends_what_failed(domain, cases, skip, wrong):
    for case in cases:
        script, played = attempt(domain, cases, case, skip=skip, wrong=wrong, seed=3)

        def judge(turns, case=case):
            return play(case, domain, turns).grade

        mended = corrective_script(case, domain, script, played.grade, judge)
        assert judge(mended.turns).success


def test_a_right_attempt_is_repeated(domain, cases):
    script, played = attempt(domain, cases, cases[0], skip=0.0, wrong=0.0)
    mended = corrective_script(cases[0], domain, script, played.grade, lambda turns: played.grade)
    assert mended.turns == script.turns


def test_chances_are_drawn_from_their_range():
    rng = np.random.default_rng(0)
    drawn = [draw_chance((0.2, 0.4), rng) for _ in range(200)]
    assert 0.2 <= min(drawn) < 0.23 and 0.37 < max(drawn) <= 0.4
    with pytest.raises(ConfigError, match="low to high"):
        draw_chance((0.5, 0.1), rng)
