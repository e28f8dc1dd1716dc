import pytest

from healthgym.authoring.scaffold import new_domain
from healthgym.errors import ConfigError, NotRegistered
from healthgym.tasks import load_suite

DOMAIN, FAMILY = "obstetrics_gynecology", "gestational_diabetes"


def test_a_family_goes_on_past_its_frozen_cases():
    frozen, sized = load_suite(DOMAIN), load_suite(DOMAIN, per_family={"train": 60})
    beyond = f"{DOMAIN}/{FAMILY}/train/0059"
    assert len(sized.ids(DOMAIN, "train", [FAMILY])) == 60
    assert sized.task(beyond).id == beyond
    with pytest.raises(NotRegistered):
        frozen.task(beyond)


def test_cases_are_the_frozen_ones_as_far_as_those_reach():
    frozen, sized = load_suite(DOMAIN), load_suite(DOMAIN, per_family={"train": 60})
    known = frozen.ids(DOMAIN, "train", [FAMILY])
    assert sized.ids(DOMAIN, "train", [FAMILY])[: len(known)] == known
    assert [sized.case(i) for i in known] == [frozen.case(i) for i in known]


def test_splits_that_are_not_named_stay_frozen_and_the_version_tells_the_sizes():
    frozen, sized = load_suite(DOMAIN), load_suite(DOMAIN, per_family={"train": 3})
    assert sized.counts()[DOMAIN]["test"] == frozen.counts()[DOMAIN]["test"]
    assert sized.counts()[DOMAIN]["train"] == 3 * len(sized.domains[DOMAIN].families)
    assert (frozen.version, sized.version) == ("v1", "v1+train=3")


def test_a_family_without_a_split_gets_none_of_it():
    sized = load_suite("visual_diagnosis", per_family={"test_ood": 50})
    families = sized.domains["visual_diagnosis"].families
    without = [name for name, family in families.items() if not family.counts.get("test_ood")]
    assert without
    assert not sized.ids("visual_diagnosis", "test_ood", without)


def test_an_unknown_split_is_refused():
    with pytest.raises(ConfigError, match=r"dev.*train, val, test, test_ood"):
        load_suite(DOMAIN, per_family={"dev": 5})


def test_a_folder_is_told_by_its_place_and_not_by_the_name_it_was_given(tmp_path, monkeypatch):
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        new_domain(tmp_path / place / "fever")
        monkeypatch.chdir(tmp_path / place)
        assert load_suite("fever").domains["fever"].folder == tmp_path / place / "fever"
