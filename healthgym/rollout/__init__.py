"""Rollouts: policies write turns, environments answer, trajectories record every token and message."""

from healthgym.rollout.policy import Policy, TurnRequest, TurnResult
from healthgym.rollout.trajectory import TRACE_VERSION, Trajectory, TurnSpan

__all__ = ["TRACE_VERSION", "Policy", "Trajectory", "TurnRequest", "TurnResult", "TurnSpan"]
