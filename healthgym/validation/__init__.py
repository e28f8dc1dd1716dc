"""Proof that a domain can be trusted: every task solvable, every tool callable, no cheap policy rewarded."""

from healthgym.validation.failures import Failure
from healthgym.validation.prove import MAX_ATTACKER_REWARD, MAX_ATTACKER_SUCCESS, validate

__all__ = ["MAX_ATTACKER_REWARD", "MAX_ATTACKER_SUCCESS", "Failure", "validate"]
