"""Pregnancy dating: gestational age and due date from menses, ultrasound or embryo transfer."""

from datetime import date, timedelta
from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.toolkit import tool

PREGNANCY_DAYS = 280
MAX_GESTATION_DAYS = 45 * 7
_REDATING = ((8 * 7 + 6, 5), (15 * 7 + 6, 7), (21 * 7 + 6, 10), (27 * 7 + 6, 14))
_TRANSFER_DAYS = {3: 263, 5: 261, 6: 260}
GestationDays = Annotated[int, Field(ge=28, le=MAX_GESTATION_DAYS)]
IsoDate = Annotated[str, Field(max_length=10)]


def parse_date(text: str, name: str) -> date:
    """Return a date written as YYYY-MM-DD. Raises ToolError, naming the argument, for anything else."""
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise ToolError(f"{name} must be a date such as 2026-03-14, got {text[:20]!r}.") from None


def weeks_and_days(gestation_days: int) -> str:
    """Return a gestational age as clinicians write it: 171 days is 24w3d."""
    return f"{gestation_days // 7}w{gestation_days % 7}d"


def due_date_from_lmp(lmp: date) -> date:
    """Return the due date 280 days after the first day of the last menses."""
    return lmp + timedelta(days=PREGNANCY_DAYS)


def due_date_from_scan(scan: date, scan_gestation_days: int) -> date:
    """Return the due date that an ultrasound age implies."""
    return scan + timedelta(days=PREGNANCY_DAYS - scan_gestation_days)


def due_date_from_transfer(transfer: date, embryo_age_days: int) -> date:
    """Return the due date after transfer of an embryo 3, 5 or 6 days old.

    Source: ACOG committee opinion 700, 2017: 263 days after transfer of a day-3 embryo, 261 of a day-5 embryo; a day-6
    embryo is one day older.
    """
    return transfer + timedelta(days=_TRANSFER_DAYS[embryo_age_days])


def redating_limit_days(lmp_gestation_days: int) -> int:
    """Return the difference in days above which the ultrasound replaces menses, by age from menses at the scan.

    Source: ACOG committee opinion 700, 2017, table 1: more than 5 days to 8w6d, 7 days to 15w6d, 10 days to 21w6d,
    14 days to 27w6d, 21 days from 28w0d.
    """
    return next((limit for last, limit in _REDATING if lmp_gestation_days <= last), 21)


def is_redated(lmp: date, scan: date, scan_gestation_days: int) -> bool:
    """Say whether a scan moves the due date away from the one that menses give."""
    lmp_days = (scan - lmp).days
    return abs(lmp_days - scan_gestation_days) > redating_limit_days(lmp_days)


@tool()
def gestational_age(due_date: IsoDate, on_date: IsoDate) -> str:
    """Work out the gestational age on a day from the due date.

    Args:
        due_date: For example 2026-09-30.
        on_date: Day asked about, for example 2026-05-01.
    """
    days = PREGNANCY_DAYS - (parse_date(due_date, "due_date") - parse_date(on_date, "on_date")).days
    if not 0 <= days <= MAX_GESTATION_DAYS:
        raise ToolError(f"{on_date} is no day of a pregnancy due on {due_date}: check both dates.")
    return f"{weeks_and_days(days)} on {on_date}"


@tool()
def date_pregnancy(
    lmp: IsoDate = "",
    scan_date: IsoDate = "",
    scan_weeks: Annotated[int, Field(ge=4, le=44)] | None = None,
    scan_days: Annotated[int, Field(ge=0, le=6)] = 0,
    transfer_date: IsoDate = "",
    embryo_age_days: Literal[3, 5, 6] = 5,
) -> str:
    """Find the due date by ACOG CO 700: menses, first scan (redating limits applied), or embryo transfer.

    Args:
        lmp: First day of the last menses, for example 2026-03-14; empty when not known for certain.
        scan_date: Day of the earliest scan, for example 2026-05-20.
        scan_weeks: Completed weeks by that scan.
        scan_days: Further days by that scan.
        transfer_date: Day of embryo transfer, for example 2026-03-28; decides alone when given.
        embryo_age_days: Age of the embryo at transfer.
    """
    if transfer_date:
        due = due_date_from_transfer(parse_date(transfer_date, "transfer_date"), embryo_age_days)
        return f"due {due}, by embryo transfer"
    has_scan = bool(scan_date) and scan_weeks is not None
    if not lmp and not has_scan:
        raise ToolError("date_pregnancy needs lmp, or scan_date with scan_weeks, or transfer_date.")
    if not has_scan:
        return f"due {due_date_from_lmp(parse_date(lmp, 'lmp'))}, by menses alone"
    scan, by_scan = parse_date(scan_date, "scan_date"), (scan_weeks or 0) * 7 + scan_days
    if not lmp:
        return f"due {due_date_from_scan(scan, by_scan)}, by ultrasound"
    start = parse_date(lmp, "lmp")
    by_lmp = (scan - start).days
    if not 0 <= by_lmp <= MAX_GESTATION_DAYS:
        raise ToolError(f"the scan of {scan_date} does not fall into a pregnancy from {lmp}: check both dates.")
    moved = is_redated(start, scan, by_scan)
    due = due_date_from_scan(scan, by_scan) if moved else due_date_from_lmp(start)
    how = "redate by ultrasound" if moved else "keep menses"
    return (
        f"at the scan {weeks_and_days(by_lmp)} by menses, {weeks_and_days(by_scan)} by ultrasound: differ by "
        f"{abs(by_lmp - by_scan)} d, limit {redating_limit_days(by_lmp)} d; {how}, due {due}"
    )
