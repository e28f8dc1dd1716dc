import gzip
import json
from hashlib import sha256
from pathlib import Path

import pytest
from typer.testing import CliRunner
from written import about, bundle, consultations, resources, write_ddxplus, write_json, write_lines

from healthgym.cli.main import app
from healthgym.envs import ClinicalEnv
from healthgym.errors import ConfigError, ContentError, TaskError
from healthgym.imports import folder as folders
from healthgym.imports import import_cases
from healthgym.registry import load_domain
from healthgym.tasks import Suite


@pytest.fixture
def osce(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "osce.jsonl", consultations()[:4])


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_same_files_give_the_same_bytes(tmp_path: Path, osce: Path):
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        import_cases(osce, tmp_path / place / "clinic")
    assert content(tmp_path / "a" / "clinic") == content(tmp_path / "b" / "clinic")


def test_the_folder_carries_hash_licence_and_origin_of_its_source(tmp_path: Path, osce: Path):
    import_cases(osce, tmp_path / "clinic", licence="CC0-1.0", origin="written for a test")
    kept = json.loads((tmp_path / "clinic" / "source.json").read_text(encoding="utf-8"))
    assert kept["sources"] == [
        {"file": "osce.jsonl", "bytes": osce.stat().st_size, "sha256": sha256(osce.read_bytes()).hexdigest()}
    ]
    assert (kept["licence"], kept["origin"], kept["format"]) == ("CC0-1.0", "written for a test", "agentclinic")


def test_each_format_is_recognised_by_its_content(tmp_path: Path, osce: Path):
    record = write_json(tmp_path / "one.json", bundle(about(resources(), "urn:uuid:pat")))
    ddx = write_ddxplus(tmp_path / "ddx")
    found = [import_cases(path, tmp_path / f"out_{n}", limit=2).format for n, path in enumerate((osce, record, ddx))]
    assert found == ["agentclinic", "fhir", "ddxplus"]


def test_a_packed_file_is_read_as_it_is(tmp_path: Path, osce: Path):
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(osce.read_bytes(), mtime=0))
    assert import_cases(packed, tmp_path / "clinic").total == 4
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(ContentError, match="cut short or damaged"):
        import_cases(packed, tmp_path / "other")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", "", "a.jsonl: the file is empty"),
        ("a.json", '{"OSCE_Examination": [', "a.json, line 1: not valid JSON"),
        ("a.json", '{"name": "something else"}', "no known format. Expected one of: agentclinic"),
        ("a.txt", "text", "no known format"),
    ],
)
def test_a_file_of_no_format_is_refused_saying_what_is_expected(tmp_path: Path, name: str, text: str, message: str):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ContentError, match=message):
        import_cases(tmp_path / name, tmp_path / "clinic", format="agentclinic" if "OSCE" in text else None)


def test_the_wrong_format_is_named_with_the_right_one(tmp_path: Path, osce: Path):
    with pytest.raises(ContentError, match=r"is not in the format 'fhir'.*It looks like --format agentclinic"):
        import_cases(osce, tmp_path / "clinic", format="fhir")
    with pytest.raises(ConfigError, match=r"No format 'agentclinc'. Did you mean 'agentclinic'"):
        import_cases(osce, tmp_path / "clinic", format="agentclinc")


def test_what_is_not_utf8_is_refused_with_its_byte(tmp_path: Path):
    (tmp_path / "a.jsonl").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(ContentError, match="byte 7 is not UTF-8"):
        import_cases(tmp_path / "a.jsonl", tmp_path / "clinic")


