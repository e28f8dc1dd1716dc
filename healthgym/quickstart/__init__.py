"""The whole journey on a CPU in minutes: a small model from scratch, warm-started, measured, trained twice, measured."""

from healthgym.quickstart.journey import ARMS, quickstart

__all__ = ["ARMS", "quickstart"]
