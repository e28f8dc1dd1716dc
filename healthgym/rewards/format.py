"""Format: calls that could be run, and an ending through the submit tool."""

from healthgym.rewards.record import EpisodeRecord


def format_score(record: EpisodeRecord) -> float:
    """Return the share of turns and calls that were well formed; halved when the submit tool was not used."""
    good = record.well_formed_calls
    bad = record.malformed_calls + sum(call.error is not None for call in record.world.calls) + record.idle_turns
    if good == 0:
        return 0.0
    return good / (good + bad) * (1.0 if record.submission is not None else 0.5)
