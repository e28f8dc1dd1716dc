"""TRL's GRPOTrainer with our episodes, our baseline and a distillation term."""

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch
from datasets import Dataset
from torch import Tensor
from transformers import PreTrainedTokenizerBase, PrinterCallback, TrainerCallback
from trl import GRPOConfig

from healthgym.diagnostics.text import is_degenerate, prose_of
from healthgym.errors import HealthgymError
from healthgym.rollout import Trajectory
from healthgym.training.advantages import group_advantages
from healthgym.training.bad_steps import BadSteps
from healthgym.training.buckets import bucket_by_length
from healthgym.training.checkpointing import CheckpointingTrainer
from healthgym.training.config import Robust
from healthgym.training.corrective import CorrectiveTraces
from healthgym.training.curriculum import TaskChooser
from healthgym.training.dead_groups import DeadGroups
from healthgym.training.distill_step import DistillStep
from healthgym.training.distillation import TeacherView
from healthgym.training.episode_metrics import episode_metrics, gathered
from healthgym.training.processes import let_cpus_shard
from healthgym.training.rows import EpisodeRow
from healthgym.training.shaping import LengthShaping
from healthgym.training.step_boundaries import StepBoundaries

MAX_SAMPLING_GAP = 0.5
"""Largest mean difference, in nats, between the log-probabilities of sampling and of training on fresh episodes."""


Collect = Callable[[Sequence[EpisodeRow], int], Sequence[Trajectory | None]]
"""Makes one episode per row, given the optimiser steps done; None where the infrastructure failed."""


