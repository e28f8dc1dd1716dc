"""One model through four doors: transformers, an endpoint on messages, an endpoint on tokens, and vLLM's own server.

Greedy texts and the log-probabilities of options must agree, since everything computes in float32.
"""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

from healthgym.authoring.scaffold import new_domain
from healthgym.errors import HealthgymError
from healthgym.evaluation.asking import Ask, ask_all
from healthgym.evaluation.candidate import Candidate, Options, OptionScores
from healthgym.evaluation.openai_candidate import open_endpoint
from healthgym.evaluation.vllm_candidate import open_vllm
from healthgym.rollout import ChatTemplate, Job, OraclePolicy, collect, episode_maker
from healthgym.rollout.sampling import Sampling
from healthgym.rollout.transformers_engine import TransformersPolicy
from healthgym.rollout.vllm_client import ServerEngine
from healthgym.rollout.vllm_launched import LaunchedServer, free_port
from healthgym.rollout.vllm_server import ServerSettings, server_command, server_environment
from healthgym.rollout.weight_folder import WeightFolder
from healthgym.rollout.weights import ModelWeights
from healthgym.tasks import Suite, load_suite

pytestmark = [
    pytest.mark.slow,
    pytest.mark.vllm,
    pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed: make vllm"),
]
POSITIONS = 2048
QUESTIONS = [f"What is done first for a patient with {what}?" for what in (
    "fever", "chest pain", "a cough", "a rash", "sepsis", "a headache", "bleeding", "asthma", "a burn", "a fall",
    "hypoglycaemia", "vertigo", "back pain", "a sore throat", "palpitations", "syncope", "a stroke", "gout", "otitis", "hives",
)]  # fmt: skip


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    folder = tmp_path_factory.mktemp("domains") / "fever_clinic"
    new_domain(folder)
    return load_suite(str(folder))


@pytest.fixture(scope="module")
def jobs(suite: Suite) -> list[Job]:
    return [Job(task_id, group) for group, task_id in enumerate(suite.ids(split="test")[:10])]


