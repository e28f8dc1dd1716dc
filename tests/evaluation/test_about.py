import re
from pathlib import Path

import pytest

from healthgym.errors import ConfigError, HealthgymError, NotRegistered
from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.benchmarks import about, abouts, benchmarks, load_benchmark

ROOT = Path(__file__).parents[2]
DOCS = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}
INCLUDED = sorted(name for name, told in abouts().items() if told.data != "--data")


def test_every_benchmark_is_in_the_list_and_nothing_else():
    assert list(abouts()) == list(benchmarks())


@pytest.mark.parametrize("name", sorted(abouts()))
def test_the_list_of_the_docs_has_every_benchmark_with_modes_and_data(name):
    modes, data = ", ".join(about(name).modes), about(name).data
    assert re.search(rf"^\| .*`{name}`.* \| {modes} \| `?{data}`? \| .+ \|$", DOCS["evaluation.md"], re.MULTILINE)


@pytest.mark.parametrize("name", INCLUDED)
def test_the_list_gives_the_modes_that_a_benchmark_has(name):
    assert about(name).modes == load_benchmark(name).modes


@pytest.mark.parametrize("name", sorted(abouts()))
def test_a_benchmark_knows_each_option_that_the_list_gives_and_no_other(name, tmp_path):
    source = Source(path=None if name in INCLUDED else tmp_path)
    for option in (*about(name).options, "no_such_option"):
        try:
            load_benchmark(name, Source(path=source.path, options={option: "x"}))
            said = ""
        except HealthgymError as error:
            said = str(error)
        assert (f"has no option {option!r}" in said) == (option == "no_such_option")


@pytest.mark.parametrize("name", sorted(abouts()))
def test_the_pages_that_the_list_names_tell_of_the_benchmark_and_its_options(name):
    told = about(name)
    text = " ".join(DOCS[page.strip().removeprefix("docs/")] for page in told.page.split(","))
    assert f"`{name}`" in text
    for option in told.options:
        assert re.search(rf"`{option}\b|[ `]{option}=", text), option


def test_a_split_that_a_benchmark_has_not_is_refused_with_those_it_has():
    with pytest.raises(ConfigError, match=r"has the splits test, val, train, got 'vla'\. Did you mean 'val'"):
        load_benchmark("slake_open", Source(split="vla"))
    with pytest.raises(ConfigError, match="safety_prompts has no splits; leave --split test out"):
        load_benchmark("safety_prompts", Source(split="test"))


def test_validation_is_another_word_for_val():
    assert about("gym").split("gym", "validation") == "val"


def test_an_unknown_benchmark_is_told_with_the_nearest():
    with pytest.raises(NotRegistered, match="medqa"):
        about("medqq")
