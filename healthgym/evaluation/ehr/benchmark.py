"""The benchmark over one database: items from its tables, episodes with tools, typed answers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from healthgym.envs.episode import Episode
from healthgym.envs.prompts import tool_schemas
from healthgym.errors import ConfigError, nearest
from healthgym.evaluation.about import About
from healthgym.evaluation.benchmark import Floor, Keep, Mode, Settings, Source
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.ehr.answers import NOT_MEASURED, SCORER, as_text, grade_submission
from healthgym.evaluation.ehr.build import PER_TEMPLATE, Built, build_items
from healthgym.evaluation.ehr.cohort import SPLITS
from healthgym.evaluation.ehr.episodes import case_of, domain_of
from healthgym.evaluation.ehr.policies import habit_score, habits
from healthgym.evaluation.ehr.schema import FOLDER, Schema
from healthgym.evaluation.ehr.store import MAX_PATIENTS, Store, build_store
from healthgym.evaluation.episodes import counted, play_attempts, status_of
from healthgym.evaluation.items import Attempt, Item
from healthgym.evaluation.rows import Row
from healthgym.registry import Domain
from healthgym.rollout.collect import Job
from healthgym.rollout.trajectory import Trajectory
from healthgym.world import Services

OPTIONS = {"patients": MAX_PATIENTS, "per_template": PER_TEMPLATE, "draw_seed": 0}
"""Options with their defaults: most patients drawn, most items a template, seed of the draw."""
ALL = "all"
"""Split that holds every patient, the default."""


class EhrBenchmark:
    """Questions to the tables in a folder.

    Tables are read and answers computed, by both ways, when items are first asked for.

    Args:
        schema: The database.
        folder: Holds the tables.
        split: train, val or test, by patient; None takes all patients.
        patients: Most patients drawn.
        per_template: Most items a template.
        seed: Of the draw of patients, windows and items.
    """

    modes: tuple[Mode, ...] = ("agentic",)
    scorer = SCORER

    def __init__(
        self,
        schema: Schema,
        folder: Path,
        *,
        split: str | None = None,
        patients: int = MAX_PATIENTS,
        per_template: int = PER_TEMPLATE,
        seed: int = 0,
    ) -> None:
        self.name = f"ehr_{schema.name}"
        self.title = f"Questions to the tables of {schema.title}. {schema.attribution}"
        self.schema, self.folder, self.split = schema, folder, split
        self.patients, self.per_template, self.seed = patients, per_template, seed

    @cached_property
    def store(self) -> Store:
        """The drawn patients' tables. Raises ConfigError for tables that cannot be read."""
        return build_store(self.folder, self.schema, split=self.split, most=self.patients, seed=self.seed)

    @cached_property
    def built(self) -> Built:
        """The items and how they came about. Raises AnswersDisagree when the two ways to an answer differ."""
        return build_items(self.store, per_template=self.per_template, seed=self.seed)

    @cached_property
    def domain(self) -> Domain:
        """What episodes are played in."""
        return domain_of(self.store)

    @cached_property
    def hashes(self) -> Mapping[str, str]:
        """Digest of what an agent is shown and of the files that make the tools and their rules work."""
        total = sha256(repr(tool_schemas(list(self.domain.tools.values()), "full")).encode())
        total.update(self.domain.guideline.encode())
        for name in ("toolkit.py", "browsing.py", "answers.py", "units.yaml"):
            total.update((FOLDER / name).read_bytes())
        return {"tools": total.hexdigest()}

    def items(self) -> Sequence[Item]:
        """Return the items, sorted by id.

        Raises:
            ConfigError: The tables cannot be read, or give no item.
            AnswersDisagree: The two ways to some answers differ.
        """
        if not self.built.items:
            raise ConfigError(
                f"{self.folder} gives no item: {len(self.store.patients)} patients are too few for answers that differ. "
                "Draw more patients, or leave the split out"
            )
        return self.built.items

    def floors(self, items: Sequence[Item]) -> Sequence[Floor]:
        """Return what two policies score that never look at the tables."""
        silent = [grade_submission(item.content, {"value": NOT_MEASURED}) for item in items]
        return (
            Floor(
                name="majority",
                score=habit_score(items, habits(self.items())),
                how="submits, without looking, the answer that is right most often among all items of the template",
            ),
            Floor(
                name="not_measured",
                score=sum(silent) / max(1, len(silent)),
                how=f"always submits {NOT_MEASURED!r}",
            ),
        )

    def measure(
        self,
        attempts: Sequence[Attempt],
        candidate: Candidate,
        settings: Settings,
        services: Services | None,
        keep: Keep,
    ) -> None:
        """Play every attempt as an episode and keep one row for each, patient by patient."""
        # Neighbours share a patient's database, so that few are open at a time.
        attempts = sorted(attempts, key=lambda one: (one.item.cluster, one.item.id, one.number))
        running: dict[int, Episode] = {}

        def start(job: Job) -> Episode:
            episode = running[job.group] = Episode(
                case_of(attempts[job.group].item), self.domain, services=services, profile=settings.profile,
                max_turns=settings.max_turns, seed=job.seed,
            )  # fmt: skip
            return episode

        def judge(attempt: Attempt, trajectory: Trajectory) -> Row:
            return self._row(attempt, trajectory, running.pop(trajectory.group).submission)

        play_attempts(attempts, candidate, settings, start, judge, keep)

    def rescore(self, row: Row, item: Item) -> Row:
        """Return the row with its submission compared again; one without a submission stays as it is."""
        submission = row.detail.get("submission")
        if row.status != "answered" or not isinstance(submission, Mapping):
            return row
        return replace(
            row,
            score=grade_submission(item.content, submission),
            prediction=_said(submission),
            gold=as_text(item.content),
        )

    def indifferent_to(self, settings: Settings) -> Mapping[str, str]:
        """Return the index: no tool here searches passages."""
        return dict.fromkeys(("index", "encoder"), "its tools look into the tables, not into passages")

    def _row(self, attempt: Attempt, trajectory: Trajectory, submission: Mapping[str, Any] | None) -> Row:
        item, status = attempt.item, status_of(trajectory)
        return Row(
            id=item.id,
            attempt=attempt.number,
            status=status,
            score=grade_submission(item.content, submission) if submission is not None else None,
            cluster=item.cluster,
            strata=item.strata,
            prediction=None if submission is None else _said(submission),
            gold=as_text(item.content),
            seed=attempt.seed,
            detail={
                "submission": submission,
                "stop_reason": trajectory.stop_reason,
                "clipped": trajectory.clipped,
                "tool_failures": trajectory.tool_failures,
                "attribution": self.schema.attribution,
            },
            **counted(trajectory),
        )