@pytest.fixture(scope="module")
def folder(suite: Suite, jobs: list[Job], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model and a tokenizer of the domain's own words, as a folder."""
    from healthgym.training.config import TinyModel
    from healthgym.training.tiny_model import build_tiny_model, train_tokenizer

    made = collect(jobs, OraclePolicy(suite), episode_maker(suite))
    texts = [str(message.get("raw") or message["content"]) for one in made if one for message in one.messages]
    tokenizer = train_tokenizer([*texts, *QUESTIONS], 600)
    spec = TinyModel(hidden_size=64, intermediate_size=128, layers=2, heads=2, kv_heads=1, max_positions=POSITIONS)
    model = build_tiny_model(spec, tokenizer, seed=1)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(5)  # likeliest tokens that are likeliest by far more than rounding
        # Halves of characters stay unwritten: vLLM's text leaves such a half out at the end of an answer, other decoders show it.
        halves = [at for at in range(len(tokenizer)) if "\ufffd" in tokenizer.decode([at])]
        model.get_input_embeddings().weight[halves] = 0
    path = tmp_path_factory.mktemp("model")
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def loaded(folder: Path) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval(), tokenizer


def in_this_process(model: Any, tokenizer: Any) -> Candidate:
    template = ChatTemplate(tokenizer)
    policy = TransformersPolicy(model, tokenizer, sampling=Sampling(temperature=0.0))
    return Candidate(
        name="transformers", engine="transformers", policy=policy, template=template, max_context=POSITIONS
    )


@pytest.fixture(scope="module")
def url(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port = free_port()
    settings = ServerSettings(
        model=str(folder), port=port, dtype="float32", enforce_eager=True, kv_cache_gb=0.1, max_model_len=POSITIONS
    )
    log = tmp_path_factory.mktemp("server") / "server.log"
    server = LaunchedServer(
        server_command(settings, ["--served-model-name", "tiny"]), server_environment(settings), log
    )
    address = f"http://127.0.0.1:{port}"
    ServerEngine([address], watch=server.ensure).start()
    yield address
    server.stop()


@pytest.fixture
def doors(url: str, folder: Path) -> Iterator[dict[str, Candidate]]:
    opened = {"messages": open_endpoint(url), "tokens": open_endpoint(url, tokenizer=folder)}
    yield opened
    for one in opened.values():
        one.close()


def texts(candidate: Candidate) -> list[str]:
    asks = [Ask(at, [{"role": "user", "content": question}]) for at, question in enumerate(QUESTIONS)]
    return [reply.text for reply in ask_all(candidate, asks, max_tokens=24)]


def options(template: ChatTemplate) -> list[Options]:
    encode = template.tokenizer.encode
    return [
        Options(
            at,
            template.prompt_ids([{"role": "user", "content": question}]),
            [encode(" A"), encode("yes, at once"), [5]],
        )
        for at, question in enumerate(QUESTIONS)
    ]


@torch.no_grad()
def expected_scores(model: Any, requests: list[Options]) -> dict[int, list[tuple[float, bool]]]:
    """Return each continuation's log-probability and whether it is greedy, from one plain forward pass each."""
    found: dict[int, list[tuple[float, bool]]] = {}
    for one in requests:
        for continuation in one.continuations:
            ids = torch.tensor([[*one.prompt_ids, *continuation]])
            logps = model(input_ids=ids).logits[0, len(one.prompt_ids) - 1 : -1].log_softmax(-1)
            of_tokens = logps.gather(1, ids[0, len(one.prompt_ids) :, None])[:, 0]
            is_greedy = bool((logps.argmax(-1) == ids[0, len(one.prompt_ids) :]).all())
            found.setdefault(one.key, []).append((float(of_tokens.sum()), is_greedy))
    return found


def assert_scores_agree(candidate: Candidate, model: Any) -> None:
    assert candidate.template is not None and candidate.loglikelihoods is not None
    requests, done = options(candidate.template), list[OptionScores]()
    candidate.loglikelihoods(requests, done.append)
    expected = expected_scores(model, requests)
    assert sorted(one.key for one in done) == sorted(expected)
    for one in done:
        assert one.logprobs == pytest.approx([logprob for logprob, _ in expected[one.key]], abs=1e-4)
        assert list(one.is_greedy) == [is_greedy for _, is_greedy in expected[one.key]]


def test_twenty_answers_are_the_same_through_every_door(doors: dict[str, Candidate], folder: Path):
    expected = texts(in_this_process(*loaded(folder)))
    assert len(set(expected)) > 10
    assert texts(doors["messages"]) == expected
    assert texts(doors["tokens"]) == expected


def test_options_are_scored_as_transformers_scores_them(doors: dict[str, Candidate], folder: Path):
    assert_scores_agree(doors["tokens"], loaded(folder)[0])


def said(candidate: Candidate, suite: Suite, jobs: list[Job], max_turns: int) -> list[list[str]]:
    made = collect(
        jobs, candidate.policy, episode_maker(suite, max_turns=max_turns), template=candidate.template, max_tokens_per_turn=24,
        max_context=candidate.max_context,
    )  # fmt: skip
    assert all(one is not None and one.num_turns == max_turns for one in made)
    return [
        [str(m.get("raw") or m["content"]) for m in one.messages if m["role"] == "assistant"] for one in made if one
    ]


def test_episodes_are_played_alike(doors: dict[str, Candidate], folder: Path, suite: Suite, jobs: list[Job]):
    # The model's template shows tools, and the server has no parser for calls: they come back as markup.
    assert doors["messages"].sampling["tools"] == "markup"
    expected = said(in_this_process(*loaded(folder)), suite, jobs, 2)
    assert said(doors["tokens"], suite, jobs, 2) == expected
    # On messages a turn is text again when it goes back, so later turns may be read as other tokens; first turns are equal.
    first = [turns[:1] for turns in expected]
    assert [turns[:1] for turns in said(doors["messages"], suite, jobs, 2)] == first


def test_weights_pushed_in_the_middle_of_a_run_are_found_out(url: str, folder: Path, tmp_path: Path):
    candidate, on_tokens = open_endpoint(url), open_endpoint(url, tokenizer=folder)
    assert candidate.verify()["version"] != ""
    model, _ = loaded(folder)
    pushes = ServerEngine([url])
    pushes.start()
    before = {name: value.clone() for name, value in model.state_dict().items()}

    def push(version: str) -> None:
        pushes.load(WeightFolder(tmp_path / version).publish(ModelWeights(model, torch.float32).named()), version)

    with torch.no_grad():
        model.get_input_embeddings().weight.mul_(-1)
    push("other")
    with pytest.raises(HealthgymError, match="with weights '' when this run began, and now with 'other'"):
        candidate.verify()
    with pytest.raises(HealthgymError, match="a trainer pushes to it"):
        texts(on_tokens)
    model.load_state_dict(before)
    push("first")
    assert open_endpoint(url).hashes["weights"] == "first"


def running(name: str) -> list[int]:
    """Return the processes whose command line holds a word."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if name in path.read_bytes().decode(errors="replace") and int(path.parent.name) != os.getpid():
                found.append(int(path.parent.name))
        except OSError:  # it ended meanwhile
            continue
    return found


def test_a_folder_is_measured_in_a_server_of_its_own_that_ends_with_it(folder: Path):
    model, tokenizer = loaded(folder)
    candidate = open_vllm(folder, kv_cache_gb=0.1, max_context=POSITIONS)
    address = str(candidate.policy.engine.urls[0])  # type: ignore[attr-defined]
    port = address.rsplit(":", 1)[1]
    assert running(port)
    assert texts(candidate) == texts(in_this_process(model, tokenizer))
    assert_scores_agree(candidate, model)
    assert candidate.verify() == {"engine_restarts": "0"} and candidate.max_context == POSITIONS
    candidate.close()
    assert running(port) == []


def test_adapters_are_measured_over_their_base(folder: Path, tmp_path: Path):
    from peft import LoraConfig, get_peft_model

    model, tokenizer = loaded(folder)
    plain = texts(in_this_process(model, tokenizer))
    adapted = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", task_type="CAUSAL_LM"))
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if "lora_B" in name:
                parameter.normal_(0, 0.3, generator=torch.Generator().manual_seed(2))
    adapted.save_pretrained(str(tmp_path))
    candidate = open_vllm(tmp_path, kv_cache_gb=0.1, max_context=POSITIONS)
    expected = texts(in_this_process(adapted.eval(), tokenizer))
    assert expected != plain
    assert texts(candidate) == expected
    candidate.close()
