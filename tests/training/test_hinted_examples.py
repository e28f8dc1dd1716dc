"""The level of the hints in a warm start: the run's own, the one that is named, or a mixture of all."""

from types import SimpleNamespace

import pytest

from healthgym.tasks import load_suite
from healthgym.training.assembly import make_examples
from healthgym.training.config import WarmStart


class Recorder:
    """Stands where a hint is rendered, and keeps its text."""

    generation_prompt = ()

    def __init__(self):
        self.hints = []

    def message(self, hint):
        self.hints.append(hint)
        return [1]


def scripted(plans):
    turn = SimpleNamespace(start=0)
    return [SimpleNamespace(prompt_ids=[1, 2], completion_ids=[3], completion_mask=[True], turns=[turn]) for _ in plans]


def hints_of(level, **settings):
    suite = load_suite("triage_emergency", per_family={"train": 20})
    ids = suite.ids("triage_emergency", "train", ["vital_sign_triage"])
    warm = WarmStart(demonstrations=60, hinted_share=1.0, wrong_answer=(1.0, 1.0), **settings)
    recorder = Recorder()
    make_examples(warm, ids, suite, SimpleNamespace(scripted=scripted), lambda: recorder, level=level, seed=0)
    assert len(recorder.hints) == 60
    return recorder.hints


def test_hints_of_a_warm_start_have_the_level_of_the_run_unless_one_is_named():
    assert all("Right answer" in hint for hint in hints_of("answer"))
    assert not any("Right answer" in hint for hint in hints_of("answer", hint_level="outcome"))


@pytest.mark.parametrize("level", ["outcome", "answer"])
def test_mixed_hints_are_the_same_whatever_level_the_run_has(level):
    hints = hints_of(level, hint_level="mixed")
    told = sum("Right answer" in hint for hint in hints)
    assert 8 < told < 32  # binomial of 60 and 1/3: mean 20, standard deviation 3.7
    assert hints == hints_of("process", hint_level="mixed")
