"""Log-probabilities of given continuations, with a causal language model in this process.

Requests are sorted by length and run in batches of a token budget. A prompt is computed once for all of its
continuations: they follow it side by side in one sequence, each seeing the prompt and itself only, at the positions it
would have on its own. A continuation of one token, such as a letter, adds nothing at all. The output head runs only at
positions whose next token is asked for.
"""

import gc
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from healthgym.errors import ConfigError, HealthgymError
from healthgym.evaluation.candidate import Options, OptionScores

logger = logging.getLogger(__name__)
CPU_BATCH_TOKENS, BATCH_TOKENS = 512, 16384
"""Tokens of one forward pass, padding included. On a CPU larger passes leave its caches: 2,048 run at 0.73 of the speed of 512."""
MAX_LOGITS = 2**26
"""Most logits of one forward pass: bounds the memory of the head's output."""
MAX_WIDENED = 2**28
"""Most weights of a head in half precision that are kept in float32 for the length of a call; of a larger one a part at a time
is widened in every pass."""
TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-6}
"""In nats, by which both ways of computing may differ in the trial; 0.15 in half precision."""


@dataclass(frozen=True, slots=True)
class _Sequence:
    """One sequence to run: a prompt and the continuations that follow it side by side.

    reads: For each token asked for, the place in the sequence whose output predicts it, and the token itself.
    owners: For each token asked for, the index of its continuation within the request.
    """

    key: int
    ids: np.ndarray
    positions: np.ndarray
    branch: np.ndarray
    reads: list[tuple[int, int]]
    owners: list[int]


