"""Hospital time: hours since admission, and the stamps in which the record shows them."""

from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field

FORMAT = "%Y-%m-%d %H:%M"
Moment = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}( \d{2}:\d{2})?$")]
"""A date, or a date and time, as tools take it; stamps of this form sort as text."""


def stamp(admitted: datetime, hours: float) -> str:
    """Return the stamp at so many hours since admission; negative ones lie before it."""
    return (admitted + timedelta(hours=hours)).strftime(FORMAT)


def hours_between(earlier: str, later: str) -> float:
    """Return the hours from one stamp to another."""
    return (datetime.strptime(later, FORMAT) - datetime.strptime(earlier, FORMAT)).total_seconds() / 3600


def days_between(earlier: str, later: str) -> int:
    """Return the difference of two stamps' dates in days, as a length of stay is counted."""
    return (datetime.strptime(later[:10], FORMAT[:8]) - datetime.strptime(earlier[:10], FORMAT[:8])).days


def window(since: str | None, until: str | None) -> tuple[str, str]:
    """Return the first and last stamp of a window; a bare date begins at midnight and lasts to its end."""
    last = until or "9999"
    return since or "", f"{last} 23:59" if len(last) == 10 else last
