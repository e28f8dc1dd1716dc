"""FHIR R4 bundles and bulk exports: patients' records as charts, with questions whose answers are computed twice."""

from healthgym.imports.fhir.conversion import EXPECTED, choose, convert, recognises

__all__ = ["EXPECTED", "choose", "convert", "recognises"]