def test_a_taken_or_unusable_out_is_refused_before_anything_is_read(tmp_path: Path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ContentError, match="already exists; choose a new folder, nothing was written"):
        import_cases(tmp_path / "nowhere.jsonl", tmp_path / "taken")
    with pytest.raises(ContentError, match="'My-Cases' cannot name a domain"):
        import_cases(tmp_path / "nowhere.jsonl", tmp_path / "My-Cases")
    assert (tmp_path / "taken" / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_an_import_that_is_cut_short_leaves_no_domain_and_can_be_run_again(
    tmp_path: Path, osce: Path, monkeypatch: pytest.MonkeyPatch
):
    def killed(file: str, values: object) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(folders, "_render", killed)
        with pytest.raises(KeyboardInterrupt):
            import_cases(osce, tmp_path / "clinic")
    assert not (tmp_path / "clinic").exists()
    assert import_cases(osce, tmp_path / "clinic").total == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clinic", "osce.jsonl"]


def test_an_empty_folder_may_be_the_out(tmp_path: Path, osce: Path):
    (tmp_path / "clinic").mkdir()
    assert import_cases(osce, tmp_path / "clinic").total == 4


def test_more_cases_than_were_imported_are_refused(tmp_path: Path, osce: Path):
    import_cases(osce, tmp_path / "clinic")
    suite = Suite([load_domain(tmp_path / "clinic")], per_family={"train": 99})
    with pytest.raises(TaskError, match="holds 4 imported cases in 'train', and number 50 was asked for"):
        suite.task("clinic/diagnose/train/0050")


def test_a_large_file_is_read_and_limited(tmp_path: Path):
    padded = [{**case, "note": "x" * 500_000} for case in consultations()[:20]]  # 10 MB
    file = write_lines(tmp_path / "large.jsonl", padded)
    report = import_cases(file, tmp_path / "clinic", limit=5)
    assert (report.total, report.log.left_out["cases past the limit"]) == (5, 15)


def test_the_code_of_an_import_is_thin(tmp_path: Path, osce: Path):
    import_cases(osce, tmp_path / "clinic")
    lines = [
        line for path in (tmp_path / "clinic").glob("*.py") for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert len(lines) < 30


def test_the_command_imports_and_tells_what_comes_next(tmp_path: Path, osce: Path):
    result = CliRunner().invoke(app, ["tasks", "import", str(osce), "--out", str(tmp_path / "clinic")])
    assert result.exit_code == 0, result.output
    assert "4 tasks, agentclinic" in result.output.replace("\n", " ")
    assert "healthgym validate" in result.output
    listed = CliRunner().invoke(app, ["tasks", "--domain", str(tmp_path / "clinic"), "--json"])
    assert json.loads(listed.stdout)["total"] == 4


def test_the_command_prints_every_refusal_as_json(tmp_path: Path):
    file = write_lines(tmp_path / "osce.jsonl", [consultations()[0], 5, 6])
    result = CliRunner().invoke(app, ["tasks", "import", str(file), "--out", str(tmp_path / "clinic"), "--json"])
    told = json.loads(result.stdout)
    assert (told["total"], told["refused"], told["refused_by_kind"]) == (1, 2, {"not a case": 2})


def test_an_imported_domain_plays_as_an_environment(tmp_path: Path, osce: Path):
    import_cases(osce, tmp_path / "clinic")
    env = ClinicalEnv(str(tmp_path / "clinic"))
    env.reset(seed=0)
    assert env.episode is not None
    for call in env.episode.task.solution:
        message = {"content": "", "tool_calls": [{"function": {"name": call.tool, "arguments": dict(call.arguments)}}]}
        _, reward, terminated, _, info = env.step(message)
    assert (reward, terminated, info["success"]) == (1.0, True, True)


def test_an_import_without_a_licence_says_so(tmp_path: Path, osce: Path):
    assert "--licence" in import_cases(osce, tmp_path / "clinic").log.notes[-1]
    assert not any("--licence" in note for note in import_cases(osce, tmp_path / "other", licence="MIT").log.notes)


@pytest.mark.parametrize("text", ["[" + "1" * 5_000 + "]", "[" * 100_000])
def test_json_that_python_cannot_hold_is_refused(tmp_path: Path, text: str):
    (tmp_path / "cases.json").write_text(text)
    with pytest.raises(ContentError, match="not in the format"):
        import_cases(tmp_path / "cases.json", tmp_path / "my_cases", format="agentclinic")


def test_half_a_surrogate_pair_costs_no_import(tmp_path: Path):
    case = json.loads(json.dumps(consultations()[0]))
    case["OSCE_Examination"]["Patient_Actor"]["History"] = "Pain \ud800 for two days."
    (tmp_path / "osce.jsonl").write_text(json.dumps(case) + "\n")
    import_cases(tmp_path / "osce.jsonl", tmp_path / "my_cases")
    assert all(b"\xed\xa0" not in data for data in content(tmp_path / "my_cases").values())


def test_an_import_that_fails_leaves_nothing_beside(osce: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def taken(path: Path, target: Path) -> Path:
        raise OSError(39, "Directory not empty")

    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(Path, "replace", taken)
    with pytest.raises(ContentError, match="made by someone else meanwhile"):
        import_cases(osce, tmp_path / "my_cases")
    assert sorted(tmp_path.iterdir()) == before
