"""A small domain of the scaffold's, whose answers are known by hand."""

import pytest

from healthgym.authoring import new_domain


@pytest.fixture(scope="session")
def fever(tmp_path_factory):
    folder = tmp_path_factory.mktemp("domains") / "fever"
    new_domain(folder)
    return str(folder)
