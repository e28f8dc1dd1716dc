"""Encoders in 8 bits by OpenVINO: several times as fast on a CPU, their vectors within a hair of the model's own."""

import json
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from healthgym.errors import ConfigError, MissingDependency
from healthgym.retrieval.encoders import INT8_CARD, load_encoder
from healthgym.retrieval.token_batches import batches, equal_batches, width

GRAPH, WEIGHTS = "model.xml", "model.bin"
CALIBRATION = 128
"""Passages that show which ranges the numbers take; more changed nothing."""

BATCH_TOKENS = 768
"""Tokens a forward pass, padding included: few enough to stay in a core's cache."""

QUERY_BATCH = 16
"""Queries a forward pass; 64 of them cost as much each."""

PREPARED = 512
"""Operations prepared for a shape that the runtime keeps, about a dozen for each; left alone it keeps 5,000 of them, and grows
by 2 MB with every shape of a batch it meets."""


class Int8Encoder:
    """A model that write_int8() wrote. Needs openvino and tokenizers to run, neither torch nor the model it came from.

    Args:
        folder: What write_int8() made.
        threads: Threads a forward pass may use; all cores by default.

    Raises:
        MissingDependency: openvino is not installed.
        ConfigError: the folder is damaged.
    """

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        try:
            import openvino
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingDependency.extra(f"The 8-bit encoder {str(folder)!r}", "kb-int8") from error
        try:
            card = json.loads((folder / INT8_CARD).read_text(encoding="utf-8"))
            checksum = _checksum(folder)
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except (OSError, ValueError) as error:
            raise ConfigError(f"the 8-bit encoder in {folder} is damaged: {error}. Write it again") from error
        if checksum != card["checksum"]:
            raise ConfigError(f"the 8-bit encoder in {folder} is damaged: its checksum is wrong. Write it again")
        self.name = str(folder)
        self.dimension, self._prompts = card["dimension"], card["prompts"]
        self.fingerprint = f"{card['model_fingerprint']}+int8-{checksum[:12]}"
        self._tokenizer.no_padding()
        self._max_tokens: int = card["max_tokens"]
        self._tokenizer.enable_truncation(self._max_tokens)
        options: dict[str, Any] = {"NUM_STREAMS": 1, "CPU_RUNTIME_CACHE_CAPACITY": str(PREPARED)}
        if threads is not None:
            options["INFERENCE_NUM_THREADS"] = threads
        self._request = openvino.Core().compile_model(str(folder / GRAPH), "CPU", options).create_infer_request()
        self._lock = Lock()

    def encode(self, texts: Sequence[str], *, is_query: bool = False) -> np.ndarray:
        """Return float32 (n, dimension) of length 1."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        prompt = self._prompts["query" if is_query else "document"]
        tokens = [each.ids for each in self._tokenizer.encode_batch([prompt + text for text in texts])]
        lengths = [width(len(each), self._max_tokens) for each in tokens]
        for rows in equal_batches(lengths, QUERY_BATCH) if is_query else batches(lengths, BATCH_TOKENS):
            ids = np.zeros((len(rows), lengths[rows[0]]), dtype=np.int64)
            mask = np.zeros_like(ids)
            for place, row in enumerate(rows):
                ids[place, : len(tokens[row])], mask[place, : len(tokens[row])] = tokens[row], 1
            with self._lock:
                vectors[rows] = self._request.infer({"input_ids": ids, "attention_mask": mask})[0]
        return vectors


def write_int8(model: str | Path, texts: Sequence[str], out: Path | str) -> Path:
    """Write a sentence-transformers model in 8 bits into folder `out`, which load_encoder() then takes as a name.

    Args:
        model: What load_encoder() takes; a model with a tokenizer of its own and no weights but a transformer's.
        texts: Passages like those to be encoded; the first 128 set the ranges.
        out: Folder, made when missing; it must be empty, as indexes may have been built with what it holds.

    Raises:
        MissingDependency: openvino or nncf is not installed.
        ConfigError: fewer than 16 texts, a model that is none of sentence-transformers, or a folder in use.
    """
    try:
        import nncf
        import openvino
    except ImportError as error:
        raise MissingDependency.extra("Writing an 8-bit encoder", "kb-int8") from error
    if len(texts) < 16:
        raise ConfigError(f"an 8-bit encoder needs at least 16 texts to set its ranges by, got {len(texts)}")
    out = Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(f"{out} is not an empty folder: give the 8-bit encoder a new one, or empty it")
    encoder: Any = load_encoder(model)
    if not hasattr(encoder, "model"):
        raise ConfigError(f"cannot write {encoder.name!r} in 8 bits: give a sentence-transformers model")
    out.mkdir(parents=True, exist_ok=True)
    tokenizer, longest = encoder.model.tokenizer, encoder.model.max_seq_length

    def inputs(text: str) -> dict[str, np.ndarray]:
        row = tokenizer(text, truncation=True, max_length=longest, return_tensors="np")
        return {name: row[name].astype(np.int64) for name in ("input_ids", "attention_mask")}

    graph = nncf.quantize(
        openvino.convert_model(_with_two_inputs(encoder.model), example_input=_example()),
        nncf.Dataset(list(texts[:CALIBRATION]), inputs),
        model_type=nncf.ModelType.TRANSFORMER,
        subset_size=min(CALIBRATION, len(texts)),
    )
    openvino.save_model(graph, out / GRAPH)
    tokenizer.backend_tokenizer.save(str(out / "tokenizer.json"))
    prompts = {kind: encoder.model.prompts.get(kind) or "" for kind in ("query", "document")}
    card = {
        "model": encoder.name, "model_fingerprint": encoder.fingerprint, "dimension": encoder.dimension,
        "max_tokens": longest, "prompts": prompts, "checksum": _checksum(out),
    }  # fmt: skip
    (out / INT8_CARD).write_text(json.dumps(card, indent=1), encoding="utf-8")
    return out


def _with_two_inputs(model: Any) -> Any:
    """Return the model as a module of token ids and their mask that gives vectors of length 1."""
    import torch

    class TwoInputs(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            features = {"input_ids": input_ids, "attention_mask": attention_mask}
            if "token_type_ids" in model.tokenizer.model_input_names:
                features["token_type_ids"] = torch.zeros_like(input_ids)
            return torch.nn.functional.normalize(self.model(features)["sentence_embedding"], dim=-1)

    return TwoInputs().eval()


def _example() -> dict[str, Any]:
    """Return two rows, one of them padded, to trace a model with."""
    import torch

    mask = torch.ones((2, 16), dtype=torch.long)
    mask[1, 10:] = 0
    return {"input_ids": torch.ones_like(mask), "attention_mask": mask}


def _checksum(folder: Path) -> str:
    digest = blake2b(digest_size=16)
    for name in (GRAPH, WEIGHTS):
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()
