"""At every level, in both places and under three families of templates, a hint reaches the teacher and nobody else."""

import copy
import json
from importlib.resources import files

import pytest
import torch
from fever import fever_folder
from torch import nn

from healthgym.rollout import ChatTemplate, ScriptedPolicy, probe_template
from healthgym.rollout.source import PolicySource, episode_maker
from healthgym.tasks import load_suite
from healthgym.training.config import Divergence, Hint, Turns
from healthgym.training.corpus import tokenizer_texts
from healthgym.training.distillation import Distillation
from healthgym.training.hints import HINT_WORDING
from healthgym.training.loading import make_config
from healthgym.training.teacher import LiveTeacher
from healthgym.training.teacher_context import HintRenderer
from healthgym.training.tiny_model import train_tokenizer
from healthgym.training.trainer import _entry

STORED = files("trl") / "chat_templates"
LLAMA = ("<|start_header_id|>", "<|end_header_id|>", "<|python_tag|>", "<|eom_id|>", "<|eot_id|>")
FAMILIES = {
    "chatml": ("qwen2_5", "<|im_end|>"),
    "llama3": ("llama3_2", "<|eot_id|>"),
    "rewrites history": ("qwen3", "<|im_end|>"),  # drops earlier reasoning when rendered again
}
LEVELS, PLACES = ("outcome", "process", "answer"), ("prompt", "every_turn")


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    return load_suite(fever_folder(tmp_path_factory.mktemp("domain")))


@pytest.fixture(scope="module")
def plain_tokenizer(suite):
    config = make_config({"preset": "grpo", "model": {"tiny": {}}, "env": {"prompt_profile": "bare"}})
    return train_tokenizer(list(tokenizer_texts(config, suite, suite.ids(split="train")[:4])), 500)


@pytest.fixture(scope="module", params=list(FAMILIES))
def played(request, suite, plain_tokenizer):
    """Return (tokenizer, two episodes): one that does everything, one that submits at once."""
    stored, end = FAMILIES[request.param]
    tokenizer = copy.deepcopy(plain_tokenizer)
    tokenizer.add_special_tokens({"additional_special_tokens": list(LLAMA)}, replace_extra_special_tokens=False)
    tokenizer.bos_token, tokenizer.eos_token = tokenizer.bos_token or tokenizer.pad_token, end
    tokenizer.chat_template = (STORED / f"{stored}.jinja").read_text()
    report = probe_template(tokenizer)
    assert report.is_replaced == (request.param == "rewrites history")
    tokenizer.chat_template = report.template
    template = ChatTemplate(tokenizer)
    policy = ScriptedPolicy(lambda turn: "", template=template)
    source = PolicySource(policy, episode_maker(suite, profile="bare"), template)
    task = suite.task(suite.ids(split="train")[0])
    turns = [tuple(turn) for turn in task.turns_of_solution()]
    return tokenizer, source.scripted([(task.id, tuple(turns)), (task.id, (turns[-1],))])


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("level", LEVELS)
def test_hint_tokens_are_in_the_teachers_context_alone(played, level, where):
    tokenizer, episodes = played
    distillation = Distillation(
        LiveTeacher(nn.Linear(1, 1), decay=0.5), HintRenderer(tokenizer, {}), hint=Hint(level=level, where=where),
        turns=Turns(start=9, max=9), divergence=Divergence(kind="k3"), answer_of=lambda task_id: "the gold",
    )  # fmt: skip
    hints = distillation.hints_of(episodes)
    width = max(len(one.completion_ids) for one in episodes)
    tensors = distillation.attach(episodes, width, tokenizer.pad_token_id)
    for row, (episode, hint) in enumerate(zip(episodes, hints, strict=True)):
        prompt = tokenizer.decode(tensors["teacher_prompt_ids"][row])
        completion = tokenizer.decode(tensors["teacher_completion_ids"][row])
        assert hint is not None and _plain(prompt).count(_plain(hint)) == 1
        later = len(episode.turns) - 1 if where == "every_turn" else 0
        assert _plain(completion).count(_plain(hint)) == later
        # What the student is trained on, and what is saved, knows nothing of it.
        entry = _entry(episode, False)
        student = tokenizer.decode(entry["prompt_ids"] + entry["completion_ids"])
        record = json.dumps(episode.to_record(tokens=True), default=str)
        for phrase in (hint, *HINT_WORDING):
            assert _plain(phrase) not in _plain(student) and _plain(phrase) not in _plain(record)
        # The teacher scores the student's own tokens, in order, and no token of a hint.
        scored = tensors["teacher_positions"][row]
        own = [index for index, written in enumerate(episode.completion_mask) if written]
        assert [index for index in range(width) if scored[index] >= 0] == own
        read = tensors["teacher_completion_ids"][row][scored[own]]
        assert read.tolist() == [episode.completion_ids[index] for index in own]
        assert (scored[own][1:] > scored[own][:-1]).all()


def test_turn_masks_are_the_recorded_spans(played):
    tokenizer, episodes = played
    distillation = Distillation(
        LiveTeacher(nn.Linear(1, 1), decay=0.5), HintRenderer(tokenizer, {}), hint=Hint(where="every_turn"),
        turns=Turns(start=9, max=9), divergence=Divergence(kind="k3"),
    )  # fmt: skip
    width = max(len(one.completion_ids) for one in episodes)
    turn_ids = distillation.attach(episodes, width, tokenizer.pad_token_id)["turn_ids"]
    for row, episode in zip(turn_ids, episodes, strict=True):
        expected = torch.full((width,), -1)
        for number, span in enumerate(episode.turns):
            expected[span.start : span.end] = number
        assert torch.equal(row, expected) and len(episode.turns) >= 1
    assert len(episodes[0].turns) > 1


def _plain(text: str) -> str:
    return " ".join(text.split())