def make_ehr(schema: Schema, source: Source) -> EhrBenchmark:
    """Return the benchmark on the tables that `source` names.

    Raises:
        ConfigError: No folder was given, or an option is unknown or no number.
    """
    name = f"ehr_{schema.name}"
    if source.path is None:
        raise ConfigError(f"{name} needs tables, which do not come with healthgym. {schema.how_to_get}")
    for option in source.options:
        if option not in OPTIONS:
            raise ConfigError(f"{name} has no option {option!r}.{nearest(option, OPTIONS)}")
    values = {option: _whole(name, option, source.options.get(option, default)) for option, default in OPTIONS.items()}
    seed, split = values.pop("draw_seed"), None if source.split == ALL else source.split
    return EhrBenchmark(schema, source.path.expanduser().resolve(), split=split, seed=seed, **values)


def about_ehr(schema: Schema) -> About:
    """Return what the list says of the benchmark over one database."""
    return About(
        title=f"questions to {schema.title} tables", group="Records", modes=EhrBenchmark.modes, data="--data",
        get=schema.how_to_get.strip(), splits=(ALL, *SPLITS),
        options={
            "patients": f"most patients drawn (default {MAX_PATIENTS})",
            "per_template": f"most items of a template (default {PER_TEMPLATE})",
            "draw_seed": "of the draw of patients, windows and items (default 0)",
        },
        page="docs/ehr-benchmarks.md",
    )  # fmt: skip


def _whole(name: str, option: str, value: Any) -> int:
    least = 0 if option == "draw_seed" else 1
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{name}: {option} must be a whole number of at least {least}, got {value!r}")
    return value


def _said(submission: Mapping[str, Any]) -> str:
    return f"{submission.get('value')} {submission.get('unit') or ''}".strip()
