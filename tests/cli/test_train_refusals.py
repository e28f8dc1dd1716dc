"""What a person gets wrong, tried through the command line: one clear message, no traceback, nothing half-made left."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

RECIPE = """
preset: grpo
model: {path: MODEL}
env: {domains: [DOMAIN], prompt_profile: bare, tasks: 4}
rollout: {max_tokens_per_turn: 64, max_completion_tokens: 400}
optim: {steps: 1, tasks_per_step: 1, num_generations: 2}
"""
TINY = {"layers": 1, "hidden_size": 32, "intermediate_size": 64, "heads": 2, "kv_heads": 1, "vocab_size": 400}


@pytest.fixture(scope="module")
def whole_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from healthgym.training.config import TinyModel
    from healthgym.training.tiny_model import build_tiny_model, train_tokenizer

    folder = tmp_path_factory.mktemp("model")
    tokenizer = train_tokenizer(["fever pain vital signs"], 400)
    build_tiny_model(TinyModel(**TINY), tokenizer, seed=0).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def refused(run, fever, tmp_path: Path) -> Callable[..., str]:
    """Return a function that trains from a model and returns the message with which that is refused."""

    def start(model: Path | str, *overrides: str) -> str:
        recipe = tmp_path / "recipe.yaml"
        recipe.write_text(RECIPE.replace("DOMAIN", str(fever)).replace("MODEL", str(model)))
        settings = [part for override in overrides for part in ("--set", override)]
        ran = run("train", recipe, "--run-dir", tmp_path / "run", "--json", *settings)
        assert ran.code == 2 and "Traceback" not in ran.err
        assert not list((tmp_path / "run").glob("checkpoints/*")) and not (tmp_path / "run" / "model").exists()
        return json.loads(ran.out)["error"]

    return start


def test_a_model_folder_that_is_not_there(refused, tmp_path: Path):
    assert f"there is no folder {tmp_path}/nowhere" in refused(tmp_path / "nowhere")


def _remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def _cut(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:-100])


def _edit(name: str, **changes: object) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        values = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps({**values, **changes}))

    return edit


def _template(text: str) -> Callable[[Path], None]:
    return lambda folder: (folder / "chat_template.jinja").write_text(text)


def _unindexed(folder: Path) -> None:
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "model-00002.safetensors"}}))


def _without_a_layer(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    kept = {name: tensor for name, tensor in weights.items() if "mlp" not in name}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})


def _adapters_alone(folder: Path) -> None:
    (folder / "config.json").unlink()
    (folder / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "some/base"}))


TURNS = "{% for m in messages %}<|im_start|>{{ m['role'] }} {{ m['content'] }}<|im_end|>{% endfor %}"
NO_TOOLS = (
    "{% for m in messages %}{% if m['role'] == 'tool' %}{{ raise_exception('no tools here') }}{% endif %}"
    "<|im_start|>{{ m['role'] }} {{ m['content'] }}<|im_end|>{% endfor %}"
)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (_remove("config.json"), "holds no config.json, only"),
        (_remove("model.safetensors"), "holds no weights"),
        (_remove("tokenizer.json"), "holds no tokenizer"),
        (_cut("model.safetensors"), "model.safetensors is cut off"),
        (_cut("tokenizer.json"), "tokenizer.json cannot be read"),
        (_cut("config.json"), "config.json cannot be read"),
        (_unindexed, "names model-00002.safetensors, which are not there"),
        (_without_a_layer, "weights are not in its files"),
        (_adapters_alone, "holds LoRA adapters (of some/base), not a whole model"),
        (_edit("config.json", model_type="no_such_model"), "holds no model that transformers can load"),
        (_remove("chat_template.jinja"), "has no chat template: take an instruction-tuned model"),
        (_template(NO_TOOLS), "cannot render tool results (no tools here)"),
        (_template(TURNS.replace("<|im_end|>", "<|endoftext|>")), "sampled turns would not stop"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_model_that_cannot_be_used(refused, whole_model: Path, tmp_path: Path, damage, words: str):
    folder = tmp_path / "model"
    shutil.copytree(whole_model, folder)
    damage(folder)
    assert words in refused(folder)


def test_a_tokenizer_that_belongs_to_another_model(refused, whole_model: Path, tmp_path: Path):
    from healthgym.training.tiny_model import train_tokenizer

    folder = tmp_path / "model"
    shutil.copytree(whole_model, folder)
    words = [a + b + c for a in "abcdefgh" for b in "abcdefgh" for c in "abcdefgh"]
    larger = train_tokenizer([" ".join(words)] * 3, 900)
    assert len(larger) > 400  # more tokens than the model can have embeddings
    larger.save_pretrained(folder)
    assert "do not belong together" in refused(folder)


def test_adapters_for_layers_the_model_does_not_have(refused, whole_model: Path):
    message = refused(whole_model, "model.lora={target_modules: [q_pro]}")
    assert "no layer 'q_pro'" in message and "Did you mean 'q_proj'?" in message


def test_saved_adapters_of_another_base(refused, whole_model: Path, tmp_path: Path):
    from healthgym.training.adapters import apply_lora
    from healthgym.training.config import Lora, TinyModel
    from healthgym.training.tiny_model import build_tiny_model, train_tokenizer

    tokenizer = train_tokenizer(["fever"], 400)
    other = build_tiny_model(TinyModel(**{**TINY, "hidden_size": 64}), tokenizer, seed=0)
    apply_lora(other, Lora(rank=2), seed=0).save_pretrained(tmp_path / "run" / "start")
    assert "do not match the base model" in refused(whole_model, "model.lora={rank: 2}")


def test_a_context_shorter_than_the_prompt(refused, whole_model: Path):
    roomy = ("rollout.max_tokens_per_turn=4000", "rollout.max_completion_tokens=9000")
    message = refused(whole_model, "rollout.max_context=20", *roomy)
    assert "rollout.max_context" in message and "too short: the oracle needs" in message


def test_a_reporter_that_is_not_installed(refused, whole_model: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("healthgym.training.reporting._is_installed", lambda name: name != "wandb")
    message = refused(whole_model, "log.report_to=[wandb]")
    assert "needs the package wandb" in message and "pip install 'healthgym[log]'" in message


def test_a_run_folder_that_is_a_file(run, fever, whole_model: Path, tmp_path: Path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(RECIPE.replace("DOMAIN", str(fever)).replace("MODEL", str(whole_model)))
    ran = run("train", recipe, "--run-dir", recipe, "--json")
    assert ran.code == 2 and "cannot be used: File exists" in json.loads(ran.out)["error"]
