"""Traces that mend the policy's own failures: what a supervised control trains on in place of reinforcement."""

from collections import Counter
from collections.abc import Sequence

from healthgym.rollout import Trajectory
from healthgym.tasks import Suite
from healthgym.training.demonstrations import Turns, attempted_script, corrective_script
from healthgym.training.source import EpisodeSource
from healthgym.training.totals import Totals
from healthgym.validation.replay import play


class CorrectiveTraces:
    """Replaces each failed episode by the trace its hint would ask for; a success stays as the policy wrote it.

    Args:
        suite: Holds the tasks.
        source: Writes traces in the model's tokens.
        max_context: Traces longer than this are left out and counted.
    """

    def __init__(self, suite: Suite, source: EpisodeSource, *, max_context: int | None = None) -> None:
        self.suite, self.source, self.max_context = suite, source, max_context
        self.counts: Counter[str] = Counter()
        """Traces of this process: `corrected`, `oracle` (nothing smaller mended the failure), `repeated`, `too_long`."""
        self.totals = Totals(self.counts)

    def __call__(self, episodes: Sequence[Trajectory | None]) -> list[Trajectory | None]:
        """Return one trace per episode; None for an episode that the infrastructure lost, or a trace that is too long."""
        failed = [place for place, one in enumerate(episodes) if one is not None and not one.grade.success]
        plans = [(one.task_id, self._mended(one)) for place in failed if (one := episodes[place]) is not None]
        traces: list[Trajectory | None] = list(episodes)
        self.counts["repeated"] += sum(one is not None for one in episodes) - len(failed)
        for place, trace in zip(failed, self.source.scripted(plans), strict=True):
            length = len(trace.prompt_ids) + len(trace.completion_ids)
            fits = self.max_context is None or length <= self.max_context
            self.counts["too_long"] += not fits
            traces[place] = trace if fits else None
        return traces

    def metrics(self) -> dict[str, float]:
        """Return the counts over all processes, for the log; all must call this."""
        self.totals.settle()
        return {
            f"supervised/{name}": float(self.totals[name]) for name in ("corrected", "oracle", "repeated", "too_long")
        }

    def _mended(self, episode: Trajectory) -> Turns:
        case = self.suite.case(episode.task_id)
        domain = self.suite.domains[case.task.domain]
        script = attempted_script(case, domain, episode.tool_calls)
        mended = corrective_script(case, domain, script, episode.grade, lambda turns: play(case, domain, turns).grade)
        if play(case, domain, mended.turns).grade.success:
            self.counts["corrected"] += 1
            return mended.turns
        self.counts["oracle"] += 1
        return attempted_script(case, domain, [call.tool for call in case.task.solution]).turns