class EpisodeTrainer(CheckpointingTrainer):
    """Trains on episodes that `collect` makes.

    Differs from TRL in the advantages (population deviation; degenerate episodes outside the baseline), in the term
    lambda(n) * mean D(tau) added to the loss, and in that rewards are those of the finished episodes.

    Args:
        model: The policy, LoRA already applied if wanted.
        args: TRL's arguments; see `healthgym.training.arguments`.
        tokenizer: The policy's tokenizer.
        rows: Every row of the run in order, `tasks_per_step` for each batch of episodes.
        collect: Makes the episodes.
        curriculum: Chooses the task of each row when its step comes; None takes the rows as planned.
        traces: When given, training is supervised: each step's tokens are those of the traces in place of the episodes.
        shaping: Length shaping of the reward, or None.
        distill: The distillation term, or None for plain GRPO.
        on_episodes: Called with the step and the trajectories of this process.
        callbacks: More callbacks for transformers' trainer.
        keep: Checkpoints kept.
        spared: Names the steps whose checkpoints are kept besides.
        robust: What the run endures.
        corrects_engine: The episodes come from an engine of its own arithmetic: weight each token by the trainer's
            probability over the engine's, truncated as `args` say.
        by_length: Cut each step into micro-batches of similar length.
    """

    def __init__(
        self,
        *,
        model: Any,
        args: GRPOConfig,
        tokenizer: PreTrainedTokenizerBase,
        rows: Sequence[EpisodeRow],
        collect: Collect,
        curriculum: TaskChooser | None = None,
        traces: CorrectiveTraces | None = None,
        shaping: LengthShaping | None = None,
        distill: DistillStep | None = None,
        on_episodes: Callable[[int, Sequence[Trajectory]], None] | None = None,
        callbacks: Sequence[TrainerCallback] = (),
        keep: int = 2,
        spared: Callable[[], Collection[int]] = tuple,
        robust: Robust | None = None,
        corrects_engine: bool = False,
        by_length: bool = False,
    ) -> None:
        self.keep, self.spared, self.curriculum, self.traces = keep, spared, curriculum, traces
        robust = robust or Robust()
        self.bad_steps = BadSteps(most=robust.max_bad_steps, processes=int(args.world_size))
        self.dead_groups = DeadGroups(share=robust.dead_group_share, steps=robust.dead_group_steps)
        self.stops_when_dead = robust.dead_group_stop
        self.by_length = by_length
        self.at_start: list[Callable[[], None]] = []
        """Called once the launch has prepared the model, before the first step."""
        self.collect, self.shaping, self.distill, self.on_episodes = collect, shaping, distill, on_episodes
        self.counts: dict[str, int] = {"infrastructure_failures": 0, "degenerate": 0}
        self._trajectories: list[Trajectory | None] = []
        self._all_rewards: Tensor | None = None
        self._student_logps: Tensor | None = None
        self._reweigh: Callable[[Tensor], None] | None = None
        self._success = self._dead_share = 0.0
        let_cpus_shard()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*'rollout_func', which is an experimental")
            super().__init__(
                model=model,
                reward_funcs=[episode],
                args=args,
                train_dataset=Dataset.from_dict({"prompt": [row.to_prompt() for row in rows]}),
                processing_class=tokenizer,
                rollout_func=lambda prompts, trainer: trainer.rollout(prompts),
                callbacks=list(callbacks),
            )
        self.remove_callback(PrinterCallback)
        self.add_callback(self.bad_steps)
        self.add_callback(StepBoundaries(self))
        if corrects_engine:
            # TRL corrects between engine and trainer only where it believes the engine to be its own, and would then
            # push weights into that before each rollout; ours fetches them itself.
            self.use_vllm, self.vllm_generation, self._last_loaded_step = True, _SyncsItself(), -1

    def rollout(self, prompts: Sequence[str]) -> dict[str, Any]:
        """Make the episodes of this process and hand their tokens to TRL."""
        rows = [EpisodeRow.from_prompt(prompt) for prompt in prompts]
        if self.curriculum is not None:
            rows = [self.curriculum.choose(row) for row in rows]
        self._trajectories = list(self.collect(rows, self.state.global_step))
        if len(self._trajectories) != len(rows):
            raise HealthgymError(f"collect() returned {len(self._trajectories)} trajectories for {len(rows)} rows")
        made = [trajectory for trajectory in self._trajectories if trajectory is not None]
        if not made:
            raise HealthgymError(
                "Every episode of this step failed in the infrastructure: see the rollout engine's log"
            )
        trained = self._trajectories if self.traces is None else self.traces(self._trajectories)
        has_logprobs = self.traces is None and all(trajectory.logprobs is not None for trajectory in made)
        if self.use_vllm and not has_logprobs:
            raise HealthgymError("Episodes came without log-probabilities, which the correction for the engine needs")
        end = self.processing_class.eos_token_id
        # A failed episode needs tokens to keep its place in the batch; its mask is 0 and its reward None.
        blank: dict[str, Any] = {"prompt_ids": [end], "completion_ids": [end], "env_mask": [0], "logprobs": [0.0]}
        entries = [blank if t is None else _entry(t, has_logprobs) for t in trained]
        output: dict[str, Any] = {name: [entry[name] for entry in entries] for name in blank}
        output["logprobs"] = output["logprobs"] if has_logprobs else None
        output["shaped_reward"] = self._shaped(self._trajectories)
        return output

    def latest_episodes(self) -> list[Trajectory | None]:
        """Return this process's latest batch of episodes."""
        return list(self._trajectories)

    def _shaped(self, trajectories: Sequence[Trajectory | None]) -> list[float | None]:
        if self.shaping is None:
            return [None if t is None else t.reward for t in trajectories]
        return [None if t is None else self.shaping.apply([t.reward], [t.assistant_tokens])[0] for t in trajectories]

    def _calculate_rewards(self, *args: Any, **kwargs: Any) -> Tensor:
        self._all_rewards = super()._calculate_rewards(*args, **kwargs)
        return self._all_rewards

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output = super()._generate_and_score_completions(inputs)
        trajectories = self._trajectories
        output["advantages"] = self._advantages(output["advantages"], trajectories)
        if self.traces is not None:  # at a ratio of 1 an advantage of 1 is the likelihood's own gradient
            output["advantages"] = torch.ones_like(output["advantages"])
            self._note(self.traces.metrics())
        made = [trajectory for trajectory in trajectories if trajectory is not None]
        everywhere = gathered(trajectories)
        self.counts["infrastructure_failures"] += sum(one is None for one in everywhere)
        metrics = episode_metrics(everywhere)
        self._success = metrics["episode/success"]
        if self.curriculum is not None:
            metrics |= self.curriculum.observe(everywhere)
        if self.shaping is not None:
            metrics["episode/length_shaping"] = float(self.shaping.is_on)  # while these episodes were rewarded
            self.shaping.observe(metrics["episode/success"])
        # Ours replace TRL's of the same name: clipping, for one, is more than the last token.
        self._metrics["train" if self.model.training else "eval"].update({n: [v] for n, v in metrics.items()})
        if self.distill is not None:
            output.update(self.distill.attach(trajectories, output, hint_echo=metrics["episode/hint_echo"]))
        if self.on_episodes is not None:
            self.on_episodes(self.state.global_step, made)
        return output

    def _prepare_inputs(self, generation_batch: dict[str, Any]) -> dict[str, Any]:
        before = self._buffered_inputs
        inputs = super()._prepare_inputs(generation_batch)
        if self.by_length and self.model.training and self._buffered_inputs is not before:
            buckets = bucket_by_length(self._buffered_inputs)
            self._buffered_inputs = buckets.batches
            self._note(buckets.metrics())
            return self._buffered_inputs[self._step % self.args.steps_per_generation]
        return inputs

    def _advantages(self, local: Tensor, trajectories: Sequence[Trajectory | None]) -> Tensor:
        """Replace TRL's advantages: population deviation, degenerate episodes outside the baseline."""
        assert self._all_rewards is not None
        fallen = [t is not None and any(map(is_degenerate, prose_of(t.messages))) for t in trajectories]
        in_baseline = ~self.accelerator.gather(torch.tensor(fallen, device=local.device))
        groups = group_advantages(
            self._all_rewards[:, 0],
            self.num_generations,
            in_baseline=in_baseline,
            scale=self.scale_rewards != "none",
        )
        self.counts["degenerate"] += groups.excluded
        self._dead_share = groups.dead_share
        self._note(
            {
                "episode/dead_group_share": groups.dead_share,
                "episode/unscored": groups.unscored,
                "episode/excluded_from_baseline": groups.excluded,
            }
        )
        start = self.accelerator.process_index * len(trajectories)
        return groups.advantages[start : start + len(trajectories)].to(local)

    def _get_per_token_logps_and_entropies(self, model: Any, *args: Any, **kwargs: Any) -> Any:
        scores = super()._get_per_token_logps_and_entropies(model, *args, **kwargs)
        self._student_logps = scores[0]
        if self._reweigh is not None:
            self._reweigh(scores[0])
        return scores

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Tensor:
        distill = self.distill
        if distill is None or not distill.is_on:
            loss = super()._compute_loss(model, inputs)
            self._check_sampling(inputs)
            if self.traces is not None:
                self._note_likelihood(inputs)
            return loss
        with self.accelerator.autocast():  # before the student's graph exists
            view = distill.score(inputs, self._get_per_token_logps_and_entropies)
        with distill.capturing() as captured:
            if distill.sign_clip is not None:
                return self._signed_loss(model, inputs, view, captured)
            policy_loss = super()._compute_loss(model, inputs)
        self._check_sampling(inputs)
        hidden = captured[-1] if captured else None
        assert self._student_logps is not None
        term = distill.term(inputs, view, self._student_logps, hidden, self.accelerator)
        term = term / self.current_gradient_accumulation_steps
        if distill.measures_gradients:
            term = distill.measured(policy_loss, term, self.accelerator)
        return policy_loss + term

    def _signed_loss(self, model: Any, inputs: dict[str, Any], view: TeacherView, captured: list[Tensor]) -> Tensor:
        """Return the policy loss under advantages that the teacher scaled, as soon as the student's forward pass is done."""
        assert self.distill is not None
        changed, signed = dict(inputs), self.distill.signed

        def reweigh(logps: Tensor) -> None:  # TRL reads the advantages after this
            self._reweigh = None
            hidden = captured[-1] if captured else None
            changed["advantages"] = signed(inputs, view, logps, hidden, self.accelerator)

        self._reweigh = reweigh
        loss = super()._compute_loss(model, changed)
        self._check_sampling(changed)
        return loss

    def _check_sampling(self, inputs: Mapping[str, Any]) -> None:
        """Fail loudly when fresh tokens are unlikely under the weights that are said to have sampled them."""
        sampled, logps = inputs.get("sampling_per_token_logps"), self._student_logps
        generate_every = self.args.steps_per_generation * self.num_iterations
        is_fresh = self._step % generate_every < self.args.steps_per_generation
        if sampled is None or logps is None or not is_fresh:
            return
        mask = (inputs["completion_mask"] * inputs["tool_mask"]).bool()
        gap = (logps.detach() - sampled)[mask]
        gap = gap[~gap.isnan()]
        if not gap.numel():
            return
        self._note({"sampling/sampling_logp_difference/mean": float(gap.abs().mean())})
        self._note({"sampling/importance_sampling_ratio/mean": float(gap.exp().mean())})
        if float(gap.abs().mean()) > MAX_SAMPLING_GAP:
            raise HealthgymError(
                f"Fresh episodes differ by {float(gap.abs().mean()):.2f} nats a token between the engine that sampled "
                "them and the model that is trained: the engine runs other weights, or samples at another temperature."
            )

    def _note_likelihood(self, inputs: Mapping[str, Any]) -> None:
        """Log the negative log-likelihood of the traces in nats a token: the surrogate loss of a supervised step is always -1."""
        assert self._student_logps is not None
        mask = (inputs["completion_mask"] * inputs["tool_mask"]).bool()
        self._note({"supervised/nll": -float(self._student_logps.detach()[mask].mean())})

    def _note(self, metrics: Mapping[str, float]) -> None:
        mode = "train" if self.model.training else "eval"
        for name, value in metrics.items():
            self._metrics[mode][name].append(value)

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Tensor:
        """Take one micro-batch, and remember whether its loss was a number."""
        return self.bad_steps.saw(super().training_step(model, inputs, num_items_in_batch))

    def begin_micro_batches(self) -> None:
        """Forget the divergences of a step that is taken again."""
        self._student_logps = None
        self.begin_step()

    def begin_training(self) -> None:
        """Let the teacher take up what the launch has made of the student's parameters."""
        if self.is_deepspeed_enabled:
            self.bad_steps.was_skipped = lambda: bool(getattr(self.model_wrapped.optimizer, "overflow", False))
        if self.distill is not None:
            self.distill.distillation.teacher.follow_shards(self.model_wrapped)
        for act in self.at_start:
            act()

    def begin_step(self) -> None:
        """Fix lambda for the optimiser step that starts now."""
        if self.distill is not None:
            self.distill.begin(self.state.global_step)

    def finish_step(self) -> bool:
        """Let the teacher follow the student, log what happened, and say whether there is nothing left to learn from.

        After a skipped step the teacher, lambda and the guards stay as they are.
        """
        step = self.state.global_step
        if self.distill is not None and not self.bad_steps.is_bad:
            self._note(self.distill.finish(step))
        self._note({f"episode/{name}_total": float(count) for name, count in self.counts.items()})
        self._note(self.bad_steps.metrics() | self.memory_metrics())
        self.bad_steps.check(step)
        if self.traces is None:  # traces are learnt from whatever the rewards are
            self.dead_groups.observe(step, self._dead_share, self._success)
            self._note({"robust/dead_steps_in_a_row": float(self.dead_groups.in_a_row)})
        # A checkpoint between two passes over a batch could not be resumed exactly.
        return self.stops_when_dead and self.dead_groups.has_lasted and step % self.num_iterations == 0

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """Write no model card: the run folder's config.yaml says what was done."""

    def state_dict(self) -> dict[str, Any]:
        """Return everything of ours that a resumed run needs; TRL and transformers keep the rest."""
        return {
            "counts": dict(self.counts),
            "shaping": None if self.shaping is None else self.shaping.state_dict(),
            "distill": None if self.distill is None else self.distill.state_dict(),
            "curriculum": None if self.curriculum is None else self.curriculum.state_dict(),
            "traces": None if self.traces is None else self.traces.totals.state_dict(),
            "bad_steps": self.bad_steps.state_dict(),
            "dead_groups": self.dead_groups.state_dict(),
            "memory": {"parts": self.parts, "oom_retries": self.oom_retries},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`."""
        self.counts = dict(state["counts"])
        if self.curriculum is not None:
            self.curriculum.load_state_dict(state["curriculum"])
        if self.traces is not None:
            self.traces.totals.load_state_dict(state["traces"])
        if self.shaping is not None:
            self.shaping.load_state_dict(state["shaping"])
        if self.distill is not None:
            self.distill.distillation.teacher.follow_shards(self.model_wrapped)
            self.distill.load_state_dict(state["distill"])
        self.bad_steps.load_state_dict(state["bad_steps"])
        self.dead_groups.load_state_dict(state["dead_groups"])
        self.parts, self.oom_retries = state["memory"]["parts"], state["memory"]["oom_retries"]


def episode(prompts: Sequence[str], shaped_reward: Sequence[float | None], **unused: Any) -> list[float | None]:
    """Return the reward of each finished episode; TRL logs it under this function's name."""
    return list(shaped_reward)


def _entry(trajectory: Trajectory, has_logprobs: bool) -> dict[str, Any]:
    if not trajectory.completion_ids or not trajectory.prompt_ids:
        raise HealthgymError(
            f"Trajectory of {trajectory.task_id} carries no tokens: training needs a policy that works on tokens"
        )
    return {
        "prompt_ids": list(trajectory.prompt_ids),
        "completion_ids": list(trajectory.completion_ids),
        "env_mask": list(trajectory.completion_mask),
        "logprobs": list(trajectory.logprobs) if has_logprobs and trajectory.logprobs is not None else [],
    }


class _SyncsItself:
    """What TRL takes for its engine: ours takes the weights by itself before each batch of episodes."""

    def sync_weights(self) -> None:
        """Nothing is left to do."""