class TransformersLikelihoods:
    """Scores continuations with a transformers model.

    Neither the order of requests nor their company changes a score by more than rounding. Models for which continuations
    cannot share a prompt (the first call tries it out) run each on its own.

    Args:
        model: A causal language model of transformers, with adapters or without.
        batch_tokens: Most tokens of one forward pass, padding included; None takes what suits the device.
    """

    def __init__(self, model: Any, *, batch_tokens: int | None = None) -> None:
        if batch_tokens is not None and batch_tokens < 1:
            raise ConfigError(f"batch_tokens must be at least 1, got {batch_tokens}")
        self.model = model
        self.head = model.get_output_embeddings()
        if self.head is None:
            raise ConfigError(f"{type(model).__name__} has no output head, so it gives no likelihoods")
        on_cpu = model.device.type == "cpu"
        self.batch_tokens = batch_tokens or (CPU_BATCH_TOKENS if on_cpu else BATCH_TOKENS)
        config = model.config.get_text_config()
        self.limit: int | None = getattr(config, "max_position_embeddings", None)
        windows = [getattr(config, name, None) for name in ("sliding_window", "attention_chunk_size")]
        self._span = min((int(window) for window in windows if window), default=None)
        self._shares: bool | None = None

    def __call__(self, requests: Sequence[Options], on_done: Callable[[OptionScores], None]) -> None:
        """Score every request and hand over each as it is done, in an order of its own.

        Raises:
            ConfigError: A prompt or a continuation is empty, or a request is longer than the model's context.
        """
        for request in requests:
            self._check(request)
        with _evaluating(self.model), _Head(self.head) as head:
            if self._shares is None and any(len(one) > 1 for request in requests for one in request.continuations):
                self._shares = self._tried_sharing(head)
            together = [request for request in requests if self._runs_together(request)]
            apart = [request for request in requests if not self._runs_together(request)]
            self._run(head, [[_side_by_side(request)] for request in together], on_done)
            self._run(head, [_one_by_one(request) for request in apart], on_done)

    def _check(self, request: Options) -> None:
        if not len(request.prompt_ids) or not request.continuations or not all(map(len, request.continuations)):
            raise ConfigError(f"request {request.key}: the prompt and every continuation need at least one token")
        longest = len(request.prompt_ids) + max(map(len, request.continuations)) - 1
        if self.limit is not None and longest > self.limit:
            raise ConfigError(f"request {request.key}: {longest} tokens do not fit the model's {self.limit} positions")

    def _runs_together(self, request: Options) -> bool:
        if all(len(one) == 1 for one in request.continuations):
            return True
        length = len(request.prompt_ids) + sum(len(one) - 1 for one in request.continuations)
        return bool(self._shares) and (self._span is None or length <= self._span)

    def _tried_sharing(self, head: "_Head") -> bool:
        """Say whether the model respects masks and positions: a long first branch must not move the second."""
        vocabulary = self.head.weight.shape[0]
        tokens = [int(token) for token in np.random.default_rng(0).integers(0, vocabulary, 80)]
        trial = Options(0, tokens[:32], (tokens[32:64], tokens[64:]))
        found: list[OptionScores] = []
        try:
            self._run(head, [[_side_by_side(trial)]], found.append)
        except (ValueError, TypeError, RuntimeError):  # the model takes no mask by query and key
            return False
        self._run(head, [_one_by_one(trial)], found.append)
        first, second = (np.array(scores.logprobs) for scores in found)
        return bool(np.abs(first - second).max() <= TOLERANCE.get(self.model.dtype, 0.15))

    def _run(self, head: "_Head", requests: list[list[_Sequence]], on_done: Callable[[OptionScores], None]) -> None:
        """Run the sequences of each request and hand over its scores once all of them are known."""
        missing = {sequences[0].key: len(sequences) for sequences in requests}
        sums: dict[int, dict[int, tuple[float, bool]]] = {key: {} for key in missing}
        for batch in self._batches([sequence for sequences in requests for sequence in sequences]):
            for sequence, (logps, greedy) in zip(batch, self._fitted(batch, head), strict=True):
                known = sums[sequence.key]
                for owner, logp, best in zip(sequence.owners, logps, greedy, strict=True):
                    before, all_best = known.get(owner, (0.0, True))
                    known[owner] = (before + logp, all_best and best)
                missing[sequence.key] -= 1
                if not missing[sequence.key]:
                    done = sums.pop(sequence.key)
                    ordered = [done[owner] for owner in sorted(done)]
                    on_done(OptionScores(sequence.key, tuple(s for s, _ in ordered), tuple(g for _, g in ordered)))

    def _batches(self, sequences: list[_Sequence]) -> Iterator[list[_Sequence]]:
        """Yield batches of similar length, the longest first: memory that does not suffice shows at once."""
        most_reads = max(1, MAX_LOGITS // self.head.weight.shape[0])
        batch: list[_Sequence] = []
        reads = 0
        for sequence in sorted(sequences, key=lambda one: -len(one.ids)):
            wide = len(batch[0].ids) * (len(batch) + 1) > self.batch_tokens if batch else False
            if batch and (wide or reads + len(sequence.reads) > most_reads):
                yield batch
                batch, reads = [], 0
            batch.append(sequence)
            reads += len(sequence.reads)
        if batch:
            yield batch

    def _fitted(self, batch: list[_Sequence], head: "_Head") -> list[tuple[list[float], list[bool]]]:
        """Return what `_forward` returns; where memory runs out, in halves, and later batches hold half as many tokens."""
        try:
            return self._forward(batch, head)
        except torch.OutOfMemoryError as error:
            reason = str(error).splitlines()[0]
        longest, half = len(batch[0].ids), len(batch) // 2
        if not half:
            raise HealthgymError(
                f"Out of memory over the {longest} tokens of a single question and its options ({reason}). Lower "
                "max_context with --engine-set, or take a smaller model or another device; the rows before are whole."
            )
        self.batch_tokens = min(self.batch_tokens, half * longest)
        logger.warning("out of memory (%s); going on with %d tokens a pass", reason, self.batch_tokens)
        gc.collect()
        if self.model.device.type == "cuda":
            torch.cuda.empty_cache()
        return [*self._fitted(batch[:half], head), *self._fitted(batch[half:], head)]

    def _forward(self, batch: list[_Sequence], head: "_Head") -> list[tuple[list[float], list[bool]]]:
        """Return for each sequence the log-probability of each token asked for and whether it is the likeliest."""
        width = len(batch[0].ids)
        ids, positions = np.zeros((len(batch), width), np.int64), np.zeros((len(batch), width), np.int64)
        branch = np.full((len(batch), width), -1, np.int64)
        for row, sequence in enumerate(batch):
            length = len(sequence.ids)
            ids[row, :length], positions[row, :length] = sequence.ids, sequence.positions
            branch[row, :length] = sequence.branch
        device = self.model.device
        words: dict[str, Any] = {"input_ids": torch.from_numpy(ids).to(device), "use_cache": False}
        if any(sequence.branch.any() for sequence in batch):
            words["attention_mask"] = _mask(torch.from_numpy(branch).to(device), self.model.dtype)
            words["position_ids"] = torch.from_numpy(positions).to(device)
        # Without branches the sequences are plain, and padding on the right is behind everything that is read.
        places = torch.tensor([row * width + at for row, one in enumerate(batch) for at, _ in one.reads], device=device)
        targets = torch.tensor([token for one in batch for _, token in one.reads], device=device)
        different, inverse = torch.unique(places, return_inverse=True)
        head.places = different
        logits = self.model(**words).logits.reshape(len(different), -1).float()
        logps = logits[inverse, targets] - logits.logsumexp(-1)[inverse]
        greedy = logits.argmax(-1)[inverse] == targets
        counts = [len(one.reads) for one in batch]
        parts = zip(logps.cpu().split(counts), greedy.cpu().split(counts), strict=True)
        return [(one.tolist(), best.tolist()) for one, best in parts]


def transformers_likelihoods(
    model: Any, tokenizer: Any = None, *, batch_tokens: int | None = None
) -> TransformersLikelihoods:
    """Return what scores continuations with a model that is loaded, on the device where it lies.

    Args:
        model: A causal language model of transformers.
        tokenizer: Its tokenizer; requests are tokens already, so it is not needed.
        batch_tokens: Most tokens of one forward pass; None takes what suits the device.
    """
    return TransformersLikelihoods(model, batch_tokens=batch_tokens)


def _side_by_side(request: Options) -> _Sequence:
    """Lay out prompt and continuations as one sequence; a continuation's last token predicts nothing and is left out."""
    start = len(request.prompt_ids)
    ids, positions, branch = list(request.prompt_ids), list(range(start)), [0] * start
    reads: list[tuple[int, int]] = []
    owners: list[int] = []
    for number, continuation in enumerate(request.continuations):
        at = start - 1
        for step, token in enumerate(continuation):
            reads.append((at, int(token)))
            owners.append(number)
            if step < len(continuation) - 1:
                at = len(ids)
                ids.append(token)
                positions.append(start + step)
                branch.append(number + 1)
    return _Sequence(request.key, np.array(ids), np.array(positions), np.array(branch), reads, owners)


def _one_by_one(request: Options) -> list[_Sequence]:
    """Lay out each continuation after a prompt of its own."""
    made = []
    for number, continuation in enumerate(request.continuations):
        ids = np.array([*request.prompt_ids, *continuation[:-1]])
        start = len(request.prompt_ids) - 1
        reads = [(start + step, int(token)) for step, token in enumerate(continuation)]
        made.append(
            _Sequence(request.key, ids, np.arange(len(ids)), np.zeros(len(ids), np.int64), reads, [number] * len(reads))
        )
    return made


def _mask(branch: Tensor, dtype: torch.dtype) -> Tensor:
    """Return what each token may look at, (B, 1, T, T), added to the scores: earlier tokens of prompt and own branch.

    Args:
        branch: (B, T): 0 in the prompt, the number of the branch after it, -1 for padding, which looks at itself only.
        dtype: Of the scores.
    """
    width = branch.shape[1]
    earlier = torch.ones(width, width, dtype=torch.bool, device=branch.device).tril()
    seen = (branch[:, None, :] == 0) | (branch[:, None, :] == branch[:, :, None])
    allowed = (earlier & seen & (branch[:, :, None] >= 0)) | torch.eye(width, dtype=torch.bool, device=branch.device)
    mask = torch.zeros(allowed.shape, dtype=dtype, device=branch.device)
    return mask.masked_fill_(~allowed, torch.finfo(dtype).min)[:, None]


class _Head:
    """The output head, run at some places of the (B * T) flattened hidden states only; its output is (1, N, V).

    A plain head in half precision computes in float32: with 8 bits of mantissa options would tie that differ.
    """

    def __init__(self, head: Any) -> None:
        self.head, self.places = head, torch.tensor(0)
        self.before = head.forward
        # Whoever put a forward of its own in the head's place before, such as offloading, is called as it is.
        self.was_patched = "forward" in vars(head)
        half = type(head) is torch.nn.Linear and head.weight.dtype in (torch.bfloat16, torch.float16)
        self.sharpens = half and not self.was_patched
        self.wide = head.weight.float() if self.sharpens and head.weight.numel() <= MAX_WIDENED else None

    def __enter__(self) -> "_Head":
        self.head.forward = self.forward
        return self

    def __exit__(self, *exception: object) -> None:
        if self.was_patched:
            self.head.forward = self.before
        else:
            del self.head.forward

    def forward(self, hidden: Tensor) -> Tensor:
        kept = hidden.reshape(-1, hidden.shape[-1])[self.places][None]
        if not self.sharpens:
            return self.before(kept)
        parts = [self.wide] if self.wide is not None else [part.float() for part in self.head.weight.split(2**14)]
        logits = torch.cat([torch.nn.functional.linear(kept.float(), part) for part in parts], -1)
        return logits if self.head.bias is None else logits + self.head.bias.float()


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Evaluation mode without gradients, put back module by module."""
    training = [module for module in model.modules() if module.training]
    for module in training:
        module.training = False
    try:
        with torch.no_grad():  # not inference_mode: models keep tensors (rotary tables) that training reads later
            yield
    finally:
        for module in training:
            module.training = True
