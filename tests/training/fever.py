"""The scaffold's domain, and a reference engine: one turn at a time, token by token."""

from pathlib import Path
from typing import Any

import torch

from healthgym.authoring.scaffold import new_domain
from healthgym.rollout import TurnRequest, TurnResult
from healthgym.training.config import RunConfig
from healthgym.training.policy_source import source_from


def fever_folder(path: Path) -> str:
    folder = path / "fever"
    if not folder.exists():
        new_domain(folder)
    return str(folder)


class PlainEngine:
    name = "plain"

    def __init__(self, config: RunConfig, model: Any, tokenizer: Any) -> None:
        self.model, self.tokenizer, self.temperature = model, tokenizer, config.rollout.temperature
        self.requests: dict[int, TurnRequest] = {}

    def submit(self, request: TurnRequest) -> None:
        self.requests[request.key] = request

    def cancel(self, key: int) -> None:
        self.requests.pop(key, None)

    def poll(self) -> list[TurnResult]:
        requests, self.requests = self.requests, {}
        return [self.write(request) for request in requests.values()]

    @torch.no_grad()
    def write(self, request: TurnRequest) -> TurnResult:
        was_training = self.model.training
        self.model.eval()
        generator = torch.Generator().manual_seed(request.seed)
        written: list[int] = []
        scores: list[float] = []
        cache, feed, end = None, list(request.prompt_ids), self.tokenizer.eos_token_id
        while len(written) < request.max_tokens and (not written or written[-1] != end):
            output = self.model(input_ids=torch.tensor([feed]), past_key_values=cache, use_cache=True)
            cache = output.past_key_values
            logps = (output.logits[0, -1].float() / self.temperature).log_softmax(-1)
            token = int(torch.multinomial(logps.exp(), 1, generator=generator))
            written, scores, feed = [*written, token], [*scores, float(logps[token])], [token]
        self.model.train(was_training)
        text = self.tokenizer.decode(written).removesuffix(self.tokenizer.eos_token)
        return TurnResult(request.key, text, written, scores, clipped=written[-1] != end)


plain_source = source_from(PlainEngine)
