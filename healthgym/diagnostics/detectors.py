"""One detector for each way a run is known to fail. Reward alone is never proof of health: it rises in some collapses."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from healthgym.diagnostics.run import Run
from healthgym.diagnostics.trends import MIN_STEPS, change, change_point, noise, peak, slope, window

Severity = Literal["note", "warning", "collapsed"]
MIN_WAY = 0.25
"""Share of the student's way below which a teacher that still has weight is called anchored."""
MAX_ECHO = 0.02
"""Share of episodes that repeat hint wording."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A detector that tripped: what was seen, since when, and what the reader may do."""

    name: str
    severity: Severity
    message: str
    remedy: str = ""
    step: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON-like data."""
        return {
            "name": self.name,
            "severity": self.severity,
            "step": self.step,
            "message": self.message,
            "remedy": self.remedy,
        }


Detector = Callable[[Run], "Finding | None"]


def _rose(run: Run, by: float = 0.1) -> bool:
    """Say whether success rose by more than `by`: what shrank or grew on the way may then be skill."""
    found = change(run.series("success"))
    return found is not None and found.end - found.start >= by and found.is_real


def _recent(run: Run, quantity: str) -> float | None:
    values = run.series(quantity).values
    return fmean(values[-window(len(values)) :]) if len(values) >= MIN_STEPS else None


def length_explosion(run: Run) -> Finding | None:
    """Episodes grow to several times their length without success to show for it."""
    series = run.series("length")
    found = change(series)
    if found is None or found.ratio < 1.8 or not found.is_real:
        return None
    is_dead = found.ratio >= 2.2 and not _rose(run)
    if not is_dead and _rose(run, 0.2):
        return None
    return Finding(
        name="length_explosion", severity="collapsed" if is_dead else "warning", step=change_point(series),
        message=f"Episodes grew from {found.start:.0f} to {found.end:.0f} assistant tokens.",
        remedy="Shape the length (preset grpo_cosine or tt_opd), or use loss_type dapo and a smaller learning rate.",
    )  # fmt: skip


def length_shrinking(run: Run) -> Finding | None:
    """Episodes shrink to a stump: a length reward, or guessing, has driven out the work."""
    series = run.series("length")
    found = change(series)
    if found is None or found.ratio > 0.5 or not found.is_real:
        return None
    calls = change(run.series("tool_calls"))
    lost_tools = calls is not None and calls.ratio <= 0.6
    if not lost_tools and _rose(run):
        return None
    return Finding(
        name="length_shrinking", severity="collapsed" if lost_tools and found.ratio <= 0.4 else "warning",
        step=change_point(series),
        message=f"Episodes shrank from {found.start:.0f} to {found.end:.0f} assistant tokens"
        + (", and tool calls went with them." if lost_tools else "."),
        remedy="Let length shaping begin only once success is not rare (reward.length.start_success).",
    )  # fmt: skip


def clipping(run: Run) -> Finding | None:
    """Many episodes end at the token limit."""
    share = _recent(run, "clipped")
    if share is None or share < 0.25:
        return None
    return Finding(
        name="clipping", severity="collapsed" if share >= 0.5 else "warning",
        message=f"{share:.0%} of the recent episodes ended at their token limit.",
        remedy="Shape the length, or raise rollout.max_completion_tokens if the tasks need more.",
    )  # fmt: skip


def tool_use_collapse(run: Run) -> Finding | None:
    """The agent stops calling tools: it answers without looking."""
    series = run.series("tool_calls")
    found = change(series)
    if found is None or found.start < 0.2 or found.ratio > 0.6 or not found.is_real:
        return None
    if found.ratio > 0.35 and _rose(run):
        return None
    return Finding(
        name="tool_use_collapse", severity="collapsed" if found.ratio <= 0.4 else "warning", step=change_point(series),
        message=f"Tool calls fell from {found.start:.2f} to {found.end:.2f} an episode.",
        remedy="Check that guessing earns nothing and that tools do not fail; distil from an EMA teacher (preset tt_opd).",
    )  # fmt: skip


def turn_collapse(run: Run) -> Finding | None:
    """Episodes fade into a monologue of a turn or two."""
    series = run.series("turns")
    found = change(series)
    if found is None or found.start < 1.8 or found.ratio > 0.6 or not found.is_real:
        return None
    calls = change(run.series("tool_calls"))
    kept_calls = calls is not None and calls.ratio > 0.7
    if kept_calls and _rose(run):
        return None  # the same calls in fewer turns
    return Finding(
        name="turn_collapse", severity="warning" if kept_calls or found.ratio > 0.5 else "collapsed",
        step=change_point(series), message=f"Turns fell from {found.start:.1f} to {found.end:.1f} an episode.",
        remedy="Distil by turn from an EMA teacher (preset tt_opd), and check that nothing rewards a quick guess.",
    )  # fmt: skip


def single_turn(run: Run) -> Finding | None:
    """Most episodes end in their first turn, although they did not at the start."""
    series = run.series("single_turn")
    found = change(series)
    if found is None or found.end < 0.5 or found.end - found.start < 0.3 or not found.is_real:
        return None
    return Finding(
        name="single_turn", severity="collapsed" if found.end >= 0.8 else "warning", step=change_point(series),
        message=f"{found.end:.0%} of the episodes are a single turn; it was {found.start:.0%} at the start.",
        remedy="Check that an answer without evidence earns nothing (reward preset gated).",
    )  # fmt: skip


def degenerate_text(run: Run) -> Finding | None:
    """Text repeats itself, or slips into another script or one character."""
    share, found = _recent(run, "degenerate"), change(run.series("repetition"))
    repeats = found is not None and found.is_real and found.end >= 0.4 and found.end - found.start >= 0.2
    if not repeats and (share is None or share < 0.1):
        return None
    is_dead = (share or 0.0) >= 0.3 or (repeats and found is not None and found.end >= 0.6)
    parts = [f"{share:.0%} of the episodes hold degenerate text"] if share else []
    if repeats and found is not None:
        parts.append(f"repeated 4-grams rose from {found.start:.0%} to {found.end:.0%}")
    return Finding(
        name="degenerate_text", severity="collapsed" if is_dead else "warning",
        step=change_point(run.series("repetition" if repeats else "degenerate")),
        message=f"{'; '.join(parts)[:1].upper()}{'; '.join(parts)[1:]}.",
        remedy="Lower the learning rate, and resume from a checkpoint before this step.",
    )  # fmt: skip


def success_lost(run: Run) -> Finding | None:
    """Success once reached is gone."""
    series = run.series("success")
    if len(series) < MIN_STEPS:
        return None
    best, now = peak(series), _recent(run, "success") or 0.0
    error = noise(series.values) * (2 / window(len(series))) ** 0.5
    if best < 0.15 or now > 0.6 * best or best - now < 4 * error:
        return None
    return Finding(
        name="success_lost", severity="collapsed" if now <= 0.3 * best else "warning", step=change_point(series),
        message=f"Success fell from {best:.2f} at its best to {now:.2f}.",
        remedy="Resume from the checkpoint of the best evaluation with a smaller learning rate.",
    )  # fmt: skip


def dead_groups(run: Run) -> Finding | None:
    """Nearly every group earns one reward, and not because the tasks are solved."""
    share, success = _recent(run, "dead_groups"), _recent(run, "success")
    if share is None or success is None or share < 0.8 or success > 0.5:
        return None
    fell = change(run.series("success"))
    is_dead = share >= 0.9 and fell is not None and fell.is_real and fell.end <= 0.5 * fell.start
    return Finding(
        name="dead_groups", severity="collapsed" if is_dead else "warning",
        message=f"{share:.0%} of the groups have no spread of reward at a success of {success:.2f}: nothing is left to learn from.",
        remedy="Choose easier tasks, more generations per task, or a longer warm start.",
    )  # fmt: skip


def runaway_divergence(run: Run) -> Finding | None:
    """The divergence from the teacher climbs steeply: the student leaves it, or the teacher takes on its drift."""
    series = run.series("kl")
    if len(series) < MIN_STEPS:
        return None
    recent = series.values[-8:]
    climb, now, start = slope(recent), fmean(series.values[-3:]), fmean(series.values[: window(len(series))])
    if climb <= 0.03 or now < 0.35 or now < 1.5 * start or climb * len(recent) < 4 * noise(series.values):
        return None
    distance = run.series("teacher_distance").values[-8:]
    is_absorbing = len(distance) >= 6 and fmean(distance[-3:]) <= 1.2 * fmean(distance[:3])
    return Finding(
        name="absorbing_teacher" if is_absorbing else "runaway_divergence",
        severity="collapsed" if now >= 0.7 else "warning", step=series.steps[-len(recent)],
        message=f"The divergence climbs by {climb:.3f} nats a step and has reached {now:.2f}"
        + (", although the teacher keeps up with the student: it absorbs the drift." if is_absorbing else "."),
        remedy="Lower lambda, set guard.kl_high, or raise teacher.ema_decay.",
    )  # fmt: skip


def stale_teacher(run: Run) -> Finding | None:
    """The teacher has stood still for long and lies far behind while it still has weight."""
    age, distance, weight = run.last("teacher_age"), run.last("teacher_distance"), run.last("lambda")
    if age is None or distance is None or age <= 100 or distance <= 0.3 or not weight:
        return None
    return Finding(
        name="stale_teacher", severity="warning",
        message=f"The teacher has not moved for {age:.0f} steps and lies {distance:.2f} of the student's norm away.",
        remedy="Set teacher.update_every or teacher.copy_every lower, or let lambda fall to 0.",
    )  # fmt: skip


def anchored_teacher(run: Run) -> Finding | None:
    """The teacher has weight to the end and went only a small part of the student's way: it holds the student back."""
    share, weights = _recent(run, "teacher_share"), run.series("lambda").values
    if share is None or share >= MIN_WAY or fmean(weights[-window(len(weights)) :]) < 0.25 * max(weights):
        return None
    return Finding(
        name="anchored_teacher", severity="warning",
        message=f"The teacher went {share:.0%} of the student's way from the start and lambda has hardly fallen.",
        remedy="Let lambda fall to 0 within the run (lambda.shape cosine), or lower teacher.ema_decay.",
    )  # fmt: skip


