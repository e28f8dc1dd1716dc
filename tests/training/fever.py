"""A reference source of episodes: one row at a time, token by token, on the scaffold's domain."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from healthgym.authoring.scaffold import new_domain
from healthgym.envs.episode import Episode
from healthgym.registry import load_domain
from healthgym.rewards import compose
from healthgym.rollout import Trajectory, TurnSpan
from healthgym.tasks import Suite
from healthgym.training.config import RunConfig
from healthgym.training.demonstrations import Turns
from healthgym.training.rows import EpisodeRow
from healthgym.training.teacher_context import HintRenderer, hinted_prompt
from healthgym.validation.replay import as_message


def fever_folder(path: Path) -> str:
    folder = path / "fever"
    if not folder.exists():
        new_domain(folder)
        load_domain(folder)
    return str(folder)


class PlainSource:
    def __init__(self, config: RunConfig, model: Any, tokenizer: Any, suite: Suite) -> None:
        self.config, self.model, self.tokenizer, self.suite = config, model, tokenizer, suite
        self.renderer = HintRenderer(tokenizer, {})
        self.sampled = 0

    def sample(
        self, rows: Sequence[EpisodeRow], *, seed: int, hints: Sequence[str | None] | None = None
    ) -> list[Trajectory | None]:
        generator = torch.Generator().manual_seed(seed)
        self.sampled += len(rows)
        return [
            self.play(row, hint, None, generator) for row, hint in zip(rows, hints or [None] * len(rows), strict=True)
        ]

    def scripted(self, plans: Sequence[tuple[str, Turns]]) -> list[Trajectory]:
        return [self.play(EpisodeRow(task_id, 0, 0), None, turns, torch.Generator()) for task_id, turns in plans]

    def play(self, row: EpisodeRow, hint: str | None, script: Turns | None, generator: torch.Generator) -> Trajectory:
        case = self.suite.case(row.task_id)
        episode = Episode(
            case, self.suite.domains[case.task.domain], profile=self.config.env.prompt_profile, seed=row.seed
        )
        prompt = self.render(episode.messages, episode.tools, opened=True)
        if hint:
            prompt = hinted_prompt(prompt, self.renderer.message(hint), self.renderer.generation_prompt)
        ids: list[int] = []
        mask: list[int] = []
        logps: list[float] = []
        spans: list[TurnSpan] = []
        turns = iter(script or ())
        while not episode.is_over:
            start = len(ids)
            turn = next(turns, None) if script is not None else None
            if script is not None and turn is None:
                break
            written, scores = self.write(prompt + ids, generator) if turn is None else (self.markup(turn), [])
            ids, mask, logps = ids + written, mask + [1] * len(written), logps + (scores or [0.0] * len(written))
            spans.append(TurnSpan(start, len(ids)))
            answers = episode.apply(self.tokenizer.decode(written).removesuffix(self.tokenizer.eos_token))
            if not episode.is_over:
                suffix = self.after_turn(answers, closed=written[-1] == self.tokenizer.eos_token_id)
                if len(ids) + len(suffix) >= self.config.rollout.max_completion_tokens:
                    episode.stop("token_budget")
                    break
                ids, mask, logps = ids + suffix, mask + [0] * len(suffix), logps + [0.0] * len(suffix)
        grade = episode.grade()
        return Trajectory(
            task_id=row.task_id, domain=case.task.domain, family=case.task.family, split=case.task.split,
            difficulty=case.task.difficulty, group=row.group, seed=row.seed, prompt_ids=prompt, completion_ids=ids,
            completion_mask=mask, logprobs=logps, turns=tuple(spans), messages=episode.messages, grade=grade,
            reward=compose(grade), stop_reason=episode.stop_reason or "script_ended", assistant_tokens=sum(mask),
            num_turns=len(spans), tool_calls=tuple(call.tool for call in episode.world.calls),
        )  # fmt: skip

    def markup(self, turn: Sequence[Any]) -> list[int]:
        text = self.tokenizer.apply_chat_template([as_message(turn)], tokenize=False)
        return self.tokenizer(text.removeprefix("<|im_start|>assistant\n").removesuffix("\n"))["input_ids"]

    def after_turn(self, answers: Sequence[Any], *, closed: bool) -> list[int]:
        rendered = self.tokenizer.apply_chat_template(list(answers), add_generation_prompt=True, tokenize=False)
        return self.tokenizer(("" if closed else self.tokenizer.eos_token) + "\n" + rendered)["input_ids"]

    def render(self, messages: Sequence[Any], tools: Sequence[Any], *, opened: bool) -> list[int]:
        return self.tokenizer.apply_chat_template(
            list(messages), tools=list(tools) or None, add_generation_prompt=opened, return_dict=False
        )

    @torch.no_grad()
    def write(self, ids: list[int], generator: torch.Generator) -> tuple[list[int], list[float]]:
        was_training = self.model.training
        self.model.eval()
        written, scores, cache, feed = [], [], None, ids
        for _ in range(self.config.rollout.max_tokens_per_turn):
            output = self.model(input_ids=torch.tensor([feed]), past_key_values=cache, use_cache=True)
            cache, logps = output.past_key_values, output.logits[0, -1].float().log_softmax(-1)
            token = int(torch.multinomial(logps.exp(), 1, generator=generator))
            written, scores, feed = [*written, token], [*scores, float(logps[token])], [token]
            if token == self.tokenizer.eos_token_id:
                break
        self.model.train(was_training)
        return written, scores
