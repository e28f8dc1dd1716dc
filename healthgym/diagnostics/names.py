"""Which metric names carry the same quantity. The first one present in a run is read."""

from collections.abc import Mapping

NAMES: Mapping[str, tuple[str, ...]] = {
    "success": ("episode/success",),
    "reward": ("reward", "episode/reward"),
    "reward_std": ("reward_std",),
    "length": ("completions/mean_length", "episode/assistant_tokens"),
    "clipped": ("episode/clipped_ratio", "completions/clipped_ratio"),
    "turns": ("episode/turns",),
    "tool_calls": ("episode/tool_calls", "tools/call_frequency"),
    "tool_failures": ("tools/failure_frequency",),
    "single_turn": ("episode/single_turn_share",),
    "repetition": ("episode/repetition",),
    "degenerate": ("episode/degenerate",),
    "hazards": ("episode/hazards",),
    "critical_hazards": ("episode/critical_hazards",),
    "no_submission": ("episode/no_submission", "episode/outcome/no_submission"),
    "dead_groups": ("group/dead_share", "episode/dead_group_share", "frac_reward_zero_std"),
    "gradeable": ("group/gradeable_share",),
    "step_time": ("step_time",),
    "held_out": ("eval/success",),
    "loss": ("loss",),
    "kl": ("tt_opd/kl",),
    "kl_correct": ("tt_opd/kl_correct",),
    "kl_wrong": ("tt_opd/kl_wrong",),
    "lambda": ("tt_opd/lambda",),
    "lambda_ceiling": ("tt_opd/lambda_ceiling",),
    "teacher_age": ("tt_opd/teacher_age",),
    "teacher_distance": ("tt_opd/teacher_distance",),
    "teacher_updates": ("tt_opd/teacher_updates",),
    "kl_hint_told": ("tt_opd/kl_hint_told",),
    "kl_hint_wrong": ("tt_opd/kl_hint_wrong",),
    "teacher_share": ("tt_opd/teacher_share",),
    "hints_shuffled": ("tt_opd/hints_shuffled",),
    "hints_contrasted": ("tt_opd/hints_contrasted",),
    "sign_change": ("tt_opd/sign_change",),
    "hint_gap": ("tt_opd/hint_gap",),
    "hints_fired": ("tt_opd/hints_fired",),
    "hints_missing": ("tt_opd/hints_missing", "tt_opd/hints_unknown"),
    "hint_echo": ("episode/hint_echo",),
    "grad_norm": ("grad_norm",),
    "grad_norm_policy": ("grad_norm/policy", "tt_opd/grad_norm_policy"),
    "grad_norm_distill": ("grad_norm/distill", "tt_opd/grad_norm_distillation"),
}
"""Quantity to metric names."""

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "scores": (r"reward/(\w+)/mean", r"episode/score/(\w+)"),
    "tools": (r"tools/count/(.+)", r"tools/calls/(.+)"),
    "domains": (r"domain/(.+)/success",),
    "kl_turns": (r"tt_opd/kl_turn_(\d+)",),
    "stops": (r"episode/stop/(.+)",),
}
"""Group of curves to patterns of metric names; the pattern's group is the curve's label."""
