"""Sampling that runs out of memory is tried again with fewer at once."""

import gc
import logging
from collections.abc import Callable
from typing import TypeVar

import torch

from healthgym.errors import HealthgymError

logger = logging.getLogger(__name__)
T = TypeVar("T")
REMEDY = "Lower rollout.max_completion_tokens or rollout.max_context, or take a smaller model."


class OutOfMemory(HealthgymError):
    """Sampling or training does not fit into the device's memory, whatever was tried."""


def with_fewer(sample: Callable[[int], T], in_flight: int, *, remedy: str = REMEDY) -> T:
    """Return what `sample(in_flight)` returns, halving the number as long as memory runs out.

    Args:
        sample: Samples with so many in flight.
        in_flight: To begin with.
        remedy: What to do when one alone does not fit, in a sentence.

    Raises:
        OutOfMemory: It ran out with one in flight.
    """
    while True:
        try:
            return sample(in_flight)
        except torch.OutOfMemoryError as error:
            reason = str(error).splitlines()[0]
        if in_flight <= 1:
            raise OutOfMemory(f"Out of memory while sampling ({reason}), with one in flight. {remedy}")
        in_flight //= 2
        logger.warning("out of memory while sampling (%s); going on with %d in flight", reason, in_flight)
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
