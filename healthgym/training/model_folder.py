"""Looks at a model's folder before anything is loaded from it: is it there, is it whole, is it a model at all?"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from healthgym.errors import ConfigError
from healthgym.files import read_json

TOKENIZERS = ("tokenizer.json", "tokenizer.model", "spiece.model", "vocab.json", "vocab.txt", "tekken.json")
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")


def check_model_folder(path: str, setting: str = "model.path") -> None:
    """Refuse a folder from which no chat model could be loaded; names that no folder has are left to the hub.

    Args:
        path: Folder, or the name of a model on a hub.
        setting: What the path was given as, for the message.

    Raises:
        ConfigError: The folder is missing, incomplete or damaged, or holds something else.
    """
    folder = Path(path)
    if not folder.exists():
        if _names_a_folder(path):
            raise ConfigError(
                f"{setting}: there is no folder {path}. Give the folder that save_pretrained wrote, or a model's name."
            )
        return
    problem = next(_problems(folder), None)
    if problem is not None:
        raise ConfigError(f"{setting}: {path} {problem}")


def _problems(folder: Path) -> Iterator[str]:
    """Yield what is wrong with a folder, the most telling first."""
    if not folder.is_dir():
        yield "is a file; give the folder that holds config.json, the weights and the tokenizer."
    adapters = folder / "adapter_config.json"
    if adapters.is_file() and not (folder / "config.json").is_file():
        base = _json(adapters).get("base_model_name_or_path")
        yield (
            f"holds LoRA adapters (of {base}), not a whole model. Give the base model, or merge the adapters into it "
            "(merge_and_unload of peft) and give the merged one."
        )
    present = sorted(path.name for path in folder.iterdir())
    if "config.json" not in present:
        yield f"holds no config.json{_found(present)}. {_AGAIN}"
    for name in present:
        if name.endswith(".json") and name in _READ and (reason := _broken_json(folder / name)):
            yield f"is damaged: {name} {reason}. {_AGAIN}"
    weights = [path for pattern in WEIGHTS for path in folder.glob(pattern)]
    if not weights:
        yield f"holds no weights ({' or '.join(WEIGHTS)}){_found(present)}. {_AGAIN}"
    for index in folder.glob("*.index.json"):
        missing = sorted(set(_json(index).get("weight_map", {}).values()) - set(present))
        if missing:
            yield f"is incomplete: {index.name} names {', '.join(missing[:3])}, which are not there. {_AGAIN}"
    for path in weights:
        if path.suffix == ".safetensors" and (reason := broken_safetensors(path)):
            yield f"is damaged: {path.name} {reason}. {_AGAIN}"
    if not any(name in present for name in TOKENIZERS):
        yield f"holds no tokenizer ({', '.join(TOKENIZERS[:2])}, ...){_found(present)}. {_AGAIN}"


def broken_safetensors(path: Path) -> str | None:
    """Return what is wrong with a safetensors file, or None: its header must be whole and name as many bytes as follow.

    Source: the format's own description, eight bytes of header length, a JSON header, the data.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > size - 8:
            return f"is cut off after {size:,} bytes"
        try:
            header = read_json(file.read(length))
            end = max((entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"), default=0)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError):
            return "has an unreadable header"
    if size < 8 + length + end:
        return f"is cut off: {8 + length + end:,} bytes are expected, {size:,} are there"
    return None


_READ = ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors.index.json")
_AGAIN = "Copy or save the model again."


def _broken_json(path: Path) -> str | None:
    try:
        found = read_json(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        return f"cannot be read ({error})"
    return None if isinstance(found, dict) else f"holds no object, but a {type(found).__name__}"


def _json(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8")) if _broken_json(path) is None else {}
    return found if isinstance(found, dict) else {}


def _found(present: list[str]) -> str:
    return f", only {', '.join(present[:6])}" if present else " (the folder is empty)"


def _names_a_folder(path: str) -> bool:
    """Say whether a name can only be meant as a folder: hub names have at most one slash and no leading mark."""
    return (
        path.startswith(("/", ".", "~", os.sep)) or path.count("/") > 1 or (Path(path).parent.is_dir() and "/" in path)
    )
