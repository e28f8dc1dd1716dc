"""Finds the model that a path means: a model, an adapter and its base, a run, or one checkpoint of a run."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from healthgym.errors import ConfigError
from healthgym.training.checkpoints import checkpoints
from healthgym.training.model_folder import check_model_folder

if TYPE_CHECKING:
    from healthgym.training.config import RunConfig

CONFIG, ADAPTER = "config.yaml", "adapter_config.json"
WHAT = "The checkpoint"


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A model to load.

    path: folder or hub name of the model, or folder of the adapter.
    base: folder or hub name of the base model, for an adapter.
    name: what reports call it.
    run: folder of the training run that it belongs to, if any.
    """

    path: str
    base: str | None = None
    name: str
    run: Path | None = None

    def config(self) -> "RunConfig | None":
        """Return the config of the run that it belongs to."""
        from healthgym.training.loading import load_config

        return load_config(self.run / CONFIG) if self.run is not None else None


def find_checkpoint(path: str | Path, *, base: str | None = None) -> Checkpoint:
    """Return what a path means. Of a run the best checkpoint is taken if there is one, else its last model.

    Args:
        path: Folder of a model, an adapter, a run, or part of a run; or a hub name.
        base: Base model of an adapter; found by the run, the folder `base`, or the adapter's own config when None.

    Raises:
        ConfigError: There is nothing to load, and what is missing; or a base was given for what is no adapter.
    """
    folder, run = Path(path), None
    if not folder.exists() and "/" not in str(path):
        raise ConfigError(f"{WHAT}: there is no folder {path}, and names of models on a hub have the form OWNER/NAME")
    if is_run(folder):
        run = folder
        folder, which = _of_run(run)
        name = f"{_short(run)} ({which})"
    else:
        run = next((parent for parent in list(folder.parents)[:3] if is_run(parent)), None)
        name = str(path) if run is None else f"{_short(run)}/{folder.relative_to(run)}"
    if not (folder / ADAPTER).is_file():
        if base is not None and not folder.exists():
            raise ConfigError(
                f"--base {base} goes with adapters in a folder, and {path} is a name on a hub. Fetch them with `hf download "
                f"{path} --local-dir DIR` and give DIR; without --base a hub name loads with what its own config names."
            )
        if base is not None:
            raise ConfigError(
                f"{WHAT} holds no {ADAPTER}: it is a whole model, to which --base {base} would add nothing. Leave it out"
            )
        check_model_folder(str(path) if folder == Path(path) else str(folder), WHAT)
        return Checkpoint(path=str(folder) if folder.exists() else str(path), name=name, run=run)
    return Checkpoint(path=str(folder), base=base or _base_of(folder, run), name=name, run=run)


def is_run(folder: Path) -> bool:
    """Say whether a folder is that of a training run."""
    return (folder / CONFIG).is_file() and (folder / "checkpoints").is_dir()


def _of_run(run: Path) -> tuple[Path, str]:
    """Return the folder of a run's model and what it is."""
    best = run / "best"
    if best.is_dir():
        note = best / "checkpoint.json"
        step = json.loads(note.read_text(encoding="utf-8")).get("step") if note.is_file() else None
        return best, "best" if step is None else f"best, step {step}"
    if (run / "model").is_dir():
        return run / "model", "after its last step"
    if whole := checkpoints(run / "checkpoints"):
        return whole[-1], whole[-1].name
    if (run / "start").is_dir():
        return run / "start", "start, before its first step"
    raise ConfigError(f"The run {run} has saved no model yet: none of best/, model/, checkpoints/ and start/ is there")


def _base_of(folder: Path, run: Path | None) -> str:
    """Return the base model of an adapter: that of its run, one beside it, or the one that its config names."""
    if run is not None:
        from healthgym.training.loading import load_config

        named = load_config(run / CONFIG).model.path
        if named is not None:
            return named
    for beside in (folder / "base", *([run / "start" / "base"] if run is not None else [])):
        if beside.is_dir():
            return str(beside)
    try:
        settings: dict[str, Any] = json.loads((folder / ADAPTER).read_text(encoding="utf-8"))
        base = settings["base_model_name_or_path"]
    except (ValueError, KeyError, TypeError):
        base = None
    if not base:
        raise ConfigError(
            f"{folder} holds LoRA adapters, and its {ADAPTER} names no base model. Give the model they were trained on "
            "with --base."
        )
    return str(base)


def _short(run: Path) -> str:
    return run.resolve().name
