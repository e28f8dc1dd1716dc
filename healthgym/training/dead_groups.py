"""Notices when group after group earns one reward, so that nothing is left to learn from."""

import logging
from collections.abc import Mapping
from typing import Any

from healthgym.training.guards import Finding

logger = logging.getLogger(__name__)
SOLVED = 0.5
"""Success above which groups are taken to be dead because their tasks are solved."""


class DeadGroups:
    """Counts steps in a row whose groups are nearly all without spread of reward.

    Args:
        share: Share of dead groups from which a step counts.
        steps: Such steps in a row that make a finding; 0 for never.
    """

    def __init__(self, *, share: float, steps: int) -> None:
        self.share, self.steps = share, steps
        self.in_a_row = 0
        self.findings: list[Finding] = []

    @property
    def has_lasted(self) -> bool:
        """Whether the present row of dead steps is as long as makes a finding, also one that began before a resume."""
        return bool(self.steps) and self.in_a_row >= self.steps

    def observe(self, step: int, dead_share: float, success: float) -> Finding | None:
        """Take in one step's share of dead groups and success; return a finding when the row becomes long enough."""
        self.in_a_row = self.in_a_row + 1 if dead_share >= self.share else 0
        if not self.steps or self.in_a_row != self.steps:
            return None
        remedy = (
            "The tasks are solved: take harder ones (env), or stop here."
            if success > SOLVED
            else "The tasks are too hard for this policy: warm-start longer, take easier tasks, or raise "
            "optim.num_generations."
        )
        finding = Finding(
            "dead_groups", step, dead_share, self.share,
            f"for {self.steps} steps at least {self.share:.0%} of the groups had no spread of reward, at a success of "
            f"{success:.2f}: there is nothing to learn from. {remedy}",
        )  # fmt: skip
        self.findings.append(finding)
        logger.warning("step %d, %s: %s", step, finding.name, finding.message)
        return finding

    def state_dict(self) -> dict[str, Any]:
        """Return the count and what was found."""
        return {"in_a_row": self.in_a_row, "findings": [vars(finding) for finding in self.findings]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`."""
        self.in_a_row = state["in_a_row"]
        self.findings = [Finding(**finding) for finding in state["findings"]]
