"""Is the run healthy? Every detector's finding, and one word for scripts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from healthgym.diagnostics.detectors import DETECTORS, Finding
from healthgym.diagnostics.run import Run
from healthgym.diagnostics.trends import MIN_STEPS

Status = Literal["healthy", "warning", "collapsed"]
EXIT_CODES: dict[Status, int] = {"healthy": 0, "warning": 0, "collapsed": 3}


@dataclass(frozen=True)
class Verdict:
    """The judgement of one run."""

    status: Status
    findings: tuple[Finding, ...]
    steps: int

    @property
    def exit_code(self) -> int:
        """0 for healthy and warning, 3 for collapsed."""
        return EXIT_CODES[self.status]

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON-like data."""
        return {
            "status": self.status,
            "steps": self.steps,
            "findings": [finding.to_dict() for finding in self.findings],
        }


def verdict(run_dir: str | Path | Run) -> Verdict:
    """Judge a run by its folder.

    Raises:
        RunFolderError: the folder is missing or holds no run.
    """
    run = run_dir if isinstance(run_dir, Run) else Run.load(run_dir)
    found = [finding for detector in DETECTORS if (finding := detector(run)) is not None]
    order = {"collapsed": 0, "warning": 1, "note": 2}
    findings = sorted(found, key=lambda finding: order[finding.severity])
    if len(run.rows) < MIN_STEPS:
        message = f"{len(run.rows)} steps were logged; trends are judged from {MIN_STEPS} on."
        findings.append(
            Finding(name="short_run", severity="note", message=message, remedy="Train longer for a verdict.")
        )
    severities = {finding.severity for finding in findings}
    status: Status = "collapsed" if "collapsed" in severities else "warning" if "warning" in severities else "healthy"
    return Verdict(status, tuple(findings), len(run.rows))
