"""Drawing tokens: the distribution is the one that was asked for, worked out by hand."""

import pytest
import torch

from healthgym.errors import ConfigError
from healthgym.rollout.sampling import Sampling, draw

LOGITS = torch.tensor([[0.1, 0.4, 0.2, 0.3]]).log()


def drawn(uniform, **options):
    token, logp = draw(LOGITS, torch.tensor([uniform], dtype=torch.float64), Sampling(**options))
    return int(token), float(logp.exp())


def test_uniform_numbers_fall_into_the_tokens_shares():
    # Cumulative shares 0.1, 0.5, 0.7, 1.
    assert drawn(0.05) == (0, pytest.approx(0.1))
    assert drawn(0.3) == (1, pytest.approx(0.4))
    assert drawn(0.6) == (2, pytest.approx(0.2))
    assert drawn(0.7001)[0] == drawn(0.999999999999)[0] == 3
    assert drawn(0.0)[0] == 0


def test_temperature_squares_the_shares_at_one_half():
    # Squares 0.01, 0.16, 0.04, 0.09 sum to 0.30.
    assert drawn(0.5, temperature=0.5) == (1, pytest.approx(0.16 / 0.30))


def test_zero_temperature_takes_the_likeliest_with_the_models_own_logprob():
    assert drawn(0.99, temperature=0) == (1, pytest.approx(0.4))


def test_top_k_keeps_the_likeliest_and_renormalises():
    # Tokens 1 and 3: 0.4 / 0.7 and 0.3 / 0.7.
    assert drawn(0.5, top_k=2) == (1, pytest.approx(0.4 / 0.7))
    assert drawn(0.6, top_k=2) == (3, pytest.approx(0.3 / 0.7))
    assert drawn(0.99, top_k=9)[0] == 3


def test_top_p_keeps_the_smallest_set_that_reaches_it():
    # 0.4 alone falls short of 0.5, so 0.3 comes in: again 0.4 / 0.7 and 0.3 / 0.7.
    assert drawn(0.99, top_p=0.5) == (3, pytest.approx(0.3 / 0.7))
    assert drawn(0.99, top_p=0.39) == (1, pytest.approx(1.0))


def test_a_token_of_no_chance_is_never_drawn():
    logits = torch.full((1000, 5), -torch.inf)
    logits[:, 2] = 0.0
    tokens, _ = draw(logits, torch.linspace(0, 1 - 1e-16, 1000, dtype=torch.float64), Sampling())
    assert set(tokens.tolist()) == {2}


@pytest.mark.parametrize("options", [{"temperature": -1}, {"top_p": 0}, {"top_p": 1.1}, {"top_k": -1}])
def test_senseless_settings_are_refused(options):
    with pytest.raises(ConfigError):
        Sampling(**options)
