"""Diagnostics: what each step's episodes looked like, whether the run is healthy, and one page that shows why."""

from healthgym.diagnostics.comparison import compare
from healthgym.diagnostics.comparison_page import write_comparison
from healthgym.diagnostics.detectors import Finding
from healthgym.diagnostics.report import write_report
from healthgym.diagnostics.run import Run, append_evaluation, append_metrics, save_versions
from healthgym.diagnostics.step_metrics import StepMetrics, step_metrics
from healthgym.diagnostics.trace_page import write_traces
from healthgym.diagnostics.verdict import Verdict, verdict

__all__ = [
    "Finding",
    "Run",
    "StepMetrics",
    "Verdict",
    "append_evaluation",
    "append_metrics",
    "compare",
    "save_versions",
    "step_metrics",
    "verdict",
    "write_comparison",
    "write_report",
    "write_traces",
]
