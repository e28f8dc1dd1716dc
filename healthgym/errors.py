"""Errors that say what arrived, what was expected and what to do next."""

from collections.abc import Iterable
from difflib import get_close_matches


class HealthgymError(Exception):
    """Base of every error healthgym raises on purpose."""


class ConfigError(HealthgymError, ValueError):
    """A recipe or setting that cannot be used."""


class NotRegistered(HealthgymError, LookupError):
    """A name that nothing is registered under."""

    @classmethod
    def named(cls, kind: str, name: str, known: Iterable[str]) -> "NotRegistered":
        """Build the error for an unknown `name` of some `kind`, offering the nearest known names."""
        return cls(f"No {kind} {name!r}.{nearest(name, known)}")


class MissingDependency(HealthgymError, ImportError):
    """A package that an optional part needs; the message names the extra."""

    @classmethod
    def extra(cls, purpose: str, extra: str) -> "MissingDependency":
        """Build the error for `purpose`, which needs the optional dependency group `extra`."""
        return cls(f"{purpose} needs the '{extra}' extra. Install it with: pip install 'healthgym[{extra}]'")


class TaskError(HealthgymError, ValueError):
    """A task that cannot be graded, solved or loaded."""


class ContentError(HealthgymError, ValueError):
    """A content file (domain, drug, lab, condition) that breaks its schema; names file and remedy."""


class PassageIndexError(HealthgymError):
    """A passage index that is missing, damaged or built with another encoder."""


class GraderError(HealthgymError):
    """Grading failed because of our bug: an outcome of its own, never a score of 0."""


class ServiceError(HealthgymError):
    """Something outside the process that episodes use, such as a remote patient, failed: the episode is never scored."""


class ResetNeeded(HealthgymError, RuntimeError):
    """step() was called with no episode running."""


class RunStopped(HealthgymError):
    """A run ended early because it was told to; what it did is saved.

    Args:
        message: Where the run stands and how it continues.
        exit_code: What the process ends with: 128 and the signal's number.
    """

    def __init__(self, message: str, *, exit_code: int = 130) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class ToolError(HealthgymError):
    """A mistake of the agent's, answered as an observation it can act on.

    The message says what arrived and what to do next.
    """


def nearest(name: str, known: Iterable[str], limit: int = 12) -> str:
    """Return ' Did you mean ...? Known: ...' for an unknown name, or '' when nothing is known."""
    names = sorted(set(known))
    if not names:
        return " Nothing is registered."
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    shown = ", ".join(names[:limit]) + (f", ... ({len(names)} in all)" if len(names) > limit else "")
    return f"{hint} Known: {shown}."
