"""What `healthgym eval` was asked for, and how it is done for one checkpoint and one benchmark."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from healthgym.cli.eval_candidate import open_candidate, open_services
from healthgym.cli.eval_output import evaluation_progress
from healthgym.cli.eval_refusals import refuse_idle, refuse_split
from healthgym.cli.output import errors
from healthgym.errors import ConfigError, nearest

if TYPE_CHECKING:
    from healthgym.evaluation.benchmark import Benchmark, Settings
    from healthgym.evaluation.candidate import Candidate
    from healthgym.evaluation.rows import Row
    from healthgym.evaluation.run_settings import RunSettings
    from healthgym.world import Services

Given = dict[str, Any]
"""Values by name; those that were not given are not there."""
SAMPLING = ("temperature", "top_p", "top_k", "dtype")
"""Options of an engine that a candidate's sampling states as they were given."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """The options of the command. What is left out is taken from the run that a checkpoint belongs to, else a default.

    given: fields of `Settings`.
    sampling: options of whatever opens the candidate.
    options: options of the benchmark.
    split: of every benchmark.
    preferred_split: where no split is given, this one of the benchmarks that have it.
    """

    suites: Sequence[str]
    engine: str = "transformers"
    mode: str | None = None
    limit: int | None = None
    attempts: int = 1
    seed: int = 0
    data: Path | None = None
    split: str | None = None
    preferred_split: str | None = None
    index: Path | None = None
    encoder: str | None = None
    cache: Path | None = None
    restart: bool = False
    quiet: bool = False
    given: Given = field(default_factory=dict)
    sampling: Given = field(default_factory=dict)
    options: Given = field(default_factory=dict)
    _made: "dict[str, Benchmark]" = field(default_factory=dict, repr=False)

    def split_of(self, name: str) -> str | None:
        """Return which split of a benchmark is asked for; None is its default.

        Raises:
            ConfigError: It has no such split.
            NotRegistered: There is no such benchmark.
        """
        from healthgym.evaluation.benchmarks import about

        told = about(name)
        if told is None or self.split is not None:
            return self.split if told is None else told.split(name, self.split)
        return self.preferred_split if self.preferred_split in told.splits else None

    def split_name(self, name: str) -> str:
        """Return what to call the split that is asked for."""
        from healthgym.evaluation.benchmarks import about

        told = about(name)
        return self.split_of(name) or (told.splits[0] if told is not None and told.splits else "all")

    def open(self, checkpoint: str, run: "RunSettings | None") -> "Candidate":
        """Return the candidate, its answers kept where the request says."""
        candidate = self._opened(checkpoint, run)
        if self.cache is None:
            return candidate
        from healthgym.evaluation.cache import with_cache

        return with_cache(candidate, self.cache)

    def _opened(self, checkpoint: str, run: "RunSettings | None") -> "Candidate":
        options = {**(run.sampling if run else {}), **self.sampling}
        if self.engine != "vllm":
            return open_candidate(self.engine, checkpoint, options)
        from healthgym.evaluation.checkpoint import find_checkpoint

        found = find_checkpoint(checkpoint, base=options.get("base"))
        return replace(open_candidate(self.engine, found.path, {**options, "base": found.base}), name=found.name)

    def services(self, run: "RunSettings | None") -> "Services | None":
        """Return what episodes share: the index that was given, or that of the run."""
        if self.index is not None or run is None:
            return open_services(self.index, encoder=self.encoder)
        return open_services(run.index, run.exclude, self.encoder or run.encoder)

    def check(self, run: "RunSettings | None") -> None:
        """Refuse benchmarks and settings that cannot be used or would not be, before a model is loaded."""
        from healthgym.evaluation.benchmark import Checked
        from healthgym.evaluation.benchmarks import about

        plans = []
        for name in self.suites:
            refuse_split(name, about(name), self.split, self.data)
            benchmark, settings, _ = self._prepared(name, run)
            if settings.mode not in benchmark.modes:
                raise ConfigError(f"{name} has no mode {settings.mode!r}.{nearest(settings.mode, benchmark.modes)}")
            plans.append((benchmark, settings))
        has_index = self.index is not None or (run is not None and run.index is not None)
        asked = {**(run.sampling if run else {}), **self.sampling}
        refuse_idle(self, plans, temperature=asked.get("temperature", 0.0), has_index=has_index)
        for benchmark, settings in plans:
            if isinstance(benchmark, Checked):
                benchmark.check(settings, has_index=has_index)
            if self.data is not None:
                benchmark.items()  # broken data is told of in a moment; a model may take minutes

    def evaluate(
        self, name: str, candidate: "Candidate", run: "RunSettings | None", services: "Services | None", folder: Path
    ) -> dict[str, Any]:
        """Run one benchmark and return its record."""
        from healthgym.evaluation.runner import evaluate

        benchmark, settings, source = self._prepared(name, run)
        with evaluation_progress(errors, name, quiet=self.quiet) as progress:
            found = evaluate(
                benchmark, candidate, settings, folder, attempts=self.attempts, limit=self.limit, seed=self.seed,
                services=services, progress=progress, restart=self.restart,
                notes={"source": source, "candidate": candidate.name},
            )  # fmt: skip
        return {**found.to_dict(), "folder": str(folder)}

    def stored(
        self, name: str, run: "RunSettings | None", services: "Services | None", folder: Path
    ) -> "list[Row] | None":
        """Return the rows that this request asks for if they are all there; None otherwise."""
        from healthgym.evaluation.runner import stored_rows

        benchmark, settings, _ = self._prepared(name, run)
        asked = {**(run.sampling if run else {}), **self.sampling}
        drawn = {option: asked[option] for option in SAMPLING if asked.get(option) not in (None, "auto")}
        return stored_rows(
            benchmark, settings, folder, attempts=self.attempts, limit=self.limit, seed=self.seed, services=services,
            engine=self.engine, sampling=drawn, max_context=asked.get("max_context"),
        )  # fmt: skip

    def _prepared(self, name: str, run: "RunSettings | None") -> tuple["Benchmark", "Settings", Given]:
        """Return the benchmark, how it is put to a candidate, and where its data comes from."""
        from healthgym.envs.prompts import check_profile
        from healthgym.evaluation.benchmark import Settings, Source
        from healthgym.evaluation.benchmarks import load_benchmark

        of_run = run.gym if run is not None and name == "gym" else {}
        if self.data is not None:  # the folder of another domain, whose families and counts are not those of the run
            of_run = {option: value for option, value in of_run.items() if option == "reward"}
        options = {**of_run, **self.options}
        key = f"{name} {options!r}"
        if key not in self._made:
            source = Source(path=self.data, split=self.split_of(name), options=options)
            self._made[key] = load_benchmark(name, source)
        benchmark = self._made[key]
        values = {**(run.settings if run else {}), **self.given}
        if "profile" in values:
            values["profile"] = check_profile(values["profile"])
        settings = Settings(mode=self.mode or benchmark.modes[0], options=options, **values)  # type: ignore[arg-type]
        path = None if self.data is None else str(self.data.resolve())
        return benchmark, settings, {"path": path, "split": self.split_of(name), "options": options}


def run_of(checkpoint: str, base: str | None = None) -> "RunSettings | None":
    """Return how the training run asked that a local checkpoint belongs to; None where it belongs to none."""
    from healthgym.evaluation.checkpoint import find_checkpoint
    from healthgym.evaluation.run_settings import run_settings

    config = find_checkpoint(checkpoint, base=base).config()
    return None if config is None else run_settings(config)
