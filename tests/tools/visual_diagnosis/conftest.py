"""Makes the measuring reader importable beside the tests; skips what measures where the image libraries are missing."""

import sys
from functools import lru_cache
from pathlib import Path

import pytest

from healthgym.registry import load_domain
from healthgym.tasks import Suite

sys.path.insert(0, str(Path(__file__).parent))


@lru_cache(maxsize=1)
def suite() -> Suite:
    return Suite([load_domain("visual_diagnosis")])


@pytest.fixture(scope="session")
def domain():
    return load_domain("visual_diagnosis")


@pytest.fixture(scope="session")
def cases():
    return tuple(suite().cases())
