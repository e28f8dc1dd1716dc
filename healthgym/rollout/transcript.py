"""The tokens of one episode as they came: sampled by the policy, or written by the environment between turns."""

from collections.abc import Sequence

from healthgym.rollout.policy import TurnResult
from healthgym.rollout.trajectory import TurnSpan


class Transcript:
    """Grows turn by turn; nothing in it is ever rendered again.

    Args:
        prompt_ids: Tokens before the first assistant turn, generation prompt included.
    """

    def __init__(self, prompt_ids: Sequence[int]) -> None:
        self.ids: list[int] = list(prompt_ids)
        """Every token so far."""
        self.prompt_length = len(self.ids)
        self.mask: list[int] = []
        self.turns: list[TurnSpan] = []
        self.assistant_tokens = 0
        self._logprobs: list[float] | None = []

    @property
    def prompt_ids(self) -> list[int]:
        """Tokens before the first assistant turn."""
        return self.ids[: self.prompt_length]

    @property
    def completion_ids(self) -> list[int]:
        """Tokens after the prompt."""
        return self.ids[self.prompt_length :]

    @property
    def completion_length(self) -> int:
        """Number of tokens after the prompt."""
        return len(self.ids) - self.prompt_length

    @property
    def logprobs(self) -> list[float] | None:
        """One per completion token, 0.0 where the environment wrote it; None once a turn came without."""
        return self._logprobs

    def add_turn(self, result: TurnResult) -> None:
        """Append one assistant turn exactly as it was sampled."""
        start, count = self.completion_length, len(result.token_ids)
        self.ids.extend(result.token_ids)
        self.mask.extend([1] * count)
        self.turns.append(TurnSpan(start, start + count))
        self.assistant_tokens += count
        if self._logprobs is None or result.logprobs is None:
            self._logprobs = None
        else:
            self._logprobs.extend(result.logprobs)

    def add_environment(self, ids: Sequence[int]) -> None:
        """Append tokens of the environment's."""
        self.ids.extend(ids)
        self.mask.extend([0] * len(ids))
        if self._logprobs is not None:
            self._logprobs.extend([0.0] * len(ids))
