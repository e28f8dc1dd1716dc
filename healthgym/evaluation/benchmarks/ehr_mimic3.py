"""Questions to the tables of MIMIC-III: the user's own credentialed files, or the open demo."""

from healthgym.evaluation.benchmark import Benchmark, Source
from healthgym.evaluation.ehr.benchmark import about_ehr, make_ehr
from healthgym.evaluation.ehr.schema import load_schema


def make_ehr_mimic3(source: Source) -> Benchmark:
    """Return the benchmark on the folder that `source` names; see `make_ehr`."""
    return make_ehr(load_schema("mimic3"), source)


BENCHMARKS = {"ehr_mimic3": make_ehr_mimic3}
ABOUT = {"ehr_mimic3": about_ehr(load_schema("mimic3"))}
