"""The task families of ehr_management."""

from .family_values import trend_question, value_lookup

__all__ = ["trend_question", "value_lookup"]