def hint_echo(run: Run) -> Finding | None:
    """The student writes the hint's wording, which it was never taught to write."""
    echo = _recent(run, "hint_echo")
    if echo is None or echo < MAX_ECHO or run.config.get("hint") is None:
        return None
    return Finding(
        name="hint_echo", severity="warning",
        message=f"{echo:.1%} of the recent episodes repeat the wording of hints.",
        remedy="Use hint.level outcome, hint.contrast: true, or a smaller lambda.",
    )  # fmt: skip


def inert_mechanism(run: Run) -> Finding | None:
    """Distillation is configured and part of it never did anything."""
    weights = run.series("lambda")
    if len(weights) < MIN_STEPS or max(weights.values) <= 0:
        return None
    config = run.config
    silent = []
    if run.last("teacher_updates") == 0.0 and _expects_updates(config):
        silent.append("the teacher was never updated")
    if run.last("hints_fired") == 0.0 and config.get("hint") is not None:
        silent.append("not one hint fired")
    hint = config.get("hint") or {}
    for key, what in (("shuffle", "hints_shuffled"), ("contrast", "hints_contrasted")):
        if hint.get(key) and run.last(what) == 0.0:
            silent.append(f"hint.{key} is on and no attempt ever got another's hint")
    signs = run.series("sign_change").values
    if (config.get("divergence") or {}).get("mode") == "rl_sign" and signs and max(signs) == 0.0:
        silent.append("the teacher never changed an advantage")
    gaps = run.series("hint_gap").values
    if config.get("hint") is not None and gaps and max(gaps) < 1e-6:
        silent.append("the teacher reads a wrong hint like the right one")
    if not silent:
        return None
    return Finding(
        name="inert_mechanism", severity="warning",
        message=f"Distillation has weight, and {' and '.join(silent)}.",
        remedy="Check teacher.update_every, hint.level and the counters in the log.",
    )  # fmt: skip


