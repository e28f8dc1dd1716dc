"""The plan's parameter counts are those of real models, and its memory is that of a real step."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml

from healthgym.errors import ConfigError
from healthgym.training.config import Lora, Model
from healthgym.training.loading import make_config
from healthgym.training.plan.architecture import KNOWN, architecture_of, from_config
from healthgym.training.plan.mechanisms import mechanisms
from healthgym.training.plan.memory import Layout, plan_memory
from healthgym.training.plan.plan import make_plan

PUBLISHED = yaml.safe_load(KNOWN.read_text(encoding="utf-8"))
SMALL = {
    "hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 80,
    "vocab_size": 500, "max_position_embeddings": 64,
}  # fmt: skip
OTHERS = [
    {**SMALL, "model_type": "qwen3", "head_dim": 16, "tie_word_embeddings": False},
    {**SMALL, "model_type": "qwen3", "head_dim": 16, "tie_word_embeddings": True, "attention_bias": True},
    {**SMALL, "model_type": "qwen2", "tie_word_embeddings": True},
    {**SMALL, "model_type": "llama", "tie_word_embeddings": False, "attention_bias": True, "mlp_bias": True},
    {**SMALL, "model_type": "mistral", "tie_word_embeddings": False},
]


def built(config: dict) -> torch.nn.Module:
    from transformers import AutoConfig, AutoModelForCausalLM

    values = {name: value for name, value in config.items() if name != "model_type"}
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(AutoConfig.for_model(config["model_type"], **values))


@pytest.mark.parametrize("config", [*PUBLISHED.values(), *OTHERS], ids=[*PUBLISHED, *(o["model_type"] for o in OTHERS)])
def test_parameters_are_counted_as_in_the_model_itself(config: dict):
    model = built(config)
    assert from_config(config, "x").parameters == sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("target", ["all-linear", ("q_proj", "down_proj")])
def test_adapters_are_counted_as_in_the_model_itself(target: str | tuple[str, ...]):
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(
        built(OTHERS[0]), LoraConfig(r=3, target_modules=target if isinstance(target, str) else list(target))
    )
    expected = sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert from_config(OTHERS[0], "x").lora_parameters(Lora(rank=3, target_modules=target)) == expected


def test_a_model_is_found_in_its_folder_and_by_its_published_name(tmp_path: Path):
    (tmp_path / "config.json").write_text(json.dumps(OTHERS[2]))
    assert architecture_of(Model(path=str(tmp_path))).model_type == "qwen2"
    assert architecture_of(Model(path="Qwen/Qwen3-8B")).parameters == 8_190_735_360
    with pytest.raises(ConfigError, match="Did you mean 'Qwen3-8B'"):
        architecture_of(Model(path="Qwen/Qwen3-8C"))
    with pytest.raises(ConfigError, match="gpt_oss"):
        from_config({"model_type": "gpt_oss"}, "x")


def config(**changes):
    return make_config({"preset": "tt_opd", "model": {"path": "Qwen/Qwen3-8B", "dtype": "bfloat16"}, **changes})


def items(run, layout: Layout, sequence: int = 1000) -> dict[str, float]:
    return {
        one.name: one.bytes for one in plan_memory(run, architecture_of(run.model), layout, sequence=sequence).items
    }


def test_full_fine_tuning_is_cut_into_as_many_pieces_as_processes():
    run = config(optim={"tasks_per_step": 8, "num_generations": 8, "micro_batch": 1, "gradient_checkpointing": True})
    parameters = 8_190_735_360
    eight = items(run, Layout(8, "fsdp"))
    # Float32 everywhere: 4 bytes of weight and gradient, 8 of AdamW, 4 of the teacher.
    assert eight["weights"] == eight["gradients"] == eight["teacher"] == 4 * parameters / 8
    assert eight["optimiser"] == 8 * parameters / 8
    assert eight["copy to sample from"] == 2 * parameters
    # 36 layers of bfloat16 inputs, 1000 x 4096 x 2 bytes, and one layer whole.
    assert eight["activations"] > 36 * 1000 * 4096 * 2
    # 8 episodes a process, 36 layers, keys and values of 8 x 128, in bfloat16.
    assert eight["keys and values"] == 8 * 1000 * 36 * 2 * 1024 * 2


def test_a_lora_teacher_adds_little_and_a_teacher_on_the_host_nothing():
    run = config(model={"path": "Qwen/Qwen3-8B", "dtype": "bfloat16", "lora": {"rank": 16}})
    # 16 * (in + out) over the seven maps of 36 layers: 43,646,976 adapters.
    with_teacher = items(run, Layout(1, "none"))
    assert with_teacher["adapters"] == with_teacher["teacher"] == 4 * 43_646_976
    assert with_teacher["frozen weights"] == 2 * 8_190_735_360
    assert with_teacher["gradients of both terms"] == 3 * 4 * 43_646_976  # both sums, and what one pass has found
    away = run.model_copy(update={"teacher": run.teacher.model_copy(update={"device": "cpu"})})
    assert "teacher" not in items(away, Layout(1, "none"))


def test_checkpointing_and_smaller_micro_batches_need_less():
    optim = {"tasks_per_step": 2, "num_generations": 8}
    whole, small, checkpointed = (
        items(config(optim={**optim, **more}), Layout(1, "none"))["activations"]
        for more in ({}, {"micro_batch": 4}, {"gradient_checkpointing": True})
    )
    assert small == whole / 4
    assert checkpointed < whole / 10


def test_mechanisms_that_are_off_say_what_switches_them_on():
    live = {one.name: one.is_live for one in mechanisms(config())}
    assert live["teacher"] and live["hints"] and live["guards"] and live["truncation by turns"]
    off = {one.name: one for one in mechanisms(config(preset="grpo"))}
    assert not any(off[name].is_live for name in ("teacher", "hints", "lambda", "guards", "length shaping"))
    assert off["teacher"].detail == "set teacher"


def test_a_plan_warns_of_what_will_not_fit_and_refuses_what_cannot_be_cut():
    run = config(
        teacher={"update_every": 1},
        env={"domains": ["triage_emergency"], "tasks": 4},
        optim={"steps": 2, "tasks_per_step": 8, "num_generations": 8},
    )
    plan = make_plan(run, device_gib=80)
    assert plan.fits is False
    assert any("gradient_checkpointing: true" in warning for warning in plan.warnings)
    assert any("some come twice" in warning for warning in plan.warnings)
    assert plan.volume.episodes == 2 * 64 and plan.volume.tasks == {"triage_emergency": 4}
    with pytest.raises(ConfigError, match="multiple of 7"):
        make_plan(run, processes=7)


def test_a_vllm_engine_beside_the_trainer_is_counted():
    run = config(rollout={"engine": "vllm", "vllm": {"gpu_memory_utilization": 0.4}})

    def engine(run, **given) -> list:
        memory = plan_memory(run, architecture_of(run.model), Layout(1, "none"), sequence=100, **given)
        return [(one.bytes, one.phase) for one in memory.items if one.name == "vLLM engine"]

    assert engine(run, device_bytes=80e9) == [(32e9, "always")]  # 0.4 of 80
    assert engine(run) == []  # of a device of unknown size
    assert any("give --device-memory" in warning for warning in make_plan(run).warnings)
    vllm = run.rollout.vllm.model_copy(update={"kv_cache_gb": 2.0, "sleep": True})
    sleeps = run.model_copy(update={"rollout": run.rollout.model_copy(update={"vllm": vllm})})
    assert engine(sleeps) == [(2 * 8_190_735_360 + 2 * 2**30, "rollout")]
    away = vllm.model_copy(update={"mode": "server", "urls": ("http://127.0.0.1:8000",)})
    assert engine(run.model_copy(update={"rollout": run.rollout.model_copy(update={"vllm": away})})) == []


def test_a_plan_counts_the_tasks_that_the_run_will_practise():
    # One family of the domain, 7 train tasks where the frozen suite has more; 2 steps of 7 tasks meet each twice.
    env = {"domains": ["triage_emergency"], "families": ["vital_sign_triage"], "per_family": {"train": 7}}
    run = config(teacher={"update_every": 1}, env=env, optim={"steps": 2, "tasks_per_step": 7, "num_generations": 2})
    volume = make_plan(run).volume
    assert volume.tasks == {"triage_emergency": 7} and volume.passes == 2


MEASURED = """
import json, sys
from pathlib import Path
import torch
sys.path.insert(0, sys.argv[1])
from test_episode_trainer import build, settings
from tiny import make_rows, make_tokenizer, make_trajectory
from transformers import Qwen3Config, Qwen3ForCausalLM
from healthgym.rollout import TurnSpan

