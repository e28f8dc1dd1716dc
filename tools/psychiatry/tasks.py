"""The task families of psychiatry."""

from .family_screening import screening

__all__ = ["screening"]
