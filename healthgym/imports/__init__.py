"""Import of foreign cases: files of another project become a domain folder that plays, proves and trains like any other."""

from healthgym.imports.report import ImportReport, Refusal
from healthgym.imports.run import FORMATS, import_cases

__all__ = ["FORMATS", "ImportReport", "Refusal", "import_cases"]
