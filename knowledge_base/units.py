"""The units that laboratory results come in; a misspelt or unknown one is refused where it is read."""

from typing import Annotated

from pydantic import AfterValidator

from healthgym.errors import nearest

UNITS = (
    "mg/dL", "g/dL", "ug/dL", "ng/dL", "ug/mL", "ug/mL FEU", "ng/mL", "pg/mL", "ng/L", "ug/g", "g/g", "mmol/L", "mosm/kg",
    "U/L", "IU/L", "U/mL", "mU/L", "mIU/mL", "10^9/L", "per uL", "fL", "mmHg", "mm/h", "s", "%", "% of normal", "pH", "ratio",
    "1:n", "ng/dL per ng/mL/h", "0 or 1", "0 to 3", "0 to 4",
)  # fmt: skip
""""1:n" is a titre; "0 or 1" is negative or positive, "0 to 4" the pluses of a dipstick."""


def _known(unit: str) -> str:
    if unit not in UNITS:
        raise ValueError(f"no unit {unit!r}.{nearest(unit, UNITS, limit=40)} A new one is added to units.py")
    return unit


Unit = Annotated[str, AfterValidator(_known)]
