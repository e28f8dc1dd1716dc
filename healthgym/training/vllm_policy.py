"""Builds the vLLM engine that a run's settings ask for, around the model in training."""

from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState

from healthgym.errors import ConfigError
from healthgym.rollout.sampling import Sampling
from healthgym.rollout.transformers_engine import turn_end_ids
from healthgym.rollout.vllm_colocated import ColocatedEngine, scratch_folder
from healthgym.rollout.vllm_engine import VLLMPolicy
from healthgym.rollout.vllm_messages import Engine
from healthgym.rollout.vllm_server import EXTENSION, lora_rank, must_read_prompts_whole
from healthgym.rollout.vllm_sync import WeightSync
from healthgym.rollout.weights import ModelWeights
from healthgym.training.config import RunConfig

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def vllm_policy(config: RunConfig, model: Any, tokenizer: Any, *, max_context: int | None) -> VLLMPolicy:
    """Return a policy around a colocated engine or a server, not started yet.

    Args:
        config: The run.
        model: The model in training.
        tokenizer: Its tokenizer.
        max_context: Most tokens of prompt and completion together.

    Raises:
        ConfigError: The settings do not fit the launch.
        MissingDependency: vLLM is not installed.
    """
    settings, processes = config.rollout.vllm, PartialState()
    if config.model.lora is None and settings.sync == "adapter":
        raise ConfigError("rollout.vllm.sync adapter needs model.lora; without adapters there are only whole weights")
    # An averaged product is refactored at twice the rank: an adapter of another shape than the run's.
    reshaped = config.teacher is not None and config.teacher.rank_factor > 1
    if reshaped and settings.sync == "adapter":
        raise ConfigError(
            "rollout.vllm.sync adapter cannot carry a teacher of teacher.rank_factor 2. Set sync: weights or auto."
        )
    adapters_only = config.model.lora is not None and settings.sync != "weights" and not reshaped
    weights = ModelWeights(model, DTYPES[settings.dtype or config.model.dtype])
    scratch = scratch_folder()
    engine: Engine
    if settings.mode == "server":
        from healthgym.rollout.vllm_client import ServerEngine

        engine = ServerEngine(settings.urls, timeout_s=settings.timeout_s)
        folder = Path(settings.weights_folder) if settings.weights_folder else scratch
        sync = WeightSync(
            engine, weights, folder / "weights", adapters_only=adapters_only, pushes=processes.is_main_process
        )
    else:
        if settings.tensor_parallel_size > 1 and processes.num_processes > 1:
            raise ConfigError(
                f"rollout.vllm.tensor_parallel_size {settings.tensor_parallel_size} with {processes.num_processes} training "
                "processes: their engines would share GPUs. Set it to 1, or use mode: server."
            )
        weights.save_config(scratch / "model")
        arguments = colocated_arguments(config, scratch / "model", max_context)
        if adapters_only:
            assert config.model.lora is not None
            arguments |= {"enable_lora": True, "max_loras": 2, "max_lora_rank": lora_rank(config.model.lora.rank)}
        own = processes.device.index if settings.tensor_parallel_size == 1 else None
        engine = ColocatedEngine(arguments, scratch, device_index=own)
        sync = WeightSync(engine, weights, scratch / "weights", adapters_only=adapters_only)
    return VLLMPolicy(
        engine,
        sync,
        tokenizer,
        end_ids=sorted(turn_end_ids(weights.base, tokenizer)),
        sampling=Sampling(temperature=config.rollout.temperature),
        restarts=settings.restarts,
        sleeps=settings.sleep,
        wait_for_everyone=processes.wait_for_everyone if settings.mode == "server" else lambda: None,
    )


def colocated_arguments(config: RunConfig, model: Path, max_context: int | None) -> dict[str, Any]:
    """Return vLLM's engine arguments for a colocated engine.

    Args:
        config: The run.
        model: Folder with the model's config.json; the weights are pushed.
        max_context: Most tokens of prompt and completion together.
    """
    settings = config.rollout.vllm
    arguments: dict[str, Any] = {
        "model": str(model),
        "load_format": "dummy",
        "skip_tokenizer_init": True,
        "dtype": settings.dtype or config.model.dtype,
        "max_model_len": settings.max_model_len or max_context,
        "max_num_seqs": config.rollout.in_flight,
        "logprobs_mode": "processed_logprobs",  # of the distribution that was sampled from
        "enable_prefix_caching": True,
        "enforce_eager": settings.enforce_eager,
        "tensor_parallel_size": settings.tensor_parallel_size,
        "gpu_memory_utilization": settings.gpu_memory_utilization,
        "enable_sleep_mode": settings.sleep,
        "disable_log_stats": True,
        "worker_extension_cls": EXTENSION,
        "seed": config.seed,
    }
    if must_read_prompts_whole():
        arguments["enable_chunked_prefill"] = False
    if settings.kv_cache_gb is not None:
        arguments["kv_cache_memory_bytes"] = int(settings.kv_cache_gb * 2**30)
    return arguments
