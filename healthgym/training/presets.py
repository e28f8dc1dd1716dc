"""The ablation ladder: each preset is a set of defaults under the user's values."""

from collections.abc import Mapping
from typing import Any

_COSINE: dict[str, Any] = {"reward": {"length": {}}}
_ALL_TURNS: dict[str, Any] = {"start": 64, "max": 64, "grow_every": 0}
_COPY: dict[str, Any] = {**_COSINE, "teacher": {"update_every": 0, "copy_every": 30}, "turns": _ALL_TURNS}
_EMA: dict[str, Any] = {**_COSINE, "teacher": {}, "turns": _ALL_TURNS}

PRESETS: Mapping[str, dict[str, Any]] = {
    "grpo": {},
    "grpo_cosine": _COSINE,
    "opd_copy": _COPY,
    "opd_ema": _EMA,
    "opd_ema_hints": {**_EMA, "hint": {}},
    "tt_opd": {**_COSINE, "teacher": {}, "hint": {}},
    "tt_opd_no_hints": {**_COSINE, "teacher": {}, "hint": None},
    "tt_opd_shuffled": {**_COSINE, "teacher": {}, "hint": {"shuffle": True}},
    "sft_hinted": {"supervised": {}},
    "tt_opd_paper": {
        "reward": {"preset": "paper", "length": {"start_success": 0.0}},
        "teacher": {"ema_decay": 0.995, "update_every": 5, "copy_every": 30},
        "hint": {"level": "outcome"},
        "turns": {"start": 2, "max": 2, "grow_every": 0},
        "lambda": {"start": 4.0, "shape": "constant"},
        "guard": {"kl_high": None},
    },
}
"""Defaults by preset name. Three are controls on `tt_opd`'s own schedule: the anchor alone, hints of other attempts, and
supervised steps on the traces that hints ask for. `tt_opd_paper` has the constants published in arXiv:2605.02943: lambda 4.0 and constant, decay
0.995 every 5 steps with a copy every 30, length shaping from the first step, and no ratchet. The number of turns kept by its
fixed truncation is not published; two is our reading."""


def under(defaults: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `values` laid over `defaults`, mapping by mapping; anything else, null included, replaces."""
    merged = dict(defaults)
    for key, value in values.items():
        base = merged.get(key)
        if isinstance(value, Mapping):
            merged[key] = under(base if isinstance(base, Mapping) else {}, value)
        else:
            merged[key] = value
    return merged
