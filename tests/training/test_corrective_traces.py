from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from fever import fever_folder, plain_source
from test_episode_trainer import build, settings
from test_run import config

from healthgym.errors import ConfigError
from healthgym.rollout import ChatTemplate, ScriptedPolicy
from healthgym.rollout.source import PolicySource, episode_maker
from healthgym.tasks import load_suite
from healthgym.training.corrective import CorrectiveTraces
from healthgym.training.demonstrations import attempted_script
from healthgym.training.loading import make_config
from healthgym.training.run import train
from healthgym.training.tiny_model import TEMPLATE_FILE, train_tokenizer
from healthgym.training.totals import Totals


@pytest.fixture(scope="module")
def domain(tmp_path_factory):
    return fever_folder(tmp_path_factory.mktemp("domain"))


@pytest.fixture(scope="module")
def parts(domain):
    suite = load_suite(domain)
    tokenizer = train_tokenizer(["look at the patient and submit"] * 9, 400)
    tokenizer.chat_template = TEMPLATE_FILE.read_text()
    template = ChatTemplate(tokenizer)
    source = PolicySource(
        ScriptedPolicy(lambda request: "", template=template), episode_maker(suite, profile="bare"), template
    )
    case = suite.case(suite.ids(split="train")[0])
    return suite, source, case


def attempt(parts, *, looks: bool):
    """An episode that submits, after looking or blindly."""
    suite, source, case = parts
    domain = suite.domains[case.task.domain]
    called = [call.tool for call in case.task.solution] if looks else [domain.submit_tool.name]
    return source.scripted([(case.task.id, attempted_script(case, domain, called).turns)])[0]


def test_a_failure_becomes_a_trace_that_succeeds_and_a_success_stays(parts):
    blind, good = attempt(parts, looks=False), attempt(parts, looks=True)
    assert good.grade.success and blind.grade.missing_evidence
    blind = replace(blind, grade=replace(blind.grade, success=False))
    traces = CorrectiveTraces(parts[0], parts[1])
    mended, kept, lost = traces([blind, good, None])
    assert mended is not None and mended.grade.success and mended.task_id == blind.task_id
    assert kept is good and lost is None
    assert len(mended.tool_calls) > len(blind.tool_calls)
    assert traces.metrics() == {
        "supervised/corrected": 1.0, "supervised/oracle": 0.0, "supervised/repeated": 1.0, "supervised/too_long": 0.0,
    }  # fmt: skip


def test_no_hint_is_in_a_traces_context(parts):
    traces = CorrectiveTraces(parts[0], parts[1])
    failed = attempt(parts, looks=False)
    failed = replace(failed, grade=replace(failed.grade, success=False))
    mended = traces([failed])[0]
    assert mended is not None and list(mended.prompt_ids) == list(failed.prompt_ids)
    assert not any("Review of an attempt" in str(message["content"]) for message in mended.messages)


def test_traces_past_the_context_are_left_out_and_counted(parts):
    traces = CorrectiveTraces(parts[0], parts[1], max_context=3)
    failed = attempt(parts, looks=False)
    failed = replace(failed, grade=replace(failed.grade, success=False))
    assert traces([failed]) == [None] and traces.metrics()["supervised/too_long"] == 1.0


def test_a_supervised_step_is_the_gradient_of_the_likelihood(tmp_path: Path):
    class AsTheyAre:
        totals = Totals(Counter())

        def __call__(self, episodes):
            return list(episodes)

        def metrics(self):
            return {"supervised/corrected": 0.0}

    config = settings(
        1, optim={"loss_type": "dapo", "micro_batch": 8, "max_grad_norm": 1e9, "learning_rate": 0.0 + 1e-9}
    )
    trainer, log = build(tmp_path, config, distilled=False)
    trainer.traces = AsTheyAre()
    seen: list[dict[str, torch.Tensor]] = []
    compute = trainer._compute_loss

    def watch(model, inputs):
        loss = compute(model, inputs)
        ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
        mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
        width = inputs["completion_ids"].size(1)
        logps = model(input_ids=ids, attention_mask=mask).logits[:, -width - 1 : -1].log_softmax(-1)
        own = (inputs["completion_mask"] * inputs["tool_mask"]).bool()
        nll = -logps.gather(-1, inputs["completion_ids"][..., None])[..., 0][own].mean()
        parameters = [p for p in model.parameters() if p.requires_grad]
        seen.append(
            {
                "ours": torch.cat([g.flatten() for g in torch.autograd.grad(loss, parameters, retain_graph=True)]),
                "likelihood": torch.cat([g.flatten() for g in torch.autograd.grad(nll, parameters)]),
                "nll": nll.detach(),
            }
        )
        return loss

    trainer._compute_loss = watch
    trainer.train()
    torch.testing.assert_close(seen[0]["ours"], seen[0]["likelihood"], atol=1e-5, rtol=1e-3)
    assert log.rows[0]["supervised/corrected"] == 0.0
    assert log.rows[0]["supervised/nll"] == pytest.approx(float(seen[0]["nll"]), abs=1e-4)


def test_a_supervised_run_takes_as_many_steps_and_sequences_and_no_teacher(domain, tmp_path: Path):
    arm = config(domain, preset="sft_hinted", teacher=None, hint=None, supervised={}, warm_start=None)
    result = train(arm, run_dir=tmp_path, make_source=plain_source)
    assert result.steps == 4
    done = sum(result.metrics[f"supervised/{name}"] for name in ("corrected", "oracle", "repeated", "too_long"))
    assert done == 4 * 2 * 2
    assert result.metrics["supervised/corrected"] + result.metrics["supervised/oracle"] > 0
    assert "tt_opd/lambda" not in result.metrics
    with pytest.raises(ConfigError, match="without a teacher"):
        make_config({"preset": "tt_opd", "model": {"tiny": {}}, "supervised": {}})
