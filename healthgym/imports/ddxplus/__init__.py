"""DDXPlus: conditions and evidences as profiles that patients are drawn from, and its released patients."""

from healthgym.imports.ddxplus.conversion import EXPECTED, choose, convert, recognises

__all__ = ["EXPECTED", "choose", "convert", "recognises"]
