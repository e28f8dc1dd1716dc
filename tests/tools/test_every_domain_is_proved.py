"""The whole proof: every task's oracle, every attacker on every task, every tool on every patient."""

import pytest

from healthgym.registry import domain_names, load_domain
from healthgym.tasks import load_suite
from healthgym.validation import validate


@pytest.mark.slow
@pytest.mark.parametrize("name", domain_names())
def test_every_task_of_the_domain_is_proved(name: str):
    proof = validate(load_domain(name))
    assert proof["failures"] == []
    assert proof["oracle_min"] == 1.0
    assert proof["tasks"] == sum(load_suite(name).counts()[name].values())


@pytest.mark.parametrize("name", domain_names())
def test_a_sample_of_the_domain_is_proved(name: str):
    assert validate(load_domain(name), sample=12)["failures"] == []
