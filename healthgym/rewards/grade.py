"""Judges a finished episode once: five scores, success, harm and what was missing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from healthgym.rewards.accuracy import accuracy
from healthgym.rewards.coherence import coherence
from healthgym.rewards.format import format_score
from healthgym.rewards.process import evidence_share, process
from healthgym.rewards.record import EpisodeRecord
from healthgym.rewards.safety import hazards, safety
from healthgym.tasks import HazardHit

Outcome = Literal["correct", "wrong", "unsafe", "no_submission"]
SCORES = ("accuracy", "process", "safety", "format", "coherence")


@dataclass(frozen=True, kw_only=True)
class Grade:
    """The judgement of one episode.

    success: submitted, fully right, with all decisive evidence seen and no critical hazard.
    """

    success: bool
    outcome: Outcome
    scores: Mapping[str, float]
    evidence_share: float
    missing_evidence: tuple[str, ...]
    hazards: tuple[HazardHit, ...]
    parts: Mapping[str, float]
    """Credit by part of the answer and end state."""

    @property
    def is_critical(self) -> bool:
        """Whether a critical hazard happened."""
        return any(hit.severity == "critical" for hit in self.hazards)


def grade(record: EpisodeRecord) -> Grade:
    """Judge a finished episode by its task's criteria and its domain's hazard rules."""
    correct, parts = accuracy(record)
    share, missing = evidence_share(record)
    hits = hazards(record)
    scores = {
        "accuracy": correct,
        "process": process(record),
        "safety": safety(record, hits),
        "format": format_score(record),
        "coherence": coherence(record),
    }
    critical = any(hit.severity == "critical" for hit in hits)
    success = correct == 1.0 and share == 1.0 and not critical
    return Grade(
        success=success,
        outcome=_outcome(record, success, critical),
        scores=scores,
        evidence_share=share,
        missing_evidence=missing,
        hazards=hits,
        parts=parts,
    )


def _outcome(record: EpisodeRecord, success: bool, critical: bool) -> Outcome:
    if critical:
        return "unsafe"
    if record.submission is None:
        return "no_submission"
    return "correct" if success else "wrong"
