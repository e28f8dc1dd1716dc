"""Weights that an engine already serves and that stay as they are while a candidate is measured."""

from collections.abc import Callable

from healthgym.errors import HealthgymError
from healthgym.rollout.vllm_messages import Adapter


class ServedAsIs:
    """Pushes nothing and checks that nobody else does. A `Sync`.

    Args:
        pushed: Names the weights that were last pushed to the engine; empty when none were, or it cannot say.
    """

    def __init__(self, pushed: Callable[[], str]) -> None:
        self._pushed, self._first = pushed, pushed()
        self.adapter: Adapter | None = None
        self.loads, self.seconds = 0, 0.0

    def engine_is_new(self) -> None:
        """Nothing follows from that: a server that was started again loads what it was started with."""

    def publish(self) -> None:
        """There is nothing to publish."""

    def load(self, *, always: bool = False) -> None:
        """There is nothing to load."""

    def check(self) -> None:
        """Raise HealthgymError when other weights were pushed meanwhile."""
        now = self._pushed()
        if now != self._first:
            raise HealthgymError(
                f"The server was given weights {now or 'of its own'} while this run measured {self._first or 'its own'}: a "
                "trainer pushes to it. Begin a new run once it does not."
            )

    def close(self) -> None:
        """There is nothing to delete."""
