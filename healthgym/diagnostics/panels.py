"""Which curves a report shows, in the order in which a run is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from healthgym.diagnostics.charts import Chart, Curve
from healthgym.diagnostics.detectors import Finding
from healthgym.diagnostics.run import Run, Series

MAX_TOOLS = 7
MAX_TURNS = 6


@dataclass(frozen=True)
class Panel:
    """A chart of quantities (label by quantity), or of a whole group of curves."""

    title: str
    caption: str
    quantities: Mapping[str, str] | str
    is_share: bool = False
    detectors: tuple[str, ...] = ()
    """Findings whose step is marked on the chart."""


SECTIONS: tuple[tuple[str, tuple[Panel, ...]], ...] = (
    (
        "Outcome",
        (
            Panel("Success", "Submitted, right, with all evidence seen and no critical hazard.", {"success": "success"}, True, ("success_lost",)),
            Panel("Reward", "What the trainer sees. It can rise while success does not.", {"reward": "reward"}),
            Panel("Scores", "The five parts of the reward, averaged over episodes.", "scores", True),
            Panel("Success by domain", "Each practised domain apart.", "domains", True),
            Panel("Hazards", "Per episode: all of them, and the share with a critical one.", {"hazards": "all", "critical_hazards": "critical"}),
            Panel("No submission", "Share of episodes that ended without a decision.", {"no_submission": "no submission"}, True),
        ),
    ),
    (
        "Behaviour",
        (
            Panel("Tool calls", "Per episode. A fall to nothing is guessing.", {"tool_calls": "calls"}, detectors=("tool_use_collapse",)),
            Panel("Tools by name", "Calls of the most used tools in each step.", "tools"),
            Panel("Failed calls", "Share of calls that were refused or could not be read.", {"tool_failures": "failed"}, True),
            Panel("Turns", "Per episode. A fall to one is a monologue.", {"turns": "turns"}, detectors=("turn_collapse",)),
            Panel("Single-turn episodes", "Share that ended in their first turn.", {"single_turn": "single turn"}, True, ("single_turn",)),
            Panel("Length", "Assistant tokens per episode.", {"length": "tokens"}, detectors=("length_explosion", "length_shrinking")),
            Panel("Clipped", "Share of episodes that ran into a token limit.", {"clipped": "clipped"}, True),
            Panel("Degenerate text", "Repeated 4-grams, and the share of episodes whose text fell apart.", {"repetition": "repeated 4-grams", "degenerate": "degenerate"}, True, ("degenerate_text",)),
        ),
    ),
    (
        "Learning signal",
        (
            Panel("Dead groups", "Share of groups without spread of reward. Read it with success: solved tasks are dead too.", {"dead_groups": "dead groups", "success": "success"}, True),
            Panel("Gradient norms", "Of the policy term and the distillation term.", {"grad_norm_policy": "policy", "grad_norm_distill": "distillation", "grad_norm": "total"}),
            Panel("Loss", "As minimised.", {"loss": "loss"}, detectors=("not_finite",)),
        ),
    ),
    (
        "Teacher",
        (
            Panel("Divergence", "Nats a token between student and teacher, mean over the turns that count; also on right and on wrong trajectories.", {"kl": "all", "kl_correct": "right", "kl_wrong": "wrong"}, detectors=("absorbing_teacher", "runaway_divergence")),
            Panel("Divergence by turn", "Nats a token; later turns are lighter.", "kl_turns"),
            Panel("Lambda", "Weight of the distillation term, under a ceiling that never rises.", {"lambda": "in force", "lambda_ceiling": "ceiling"}),
            Panel("Readings of a hint", "Nats a token between the student and a teacher told this attempt's hint, or another's: alike means that the content is not read.", {"kl_hint_told": "its own", "kl_hint_wrong": "another's"}),
            Panel("Teacher's way", "Its way from the start over the student's.", {"teacher_share": "share"}, detectors=("anchored_teacher",)),
            Panel("Teacher distance", "Relative to the student's norm.", {"teacher_distance": "distance"}),
            Panel("Teacher age", "Steps since the teacher last moved.", {"teacher_age": "age"}),
            Panel("Hints fired", "Trajectories scored under a hint so far.", {"hints_fired": "fired", "hints_missing": "missing"}),
        ),
    ),
)  # fmt: skip


def sections(run: Run, findings: Sequence[Finding]) -> list[tuple[str, list[Chart]]]:
    """Return the charts that a run has curves for, by section; sections without any are left out."""
    made = [(title, [c for panel in panels if (c := _chart(panel, run, findings))]) for title, panels in SECTIONS]
    return [(title, charts) for title, charts in made if charts]


def _chart(panel: Panel, run: Run, findings: Sequence[Finding]) -> Chart | None:
    if isinstance(panel.quantities, str):
        curves = _group(panel.quantities, run)
    else:
        found = {label: run.series(quantity) for quantity, label in panel.quantities.items()}
        curves = [Curve(label, series, f"c{at}") for at, (label, series) in enumerate(_shown(found).items(), 1)]
    if not curves:
        return None
    marks = {finding.step for finding in findings if finding.name in panel.detectors and finding.step is not None}
    return Chart(panel.title, panel.caption, tuple(curves), tuple(sorted(marks)), panel.is_share)


def _shown(found: Mapping[str, Series]) -> dict[str, Series]:
    return {label: series for label, series in found.items() if series}


def _group(group: str, run: Run) -> list[Curve]:
    found = _shown(run.family(group))
    if group == "kl_turns":
        turns = sorted(found, key=int)[:MAX_TURNS]
        return [Curve(f"turn {turn}", found[turn], f"r{at}") for at, turn in enumerate(turns, 1)]
    if group == "tools":
        return _tools(found)
    return [Curve(label, series, f"c{at}") for at, (label, series) in enumerate(list(found.items())[:8], 1)]


def _tools(found: Mapping[str, Series]) -> list[Curve]:
    """Return the most used tools, and the sum of the rest as one curve."""
    by_use = sorted(found, key=lambda name: (-sum(found[name].values), name))
    curves = [Curve(name, found[name], f"c{at}") for at, name in enumerate(by_use[:MAX_TOOLS], 1)]
    rest = [found[name] for name in by_use[MAX_TOOLS:]]
    if rest:
        sums = tuple(sum(values) for values in zip(*(series.values for series in rest), strict=True))
        curves.append(Curve(f"{len(rest)} others", Series(rest[0].steps, sums), "other"))
    return curves
