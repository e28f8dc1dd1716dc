"""Digests of what a model is made of: its weights' bytes, its chat template, its tokenizer."""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from healthgym.errors import ConfigError
from healthgym.training.model_folder import TOKENIZERS, WEIGHTS

ADAPTER_WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")
_BLOCK = 1 << 22


def model_hashes(model_folder: Path, tokenizer: Any, *, adapter: Path | None = None) -> dict[str, str]:
    """Return SHA-256 digests: weights, chat_template, tokenizer, and adapter where there is one.

    `weights` runs over the bytes of the weight files by name, and of the adapter's after them, so that of a model in one
    file is what sha256sum says of the file.

    Args:
        model_folder: Holds the model, or the adapter's base.
        tokenizer: As loaded, its template in force.
        adapter: Folder of the adapter.
    """
    files = weight_files(model_folder)
    hashes = {}
    if adapter is not None:
        own = [adapter / name for name in ADAPTER_WEIGHTS if (adapter / name).is_file()]
        hashes["adapter"] = digest_of(own)
        files += own
    return {
        "weights": digest_of(files),
        "chat_template": sha256(str(tokenizer.chat_template).encode()).hexdigest(),
        "tokenizer": digest_of(model_folder / name for name in TOKENIZERS if (model_folder / name).is_file()),
        **hashes,
    }


def weight_files(folder: Path) -> list[Path]:
    """Return the files that weights are loaded from, by name: safetensors where there are any.

    Raises:
        ConfigError: There are none.
    """
    for pattern in WEIGHTS:
        found = sorted(path for path in folder.glob(pattern) if not path.name.startswith("adapter_"))
        if found:
            return found
    raise ConfigError(f"{folder} holds no weights ({' or '.join(WEIGHTS)})")


def digest_of(files: Iterable[Path]) -> str:
    """Return the SHA-256 over the bytes of files, one after another."""
    total = sha256()
    for path in files:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                total.update(block)
    return total.hexdigest()


def local_folder(name: str) -> Path:
    """Return the folder that a model was loaded from: a path itself, or where the hub's files were kept.

    Raises:
        ConfigError: The hub's files are not on this machine.
    """
    if Path(name).is_dir():
        return Path(name)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (LocalEntryNotFoundError, ValueError) as error:
        raise ConfigError(f"The files of {name} are not on this machine: {error}") from error
