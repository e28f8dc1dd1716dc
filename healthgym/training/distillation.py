"""TT-OPD on one batch: what the teacher reads, what it thinks of the student's tokens, and D(tau)."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from healthgym.rollout import Trajectory
from healthgym.training.config import Divergence, Hint, Turns
from healthgym.training.divergence import (
    bound,
    chunked_divergence,
    k3_divergence,
    sampled_divergence,
    vocabulary_divergence,
)
from healthgym.training.heads import backbone, run_to_hidden, student_head, teacher_head
from healthgym.training.hint_mixing import foreign_hints, wrong_hints
from healthgym.training.hints import HintFacts, grade_facts, hint_text
from healthgym.training.teacher import LiveTeacher
from healthgym.training.teacher_context import (
    HintRenderer,
    TeacherSequence,
    check_alignment,
    pad_rows,
    teacher_sequence,
    turn_id_row,
)
from healthgym.training.topk_heads import chunked_topk, sampled_logps
from healthgym.training.turns import TurnTable, k_max, position_in_turn, trajectory_divergence, turn_table

Batch = Mapping[str, Any]


class Scorer(Protocol):
    """The part of TRL's trainer that scores tokens, so that student and teacher go the same way."""

    def __call__(
        self, model: nn.Module, input_ids: Tensor, attention_mask: Tensor, logits_to_keep: int
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Return log-probabilities (B, logits_to_keep) and two more values that are not used."""


@dataclass(frozen=True)
class TeacherView:
    """The teacher's judgement of the student's tokens in one micro-batch; carries no gradient."""

    logps: Tensor
    """(B, T) in nats at the student's tokens; 0 where `scored` is False. Of a contrast not normalised: see `Distillation`."""
    scored: Tensor
    """(B, T) bool: tokens the policy wrote and the teacher's context holds."""
    hidden: Tensor | None
    """(B, T, H) hidden states that predict each token, or (B, T, 3, H) after the right, the wrong and no hint; None when the
    divergence needs no vocabulary."""
    head: tuple[Tensor, Tensor | None] | None
    """Weight (V, H) and bias of the teacher's language-model head."""
    hints: "HintReadings | None" = None
    """What two different hints make of the tokens, on steps that look at it."""


@dataclass(frozen=True)
class HintReadings:
    """The same tokens judged after the hint that was told and after a wrong one; carries no gradient."""

    told: Tensor
    """(B, T) log-probabilities in nats."""
    wrong: Tensor
    """(B, T) log-probabilities in nats."""
    scored: Tensor
    """(B, T) bool: tokens that both contexts hold, of attempts that have a wrong hint."""


@dataclass(frozen=True)
class Distilled:
    """D(tau) of one micro-batch and what to report about it."""

    per_trajectory: Tensor
    """(B,) in nats, differentiable; 0 where no turn counts."""
    table: TurnTable
    log_ratio: Tensor
    """(B, T) student minus teacher log-probability at scored tokens, 0 elsewhere; no gradient."""
    logps: Tensor
    """(B, T) the student's log-probabilities in nats; no gradient."""


class Distillation:
    """Builds the teacher's inputs from trajectories and compares it with the student.

    With `hint.contrast` the teacher is phi_c = phi_none phi_right / phi_wrong, renormalised over the vocabulary: the teacher
    without a hint, moved by what the right hint says and a wrong one does not, so that whatever any hint does to the style
    cancels, and the anchor to the averaged weights stays. topk and full use exactly this distribution. sampled uses
    d = log pi_theta(y) - [log phi_none(y) + log phi_right(y) - log phi_wrong(y)], whose missing normaliser is the same for every y
    and so only a baseline of the policy gradient; with a teacher equal to its student, -d is log phi_right(y) - log phi_wrong(y).
    k3 and rl_sign have no such freedom and are refused. The cost: three teacher passes in place of one, and three heads a chunk.

    Args:
        teacher: The live teacher.
        renderer: Renders hints in the model's chat template.
        hint: Level and place of the hints; None for none.
        turns: Which turns count.
        divergence: How tokens are compared.
        temperature: Sampling temperature; both sides' logits are divided by it.
        max_context: Longest sequence the teacher reads.
        answer_of: Gold answer of a task as text, for hint level `answer`.
    """

    def __init__(
        self,
        teacher: LiveTeacher,
        renderer: HintRenderer,
        *,
        hint: Hint | None,
        turns: Turns,
        divergence: Divergence,
        temperature: float = 1.0,
        max_context: int | None = None,
        answer_of: Callable[[str], str] = lambda task_id: "",
    ) -> None:
        self.teacher, self.renderer, self.hint = teacher, renderer, hint
        self.turns, self.divergence = turns, divergence
        self.temperature, self.max_context, self.answer_of = temperature, max_context, answer_of
        self.counts: Counter[str] = Counter()
        """Of this process, since it began: hints by outcome (`hints/wrong`, ...), `hints_fired`, `tokens_dropped`, `hints_shuffled` and
        `hints_contrasted`."""
        self._capture: list[Tensor] | None = None
        if self._needs_hidden:
            backbone(teacher.model).register_forward_hook(self._keep_hidden)

    def hints_of(self, trajectories: Sequence[Trajectory | None]) -> list[str | None]:
        """Return one hint per trajectory; None where hints are off, or the outcome is unknown for lack of an episode."""
        if self.hint is None:
            return [None] * len(trajectories)
        return [hint_text(one, self.hint.level) for one in self._facts(trajectories)]

    def _facts(self, trajectories: Sequence[Trajectory | None]) -> list[HintFacts]:
        tells = self.hint is not None and self.hint.level == "answer"
        return [
            HintFacts(outcome=None)
            if one is None
            else grade_facts(one.grade, self.answer_of(one.task_id) if tells else "")
            for one in trajectories
        ]

    def attach(
        self, trajectories: Sequence[Trajectory | None], width: int, pad_id: int, *, with_wrong: bool = False
    ) -> dict[str, Tensor]:
        """Return the batch-first tensors that travel with the student's inputs.

        Args:
            trajectories: B graded episodes, in the order of the batch; None where the infrastructure failed.
            width: T, the padded length of the student's completions.
            pad_id: Token id for padding.
            with_wrong: Let the teacher read wrong hints too, as a contrast does anyway.
        """
        tokens = [_tokens(trajectory, pad_id) for trajectory in trajectories]
        turn_ids = pad_rows([turn_id_row(one.turns, one.mask) for one in tokens], -1, width=width)
        told = self._read(tokens, self._counted_hints(trajectories), turn_ids, pad_id)
        self.counts["tokens_dropped"] += int(((turn_ids >= 0) & (told["positions"] < 0)).sum())
        readings = {"teacher": told}
        if self.hint is not None and (with_wrong or self.hint.contrast):
            tasks = ["" if one is None else one.task_id for one in trajectories]
            wrong = wrong_hints(self._facts(trajectories), tasks, self.hint.level)
            self.counts["hints_contrasted"] += sum(hint is not None for hint in wrong)
            readings["wrong"] = self._read(tokens, wrong, turn_ids, pad_id)
            readings["wrong"]["told"] = torch.tensor([hint is not None for hint in wrong])
        if self.contrasts:
            readings["plain"] = self._read(tokens, [None] * len(tokens), turn_ids, pad_id)
        correct = [one is not None and one.grade.success for one in trajectories]
        named = {f"{who}_{name}": tensor for who, one in readings.items() for name, tensor in one.items()}
        return {"turn_ids": turn_ids, "is_correct": torch.tensor(correct), **named}

    @property
    def contrasts(self) -> bool:
        """Whether the teacher is a contrast of hints."""
        return self.hint is not None and self.hint.contrast

    def _read(
        self, tokens: Sequence["_Tokens"], hints: Sequence[str | None], turn_ids: Tensor, pad_id: int
    ) -> dict[str, Tensor]:
        """Return the inputs of one teacher pass, checked against the student's tokens."""
        width = turn_ids.size(1)
        sequences = [self._sequence(one, hint) for one, hint in zip(tokens, hints, strict=True)]
        positions = pad_rows([sequence.positions for sequence in sequences], -1, width=width)
        positions = positions.masked_fill(turn_ids < 0, -1)
        completions = [sequence.completion_ids for sequence in sequences]
        teacher_ids = pad_rows(completions, pad_id, width=width)
        check_alignment(pad_rows([one.completion_ids for one in tokens], pad_id, width=width), teacher_ids, positions)
        prompts = [sequence.prompt_ids for sequence in sequences]
        return {
            "prompt_ids": pad_rows(prompts, pad_id, side="left"),
            "prompt_mask": pad_rows([[1] * len(ids) for ids in prompts], 0, side="left"),
            "completion_ids": teacher_ids,
            "completion_mask": pad_rows([[1] * len(ids) for ids in completions], 0, width=width),
            "positions": positions,
        }

    def _counted_hints(self, trajectories: Sequence[Trajectory | None]) -> list[str | None]:
        hints = self.hints_of(trajectories)
        if self.hint is not None:
            self.counts["hints_fired"] += sum(hint is not None for hint in hints)
            self.counts.update(f"hints/{'unknown' if one is None else one.grade.outcome}" for one in trajectories)
            if self.hint.shuffle:
                foreign = foreign_hints(hints, ["" if one is None else one.task_id for one in trajectories])
                self.counts["hints_shuffled"] += sum(hint is not None for hint in foreign)
                hints = [own if other is None else other for own, other in zip(hints, foreign, strict=True)]
        return hints

    def _sequence(self, tokens: "_Tokens", hint: str | None) -> TeacherSequence:
        return teacher_sequence(
            tokens.prompt_ids,
            tokens.completion_ids,
            [start for start, _ in tokens.turns],
            self.renderer.message(hint) if hint else [],
            generation_prompt=self.renderer.generation_prompt if hint else [],
            where=self.hint.where if self.hint else "prompt",
            max_context=self.max_context,
        )

    def score(self, inputs: Batch, scorer: Scorer) -> TeacherView:
        """Score the student's tokens in the teacher's context. Call before the student's own forward pass."""
        told = self._judge(inputs, scorer, "teacher")
        if "wrong_positions" not in inputs:
            return told
        wrong = self._judge(inputs, scorer, "wrong")
        both = told.scored & wrong.scored & inputs["wrong_told"][:, None]
        readings = HintReadings(told.logps, wrong.logps, both)
        if not self.contrasts:
            return replace(told, hints=readings)
        plain = self._judge(inputs, scorer, "plain")
        scored = told.scored & wrong.scored & plain.scored
        hidden = None
        if told.hidden is not None and wrong.hidden is not None and plain.hidden is not None:
            hidden = torch.stack([told.hidden, wrong.hidden, plain.hidden], dim=2)
        logps = (plain.logps + told.logps - wrong.logps).masked_fill(~scored, 0.0)
        return TeacherView(logps, scored, hidden, told.head, readings)

    def _judge(self, inputs: Batch, scorer: Scorer, who: str) -> TeacherView:
        prompt, completion = inputs[f"{who}_prompt_ids"], inputs[f"{who}_completion_ids"]
        ids = torch.cat([prompt, completion], dim=1)
        mask = torch.cat([inputs[f"{who}_prompt_mask"], inputs[f"{who}_completion_mask"]], dim=1)
        positions = inputs[f"{who}_positions"]
        scored = positions >= 0
        index = positions.clamp(min=0)
        if not self._needs_hidden:
            with self.teacher.active() as model:
                logps, _, _ = scorer(model, ids, mask, completion.size(1))
            return TeacherView(logps.gather(1, index).masked_fill(~scored, 0.0), scored, None, None)
        with self.teacher.active() as model, self.capturing() as captured:
            run_to_hidden(model, ids, mask)
            head = teacher_head(model, copied=self.teacher.is_sharded)
            states = captured[-1][:, prompt.size(1) - 1 : -1]
            hidden = states.gather(1, index[:, :, None].expand(-1, -1, states.size(-1)))
            at_policy = sampled_logps(
                hidden[scored],
                *head,
                completion.gather(1, index)[scored],
                temperature=self.temperature,
                chunk_size=self.divergence.chunk_size,
            )
        logps = torch.zeros(scored.shape, device=ids.device).masked_scatter(scored, at_policy)
        return TeacherView(logps, scored, hidden, head)

    def compare(
        self, inputs: Batch, view: TeacherView, logps: Tensor, hidden: Tensor | None, *, step: int
    ) -> Distilled:
        """Return D(tau) of each trajectory.

        Args:
            inputs: The micro-batch.
            view: The teacher's judgement of it.
            logps: (B, T) the student's log-probabilities, with gradient.
            hidden: (B, P + T, H) the student's hidden states, with gradient, when the divergence needs them.
            step: Optimiser steps done.
        """
        horizon = k_max(step, start=self.turns.start, grow_every=self.turns.grow_every, maximum=self.turns.max)
        turn_ids = inputs["turn_ids"].masked_fill(~view.scored, -1)
        counted = view.scored & (turn_ids < horizon)
        if self.turns.tokens_per_turn:
            counted &= position_in_turn(turn_ids) < self.turns.tokens_per_turn
        per_token = self._per_token(counted, view, logps, hidden)
        table = turn_table(
            per_token,
            turn_ids.masked_fill(~counted, -1),
            max_turns=horizon,
            weights=self.turns.weights,
            gamma=self.turns.gamma,
            stop_kl=self.turns.stop_kl,
        )
        log_ratio = (logps.detach() - view.logps).masked_fill(~view.scored, 0.0)
        return Distilled(trajectory_divergence(per_token, table), table, log_ratio, logps.detach())

    @contextmanager
    def capturing(self) -> Iterator[list[Tensor]]:
        """Collect the backbone's hidden states of the forward passes made inside."""
        captured: list[Tensor] = []
        self._capture = captured
        try:
            yield captured
        finally:
            self._capture = None

    def _per_token(self, counted: Tensor, view: TeacherView, logps: Tensor, hidden: Tensor | None) -> Tensor:
        clip = self.divergence.clip
        if self.divergence.kind == "sampled":
            return sampled_divergence(logps, view.logps, clip=clip)
        if self.divergence.kind == "k3":
            # Masked before, not after: exp() of what the environment wrote overflows, and 0 times its slope is NaN.
            own, teacher = (one.masked_fill(~counted, 0.0) for one in (logps, view.logps))
            return k3_divergence(own, teacher, clip=clip)
        assert hidden is not None and view.hidden is not None and view.head is not None
        states = hidden[:, -logps.size(1) - 1 : -1]  # the state before a token predicts it
        weight, bias = student_head(self.teacher.model)
        settings = self.divergence
        compare = (
            partial(chunked_topk, k=settings.k, direction=settings.direction, beta=settings.beta)
            if settings.kind == "topk" and settings.k < len(weight)
            else partial(
                chunked_divergence,
                divergence=vocabulary_divergence(
                    settings.kind, k=settings.k, direction=settings.direction, beta=settings.beta
                ),
            )
        )
        divergence = compare(
            states[counted],
            weight,
            view.hidden[counted],
            view.head[0],
            temperature=self.temperature,
            bias=bias,
            teacher_bias=view.head[1],
            chunk_size=settings.chunk_size,
        )
        return torch.zeros_like(logps, dtype=divergence.dtype).masked_scatter(counted, bound(divergence, clip))

    @property
    def _needs_hidden(self) -> bool:
        return self.divergence.kind in ("topk", "full")

    def _keep_hidden(self, module: nn.Module, args: Any, output: Any) -> None:
        if self._capture is not None:
            self._capture.append(output.last_hidden_state)


@dataclass(frozen=True)
class _Tokens:
    prompt_ids: Sequence[int]
    completion_ids: Sequence[int]
    mask: Sequence[int]
    turns: list[tuple[int, int]]


def _tokens(trajectory: Trajectory | None, pad_id: int) -> _Tokens:
    """Return an episode's tokens; one padding token that nobody wrote stands for an episode that failed."""
    if trajectory is None:
        return _Tokens([pad_id], [pad_id], [0], [])
    spans = [(span.start, span.end) for span in trajectory.turns]
    return _Tokens(trajectory.prompt_ids, trajectory.completion_ids, trajectory.completion_mask, spans)
