"""A candidate in this process that reads images: a vision-language model's folder or hub name."""

from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoModelForImageTextToText, AutoProcessor

from healthgym.errors import ConfigError
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.model_hashes import digest_of, local_folder, model_hashes
from healthgym.rollout.sampling import Sampling
from healthgym.rollout.vision_policy import VisionPolicy

PROCESSOR_FILES = ("processor_config.json", "preprocessor_config.json")


def open_vision(
    path: str | Path,
    *,
    temperature: float = 0.0,
    top_p: float = 1.0,
    top_k: int = 0,
    device: str | None = None,
    max_rows: int = 8,
) -> Candidate:
    """Load a vision-language model and return it ready to be measured on single answers.

    Args:
        path: Folder that `save_pretrained` wrote for model and processor, or a hub name.
        temperature: 0 takes the likeliest token.
        top_p: Keep the likeliest tokens that together reach this probability.
        top_k: Keep this many of the likeliest tokens; 0 keeps all.
        device: Where the model runs; None takes the accelerator when there is one.
        max_rows: Most answers written together.

    Raises:
        ConfigError: There is no such model, it reads no images, or it has no chat template.
    """
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch.float32 if device == "cpu" else torch.bfloat16
    model, processor = _load(str(path), dtype)
    model = model.to(device).eval()
    policy = VisionPolicy(
        model, processor, sampling=Sampling(temperature=temperature, top_p=top_p, top_k=top_k), max_rows=max_rows
    )
    folder = local_folder(str(path))
    hashes = model_hashes(folder, processor)  # the processor's chat template is the one in force
    hashes["processor"] = digest_of(folder / name for name in PROCESSOR_FILES if (folder / name).is_file())

    def close() -> None:
        model.to("meta")
        if device.startswith("cuda"):
            torch.cuda.empty_cache()

    return Candidate(
        name=str(path),
        engine=f"transformers {transformers.__version__} (torch {torch.__version__}), images",
        policy=policy,
        hashes=hashes,
        sampling={
            "temperature": temperature, "top_p": top_p, "top_k": top_k, "dtype": str(dtype).removeprefix("torch."),
        },
        max_context=policy.context_limit,
        has_vision=True,
        close=close,
    )  # fmt: skip


def _load(path: str, dtype: torch.dtype) -> tuple[Any, Any]:
    try:
        processor = AutoProcessor.from_pretrained(path)
        model = AutoModelForImageTextToText.from_pretrained(path, dtype=dtype)
    except (OSError, ValueError, ImportError) as error:
        raise ConfigError(f"{path} cannot be loaded as a model that reads images and writes text: {error}") from error
    if getattr(processor, "image_processor", None) is None:
        raise ConfigError(
            f"{path} has no image processor, so it reads no images. Evaluate it with --engine transformers"
        )
    return model, processor
