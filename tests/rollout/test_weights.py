"""A trained model's weights as an engine takes them."""

from pathlib import Path

import pytest
import torch
from vllm_case import PROMPT, logps, optimiser_step, tiny_model

from healthgym.rollout.weight_folder import WeightFolder, read_weights
from healthgym.rollout.weights import ModelWeights, combined, fingerprint, tensor_digest


def lora_model(seed: int = 0):
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(seed)
    settings = LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", init_lora_weights=False)
    return get_peft_model(tiny_model(), settings)


@pytest.mark.parametrize("tied", [True, False])
def test_weights_come_under_checkpoint_names_and_shared_ones_once(tied: bool):
    model = tiny_model(tied=tied)
    named = dict(ModelWeights(model, torch.float32).named())
    assert ("lm_head.weight" in named) is not tied
    fresh = tiny_model(tied=tied, seed=1)
    fresh.load_state_dict(named, strict=False)
    fresh.tie_weights()
    torch.testing.assert_close(logps(fresh, PROMPT, [5, 6]), logps(model, PROMPT, [5, 6]))


def test_adapters_are_merged_into_copies():
    model = lora_model()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    named = dict(ModelWeights(model, torch.float32).named())
    plain = tiny_model(seed=1)
    assert set(named) == {name for name, _ in plain.named_parameters()}
    plain.load_state_dict(named, strict=False)
    plain.tie_weights()
    torch.testing.assert_close(logps(plain, PROMPT, [5, 6]), logps(model, PROMPT, [5, 6]), rtol=1e-5, atol=1e-5)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_the_frozen_base_comes_without_adapters():
    model, plain = lora_model(), tiny_model()
    frozen = dict(ModelWeights(model, torch.float32).frozen())
    assert all(torch.equal(frozen[name], tensor) for name, tensor in plain.named_parameters())


@pytest.mark.parametrize("make", [tiny_model, lora_model])
def test_the_fingerprint_is_that_of_the_weights(make):
    model, twin = make(), make()
    assert ModelWeights(model, torch.float32).fingerprint() == ModelWeights(twin, torch.float32).fingerprint()
    optimiser_step(model)
    assert ModelWeights(model, torch.float32).fingerprint() != ModelWeights(twin, torch.float32).fingerprint()


def test_digests_see_names_shapes_and_values_but_not_the_order():
    ones, pair = torch.ones(4), [("a", torch.ones(4)), ("b", torch.zeros(2))]
    assert fingerprint(pair) == fingerprint(pair[::-1])
    others = [("b", ones), ("a", ones.reshape(2, 2)), ("a", ones * 2)]
    assert len({tensor_digest("a", ones), *(tensor_digest(*one) for one in others)}) == 4
    assert combined([]) != combined([tensor_digest("a", ones)])


def test_the_score_is_that_of_the_class_own_forward_in_evaluation_mode():
    model = tiny_model()
    model.forward = None  # as trainers patch it
    model.train()
    score = ModelWeights(model, torch.float32).score([*PROMPT, 5])
    del model.forward
    assert score.shape == (len(PROMPT),) and model.training
    assert score[-1] == pytest.approx(float(logps(model, PROMPT, [5])[0]), abs=1e-5)


def test_versions_are_whole_or_absent_and_old_ones_go(tmp_path: Path):
    folder = WeightFolder(tmp_path / "w")
    named = [("a", torch.arange(6.0).reshape(2, 3)), ("b", torch.ones(1))]
    published = [folder.publish((name, tensor + step) for name, tensor in named) for step in range(3)]
    assert [path.is_dir() for path in published] == [False, True, True]
    read = dict(read_weights(published[-1]))
    assert torch.equal(read["a"], named[0][1] + 2) and torch.equal(read["b"], torch.full((1,), 3.0))

    def breaks():
        yield "a", torch.ones(1)
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError):
        folder.publish(breaks())
    assert sorted(path.name for path in (tmp_path / "w").glob("version-*")) == [path.name for path in published[1:]]
    folder.remove()
    assert not (tmp_path / "w").exists()


def test_large_weights_are_split_over_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("healthgym.rollout.weight_folder.FILE_BYTES", 16)
    path = WeightFolder(tmp_path).publish((f"t{i}", torch.full((3,), float(i))) for i in range(5))
    assert len(list(path.glob("*.safetensors"))) == 3  # 12 bytes each, so two a file
    assert sorted(dict(read_weights(path))) == [f"t{i}" for i in range(5)]
