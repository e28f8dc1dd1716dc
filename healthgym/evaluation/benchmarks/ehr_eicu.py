"""Questions to the tables of eICU: the user's own credentialed files, or the open demo."""

from healthgym.evaluation.benchmark import Benchmark, Source
from healthgym.evaluation.ehr.benchmark import about_ehr, make_ehr
from healthgym.evaluation.ehr.schema import load_schema


def make_ehr_eicu(source: Source) -> Benchmark:
    """Return the benchmark on the folder that `source` names; see `make_ehr`."""
    return make_ehr(load_schema("eicu"), source)


BENCHMARKS = {"ehr_eicu": make_ehr_eicu}
ABOUT = {"ehr_eicu": about_ehr(load_schema("eicu"))}
