"""The distillation term of one optimiser step: its weight, its guards, its teacher's move and its metrics."""

import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from healthgym.errors import ConfigError
from healthgym.rollout import Trajectory
from healthgym.training.distillation import Batch, Distillation, Scorer, TeacherView
from healthgym.training.guards import Finding, TeacherGuard
from healthgym.training.schedule import Lambda

logger = logging.getLogger(__name__)

LOGGED_TURNS = 12
"""Turns whose divergence is logged one by one; later ones share the last place."""
_TOTALS = (
    "kl",
    "trajectories",
    "kl_correct",
    "correct",
    "kl_wrong",
    "wrong",
    "log_ratio",
    "tokens",
    "turns",
    "stopped",
)


class DistillStep:
    """Adds lambda(n) * mean D(tau) to the loss and keeps its own books.

    Args:
        distillation: Builds inputs and D(tau).
        weight: lambda(n).
        guard: Watches the teacher.
        pause_kl: The teacher is not averaged while the smoothed divergence is above this; None never pauses it.
        grad_norm_every: Steps between measurements of both gradient norms, 0 for none.
        pad_id: Token id for padding.
    """

    def __init__(
        self,
        distillation: Distillation,
        weight: Lambda,
        guard: TeacherGuard,
        *,
        pause_kl: float | None = None,
        grad_norm_every: int = 0,
        pad_id: int = 0,
    ) -> None:
        self.distillation, self.weight, self.guard = distillation, weight, guard
        self.pause_kl, self.grad_norm_every, self.pad_id = pause_kl, grad_norm_every, pad_id
        self.step = 0
        self.lambda_now = 0.0
        self.hint_echo = 0.0
        self.paused = 0
        self.has_counted = False
        """Whether any turn has ever counted."""
        self.findings: list[Finding] = []
        """One for each time a detector tripped, however long it stayed so."""
        self.measures_gradients = False
        self._tripped: list[str] = []
        self._gradients: dict[str, float] = {}
        self._totals: Tensor | None = None
        self._by_turn: Tensor | None = None

    @property
    def is_on(self) -> bool:
        """Whether the term has any weight in this step."""
        return self.lambda_now > 0.0

    def begin(self, step: int) -> None:
        """Fix lambda for the step after `step` finished ones."""
        self.step, self.lambda_now = step, self.weight.value(step)
        # Gradients of a sharded model exist only inside its backward pass, so the two terms cannot be told apart.
        can_measure = self.is_on and bool(self.grad_norm_every) and not self.distillation.teacher.is_sharded
        self.measures_gradients = can_measure and step % self.grad_norm_every == 0
        self._gradients = {}
        self._totals = self._by_turn = None

    def attach(self, trajectories: Sequence[Trajectory | None], inputs: Batch, *, hint_echo: float) -> Batch:
        """Return the teacher's tensors for a new batch of episodes, on the device of the student's."""
        self.hint_echo = hint_echo
        completion = inputs["completion_ids"]
        tensors = self.distillation.attach(trajectories, completion.size(1), self.pad_id)
        if self.distillation.hint is not None and not self.distillation.counts["hints_fired"]:
            raise ConfigError(
                f"hint is set, but not one of the first {len(trajectories)} episodes could carry a hint: their outcomes "
                "are unknown. Set hint: null, or grade the episodes."
            )
        return {name: tensor.to(completion.device) for name, tensor in tensors.items()}

    def score(self, inputs: Batch, scorer: Scorer) -> TeacherView:
        """Let the teacher judge a micro-batch; call before the student's forward pass."""
        return self.distillation.score(inputs, scorer)

    def capturing(self) -> AbstractContextManager[list[Tensor]]:
        """Collect the hidden states of the student's forward pass."""
        return self.distillation.capturing()

    def term(self, inputs: Batch, view: TeacherView, logps: Tensor, hidden: Tensor | None, accelerator: Any) -> Tensor:
        """Return lambda(n) times the mean of D(tau) over the micro-batch; trajectories without a turn count as 0."""
        with accelerator.autocast():
            distilled = self.distillation.compare(inputs, view, logps, hidden, step=self.step)
        per_trajectory, table = distilled.per_trajectory, distilled.table
        eligible, correct = table.eligible, inputs["is_correct"]
        values = per_trajectory.detach().double()
        # k3 of the log ratio: never negative, and 0 exactly where student and teacher agree.
        per_token = ((-distilled.log_ratio).exp() - 1 + distilled.log_ratio).double()
        turns = inputs["turn_ids"].masked_fill(~view.scored, -1)
        by_turn = values.new_zeros(2, LOGGED_TURNS)
        place = turns.clamp(max=LOGGED_TURNS - 1)[view.scored]
        by_turn[0].index_add_(0, place, per_token[view.scored])
        by_turn[1].index_add_(0, place, torch.ones_like(per_token[view.scored]))
        masks = (eligible, eligible & correct, eligible & ~correct)
        totals = [x for mask in masks for x in (values[mask].sum(), mask.sum())]
        stopped = (table.present & ~table.used).sum()
        totals += [distilled.log_ratio.double().sum(), view.scored.sum(), table.used.sum(), stopped]
        self._add(torch.stack([x.double() for x in totals]), by_turn, accelerator)
        return self.lambda_now * per_trajectory.mean()

    def measure_gradients(self, policy_loss: Tensor, term: Tensor, accumulation: int) -> None:
        """Measure the gradient norm of each term on the first micro-batch of the step, as if it were the whole step."""
        self.measures_gradients = False
        parameters = list(self.distillation.teacher.parameters.values())
        for name, loss in (("policy", policy_loss), ("distillation", term)):
            norm = 0.0
            if loss.requires_grad:
                gradients = torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True)
                norm = sum(float(g.double().square().sum()) for g in gradients if g is not None) ** 0.5
            self._gradients[f"tt_opd/grad_norm_{name}"] = norm * accumulation

    def finish(self, step: int) -> dict[str, float]:
        """Move the teacher after optimiser step `step`, let the guards look, and return the step's metrics."""
        metrics = {"tt_opd/lambda": self.lambda_now, **self._gradients, **self._divergences()}
        teacher = self.distillation.teacher
        kl = metrics.get("tt_opd/kl")
        smoothed = self.weight.smoothed_kl
        if self.pause_kl is not None and smoothed is not None and smoothed > self.pause_kl:
            self.paused += 1
        else:
            teacher.follow(step)
        distance, ema = teacher.distance(), teacher.ema
        if kl is not None:
            self.weight.observe(kl)
            self._protect(self.guard.observe(step, kl=kl, distance=distance, age=ema.age(step), leakage=self.hint_echo))
        counts = self.distillation.counts
        return {
            **metrics,
            "tt_opd/teacher_updates": float(ema.updates),
            "tt_opd/teacher_copies": float(ema.copies),
            "tt_opd/teacher_paused": float(self.paused),
            "tt_opd/teacher_age": float(ema.age(step)),
            "tt_opd/teacher_distance": distance,
            "tt_opd/teacher_error": ema.error,
            "tt_opd/lambda_ratchets": float(self.weight.ratchets),
            "tt_opd/guard_findings": float(len(self.findings)),
            "tt_opd/hints_fired": float(counts["hints_fired"]),
            "tt_opd/hints_unknown": float(counts["hints/unknown"]),
            "tt_opd/tokens_dropped": float(counts["tokens_dropped"]),
        }

    def state_dict(self) -> dict[str, Any]:
        """Return teacher, lambda, guard and counters."""
        return {
            "teacher": self.distillation.teacher.state_dict(),
            "lambda": self.weight.state_dict(),
            "guard": self.guard.state_dict(),
            "counts": dict(self.distillation.counts),
            "hints_are_on": self.distillation.hint is not None,
            "paused": self.paused,
            "has_counted": self.has_counted,
            "tripped": list(self._tripped),
            "findings": [asdict(finding) for finding in self.findings],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`."""
        self.distillation.teacher.load_state_dict(state["teacher"])
        self.weight.load_state_dict(state["lambda"])
        self.guard.load_state_dict(state["guard"])
        self.distillation.counts.clear()
        self.distillation.counts.update(state["counts"])
        if not state["hints_are_on"]:
            self.distillation.hint = None
        self.paused, self.has_counted = state["paused"], state["has_counted"]
        self._tripped = list(state["tripped"])
        self.findings = [Finding(**finding) for finding in state["findings"]]

    def _add(self, totals: Tensor, by_turn: Tensor, accelerator: Any) -> None:
        flat = accelerator.reduce(torch.cat([totals, by_turn.flatten()]), reduction="sum")
        totals, by_turn = flat[: len(_TOTALS)], flat[len(_TOTALS) :].view(2, LOGGED_TURNS)
        self._totals = totals if self._totals is None else self._totals + totals
        self._by_turn = by_turn if self._by_turn is None else self._by_turn + by_turn

    def _divergences(self) -> dict[str, float]:
        if self._totals is None or self._by_turn is None:
            return {}
        total = dict(zip(_TOTALS, self._totals.tolist(), strict=True))
        if not self.has_counted and not total["trajectories"]:
            raise ConfigError(
                "The teacher is on, but no turn of the first step's episodes counts: turns.* and rollout.max_context "
                f"leave {total['tokens']:.0f} scored tokens. Raise rollout.max_context, or loosen turns.*"
            )
        self.has_counted = True
        metrics = {
            "tt_opd/eligible_trajectories": total["trajectories"],
            "tt_opd/turns_counted": total["turns"] / max(total["trajectories"], 1.0),
            "tt_opd/turns_stopped": total["stopped"],
        }
        for name, count in (
            ("kl", "trajectories"),
            ("kl_correct", "correct"),
            ("kl_wrong", "wrong"),
            ("log_ratio", "tokens"),
        ):
            if total[count]:
                metrics[f"tt_opd/{name}"] = total[name] / total[count]
        sums, counts = self._by_turn.tolist()
        metrics |= {f"tt_opd/kl_turn_{k + 1}": s / c for k, (s, c) in enumerate(zip(sums, counts, strict=True)) if c}
        return metrics

    def _protect(self, findings: list[Finding]) -> None:
        ongoing, self._tripped = self._tripped, [finding.name for finding in findings]
        for finding in findings:
            if finding.name not in ongoing:
                self.findings.append(finding)
                logger.warning("step %d, %s: %s", finding.step, finding.name, finding.message)
            if finding.name == "absorbed_drift":
                self.distillation.teacher.ema.is_frozen = True
            if finding.name != "leaked_hints" and not self.weight.is_cooling:
                self.weight.lower()
