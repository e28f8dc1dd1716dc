"""Models on disk become candidates: whole ones, adapters, runs; everything else is refused with the remedy."""

import json
import shutil
from hashlib import sha256

import pytest
from tiny import make_model, make_tokenizer

from healthgym.errors import ConfigError
from healthgym.evaluation.asking import Ask, ask_all
from healthgym.evaluation.checkpoint import find_checkpoint
from healthgym.evaluation.model_hashes import digest_of
from healthgym.evaluation.transformers_candidate import open_transformers


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A whole model, adapters over it, and adapters over a model of another shape."""
    root, tokenizer = tmp_path_factory.mktemp("models"), make_tokenizer()
    model = make_model(tokenizer)
    model.save_pretrained(str(root / "whole"))
    tokenizer.save_pretrained(str(root / "whole"))
    adapted = make_model(tokenizer, lora=True)
    adapted.save_pretrained(str(root / "adapter"))
    settings = json.loads((root / "adapter" / "adapter_config.json").read_text())
    (root / "adapter" / "adapter_config.json").write_text(
        json.dumps({**settings, "base_model_name_or_path": str(root / "whole")})
    )
    return root


def copied(models, name, tmp_path):
    return shutil.copytree(models / name, tmp_path / name)


def test_a_folder_becomes_a_candidate_with_the_digests_of_what_it_holds(models):
    made = open_transformers(models / "whole")
    assert made.hashes["weights"] == sha256((models / "whole" / "model.safetensors").read_bytes()).hexdigest()
    assert {"weights", "chat_template", "tokenizer"} == made.hashes.keys()
    assert made.engine.startswith("transformers ") and made.sampling["temperature"] == 0.0
    assert made.max_context == 256
    (reply,) = ask_all(made, [Ask(0, [{"role": "user", "content": "pain"}])], max_tokens=4)
    assert reply.error is None and 1 <= reply.tokens <= 4
    made.close()


def test_an_adapter_finds_its_base_and_both_count_in_the_weights(models):
    whole, adapted = open_transformers(models / "whole"), open_transformers(models / "adapter")
    files = [models / "whole" / "model.safetensors", models / "adapter" / "adapter_model.safetensors"]
    assert adapted.hashes["adapter"] == digest_of(files[1:])
    assert adapted.hashes["weights"] == digest_of(files) != whole.hashes["weights"]
    assert adapted.hashes["tokenizer"] == whole.hashes["tokenizer"]


def test_another_base_can_be_named_for_an_adapter(models, tmp_path):
    adapter = copied(models, "adapter", tmp_path)
    settings = json.loads((adapter / "adapter_config.json").read_text())
    (adapter / "adapter_config.json").write_text(json.dumps({**settings, "base_model_name_or_path": None}))
    with pytest.raises(ConfigError, match="--base"):
        open_transformers(adapter)
    assert open_transformers(adapter, base=str(models / "whole")).hashes["adapter"]


def test_an_adapter_of_another_model_is_refused(models, tmp_path):
    from transformers import Qwen3ForCausalLM

    tokenizer = make_tokenizer()
    config = make_model(tokenizer).config
    config.hidden_size, config.intermediate_size = 48, 96
    Qwen3ForCausalLM(config).save_pretrained(str(tmp_path / "wide"))
    tokenizer.save_pretrained(str(tmp_path / "wide"))
    with pytest.raises(ConfigError, match="do not match the base model"):
        open_transformers(models / "adapter", base=str(tmp_path / "wide"))


def test_of_a_run_the_best_model_is_taken_else_the_last_and_the_name_says_which(models, tmp_path):
    run = tmp_path / "run"
    (run / "checkpoints").mkdir(parents=True)
    (run / "config.yaml").write_text("model: {path: somewhere}\n")
    with pytest.raises(ConfigError, match="saved no model yet"):
        open_transformers(run)
    shutil.copytree(models / "whole", run / "checkpoints" / "checkpoint-4")
    assert open_transformers(run).name == "run (checkpoint-4)"
    shutil.copytree(models / "whole", run / "model")
    assert open_transformers(run).name == "run (after its last step)"
    shutil.copytree(models / "whole", run / "best")
    (run / "best" / "checkpoint.json").write_text('{"step": 2}')
    assert open_transformers(run).name == "run (best, step 2)"
    assert open_transformers(run / "checkpoints" / "checkpoint-4").name == "run/checkpoints/checkpoint-4"


def test_a_folder_that_is_absent_or_half_written_is_refused(models, tmp_path):
    with pytest.raises(ConfigError, match="there is no folder"):
        open_transformers(tmp_path / "none")
    half = copied(models, "whole", tmp_path)
    weights = half / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(ConfigError, match=r"damaged: model\.safetensors is cut off"):
        open_transformers(half)
    weights.unlink()
    with pytest.raises(ConfigError, match="holds no weights"):
        open_transformers(half)


def test_half_written_adapters_are_refused(models, tmp_path):
    adapter = copied(models, "adapter", tmp_path)
    (adapter / "adapter_model.safetensors").write_bytes(b"half")
    with pytest.raises(ConfigError, match=r"adapters in .* are damaged"):
        open_transformers(adapter)
    (adapter / "adapter_model.safetensors").unlink()
    with pytest.raises(ConfigError, match=r"no adapter_model\.safetensors"):
        open_transformers(adapter)


def test_an_encoder_is_refused_by_name(tmp_path):
    from transformers import BertConfig, BertModel

    tokenizer = make_tokenizer()
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertModel(BertConfig(vocab_size=len(tokenizer), **shape)).save_pretrained(str(tmp_path))
    tokenizer.save_pretrained(str(tmp_path))
    with pytest.raises(ConfigError, match="is a BertModel, which does not write text"):
        open_transformers(tmp_path)


def test_a_model_without_a_chat_template_is_refused(models, tmp_path):
    plain = copied(models, "whole", tmp_path)
    (plain / "chat_template.jinja").unlink(missing_ok=True)
    settings = json.loads((plain / "tokenizer_config.json").read_text())
    settings.pop("chat_template", None)
    (plain / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(ConfigError, match="no chat template"):
        open_transformers(plain)


def test_a_base_for_a_hub_name_is_refused_with_the_way_round():
    with pytest.raises(ConfigError, match="hf download owner/name --local-dir DIR"):
        find_checkpoint("owner/name", base="another")


def test_the_base_of_a_run_s_adapters_is_its_own_or_the_one_it_started_from(models, tmp_path):
    run = tmp_path / "run"
    saved = run / "checkpoints" / "checkpoint-4"
    shutil.copytree(models / "adapter", saved)
    (run / "config.yaml").write_text("model: {path: the/base, lora: {rank: 4}}\n")
    assert find_checkpoint(saved).base == "the/base"
    assert find_checkpoint(saved, base="another").base == "another"
    (run / "config.yaml").write_text("model: {tiny: {}, lora: {rank: 4}}\n")
    shutil.copytree(models / "whole", run / "start" / "base")
    assert find_checkpoint(saved).base == str(run / "start" / "base")
    kept = run / "evals" / "gym-val" / "checkpoint-4"
    shutil.copytree(saved, kept)
    assert find_checkpoint(kept).base == str(run / "start" / "base")
    assert find_checkpoint(kept).name == "run/evals/gym-val/checkpoint-4"