SIZES = json.loads(sys.argv[2])
PROMPT, COMPLETION = 64, 448

def kib(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1])

def step(folder, sizes, steps):
    tokenizer = make_tokenizer()
    model = Qwen3ForCausalLM(Qwen3Config(**sizes, pad_token_id=0, bos_token_id=None, eos_token_id=3))
    optim = {"micro_batch": 4, "tasks_per_step": 1, "num_generations": 4}
    config = settings(steps, optim=optim, hint=None, turns={"start": 4}, guard={"grad_norm_every": 0})
    trainer, _ = build(Path(folder), config, model=model)

    def collect(rows, at):
        generator = torch.Generator().manual_seed(0)
        ids = [torch.randint(4, 30, (PROMPT + COMPLETION,), generator=generator).tolist() for _ in rows]
        return [
            make_trajectory(row, one[:PROMPT], one[PROMPT:], [1] * COMPLETION, None, [TurnSpan(0, COMPLETION)], i / 4, [])
            for i, (row, one) in enumerate(zip(rows, ids))
        ]

    trainer.collect = collect
    trainer._save_checkpoint = lambda *a: None
    trainer.train()

small = {**SIZES, "num_hidden_layers": 1, "hidden_size": 32, "intermediate_size": 32, "head_dim": 8, "vocab_size": 64}
step(sys.argv[3] + "/warm", small, 1)  # code pages and the matrix library's buffers are in place
Path("/proc/self/clear_refs").write_text("5")
before = kib("VmRSS")
step(sys.argv[3] + "/run", SIZES, 2)
print(kib("VmHWM") - before)
"""


@pytest.mark.slow
def test_the_planned_memory_is_that_of_a_real_step_within_two_fifths(tmp_path: Path):
    sizes = {
        "hidden_size": 256, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64,
        "intermediate_size": 1024, "vocab_size": 4096, "max_position_embeddings": 1024, "tie_word_embeddings": True,
    }  # fmt: skip
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", MEASURED, str(Path(__file__).parent), json.dumps(sizes), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    (tmp_path / "config.json").write_text(json.dumps({**sizes, "model_type": "qwen3"}))
    run = make_config(
        {
            "preset": "tt_opd", "model": {"path": str(tmp_path)},
            "optim": {"tasks_per_step": 1, "num_generations": 4, "micro_batch": 4},
        }
    )  # fmt: skip
    memory = plan_memory(run, architecture_of(run.model), Layout(1, "none", on_device=False), sequence=512)
    planned = memory.total("always") + memory.total("update")
    measured = int(done.stdout.split()[-1]) * 1024
    assert 0.6 < planned / measured < 1.4, (planned, measured, memory.items)
