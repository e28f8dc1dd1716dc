"""Rollouts: policies write turns, environments answer, trajectories record every token and message."""

from healthgym.rollout.collect import Job, MakeEpisode, collect
from healthgym.rollout.policy import Policy, TurnRequest, TurnResult
from healthgym.rollout.scripted import OraclePolicy, PlannedPolicy, ScriptedPolicy
from healthgym.rollout.source import PolicySource, episode_maker
from healthgym.rollout.template import ChatTemplate, TemplateReport, probe_template
from healthgym.rollout.traces import TraceWriter, read_records, read_traces
from healthgym.rollout.trajectory import TRACE_VERSION, Trajectory, TurnSpan

__all__ = [
    "TRACE_VERSION",
    "ChatTemplate",
    "Job",
    "MakeEpisode",
    "OraclePolicy",
    "PlannedPolicy",
    "Policy",
    "PolicySource",
    "ScriptedPolicy",
    "TemplateReport",
    "TraceWriter",
    "Trajectory",
    "TurnRequest",
    "TurnResult",
    "TurnSpan",
    "collect",
    "episode_maker",
    "probe_template",
    "read_records",
    "read_traces",
]
