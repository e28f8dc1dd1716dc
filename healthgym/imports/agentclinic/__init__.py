"""Simulated-patient cases in the shape of AgentClinic: an OSCE examination as one JSON object."""

from healthgym.imports.agentclinic.conversion import EXPECTED, choose, convert, recognises

__all__ = ["EXPECTED", "choose", "convert", "recognises"]
