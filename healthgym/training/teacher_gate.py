"""When the teacher may follow the student: always, while the divergence is low, or after validation got better."""

from collections.abc import Mapping
from typing import Any

RULES = ("always", "kl_below", "validation_improves")


class TeacherGate:
    """Opens and closes for the teacher's averages and copies, and counts how often it was shut.

    Args:
        rule: `always`; `kl_below`, shut while the smoothed divergence exceeds `kl_high`; `validation_improves`, open from an
            evaluation that beat the best so far until the next evaluation, and shut before the first.
        kl_high: In nats; None never shuts `kl_below`.
    """

    def __init__(self, rule: str = "always", *, kl_high: float | None = None) -> None:
        if rule not in RULES:
            raise ValueError(f"Unknown rule {rule!r}: expected one of {', '.join(RULES)}")
        self.rule, self.kl_high = rule, kl_high
        self.shut = 0
        """Steps at which the teacher had to wait."""
        self.best: float | None = None
        """Best validation so far."""
        self._improved = False

    def note_validation(self, success: float) -> None:
        """Take in a held-out measurement; the first one is the best so far."""
        self._improved = self.best is None or success > self.best
        if self._improved:
            self.best = success

    def lets_pass(self, smoothed_kl: float | None) -> bool:
        """Say whether the teacher may move after this step, given the smoothed divergence up to it."""
        if self.rule == "validation_improves":
            is_open = self._improved
        elif self.rule == "kl_below":
            is_open = self.kl_high is None or smoothed_kl is None or smoothed_kl <= self.kl_high
        else:
            is_open = True
        self.shut += not is_open
        return is_open

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs."""
        return {"shut": self.shut, "best": self.best, "improved": self._improved}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`."""
        self.shut, self.best, self._improved = state["shut"], state["best"], state["improved"]
