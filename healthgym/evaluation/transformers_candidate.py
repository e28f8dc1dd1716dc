"""A candidate in this process: a model's folder, an adapter over its base, a run or its checkpoint, or a hub name."""

import importlib
import importlib.util
import json
from pathlib import Path
from typing import Any, Literal

import torch
import transformers

from healthgym.errors import ConfigError
from healthgym.evaluation.candidate import Candidate, LogLikelihoods
from healthgym.evaluation.checkpoint import WHAT, Checkpoint, find_checkpoint
from healthgym.evaluation.model_hashes import local_folder, model_hashes
from healthgym.rollout.sampling import Sampling
from healthgym.rollout.template import ChatTemplate
from healthgym.rollout.transformers_engine import TransformersPolicy
from healthgym.training.config import Model
from healthgym.training.model_folder import check_model_folder
from healthgym.training.models import context_limit, load_saved
from healthgym.training.sections.model import Lora

Dtype = Literal["auto", "float32", "bfloat16"]
LIKELIHOODS = "healthgym.evaluation.likelihoods"
WRITES_TEXT = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
"""Ends of the names of classes that continue text."""


def open_transformers(
    path: str | Path,
    *,
    base: str | None = None,
    temperature: float = 0.0,
    top_p: float = 1.0,
    top_k: int = 0,
    dtype: Dtype = "auto",
    device: str | None = None,
    max_rows: int = 64,
    max_context: int | None = None,
) -> Candidate:
    """Load a model and return it ready to be measured.

    Args:
        path: Folder that `save_pretrained` wrote, folder of LoRA adapters, a training run or a checkpoint of one, or a
            hub name. Of a run the best checkpoint is taken, if it has one.
        base: Base model of an adapter; None finds it.
        temperature: 0 takes the likeliest token.
        top_p: Keep the likeliest tokens that together reach this probability.
        top_k: Keep this many of the likeliest tokens; 0 keeps all.
        dtype: Of the weights; auto is bfloat16 on an accelerator and float32 elsewhere.
        device: Where the model runs; None takes the accelerator when there is one.
        max_rows: Most sequences that advance together.
        max_context: Lowers the model's own limit.

    Raises:
        ConfigError: There is no model, or not a whole one, or one that does not write text; or the adapter does not fit.
    """
    checkpoint = find_checkpoint(path, base=base)
    if max_rows < 1 or (max_context is not None and max_context < 1):
        raise ConfigError(f"max_rows and max_context must be at least 1, got {max_rows} and {max_context}")
    device = device_of(device)
    half = dtype == "bfloat16" or (dtype == "auto" and device != "cpu")
    model, tokenizer = _load(checkpoint, half=half)
    model = model.to(device=device, dtype=torch.bfloat16 if half else torch.float32).eval()
    limits = [limit for limit in (context_limit(model), max_context) if limit is not None]

    def close() -> None:
        model.to("meta")  # policy and template may still be held; the weights are gone
        if device.startswith("cuda"):
            torch.cuda.empty_cache()

    folder = local_folder(checkpoint.base or checkpoint.path)
    return Candidate(
        name=checkpoint.name,
        engine=f"transformers {transformers.__version__} (torch {torch.__version__})",
        policy=TransformersPolicy(
            model, tokenizer, sampling=Sampling(temperature=temperature, top_p=top_p, top_k=top_k), max_rows=max_rows
        ),
        template=ChatTemplate(tokenizer),
        loglikelihoods=_loglikelihoods(model, tokenizer),
        hashes=model_hashes(
            folder, tokenizer, adapter=Path(checkpoint.path) if checkpoint.base is not None else None
        ),
        sampling={
            "temperature": temperature, "top_p": top_p, "top_k": top_k, "dtype": "bfloat16" if half else "float32",
        },
        max_context=min(limits, default=None),
        close=close,
    )  # fmt: skip


def _load(checkpoint: Checkpoint, *, half: bool) -> tuple[Any, Any]:
    model_path = checkpoint.base or checkpoint.path
    check_model_folder(model_path, WHAT if checkpoint.base is None else f"The base of {checkpoint.path}")
    check_writes_text(model_path)
    # Of the run's settings loading takes path, dtype and, for a frozen base, whether it may be stored in half precision.
    settings = Model(
        path=model_path, dtype="bfloat16" if half else "float32", lora=Lora() if half else None, attention="sdpa"
    )
    return load_saved(Path(checkpoint.path), settings)


def device_of(named: str | None) -> str:
    """Return where a model is to run; None takes the accelerator when there is one.

    Raises:
        ConfigError: There is no such device here.
    """
    if named is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=named)
    # In turn: an unknown name, a torch built without the device, a device without tensors.
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ConfigError(f"There is no device {named!r} here: {str(error).splitlines()[0]}") from error
    return named


def check_writes_text(path: str) -> None:
    """Refuse a folder whose config names a model that does not continue text, such as an encoder.

    Raises:
        ConfigError: Names the architecture.
    """
    file = Path(path) / "config.json"
    if not file.is_file():
        return
    named = json.loads(file.read_text(encoding="utf-8")).get("architectures") or []
    if named and not any(str(name).endswith(WRITES_TEXT) for name in named):
        raise ConfigError(
            f"{WHAT} {path} is a {', '.join(map(str, named))}, which does not write text. Give a model for text "
            f"generation ({WRITES_TEXT[0]})."
        )


def _loglikelihoods(model: Any, tokenizer: Any) -> LogLikelihoods | None:
    """Return what scores given continuations, where this installation has it."""
    if importlib.util.find_spec(LIKELIHOODS) is None:
        return None
    made: LogLikelihoods = importlib.import_module(LIKELIHOODS).transformers_likelihoods(model, tokenizer)
    return made