def _expects_updates(config: Any) -> bool:
    teacher = config.get("teacher") or {}
    return bool(teacher.get("update_every", 0)) and teacher.get("ema_decay", 0.0) < 1.0


def leaking_hints(run: Run) -> Finding | None:
    """The teacher is surer than the student even where the student was right: the hint may hold the answer."""
    right, wrong = _recent(run, "kl_correct"), _recent(run, "kl_wrong")
    if right is None or wrong is None or right < 0.15 or right < wrong:
        return None
    return Finding(
        name="leaking_hints", severity="warning",
        message=f"The divergence on right trajectories is {right:.2f} nats, no less than on wrong ones ({wrong:.2f}).",
        remedy="Use hint.level process or outcome, and look at the teacher's prompts.",
    )  # fmt: skip


def gradient_imbalance(run: Run) -> Finding | None:
    """The distillation term outweighs the policy gradient many times over, to the end."""
    distill, policy = run.series("grad_norm_distill").values, run.series("grad_norm_policy").values
    count = min(len(distill), len(policy))
    if count < 3:
        return None
    late = max(3, count // 4)
    denominator = fmean(policy[-late:])
    ratio = fmean(distill[-late:]) / denominator if denominator > 0 else 0.0
    if ratio < 5.0:
        return None
    return Finding(
        name="gradient_imbalance", severity="warning",
        message=f"The distillation gradient is {ratio:.1f} times the policy gradient at the end of the run.",
        remedy="Lower lambda.start, or let lambda fall within the run.",
    )  # fmt: skip


def ungraded_episodes(run: Run) -> Finding | None:
    """Episodes were lost to a grader or the infrastructure."""
    series = run.series("gradeable")
    if not series or min(series.values) >= 1.0:
        return None
    worst = min(range(len(series)), key=lambda at: series.values[at])
    return Finding(
        name="ungraded_episodes", severity="warning", step=series.steps[worst],
        message=f"Only {series.values[worst]:.0%} of a step's episodes could be graded.",
        remedy="See the log of the engine and the grader: such episodes are excluded, never scored as 0.",
    )  # fmt: skip


def not_finite(run: Run) -> Finding | None:
    """A metric became NaN or infinite."""
    found = run.non_finite()
    if found is None:
        return None
    step, name = found
    fatal = name in ("loss", "grad_norm") or name.startswith(("grad_norm/", "tt_opd/kl"))
    return Finding(
        name="not_finite", severity="collapsed" if fatal else "warning", step=step,
        message=f"{name} is not a finite number at step {step}.",
        remedy="Lower the learning rate; train in float32 or bfloat16.",
    )  # fmt: skip


def skipped_steps(run: Run) -> Finding | None:
    """Steps whose loss or gradient was not finite were skipped."""
    count, skipped = run.last("robust/bad_steps_total"), run.series("robust/bad_step")
    if not count:
        return None
    first = next((step for step, bad in zip(skipped.steps, skipped.values, strict=True) if bad), None)
    return Finding(
        name="skipped_steps", severity="warning", step=first,
        message=f"{count:.0f} steps gave a loss or gradient that is not finite and were skipped.",
        remedy="Lower the learning rate; train in float32 or bfloat16.",
    )  # fmt: skip


DETECTORS: tuple[Detector, ...] = (
    success_lost, tool_use_collapse, turn_collapse, single_turn, length_explosion, length_shrinking, clipping,
    degenerate_text, dead_groups, runaway_divergence, stale_teacher, anchored_teacher, hint_echo,
    inert_mechanism, leaking_hints, gradient_imbalance,
    ungraded_episodes, not_finite, skipped_steps,
)  # fmt: skip
