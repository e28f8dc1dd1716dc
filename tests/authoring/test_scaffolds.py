import pytest

from healthgym.authoring import new_domain, new_task, new_tool
from healthgym.envs import ClinicalEnv
from healthgym.errors import ContentError
from healthgym.registry import load_domain
from healthgym.tasks import load_suite
from healthgym.training.loading import load_config
from healthgym.validation import validate


def failures(folder):
    return validate(load_domain(folder), sample=20)["failures"]


def test_a_new_domain_is_proved_as_written(tmp_path):
    written = new_domain(tmp_path / "wound_care")
    assert sorted(path.name for path in written) == [
        "README.md",
        "domain.yaml",
        "guideline.md",
        "recipe.yaml",
        "tasks.py",
        "toolkit.py",
    ]
    domain = load_domain(tmp_path / "wound_care")
    assert (domain.name, domain.title, domain.submit_tool.name) == ("wound_care", "Wound care", "submit_dose")
    assert load_suite(str(domain.folder)).counts() == {"wound_care": {"train": 40, "val": 8, "test": 12, "test_ood": 0}}
    assert failures(domain.folder) == []


def test_the_recipe_of_a_new_domain_trains_on_it(tmp_path, monkeypatch):
    new_domain(tmp_path / "wound_care")
    monkeypatch.chdir(tmp_path)
    config = load_config(tmp_path / "wound_care" / "recipe.yaml")
    assert load_suite(*config.env.domains).counts()["wound_care"]["train"] == 40
    # Turns of the longest oracle: weigh, ask, give, submit.
    assert config.rollout.max_tokens_per_turn * 4 < config.rollout.max_completion_tokens


def test_a_new_tool_can_be_called_and_the_domain_stays_proved(tmp_path):
    new_domain(tmp_path / "wound_care")
    new_tool("read_age", tmp_path / "wound_care")
    env = ClinicalEnv(str(tmp_path / "wound_care"))
    env.reset(seed=0)
    call = {"function": {"name": "read_age", "arguments": {"patient_id": "P1"}}}
    observation, *_ = env.step({"content": "", "tool_calls": [call]})
    age = env.episode.world.chart("P1").age_years
    assert observation == f"P1 is {age:g} years old."
    assert failures(tmp_path / "wound_care") == []


def test_a_new_family_adds_tasks_and_the_domain_stays_proved(tmp_path):
    new_domain(tmp_path / "wound_care")
    new_task("fever_at_night", tmp_path / "wound_care")
    folder = str(tmp_path / "wound_care")
    # 40 + 20, 8 + 4 and 12 + 6 tasks of the two families
    assert load_suite(folder).counts()["wound_care"] == {"train": 60, "val": 12, "test": 18, "test_ood": 0}
    assert failures(folder) == []


@pytest.mark.parametrize("name", ["Wound", "wound-care", "2wounds", "class", "wound care", "_wound"])
def test_names_that_python_could_not_use_are_refused(tmp_path, name):
    with pytest.raises(ContentError, match="lower-case letters, digits and _"):
        new_domain(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_files_is_left_alone(tmp_path):
    (tmp_path / "wound_care").mkdir()
    (tmp_path / "wound_care" / "notes.txt").write_text("mine")
    with pytest.raises(ContentError, match="already holds files"):
        new_domain(tmp_path / "wound_care")
    assert [path.name for path in (tmp_path / "wound_care").iterdir()] == ["notes.txt"]


def test_a_name_that_is_taken_is_refused_and_the_file_unchanged(tmp_path):
    folder = tmp_path / "wound_care"
    new_domain(folder)
    for add, name, file in ((new_tool, "weigh_patient", "toolkit.py"), (new_task, "fever_dose", "tasks.py")):
        before = (folder / file).read_text()
        with pytest.raises(ContentError, match=f"already has a function '{name}'"):
            add(name, folder)
        assert (folder / file).read_text() == before


def test_adding_to_no_domain_says_how_to_start_one(tmp_path):
    with pytest.raises(ContentError, match="Start a domain with: healthgym new domain"):
        new_tool("read_age", tmp_path / "nowhere")
