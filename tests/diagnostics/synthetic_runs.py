"""Synthetic runs: a healthy, noisy one, and the same with some of its curves bent."""

import math

import numpy as np

STEPS = 60


def ramp(start, end, *, half_way=0.35):
    """Return a curve of the step's place in [0, 1] that rises or falls from start to end along a logistic."""

    def at(place):
        share = 1 / (1 + math.exp(-10 * (place - half_way)))
        return start + (end - start) * share

    return at


HEALTHY = {
    "episode/success": ramp(0.3, 0.85),
    "reward": ramp(0.3, 0.8),
    "completions/mean_length": ramp(84, 95),
    "completions/clipped_ratio": ramp(0.03, 0.02),
    "episode/turns": ramp(4.2, 4.0),
    "episode/tool_calls": ramp(3.4, 3.2),
    "tools/failure_frequency": ramp(0.12, 0.04),
    "episode/single_turn_share": ramp(0.05, 0.02),
    "episode/repetition": ramp(0.08, 0.09),
    "episode/degenerate": ramp(0.0, 0.0),
    "episode/hazards": ramp(0.25, 0.08),
    "episode/no_submission": ramp(0.12, 0.02),
    "group/dead_share": ramp(0.2, 0.45),
    "reward/accuracy/mean": ramp(0.45, 0.9),
    "reward/process/mean": ramp(0.6, 0.9),
    "reward/safety/mean": ramp(0.75, 0.95),
    "reward/format/mean": ramp(0.85, 0.97),
    "reward/coherence/mean": ramp(0.9, 0.95),
    "tools/count/measure_vital_signs": ramp(60, 64),
    "tools/count/take_history": ramp(50, 60),
    "tools/count/order_ecg": ramp(10, 38),
    "tools/count/check_allergies": ramp(22, 55),
    "tools/count/submit_triage": ramp(56, 63),
    "tt_opd/kl": ramp(0.05, 0.12),
    "tt_opd/kl_turn_1": ramp(0.08, 0.16),
    "tt_opd/kl_turn_2": ramp(0.06, 0.12),
    "tt_opd/kl_turn_3": ramp(0.04, 0.09),
    "tt_opd/kl_correct": ramp(0.02, 0.03),
    "tt_opd/kl_wrong": ramp(0.09, 0.2),
    "tt_opd/teacher_distance": ramp(0.0, 0.06),
    "tt_opd/teacher_share": ramp(0.3, 0.8),
    "tt_opd/kl_hint_told": ramp(0.05, 0.12),
    "tt_opd/kl_hint_wrong": ramp(0.06, 0.14),
    "tt_opd/hint_gap": ramp(0.2, 0.2),
    "episode/hint_echo": ramp(0.0, 0.002),
    "tt_opd/grad_norm_policy": ramp(0.8, 0.5),
    "tt_opd/grad_norm_distillation": ramp(1.4, 0.1),
    "loss": ramp(0.02, 0.01),
}
COUNTED = {
    "episode/success",
    "episode/single_turn_share",
    "completions/clipped_ratio",
    "episode/no_submission",
    "group/dead_share",
}


def rows(seed=0, steps=STEPS, **bent):
    """Return the metrics of a run whose curves are HEALTHY's except for `bent`, with the noise of 64 episodes a step."""
    rng = np.random.default_rng(seed)
    curves = {**HEALTHY, **bent}
    made = []
    for step in range(1, steps + 1):
        place = step / steps
        row = {"step": step}
        for name, curve in curves.items():
            level = curve(place)
            if name in COUNTED:
                row[name] = float(rng.binomial(64, min(max(level, 0.0), 1.0)) / 64)
            else:
                row[name] = float(max(0.0, level * (1 + 0.06 * rng.standard_normal())))
        row["tt_opd/lambda"] = 0.25 * (1 + math.cos(math.pi * place))
        row["tt_opd/teacher_age"] = float(step % 5)
        row["tt_opd/teacher_updates"] = float(step // 5)
        row["tt_opd/hints_fired"] = float(40 * step)
        row["tt_opd/hints_missing"] = float(step // 10)
        row.update(
            {
                name: curve(place)
                for name, curve in bent.items()
                if name.startswith(("tt_opd/teacher_", "tt_opd/lambda"))
            }
        )
        made.append(row)
    return made
