"""Dates of passages as ranges of days, so that '2019' and '2019-05-07' can be compared."""

import re
from calendar import monthrange

from healthgym.errors import ToolError

_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?(?:[T ].*)?$")
EARLIEST, LATEST = 0, 9999_12_31
UNKNOWN = (0, 0)
"""Days of a passage without a date that can be read."""


def date_range(text: str | None) -> tuple[int, int]:
    """Return the first and last day an ISO date or a prefix of one may mean, as numbers YYYYMMDD; (0, 0) if unknown.

    '2019' is (20190101, 20191231), '2019-02' is (20190201, 20190228).
    """
    match = _DATE.match(text.strip()) if text else None
    if match is None:
        return UNKNOWN
    year, month, day = int(match[1]), int(match[2] or 0), int(match[3] or 0)
    if not year or (match[2] and not 1 <= month <= 12):
        return UNKNOWN
    last = monthrange(year, month)[1] if month else 31
    if match[3]:
        return (year * 10_000 + month * 100 + day,) * 2 if 1 <= day <= last else UNKNOWN
    return year * 10_000 + (month or 1) * 100 + 1, year * 10_000 + (month or 12) * 100 + last


def date_window(since: str | None, until: str | None) -> tuple[int, int] | None:
    """Return the first and last day of a filter, None for no filter.

    Raises:
        ToolError: a date that cannot be read, or a window that ends before it begins.
    """
    if since is None and until is None:
        return None
    ranges = {}
    for name, value in (("since", since), ("until", until)):
        ranges[name] = date_range(value)
        if value is not None and ranges[name] == UNKNOWN:
            raise ToolError(f"{name} must be a year, YYYY-MM or YYYY-MM-DD, got {value!r}")
    first = EARLIEST + 1 if since is None else ranges["since"][0]
    last = LATEST if until is None else ranges["until"][1]
    if first > last:
        raise ToolError(f"no day lies since {since} and until {until}: exchange the two")
    return first, last
