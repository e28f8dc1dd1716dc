"""The distillation term of one optimiser step: its weight, its guards, its teacher's move and its metrics."""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from healthgym.errors import ConfigError
from healthgym.rollout import Trajectory
from healthgym.training.distillation import Batch, Distillation, Distilled, Scorer, TeacherView
from healthgym.training.gradients import GradientBalance, GradientMeter
from healthgym.training.guards import Finding, TeacherGuard
from healthgym.training.schedule import Lambda
from healthgym.training.signs import signed_advantages
from healthgym.training.teacher_gate import TeacherGate
from healthgym.training.totals import Totals
from healthgym.training.travel import Travel
from healthgym.training.turns import token_shares

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
    "kl_hint_told",
    "kl_hint_wrong",
    "hint_gap",
    "hint_tokens",
    "sign_change",
    "sign_clipped",
    "signed",
)


class DistillStep:
    """Adds lambda(n) * mean D(tau) to the loss and keeps its own books.

    Args:
        distillation: Builds inputs and D(tau).
        weight: lambda(n).
        guard: Watches the teacher.
        gate: When the teacher may move; None lets it always.
        grad_norm_every: Steps between measurements of both gradient norms, 0 for none.
        balance: Holds the term's gradient at a ratio to the policy's; None leaves lambda as scheduled.
        leakage_every: Steps between readings of a wrong hint, 0 for none.
        sign_clip: When set, there is no term: the teacher scales the advantages within this bound (see `signs`).
        pad_id: Token id for padding.
    """

    def __init__(
        self,
        distillation: Distillation,
        weight: Lambda,
        guard: TeacherGuard,
        *,
        gate: TeacherGate | None = None,
        grad_norm_every: int = 0,
        balance: GradientBalance | None = None,
        leakage_every: int = 0,
        sign_clip: float | None = None,
        pad_id: int = 0,
    ) -> None:
        self.distillation, self.weight, self.guard = distillation, weight, guard
        self.gate = gate or TeacherGate()
        self.balance, self.sign_clip, self.pad_id = balance, sign_clip, pad_id
        self.grad_norm_every, self.leakage_every = grad_norm_every, leakage_every
        self.travel = Travel(distillation.teacher.parameters)
        self.meter = GradientMeter(())
        self.counts = Totals(distillation.counts)
        self.step = 0
        self.lambda_now = 0.0
        self.hint_echo = 0.0
        self.has_counted = False
        """Whether any turn has ever counted."""
        self.findings: list[Finding] = []
        """One for each time a detector tripped, however long it stayed so."""
        self.measures_gradients = False
        self._tripped: list[str] = []
        self._norms: Callable[[], dict[str, float]] = dict
        self._totals: Tensor | None = None
        self._by_turn: Tensor | None = None

    @property
    def is_on(self) -> bool:
        """Whether the term has any weight in this step."""
        return self.lambda_now > 0.0

    def begin(self, step: int) -> None:
        """Fix lambda for the step after `step` finished ones."""
        ceiling = self.weight.value(step)
        self.step, self.lambda_now = step, ceiling if self.balance is None else self.balance.weight(ceiling)
        self.weight.present = self.lambda_now
        due = bool(self.grad_norm_every) and step % self.grad_norm_every == 0
        teacher = self.distillation.teacher
        # DeepSpeed moves gradients into buffers of its own as a pass goes by, where two terms cannot be told apart.
        self.measures_gradients = self.is_on and self.sign_clip is None and due and not teacher.is_partitioned
        self.meter = GradientMeter(teacher.parameters.values(), teacher.model)  # FSDP may have replaced them
        self._totals = self._by_turn = None

    def attach(self, trajectories: Sequence[Trajectory | None], inputs: Batch, *, hint_echo: float) -> Batch:
        """Return the teacher's tensors for a new batch of episodes, on the device of the student's."""
        self.hint_echo = hint_echo
        completion = inputs["completion_ids"]
        looks = bool(self.leakage_every) and self.step % self.leakage_every == 0
        tensors = self.distillation.attach(trajectories, completion.size(1), self.pad_id, with_wrong=looks)
        self.counts.settle()
        if self.distillation.hint is not None and not self.counts["hints_fired"]:
            raise ConfigError(
                "hint is set, but not one of the first step's episodes could carry a hint: their outcomes "
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
        self._book(inputs, view, distilled, None, accelerator)
        return self.lambda_now * distilled.per_trajectory.mean()

    def signed(
        self, inputs: Batch, view: TeacherView, logps: Tensor, hidden: Tensor | None, accelerator: Any
    ) -> Tensor:
        """Return the advantages (B, T) whose size the teacher sets: what stands in place of a term under `sign_clip`."""
        assert self.sign_clip is not None
        with torch.no_grad(), accelerator.autocast():
            distilled = self.distillation.compare(inputs, view, logps.detach(), hidden, step=self.step)
        signed = signed_advantages(
            inputs["advantages"], -distilled.log_ratio, token_shares(distilled.table, inputs["turn_ids"]),
            share=self.lambda_now, clip=self.sign_clip,
        )  # fmt: skip
        spoken = (distilled.table.token_weights > 0).sum()
        self._book(inputs, view, distilled, [signed.change.abs().sum(), signed.clipped.sum(), spoken], accelerator)
        return signed.advantages

    def _book(
        self, inputs: Batch, view: TeacherView, distilled: Distilled, signs: list[Tensor] | None, accelerator: Any
    ) -> None:
        """Add a micro-batch to the step's books."""
        table = distilled.table
        eligible, correct = table.eligible, inputs["is_correct"]
        values = distilled.per_trajectory.detach().double()
        per_token = _k3(distilled.log_ratio)
        turns = inputs["turn_ids"].masked_fill(~view.scored, -1)
        by_turn = values.new_zeros(2, LOGGED_TURNS)
        place = turns.clamp(max=LOGGED_TURNS - 1)[view.scored]
        by_turn[0].index_add_(0, place, per_token[view.scored])
        by_turn[1].index_add_(0, place, torch.ones_like(per_token[view.scored]))
        masks = (eligible, eligible & correct, eligible & ~correct)
        totals = [x for mask in masks for x in (values[mask].sum(), mask.sum())]
        totals += [distilled.log_ratio.double().sum(), view.scored.sum(), table.used.sum(), table.stopped.sum()]
        totals += _hint_totals(view, distilled.logps) + (signs or [values.new_zeros(())] * 3)
        self._add(torch.stack([x.double() for x in totals]), by_turn, accelerator)

    def measured(self, policy_loss: Tensor, term: Tensor, accelerator: Any) -> Tensor:
        """Measure the gradients of both terms of a micro-batch and return the term to train on.

        The term comes back as it is, but on the first measurement of a balanced run: before it nothing is known of the two
        gradients, so the first micro-batch sets the weight it is itself trained with.
        """
        unit = term / self.lambda_now
        self.meter.add("policy", policy_loss)
        # Where no turn counts, a backward pass is made all the same: the other processes of a sharded model wait for it.
        self.meter.add("distillation", unit if unit.requires_grad else 0.0 * policy_loss)
        if self.balance is not None and not self.balance.is_set:
            self.balance.observe(**self.meter.norms(accelerator))
            self.lambda_now = self.weight.present = self.balance.weight(self.lambda_now)
        self._norms = lambda: self.meter.norms(accelerator)
        return unit * self.lambda_now

    def finish(self, step: int) -> dict[str, float]:
        """Move the teacher after optimiser step `step`, let the guards look, and return the step's metrics."""
        metrics = {"tt_opd/lambda": self.lambda_now, **self._gradient_metrics(), **self._divergences()}
        teacher = self.distillation.teacher
        kl = metrics.get("tt_opd/kl")
        if self.gate.lets_pass(self.weight.smoothed_kl):
            teacher.follow(step)
        distance, ema = teacher.distance(), teacher.ema
        if kl is not None:
            self.weight.observe(kl)
            self._protect(self.guard.observe(step, kl=kl, distance=distance, age=ema.age(step), leakage=self.hint_echo))
        counts = self.counts
        share = self.travel.share(teacher.student(), ema.weights, teacher.parameters if teacher.is_sharded else None)
        if share is not None:
            metrics["tt_opd/teacher_share"] = share
        if self.gate.best is not None:
            metrics["tt_opd/validation_best"] = self.gate.best
        return {
            **metrics,
            "tt_opd/lambda_ceiling": self.weight.ceiling,
            "tt_opd/teacher_updates": float(ema.updates),
            "tt_opd/teacher_copies": float(ema.copies),
            "tt_opd/teacher_paused": float(self.gate.shut),
            "tt_opd/teacher_age": float(ema.age(step)),
            "tt_opd/teacher_distance": distance,
            "tt_opd/teacher_error": ema.error,
            "tt_opd/lambda_ratchets": float(self.weight.ratchets),
            "tt_opd/guard_findings": float(len(self.findings)),
            "tt_opd/hints_fired": float(counts["hints_fired"]),
            "tt_opd/hints_unknown": float(counts["hints/unknown"]),
            "tt_opd/hints_shuffled": float(counts["hints_shuffled"]),
            "tt_opd/hints_contrasted": float(counts["hints_contrasted"]),
            "tt_opd/tokens_dropped": float(counts["tokens_dropped"]),
        }

    def state_dict(self) -> dict[str, Any]:
        """Return teacher, lambda, guard and counters."""
        return {
            "teacher": self.distillation.teacher.state_dict(),
            "lambda": self.weight.state_dict(),
            "guard": self.guard.state_dict(),
            "counts": self.counts.state_dict(),
            "hints_are_on": self.distillation.hint is not None,
            "gate": self.gate.state_dict(),
            "travel": self.travel.state_dict(),
            "balance": None if self.balance is None else self.balance.state_dict(),
            "has_counted": self.has_counted,
            "tripped": list(self._tripped),
            "findings": [asdict(finding) for finding in self.findings],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`."""
        self.distillation.teacher.load_state_dict(state["teacher"])
        self.weight.load_state_dict(state["lambda"])
        self.guard.load_state_dict(state["guard"])
        self.counts.load_state_dict(state["counts"])
        if not state["hints_are_on"]:
            self.distillation.hint = None
        self.gate.load_state_dict(state["gate"])
        self.travel.load_state_dict(state["travel"])
        if self.balance is not None:
            self.balance.load_state_dict(state["balance"])
        self.has_counted = state["has_counted"]
        self._tripped = list(state["tripped"])
        self.findings = [Finding(**finding) for finding in state["findings"]]

    def _add(self, totals: Tensor, by_turn: Tensor, accelerator: Any) -> None:
        flat = accelerator.reduce(torch.cat([totals, by_turn.flatten()]), reduction="sum")
        totals, by_turn = flat[: len(_TOTALS)], flat[len(_TOTALS) :].view(2, LOGGED_TURNS)
        self._totals = totals if self._totals is None else self._totals + totals
        self._by_turn = by_turn if self._by_turn is None else self._by_turn + by_turn

    def _gradient_metrics(self) -> dict[str, float]:
        if not self.measures_gradients:
            return {}
        norms = self._norms()
        if self.balance is not None:
            self.balance.observe(**norms)
        policy, distillation = norms.get("policy", 0.0), self.lambda_now * norms.get("distillation", 0.0)
        found = {"tt_opd/grad_norm_policy": policy, "tt_opd/grad_norm_distillation": distillation}
        return {**found, "tt_opd/grad_ratio": distillation / policy} if policy else found

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
            ("kl_hint_told", "hint_tokens"),
            ("kl_hint_wrong", "hint_tokens"),
            ("hint_gap", "hint_tokens"),
            ("sign_change", "signed"),
            ("sign_clipped", "signed"),
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
            ratchets = self.weight.kl_high is not None and not self.weight.is_cooling
            if ratchets and finding.name != "leaked_hints":
                self.weight.lower()


def _k3(log_ratio: Tensor) -> Tensor:
    """k3 of a student-to-teacher log ratio: never negative, and 0 exactly where the two agree."""
    return ((-log_ratio).exp() - 1 + log_ratio).double()


def _hint_totals(view: TeacherView, logps: Tensor) -> list[Tensor]:
    """Sum the divergence from the told and from a wrong hint's reader, and how far the two readings lie apart."""
    if view.hints is None:
        return [logps.new_zeros(())] * 4
    told, wrong, scored = view.hints.told, view.hints.wrong, view.hints.scored
    return [
        _k3(logps - told)[scored].sum(),
        _k3(logps - wrong)[scored].sum(),
        (told - wrong).abs()[scored].sum(),
        scored.sum(),
    ]
