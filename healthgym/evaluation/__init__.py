"""Evaluation: policies measured on tasks through the training loop, with intervals and paired comparisons."""

from healthgym.evaluation.gym_suite import EvalResult, evaluate_policy
from healthgym.evaluation.statistics import compare_paired, wilson_interval

__all__ = ["EvalResult", "compare_paired", "evaluate_policy", "wilson_interval"]
