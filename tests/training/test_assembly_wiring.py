"""Every key of the distillation reaches the part that acts on it."""

from typing import Any

import pytest
from tiny import make_model, make_tokenizer

from healthgym.errors import ConfigError
from healthgym.training.assembly import make_distill
from healthgym.training.distill_step import DistillStep
from healthgym.training.loading import make_config
from healthgym.training.startup import check_evaluation, check_settings


def distill(**changes: Any) -> DistillStep:
    tokenizer = make_tokenizer()
    config = make_config({"preset": "tt_opd", "model": {"tiny": {}}, **changes})
    made = make_distill(config, make_model(tokenizer), tokenizer, None)  # type: ignore[arg-type]
    assert made is not None
    return made


def test_defaults_leave_the_optional_mechanisms_off():
    made = distill()
    assert made.balance is None and made.sign_clip is None and made.gate.rule == "always"
    assert not made.distillation.contrasts and made.leakage_every == 10


def test_keys_switch_them_on():
    made = distill(
        teacher={"update_when": "kl_below"}, hint={"contrast": True}, guard={"leakage_every": 3, "kl_high": 0.4},
        **{"lambda": {"balance": "grad_norm", "ratio": 0.25}},
    )  # fmt: skip
    assert made.balance is not None and made.balance.ratio == 0.25
    assert (made.gate.rule, made.gate.kl_high, made.leakage_every) == ("kl_below", 0.4, 3)
    assert made.distillation.contrasts
    assert distill(divergence={"mode": "rl_sign", "ratio_clip": 0.2}).sign_clip == 0.2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hint": {"contrast": True, "shuffle": True}}, "leaves no right one"),
        ({"hint": {"contrast": True}, "divergence": {"kind": "k3"}}, "normalised teacher"),
        ({"hint": {"contrast": True}, "divergence": {"mode": "rl_sign"}}, "needs divergence.mode term"),
        ({"divergence": {"mode": "rl_sign"}, "lambda": {"start": 2.0}}, "must not exceed 1"),
        ({"divergence": {"mode": "rl_sign"}, "lambda": {"balance": "grad_norm"}}, "needs divergence.mode term"),
        ({"guard": {"grad_norm_every": 0}, "lambda": {"balance": "grad_norm"}}, "guard.grad_norm_every"),
        ({"preset": "sft_hinted", "optim": {"num_iterations": 2}}, "one pass"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(changes: dict[str, Any], words: str):
    with pytest.raises(ConfigError, match=words):
        make_config({"preset": "tt_opd", "model": {"tiny": {}}, **changes})


def test_a_gate_that_would_never_open_or_never_shut_is_refused():
    waits = make_config(
        {"model": {"tiny": {}}, "teacher": {"update_when": "validation_improves"}, "eval": {"every": 10}}
    )
    check_settings(waits)
    check_evaluation(waits, True)
    with pytest.raises(ConfigError, match="given none"):
        check_evaluation(waits, False)
    with pytest.raises(ConfigError, match=r"eval\.every is 0"):
        check_settings(make_config({"model": {"tiny": {}}, "teacher": {"update_when": "validation_improves"}}))
    with pytest.raises(ConfigError, match="hold the teacher back"):
        check_settings(
            make_config({"model": {"tiny": {}}, "teacher": {"update_when": "kl_below"}, "guard": {"kl_high": None}})
        )
