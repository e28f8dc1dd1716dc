"""LoRA adapters, fresh or saved, over a base they must fit."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from healthgym.errors import ConfigError, nearest
from healthgym.training.config import Lora
from healthgym.training.model_folder import broken_safetensors


def apply_lora(model: Any, lora: Lora, *, seed: int) -> Any:
    """Return the model with fresh adapters, the same for the same seed.

    Raises:
        ConfigError: No layer has the name of a target module; names those there are.
    """
    from peft import LoraConfig, get_peft_model
    from transformers import set_seed

    set_seed(seed)
    modules = lora.target_modules if isinstance(lora.target_modules, str) else list(lora.target_modules)
    _check_targets(model, modules)
    settings = LoraConfig(
        r=lora.rank, lora_alpha=lora.alpha, lora_dropout=lora.dropout, target_modules=modules, task_type="CAUSAL_LM"
    )
    try:
        return get_peft_model(model, settings)
    except ValueError as error:
        raise ConfigError(f"model.lora cannot be applied to this model: {str(error).splitlines()[0]}") from error


def load_adapters(base: Any, folder: Path, base_name: str) -> Any:
    """Return the base with the adapters of a folder, trainable.

    Raises:
        ConfigError: The adapters are damaged, or were made for another base.
    """
    from peft import PeftModel, get_peft_model_state_dict
    from safetensors import SafetensorError, safe_open

    file = folder / "adapter_model.safetensors"
    if not file.is_file():
        raise ConfigError(f"{folder} holds adapter_config.json but no {file.name}. Copy or save the adapters again.")
    reason = broken_safetensors(file)
    if reason is not None:
        raise ConfigError(f"The adapters in {folder} are damaged: {file.name} {reason}. Copy or save them again.")
    remedy = f"Give the base they were trained on as model.path, or remove {folder} to begin anew."
    try:
        model = PeftModel.from_pretrained(base, str(folder), is_trainable=True)
    except (RuntimeError, ValueError, KeyError, SafetensorError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise ConfigError(
            f"The adapters in {folder} do not match the base model {base_name}: {' '.join(lines[:2])} {remedy}"
        ) from error
    with safe_open(str(file), "pt") as saved:
        kept = set(saved.keys())
    lost = sorted(set(get_peft_model_state_dict(model)) ^ kept)
    if lost:
        raise ConfigError(
            f"The adapters in {folder} do not match the base model {base_name}: {len(lost)} weights are in one and not in "
            f"the other, {lost[0]} among them. {remedy}"
        )
    return model


def _check_targets(model: Any, modules: str | Iterable[str]) -> None:
    if isinstance(modules, str):
        return  # all-linear, or a pattern that peft applies
    names = {name.rpartition(".")[2] for name, _ in model.named_modules() if name}
    for module in modules:
        if module.rpartition(".")[2] not in names:
            raise ConfigError(f"model.lora.target_modules: the model has no layer {module!r}.{nearest(module, names)}")
